"""GeoJSON: what is read, what a round trip keeps, what is refused and where the message points."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.io.rich_frames import assert_same, rich_frames

import mapgauge as mg
from mapgauge.io import FORMATS, geojson

Document = dict[str, Any]
LINE = [[0.5, 1], [2, 3.25], [4, 5]]
RING = [[0, 0], [4, 0], [4, 2], [0, 0]]
EYE = np.eye(4).tolist()


def feature(frame: object, points: Any = LINE, kind: str = "LineString", **properties: object) -> Document:
    given = {"frame": frame, "class": "divider", **properties}
    return {"type": "Feature", "properties": given, "geometry": {"type": kind, "coordinates": points}}


def collection(*features: Document, **members: object) -> Document:
    return {"type": "FeatureCollection", "features": list(features), **members}


def save(document: object, path: Path) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def refused(path: Path, message: str, **options: Any) -> None:
    with pytest.raises(mg.UnreadableFile, match=message) as error:
        mg.read(path, "geojson", **options)
    assert str(error.value).startswith(f"{path}: ")


def test_a_collection_becomes_frames(tmp_path: Path) -> None:
    document = collection(
        feature("b", confidence=0.5, track=7),
        feature("a", RING, confidence=1, **{"class": "ped_crossing"}),
        feature("b", LINE[1:], confidence=0, track="x"),
    )
    frames = mg.read(save(document, tmp_path / "mine.json"))
    assert (frames.format, frames.tokens) == ("geojson", ("b", "a"))
    assert frames.counts == {"divider": 2, "ped_crossing": 1}
    first, second = frames["b"]
    assert (first.points.tolist(), first.confidence, first.track) == (LINE, 0.5, "7")
    assert (second.points.tolist(), second.confidence, second.track) == (LINE[1:], 0, "x")
    assert frames["a"][0].points.tolist() == RING
    assert frames["a"][0].track is None


def test_a_polygon_is_a_line_that_returns_to_its_first_point(tmp_path: Path) -> None:
    frames = mg.read(save(collection(feature("a"), feature("a", [RING], "Polygon")), tmp_path / "file"))
    assert [instance.points.tolist() for instance in frames["a"]] == [LINE, RING]


def test_without_a_confidence_it_is_truth(tmp_path: Path) -> None:
    assert mg.read(save(collection(feature("a")), tmp_path / "file")).confidence is None


def test_a_number_is_a_token_by_its_text(tmp_path: Path) -> None:
    frames = mg.read(save(collection(feature(315966, scene=4)), tmp_path / "file"))
    assert (frames.tokens, frames.scenes) == (("315966",), ("4",))


def test_height_makes_it_three_dimensional(tmp_path: Path) -> None:
    assert mg.read(save(collection(feature("a", [[0, 1, 2], [3, 4, 5]])), tmp_path / "file")).dimension == 3


def test_the_list_of_frames_has_empty_ones_and_the_order(tmp_path: Path) -> None:
    document = collection(feature("c"), feature("a"), feature("b"), frames=["a", "empty", {"token": "b"}])
    frames = mg.read(save(document, tmp_path / "file"))
    assert frames.tokens == ("a", "empty", "b", "c")
    assert [len(frames[token]) for token in frames.tokens] == [1, 0, 1, 1]


def test_the_list_of_frames_has_scenes_times_and_poses(tmp_path: Path) -> None:
    listed = [{"token": i, "scene": "s", "timestamp": 10 - i, "pose": EYE} for i in range(2)]
    frames = mg.read(save(collection(frames=listed), tmp_path / "file"))
    assert (frames.tokens, frames.scenes) == (("0", "1"), ("s", "s"))
    assert frames.timestamps is not None
    assert frames.poses is not None
    assert frames.timestamps.tolist() == [10, 9]
    assert frames.poses.tolist() == [EYE, EYE]


def test_classes_can_be_listed(tmp_path: Path) -> None:
    path = save(collection(feature("a"), classes=["boundary", "divider"]), tmp_path / "file")
    assert mg.read(path).counts == {"boundary": 0, "divider": 1}


def test_properties_may_have_other_names(tmp_path: Path) -> None:
    document = collection(feature("a"))
    document["features"][0]["properties"] = {"sample token": "a", "category": "divider", "score": 0.25, "id": 3}
    path = save(document, tmp_path / "file")
    names = {"frame": "sample token", "class": "category", "confidence": "score", "track": "id"}
    (instance,) = mg.read(path, properties=names)["a"]
    assert (instance.class_name, instance.confidence, instance.track) == ("divider", 0.25, "3")
    refused(path, r"\$\.features\[0\]\.properties\.frame is missing; available: sample token, category, score, id. If")
    refused(path, r'\$\.features\[0\]\.properties\["no such"\] is missing', properties=names | {"frame": "no such"})


@pytest.mark.parametrize("properties", ["frame", {"token": "x"}, {"frame": 3}, ["frame"]])
def test_other_names_must_be_names_of_properties(tmp_path: Path, properties: object) -> None:
    with pytest.raises(mg.InvalidInput, match="properties must map frame, class, confidence"):
        mg.read(save(collection(), tmp_path / "file"), properties=properties)


def test_a_projected_reference_system_is_ignored(tmp_path: Path) -> None:
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32632"}}
    assert len(mg.read(save(collection(feature("a"), crs=crs), tmp_path / "file"))) == 1


@pytest.mark.parametrize("name", ["urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326", "urn:ogc:def:crs:EPSG::4326"])
def test_longitude_and_latitude_are_refused(tmp_path: Path, name: str) -> None:
    crs = {"type": "name", "properties": {"name": name}}
    refused(save(collection(feature("a"), crs=crs), tmp_path / "file"), r"\$\.crs is longitude and latitude")


@given(frames=rich_frames(repeated_tokens=False), suffix=st.sampled_from(["", ".gz", ".zst"]))
def test_a_round_trip_keeps_everything(
    tmp_path_factory: pytest.TempPathFactory, frames: mg.MapFrames, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("trip") / f"file.geojson{suffix}"
    mg.write(frames, path)
    assert_same(mg.read(path), frames)


def test_what_is_written_is_geojson(tmp_path: Path) -> None:
    mg.write(mg.MapFrames.of({"a": {"divider": [LINE]}, "b": {}}).with_confidence(0.25), tmp_path / "file.geojson")
    document = json.loads((tmp_path / "file.geojson").read_text(encoding="utf-8"))
    assert document["features"] == [feature("a", confidence=0.25)]
    assert (document["type"], document["frames"]) == ("FeatureCollection", ["a", "b"])


def test_a_long_list_of_frames_before_the_features_hides_nothing(tmp_path: Path) -> None:
    document = {"frames": [f"{i:032x}" for i in range(3000)]} | collection(feature("a"))
    assert mg.read(save(document, tmp_path / "file")).format == "geojson"


def test_a_token_that_occurs_twice_cannot_be_written(tmp_path: Path) -> None:
    twice = mg.MapFrames.of({"a": {"divider": [LINE]}}).at([0, 0])
    with pytest.raises(mg.InvalidInput, match="tokens occur more than once"):
        mg.write(twice, tmp_path / "file.geojson")


def test_names_of_classes_need_no_table(tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match=r"file: classes= is for formats with numeric ids.*\.rename"):
        mg.read(save(collection(feature("a")), tmp_path / "file"), classes=["divider"])
    with pytest.raises(mg.InvalidInput, match="classes= is for formats with numeric ids"):
        mg.write(mg.MapFrames.of({}), tmp_path / "file.geojson", classes=["divider"])


SPLIT = "expected a LineString or a Polygon. Split it into one feature for each part"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.update(geometry=None), r"\$\.features\[1\]\.geometry is missing.*list it in \$\.frames"),
        (lambda f: f.pop("geometry"), r"\$\.features\[1\]\.geometry is missing"),
        (lambda f: f.update(geometry=3), r"\$\.features\[1\]\.geometry is None, expected a LineString"),
        (
            lambda f: f.update(geometry=feature("", [LINE, LINE], "MultiLineString")["geometry"]),
            f"'MultiLineString', {SPLIT}",
        ),
        (
            lambda f: f.update(geometry=feature("", [[RING], [RING]], "MultiPolygon")["geometry"]),
            f"'MultiPolygon', {SPLIT}",
        ),
        (lambda f: f.update(geometry={"type": "GeometryCollection"}), f"'GeometryCollection', {SPLIT}"),
        (lambda f: f.update(geometry=feature("", [1, 2], "Point")["geometry"]), "geometry is 'Point', expected a Line"),
        (lambda f: f.update(geometry=feature("", [RING, RING], "Polygon")["geometry"]), "has a hole"),
        (lambda f: f.update(geometry=feature("", RING, "Polygon")["geometry"]), "has a hole"),
        (lambda f: f.update(geometry=feature("", [LINE], "Polygon")["geometry"]), "does not end with its first point"),
        (lambda f: f.update(geometry=feature("", 3, "Polygon")["geometry"]), "coordinates is not a list of rings"),
        (
            lambda f: f.update(geometry=feature("", [3], "Polygon")["geometry"]),
            r"coordinates\[0\] is 3, expected a list",
        ),
        (lambda f: f["geometry"].pop("coordinates"), r"geometry\.coordinates is null, expected a list of points"),
        (lambda f: f["geometry"].update(coordinates=[0, 1, 2, 3]), r"geometry\.coordinates is a flat list"),
        (lambda f: f["geometry"].update(coordinates=[[0, 1], [2]]), r"geometry\.coordinates\[1\] has 1 coordinates"),
        (lambda f: f["geometry"].update(coordinates=[[0, "1"], [2, 3]]), r"geometry\.coordinates\[0\]\[1\] is '1'"),
        (lambda f: f["geometry"].update(coordinates=[[0, 1, 2], [2, 3, 4]]), "points have 3 coordinates, those before"),
        (lambda f: f["geometry"].update(coordinates=[[0] * 4] * 2), "points have 4 coordinates, expected 2 or 3"),
        (lambda f: f.update(type="feature"), r"\$\.features\[1\] is not a Feature"),
        (
            lambda f: f.update(properties=None),
            r"\$\.features\[1\] has no properties, expected at least frame and class",
        ),
        (lambda f: f["properties"].pop("frame"), r"\$\.features\[1\]\.properties\.frame is missing"),
        (
            lambda f: f["properties"].update(frame=None),
            r"\$\.features\[1\]\.properties\.frame is null, expected a text",
        ),
        (
            lambda f: f["properties"].update(frame=True),
            r"\$\.features\[1\]\.properties\.frame is True, expected a text",
        ),
        (lambda f: f["properties"].pop("class"), r"\$\.features\[1\]\.properties\.class is missing"),
        (lambda f: f["properties"].update({"class": 1}), r"\$\.features\[1\]\.properties\.class is 1, expected a text"),
        (lambda f: f["properties"].update(track=[1]), r"\$\.features\[1\]\.properties\.track is a list"),
        (
            lambda f: f["properties"].update(scene="u"),
            r"\$\.features\[1\]\.properties\.scene differs from the scene of the",
        ),
        (
            lambda f: f["properties"].pop("confidence"),
            r"\$\.features\[1\]\.properties\.confidence is missing; expected a confidence in all",
        ),
        (
            lambda f: f["properties"].update(confidence="1"),
            r"\$\.features\[1\]\.properties\.confidence is '1', expected",
        ),
    ],
)
def test_a_wrong_feature_is_refused_with_its_place(
    tmp_path: Path, change: Callable[[Document], object], message: str
) -> None:
    document = collection(*(feature("a", scene="s", confidence=0.5) for _ in range(3)))
    change(document["features"][1])
    refused(save(document, tmp_path / "file"), message)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], 'another document, expected {"type": "FeatureCollection"'),
        (feature("a"), 'a Feature, expected {"type": "FeatureCollection"'),
        ({"type": "FeatureCollection"}, r"\$\.features is not a list"),
        (collection(3), r"\$\.features\[0\] is not a Feature"),  # type: ignore[arg-type]
        (collection(frames="a"), r"\$\.frames is not a list"),
        (collection(frames=[None]), r"\$\.frames\[0\] is null, expected a text"),
        (collection(frames=[{"scene": "s"}]), r"\$\.frames\[0\]\.token is null, expected a text"),
        (collection(frames=["a", "b", "a"]), r"\$\.frames\[2\]: the token a occurs twice"),
        (collection(frames=[{"token": "a", "scene": "s"}, "b"]), "1 of 2 frames have a scene, expected all or none"),
        (collection(frames=[{"token": "a", "timestamp": 1.5}]), r"\$\.frames\[0\]\.timestamp is not a whole number"),
        (collection(frames=[{"token": "a", "timestamp": 2**63}]), r"\$\.frames\[0\]\.timestamp is not a whole number"),
        (collection(frames=[{"token": "a", "pose": [1]}]), r"\$\.frames\[0\]\.pose is not a 4x4 matrix"),
        (collection(frames=[{"token": "a", "pose": [["1"] * 4] * 4}]), r"pose\[0\]\[0\] is '1', expected a number"),
        (collection(frames=[{"token": "a", "pose": [[None] * 4] * 4}]), "pose has a value that is not a finite number"),
        (
            collection(feature("a", scene="s"), frames=[{"token": "a", "scene": "u"}]),
            "scene differs from the scene of the",
        ),
        (collection(classes="divider"), r"\$\.classes is not a list of names"),
        (collection(classes=["a", "a"]), r"\$\.classes has a name twice"),
        (collection(predictions=1), r"\$\.predictions is neither true nor false"),
        (collection(feature("a"), predictions=True), r"features\[0\]\.properties\.confidence is missing"),
        (collection(feature("a", confidence=1), predictions=False), r"\$\.predictions is false, so expected no conf"),
    ],
)
def test_a_wrong_collection_is_refused(tmp_path: Path, document: object, message: str) -> None:
    refused(save(document, tmp_path / "file"), message)


@pytest.mark.parametrize(
    ("points", "confidence", "what"),
    [
        ([[0, 1]], 0.5, "fewer than 2 points"),
        ([], 0.5, "fewer than 2 points"),
        ([[0, 1], [None, 2]], 0.5, "a coordinate that is not a finite number"),
        ([[0, 1], [float("nan"), 2]], 0.5, "a coordinate that is not a finite number"),
        (LINE, None, "a confidence that is not a finite number"),
        (LINE, float("inf"), "a confidence that is not a finite number"),
    ],
)
def test_degenerate_instances_are_refused_or_dropped(
    tmp_path: Path, points: object, confidence: object, what: str
) -> None:
    features = feature("b", confidence=1), feature("a", confidence=1), feature("b", points, confidence=confidence)
    path = save(collection(*features), tmp_path / "file")
    refused(path, rf"\$\.features\[2\] has {what}")
    frames = mg.read(path, degenerate="drop")
    assert [len(frames[token]) for token in ("a", "b")] == [1, 1]
    assert [(finding.count, finding.examples) for finding in frames.findings] == [(1, ("$.features[2]",))]


def test_a_polygon_without_points_is_degenerate(tmp_path: Path) -> None:
    refused(save(collection(feature("a", [], "Polygon")), tmp_path / "f"), r"\$\.features\[0\] has fewer than 2 points")


def test_a_pickle_is_no_geojson(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\x80\x04}.")
    refused(tmp_path / "file", "a pickle, expected GeoJSON")


@given(data=st.data())
def test_fast_and_slow_reading_give_the_same_frames(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    token = st.sampled_from(["a", "b", "7", 7, 8])
    lines = st.lists(st.tuples(st.floats(-60, 60), st.floats(-60, 60)), min_size=1, max_size=4)
    confident = data.draw(st.booleans())
    drawn = data.draw(
        st.lists(
            st.fixed_dictionaries(
                {"frame": token, "class": st.sampled_from(["divider", "boundary", "kerb"])}
                | ({"confidence": st.sampled_from([0, 1, 0.25])} if confident else {}),
                optional={"track": st.sampled_from(["x", 3, None, ""])},
            ),
            max_size=8,
        )
    )
    features = [feature("", data.draw(lines)) | {"properties": properties} for properties in drawn]
    members = data.draw(
        st.fixed_dictionaries({}, optional={"frames": st.just(["b", 8]), "classes": st.just(["kerb", "divider"])})
    )
    path = save(collection(*features, **members), tmp_path_factory.mktemp("ways") / "file")
    fast = mg.read(path, "geojson", degenerate="drop")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(geojson, "_read_lines", lambda *_: None)
        slow = mg.read(path, "geojson", degenerate="drop")
    assert_same(fast, slow)
    assert fast.findings == slow.findings
    assert fast.classes == slow.classes


def test_features_in_any_order_are_read_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geojson, "read_objects", lambda *_: pytest.fail("read slowly"))
    document = collection(feature("b", scene="s"), feature("a", RING, scene="s"), feature("b", LINE[1:], track=1))
    frames = mg.read(save(document, tmp_path / "file"))
    assert [one.points.tolist() for one in frames["b"]] == [LINE, LINE[1:]]
    assert (frames.scenes, frames["b"][1].track) == (("s", "s"), "1")


def sound_file() -> bytes:
    write = FORMATS["geojson"].write
    assert write is not None
    lines: Document = {"a": {"divider": [LINE, RING]}, "b": {}, "c": {"boundary": [LINE]}}
    return write(mg.MapFrames.of(lines).with_confidence(0.5), None)


def test_a_file_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    data = sound_file().rstrip()
    for end in range(1, len(data)):
        (tmp_path / "file").write_bytes(data[:end])
        refused(tmp_path / "file", "not JSON")


def test_flipped_bytes_end_in_an_error_or_in_frames(tmp_path: Path, rng: np.random.Generator) -> None:
    sound, likely = sound_file(), b'0123456789-.e[]{},":'
    outcomes: set[type] = set()
    for _ in range(600):
        data = bytearray(sound)
        for place in rng.integers(0, len(data), rng.integers(1, 4)).tolist():
            data[place] = int(rng.integers(0, 256)) if rng.random() < 0.3 else likely[rng.integers(0, len(likely))]
        (tmp_path / "file").write_bytes(data)
        try:
            outcomes.add(type(mg.read(tmp_path / "file", "geojson", degenerate="drop")))
        except mg.UnreadableFile as error:
            outcomes.add(type(error))
    assert outcomes == {mg.MapFrames, mg.UnreadableFile}
