"""Topology, traffic elements and intersections in OpenLane-V2's files."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.lane_frames import CONTROLLED_BY, LEFT_LINE, RIGHT_LINE, SUCCESSOR, TRAFFIC_ELEMENTS
from tests.shared_data import DATA, needs_data

import mapgauge as mg

KEY = ("val", "00492", "315970000")
TOKEN = "/".join(KEY)
SCORES = np.array([[0, 0.75, 0], [0.25, 0, 0.5], [0, 0, 0]], np.float32)
SIGNS = np.array([[0, 1], [0, 0], [0.5, 0]], np.float16)
Read = Callable[..., mg.MapFrames]


def line(start: float) -> Any:
    return np.array([[start, 0, 0.5], [start + 10, 0, 0.5]], np.float32)


def element(attribute: int, **more: Any) -> dict[str, Any]:
    corners = np.array([[900, 100], [950.5, 180]], np.float32)
    return {"id": 90 + attribute, "category": 1, "attribute": attribute, "points": corners, "confidence": 0.5} | more


def lanes(count: int = 3, **more: Any) -> dict[str, Any]:
    """The predictions of a frame with centrelines."""
    entries = [{"id": i, "points": line(10 * i), "confidence": 0.5} for i in range(count)]
    elements = [element(4, category=2), element(1)]
    frame = {"lane_centerline": entries, "traffic_element": elements, "topology_lclc": SCORES, "topology_lcte": SIGNS}
    return frame | more


def segments(**more: Any) -> dict[str, Any]:
    """The predictions of a frame with lane segments and one area."""
    entries = [
        {
            "id": i,
            "centerline": line(10 * i),
            "left_laneline": line(10 * i) + 2,
            "right_laneline": line(10 * i) - 2,
            "is_intersection_or_connector": i == 1,
            "confidence": 0.5,
        }
        for i in range(3)
    ]
    area = [{"id": 7, "category": 2, "points": line(0) + 5, "confidence": 0.5}]
    frame = {"lane_segment": entries, "area": area, "traffic_element": [element(4), element(1)]}
    return frame | {"topology_lsls": SCORES, "topology_lste": SIGNS} | more


def results(*frames: dict[str, Any]) -> dict[str, Any]:
    return {"results": {(*KEY[:2], str(i)): {"predictions": frame} for i, frame in enumerate(frames)}}


def truth(*frames: dict[str, Any]) -> dict[Any, Any]:
    return {(*KEY[:2], str(i)): {"annotation": frame} for i, frame in enumerate(frames)}


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(document: Any, **options: Any) -> mg.MapFrames:
        path = tmp_path / "file.pkl"
        path.write_bytes(pickle.dumps(document))
        return mg.read(path, **options)

    return read


def kinds_of(frames: mg.MapFrames) -> list[tuple[int, int, float, str]]:
    assert frames.links is not None
    return list(frames.links)


LANES = [(0, 1, 0.75, SUCCESSOR), (0, 4, 1, CONTROLLED_BY), (1, 0, 0.25, SUCCESSOR), (1, 2, 0.5, SUCCESSOR)]
LANES += [(2, 3, 0.5, CONTROLLED_BY)]


def test_matrices_become_links_and_zeros_do_not(read: Read) -> None:
    frames = read(results(lanes(), lanes()))
    again = [(source + 5, target + 5, weight, kind) for source, target, weight, kind in LANES]
    assert kinds_of(frames) == LANES + again
    assert frames.findings == ()


def test_traffic_elements_become_boxes_with_their_attribute_as_class(read: Read) -> None:
    frames = read(results(lanes()))
    assert frames.boxes == TRAFFIC_ELEMENTS
    assert frames.classes == ("centerline", "red", "go_straight")  # in the order of attributes
    assert [instance.class_name for instance in frames["val/00492/0"]][3:] == ["go_straight", "red"]
    assert frames["val/00492/0"][4].points.tolist() == [[900, 100, 0], [950.5, 180, 0]]
    assert frames.forward == "x"


def test_lane_segments_are_linked_with_their_lines_and_know_intersections(read: Read) -> None:
    frames = read(results(segments()))
    lines = {(3 * i, 3 * i + k, 1.0, kind) for i in range(3) for k, kind in ((1, LEFT_LINE), (2, RIGHT_LINE))}
    # The area is instance 9, the traffic elements are 10 and 11.
    place = {0: 0, 1: 3, 2: 6, 3: 10, 4: 11}
    assert set(kinds_of(frames)) == lines | {(place[a], place[b], weight, kind) for a, b, weight, kind in LANES}
    assert frames.intersection is not None
    assert frames.intersection.tolist() == [False] * 3 + [True] * 3 + [False] * 6


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_, np.int64, np.float16, np.float64, list])
def test_matrices_may_have_any_number_type_or_be_lists(dtype: Any, read: Read) -> None:
    matrix = (SCORES > 0).tolist() if dtype is list else (SCORES > 0).astype(dtype)
    links = kinds_of(read(results(lanes(topology_lclc=matrix))))
    assert [(a, b) for a, b, _, kind in links if kind == SUCCESSOR] == [(0, 1), (1, 0), (1, 2)]
    assert {weight for _, _, weight, kind in links if kind == SUCCESSOR} == {1.0}


@pytest.mark.parametrize("empty", [[], np.zeros((0, 0)), np.zeros(0), np.zeros((0, 2)), None])
def test_matrices_without_entries_may_have_any_shape(empty: Any, read: Read) -> None:
    frames = read(results(lanes(), lanes(0, topology_lclc=empty, topology_lcte=empty)))
    assert kinds_of(frames) == LANES
    assert frames.findings == ()
    frames = read(results(lanes(topology_lcte=empty, traffic_element=[])))
    assert [kind for *_, kind in kinds_of(frames)] == [SUCCESSOR] * 3


def test_cgnet_has_texts_as_tokens_and_flat_points(read: Read) -> None:
    frame = {"lane_centerline": [{"id": i, "points": line(10 * i)[:, :2], "confidence": 0.5} for i in range(3)]}
    frames = read({"results": {"ca9a282c9e77460f8360f564131a8af5": {"predictions": frame | {"topology_lclc": SCORES}}}})
    assert frames.tokens == ("ca9a282c9e77460f8360f564131a8af5",)
    assert (frames.scenes, frames.timestamps, frames.dimension, frames.boxes) == (None, None, 2, ())
    assert [kind for *_, kind in kinds_of(frames)] == [SUCCESSOR] * 3
    assert frames.findings == ()


def test_texts_as_tokens_of_the_truth_take_segment_and_timestamp_from_the_frame(read: Read) -> None:
    frames = read({"4b2f": {"annotation": lanes(), "segment_id": "s", "timestamp": "17"}})
    assert (frames.tokens, frames.scenes) == (("4b2f",), ("s",))
    assert frames.timestamps is not None
    assert frames.timestamps.tolist() == [17]
    assert frames["4b2f"][0].track == "s/centerline/0"
    assert frames["4b2f"][3].track == "s/traffic_element/94"
    assert read({"4b2f": {"annotation": lanes()}})["4b2f"][0].track == "centerline/0"


def test_texts_and_tuples_are_not_mixed(read: Read) -> None:
    document = {"results": {"4b2f": {"predictions": lanes()}, KEY: {"predictions": lanes()}}}
    with pytest.raises(
        mg.UnreadableFile, match=r"has the keys '4b2f' and 'val/00492/315970000', expected a segment in"
    ):
        read(document)


def found(frames: mg.MapFrames) -> dict[str, tuple[str, int]]:
    return {finding.code: (finding.level, finding.count) for finding in frames.findings}


def test_missing_matrices_are_counted(read: Read) -> None:
    bare = {key: value for key, value in lanes().items() if not key.startswith("topology")}
    frames = read(results(bare, bare))
    assert frames.links is None
    assert [(finding.level, finding.count) for finding in frames.findings] == [("note", 2)] * 2
    assert "no frame has topology_lclc" in str(frames.findings[0])
    frames = read(truth(bare | {"traffic_element": []}))
    assert found(frames) == {"topology-missing": ("note", 1)}
    frames = read(results(lanes(), bare | {"traffic_element": []}))
    assert kinds_of(frames) == LANES
    assert found(frames) == {"topology-missing": ("warning", 1)}
    assert 'have no topology_lclc. These lanes have no links of its kind (results["val/00492/1"]' in str(
        frames.findings[0]
    )


def test_what_is_odd_is_counted(read: Read) -> None:
    corners = np.array([[950, 100], [900, 180]])
    elements = [element(0, points=corners), element(3, points=[[-9, 5], [-1, 20]], id=2)]
    frames = read(results(lanes(traffic_element=elements, inter_points=[]), segments() and lanes()))
    assert found(frames) == {
        "boxes-swapped": ("warning", 1),
        "boxes-outside": ("warning", 1),
        "ids-repeated": ("warning", 1),
        "inter-points-ignored": ("note", 1),
    }
    assert frames["val/00492/0"][3].points.tolist() == [[900, 100, 0], [950, 180, 0]]
    entries = segments()["lane_segment"]
    some = [*entries[:2], {key: value for key, value in entries[2].items() if not key.startswith("is_")}]
    frames = read(results(segments(lane_segment=some)))
    assert frames.intersection is None
    assert found(frames) == {"intersection-left-out": ("warning", 1)}


def test_links_of_dropped_lanes_are_counted(read: Read) -> None:
    entries = lanes()["lane_centerline"]
    entries[1] = entries[1] | {"points": line(10) * np.nan}
    frames = read(results(lanes(lane_centerline=entries)), degenerate="drop")
    assert kinds_of(frames) == [(0, 3, 1, CONTROLLED_BY), (1, 2, 0.5, CONTROLLED_BY)]
    assert found(frames) == {"dropped-not-finite": ("warning", 1), "dropped-links": ("warning", 3)}
    frames = read(
        results(segments(traffic_element=[element(4), element(1, points=np.zeros((1, 2)))])), degenerate="drop"
    )
    assert frames.intersection is not None
    assert len(frames.intersection) == len(frames.polylines) == 11


LOGITS = SCORES * 8 - 4
SAYS = r"file\.pkl: results\[\"val/00492/0\"\]\.predictions\."


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"topology_lclc": SCORES[:2]}, r"topology_lclc is 2 x 3, expected 3 x 3. Write one row for each lane"),
        ({"topology_lcte": SIGNS.T}, r"topology_lcte is 2 x 3, expected 3 x 2"),
        ({"topology_lclc": np.float32(1)}, r"topology_lclc is a single number, expected 3 x 3"),
        (
            {"topology_lclc": [[1], [1, 2]]},
            r"topology_lclc is ragged or not numbers, expected a matrix of 3 x 3 scores",
        ),
        ({"topology_lclc": "1"}, r"topology_lclc is '1', expected a matrix"),
        ({"topology_lclc": {}}, r"topology_lclc is a dict, expected a matrix"),
        ({"topology_lclc": SCORES * np.nan}, r"topology_lclc\[0, 0\] is nan, expected a score from 0 to 1 \(9 of 9"),
        ({"topology_lclc": LOGITS}, r"topology_lclc\[0, 0\] is -4.0, .* Apply the sigmoid function to logits"),
        ({"topology_lcte": SIGNS * 2}, r"topology_lcte\[0, 1\] is 2.0, expected a score from 0 to 1\. Apply"),
        (
            {"traffic_element": [element(13)]},
            r"traffic_element\[0\]\.attribute is 13, expected one of 0 unknown, 1 red",
        ),
        (
            {"traffic_element": [element(1) | {"attribute": "red"}]},
            r"\[0\]\.attribute is 'red', expected one of 0 unknown",
        ),
        (
            {"traffic_element": [element(1) | {"attribute": True}]},
            r"\[0\]\.attribute is True, expected one of 0 unknown",
        ),
        (
            {"traffic_element": [element(1, category=3)]},
            r"\.category is 3, expected one of 1 traffic light, 2 road sign",
        ),
        ({"traffic_element": [{"points": line(0), "confidence": 0.5}]}, r"traffic_element\[0\] has no 'attribute'"),
        ({"traffic_element": [element(1, confidence="a")]}, r"traffic_element\[0\]\.points: confidence is 'a'"),
        ({"traffic_element": [element(1, points=line(0))]}, r"\[0\]\.points is 2 x 3, expected 2 x 2: two corners"),
        ({"traffic_element": [element(1, points=np.ones((4, 2)))]}, r"\[0\]\.points is 4 x 2, expected 2 x 2"),
        (
            {"traffic_element": [element(1, points=np.ones((1, 2)))]},
            r"\[0\]\.points has fewer than 2 points",
        ),
        ({"traffic_element": [element(1, points=np.full((2, 2), np.nan))]}, r"\[0\]\.points has a coordinate that is"),
        ({"traffic_element": {}}, r"traffic_element is a dict, expected a list"),
    ],
)
def test_bad_topology_and_traffic_elements_are_refused_with_the_place(
    more: dict[str, Any], message: str, read: Read
) -> None:
    if "traffic_element" in more:
        more = more | {"topology_lcte": np.zeros((3, len(more["traffic_element"])))}
    with pytest.raises(mg.UnreadableFile, match=SAYS + ".*" + message):
        read(results(lanes(**more)))


def test_an_intersection_is_true_or_false(read: Read) -> None:
    frame = segments()
    frame["lane_segment"][1]["is_intersection_or_connector"] = 0.5
    with pytest.raises(mg.UnreadableFile, match=r"\[1\]\.is_intersection_or_connector is 0.5, expected true or false"):
        read(results(frame))


@needs_data("lanes_reference")
@pytest.mark.parametrize("kind", ["centerline", "segment"])
def test_the_reference_files_have_as_many_links_as_their_matrices_have_entries(kind: str) -> None:
    folder = DATA / "lanes_reference" / kind
    names = ("topology_lclc", "topology_lcte") if kind == "centerline" else ("topology_lsls", "topology_lste")
    for path in (*folder.glob("data_dict*.pkl"), *folder.glob("*/result.pkl")):
        document = pickle.loads(path.read_bytes())
        frames = mg.read(path)
        assert frames.findings == ()
        assert frames.links is not None
        for name, link in zip(names, (SUCCESSOR, CONTROLLED_BY), strict=True):
            matrices = [
                frame.get("predictions", frame.get("annotation"))[name]
                for frame in document.get("results", document).values()
            ]
            some = frames.links.of_kind(link)
            assert len(some) == sum(np.count_nonzero(matrix) for matrix in matrices)
            assert some.weight.sum() == pytest.approx(sum(matrix.sum(dtype=float) for matrix in matrices))
