"""What is written as OpenLane-V2 is read back: points, confidences, links, boxes, tracks, poses."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.io.rich_frames import assert_same
from tests.lane_frames import CONTROLLED_BY, LEFT, LEFT_LINE, RIGHT_LINE, SUCCESSOR, TRAFFIC_ELEMENTS
from tests.shared_data import DATA, needs_data

import mapgauge as mg

TYPE = st.sampled_from([np.float16, np.float32, np.float64])


@st.composite
def documents(draw: st.DrawFn) -> dict[Any, Any]:
    """Files of all variants: lanes or lane segments, submissions or truth, with or without areas and topology."""
    segments, predicted, topology, inside = (draw(st.booleans()) for _ in range(4))
    number = st.floats(-100, 100, width=16)
    matrices = ("topology_lsls", "topology_lste") if segments else ("topology_lclc", "topology_lcte")
    frames = {}
    for i in range(draw(st.integers(1, 3))):
        lanes, areas, elements = (draw(st.integers(0, 3)) for _ in range(3))

        def lines(size: int = 3) -> Any:
            return draw(arrays(draw(TYPE), (draw(st.integers(2, 3)), size), elements=number))

        def entry(identity: int) -> dict[str, Any]:
            return {"id": identity} | ({"confidence": draw(st.floats(0, 1))} if predicted else {})

        def scores(count: int, lanes: int = lanes) -> Any:
            values = st.floats(0, 1) if predicted else st.integers(0, 1)
            return draw(arrays(np.float64 if predicted else np.int8, (lanes, count), elements=values))

        names = ("centerline", "left_laneline", "right_laneline") if segments else ("points",)
        frame: dict[str, Any] = {
            "lane_segment" if segments else "lane_centerline": [
                entry(k)
                | {name: lines() for name in names}
                | ({"is_intersection_or_connector": draw(st.booleans())} if inside else {})
                for k in range(lanes)
            ],
            "area": [entry(10 + k) | {"category": 1 + k % 2, "points": lines()} for k in range(areas)],
            "traffic_element": [
                entry(20 + k)
                | {"category": 1, "attribute": draw(st.integers(0, 12)), "points": np.sort(lines(2)[:2], axis=0)}
                for k in range(elements)
            ],
        }
        if topology:
            frame |= {matrices[0]: scores(lanes), matrices[1]: scores(elements)}
        pose = {"rotation": np.eye(3), "translation": np.arange(3) + 0.1 * i}
        frames["val", f"s{i % 2}", str(i)] = {"predictions" if predicted else "annotation": frame, "pose": pose}
    return {"results": frames} if predicted else frames


@given(document=documents())
def test_a_round_trip_is_exact(tmp_path_factory: pytest.TempPathFactory, document: dict[Any, Any]) -> None:
    folder = tmp_path_factory.mktemp("trip")
    (folder / "a.pkl").write_bytes(pickle.dumps(document))
    frames = mg.read(folder / "a.pkl")
    mg.write(frames, folder / "b.pkl", frames.format)
    assert_same(mg.read(folder / "b.pkl"), frames)


@needs_data("lanes_reference")
@pytest.mark.parametrize("kind", ["centerline", "segment"])
def test_the_reference_files_are_written_as_they_were(kind: str, tmp_path: Path) -> None:
    folder = DATA / "lanes_reference" / kind
    for path in (*folder.glob("data_dict*.pkl"), *folder.glob("*/result.pkl")):
        frames = mg.read(path)
        mg.write(frames, tmp_path / "file.pkl", frames.format)
        assert_same(mg.read(tmp_path / "file.pkl"), frames)
        old, new = (pickle.loads(file.read_bytes()) for file in (path, tmp_path / "file.pkl"))
        old, new = (document.get("results", document) for document in (old, new))
        assert list(old) == list(new)
        for before, after in zip(old.values(), new.values(), strict=True):
            part = "predictions" if "predictions" in before else "annotation"
            for name in [name for name in before[part] if name.startswith("topology")]:
                assert after[part][name].dtype == before[part][name].dtype
                np.testing.assert_array_equal(after[part][name], before[part][name])
            elements = "traffic_element"
            for one, other in zip(before[part][elements], after[part][elements], strict=True):
                assert (one["id"], one["attribute"]) == (other["id"], other["attribute"])


def lanes() -> mg.MapFrames:
    """One frame with two lanes, a sign and an area."""
    frames = mg.MapFrames.of(
        {"a": {"centerline": [[[0.1, 0], [9, 0]], [[9, 0], [20, 0]]], "no_u_turn": [[[5, 5], [6, 6]]], "boundary": []}}
    )
    links = mg.Links.of([0, 0, 1], [1, 2, 0], weight=[1, 1, 0.5], kind=[SUCCESSOR, CONTROLLED_BY, LEFT])
    return replace(frames, links=links, boxes=TRAFFIC_ELEMENTS)


def load(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


def test_a_submission_has_meta_data_and_types_on_request(tmp_path: Path) -> None:
    path = tmp_path / "result.pkl"
    mg.write(lanes().with_confidence(0.5), path, "openlanev2")
    document = load(path)
    meta = {"method": "", "authors": [], "e-mail": "", "institution / company": "", "country / region": ""}
    assert {name: value for name, value in document.items() if name != "results"} == meta
    frame = document["results"]["a"]["predictions"]
    assert frame["lane_centerline"][0]["points"].dtype == np.float64  # 0.1 is not exact in float32
    assert frame["traffic_element"][0]["category"] == 2
    assert [entry["id"] for key in ("lane_centerline", "traffic_element") for entry in frame[key]] == [0, 1, 2]
    assert frame["topology_lclc"].tolist() == [[0, 1], [0, 0]]
    assert frame["topology_lcte"].tolist() == [[1], [0]]
    mg.write(lanes().with_confidence(0.5), path, "openlanev2", points="float16", method="m", authors="A, B", email="e")
    document = load(path)
    assert (document["method"], document["authors"], document["e-mail"]) == ("m", ["A", "B"], "e")
    frame = document["results"]["a"]["predictions"]
    assert frame["lane_centerline"][0]["points"].dtype == np.float16
    assert frame["traffic_element"][0]["points"].dtype == np.float32


def test_unknown_traffic_elements_are_written_as_lights(tmp_path: Path) -> None:
    mg.write(lanes().rename({"no_u_turn": "unknown"}), tmp_path / "f.pkl", "openlanev2-truth")
    element = load(tmp_path / "f.pkl")["a"]["annotation"]["traffic_element"][0]
    assert (element["category"], element["attribute"]) == (1, 0)


def test_tokens_of_other_data_sets_keep_scenes_times_and_tracks_of_the_truth(tmp_path: Path) -> None:
    names = ["s/centerline/7", "s/centerline/x y", "s/traffic_element/007"]
    frames = replace(lanes(), scenes=("s",), timestamps=np.array([12]), track=np.array(names))
    mg.write(frames.as_classes(["centerline", "no_u_turn"]), tmp_path / "f.pkl", "openlanev2-truth")
    assert [entry["id"] for entry in load(tmp_path / "f.pkl")["a"]["annotation"]["lane_centerline"]] == [7, "x y"]
    again = mg.read(tmp_path / "f.pkl")
    assert (again.scenes, again.track.tolist()) == (("s",), names)  # type: ignore[union-attr]
    assert again.timestamps is not None
    assert again.timestamps.tolist() == [12]
    frames = replace(frames, tokens=("a/b/c",))  # the scene is not b
    mg.write(frames, tmp_path / "f.pkl", "openlanev2-truth")
    assert (mg.read(tmp_path / "f.pkl").tokens, mg.read(tmp_path / "f.pkl").scenes) == (("a/b/c",), ("s",))


def segments() -> mg.MapFrames:
    line = [[0, 0], [9, 0]]
    frames = mg.MapFrames.of({"a": {"centerline": [line], "left_laneline": [line], "right_laneline": [line]}})
    return replace(frames, links=mg.Links.of([0, 0], [1, 2], kind=[LEFT_LINE, RIGHT_LINE]))


@pytest.mark.parametrize(
    ("frames", "options", "message"),
    [
        (
            replace(segments(), links=None),
            {},
            r"\(centerline\) has no link of kind left_line; a lane seg",
        ),
        (replace(segments(), links=segments().links.of_kind(LEFT_LINE)), {}, "no link of kind right_line"),  # type: ignore[union-attr]
        (segments().select(["left_laneline", "right_laneline"]), {}, r"\(left_laneline\) has no lane; a lane segment"),
        (lanes().rename({"centerline": "lane"}), {}, "openlanev2-truth has no class lane. Known: centerline"),
        (lanes().rename({"no_u_turn": "stop"}), {}, r"has no class of boxes stop. Known: unknown, red"),
        (
            replace(lanes(), links=mg.Links.of([0], [1], weight=2)),
            {},
            r"instance 0 \(centerline\) has a link of weight 2",
        ),
        (lanes(), {"points": "int8"}, "points must be one of float16, float32, float64, got 'int8'"),
        (lanes(), {"method": "m"}, "openlanev2-truth has no option method; it takes points"),
    ],
)
def test_what_cannot_be_written_is_refused(
    frames: mg.MapFrames, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        mg.write(frames, tmp_path / "f.pkl", "openlanev2-truth", **options)
    assert not list(tmp_path.iterdir())


def test_coordinates_that_float16_cannot_hold_are_refused(tmp_path: Path) -> None:
    far = mg.MapFrames.of({"a": {"centerline": [[[0, 0], [1e5, 0]]]}})
    with pytest.raises(mg.InvalidInput, match="a coordinate is too large for points='float16'"):
        mg.write(far, tmp_path / "f.pkl", "openlanev2-truth", points="float16")
    with pytest.raises(mg.InvalidInput, match=r"authors must be .*got 3"):
        mg.write(far.with_confidence(1), tmp_path / "f.pkl", "openlanev2", authors=3)
    with pytest.raises(mg.InvalidInput, match="method must be a text, got 3"):
        mg.write(far.with_confidence(1), tmp_path / "f.pkl", "openlanev2", method=3)
