"""Tests of recordings: everything is read back with the reader of Rerun's kit."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cameras.rigs import AHEAD, CAMERAS, HEIGHT, SHIFT, SIZE, nuscenes_rig

import mapgauge as mg
from mapgauge.cameras.opening import open_rig
from mapgauge.cameras.projection import ground_lines, project
from mapgauge.demo import demo_world
from mapgauge.features.rerun.lines import dashes
from mapgauge.features.rerun.recording import record
from mapgauge.markup import stroke_width
from mapgauge.metrics.colours import FOUND, MISSED
from mapgauge.metrics.table import colours_of
from mapgauge.results.frame_query import FrameTable
from mapgauge.results.marks import far_colour, levels_of, runs_of

pytest.importorskip("rerun", reason="rerun-sdk is not installed")

COUNT = 23  # frames in three scenes, of which the last one is short
EMPTY = 4  # a frame without lines


@pytest.fixture(scope="module")
def world() -> tuple[mg.MapFrames, mg.MapFrames]:
    x, y = demo_world(COUNT, predictions=20)
    return x.keep(x.frame != EMPTY), y.keep(y.frame != EMPTY)


@pytest.fixture(scope="module")
def results(world: tuple[mg.MapFrames, mg.MapFrames]) -> mg.Results:
    return mg.evaluate(*world)


class Recording:
    """The columns of a recording by entity. The rows of a column are lists, one for each frame."""

    def __init__(self, path: Path) -> None:
        from rerun.chunk import RrdReader

        reader = RrdReader(path)
        assert len(reader.recordings()) == 1
        self.blueprints = reader.blueprints()
        self.columns: dict[str, dict[str, dict[int, Any]]] = {}
        self.static: dict[str, dict[str, Any]] = {}
        for chunk in reader.stream():
            batch = chunk.to_record_batch()
            names = [name for name in batch.schema.names if name not in ("frame", "rerun.controls.RowId")]
            entity = chunk.entity_path.removeprefix("/")
            for name in names:
                column = batch.column(name)
                values = (column.cast("int64") if name == "time" else column).to_pylist()
                if chunk.is_static:
                    self.static.setdefault(entity, {})[name] = values[-1]
                else:
                    frames = batch.column("frame").to_pylist()
                    known = self.columns.setdefault(entity, {}).setdefault(name, {})
                    assert name == "time" or not known.keys() & set(frames)
                    known |= dict(zip(frames, values, strict=True))

    def batches(self, entity: str, column: str) -> list[Any]:
        """The rows of all frames, in their order."""
        rows = self.columns[entity][column]
        assert sorted(rows) == list(range(len(rows)))
        return [rows[k] for k in sorted(rows)]


@pytest.fixture(scope="module")
def recording(results: mg.Results, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("recording") / "drive.rrd"
    assert mg.write_rerun(results, path) == (COUNT, 0, 0)
    return Recording(path)


def lines_of(side: mg.MapFrames, frame: int, class_name: str) -> list[Any]:
    rows = np.flatnonzero((side.frame == frame) & (side.label == side.classes.index(class_name)))
    return [side.polylines[k] for k in rows.tolist()]


def test_the_command_of_the_kit_verifies_a_recording(results: mg.Results, tmp_path: Path) -> None:
    mg.write_rerun(results, tmp_path / "drive.rrd")
    environment = os.environ | {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "rerun"]
    for words in (["analytics", "disable"], ["rrd", "verify", str(tmp_path / "drive.rrd")]):
        done = subprocess.run(
            [*command, *words], capture_output=True, text=True, check=True, env=environment, encoding="utf-8"
        )
    assert "1 file verified without error" in done.stdout + done.stderr


def test_lines_are_batches_of_a_class(recording: Recording, world: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    _, truth = world
    for class_name in truth.classes:
        strips = recording.batches(f"world/ego/truth/{class_name}", "LineStrips3D:strips")
        assert len(strips) == COUNT
        for frame, batch in enumerate(strips):
            lines = lines_of(truth, frame, class_name)
            assert len(batch) == len(lines)
            for strip, line in zip(batch, lines, strict=True):
                np.testing.assert_allclose(np.array(strip)[:, :2], line, atol=1e-5)
                assert not np.array(strip)[:, 2].any()
    lines_entities = {entity for entity in recording.columns if entity.startswith("world/ego/")}
    assert len(lines_entities) == 2 * 3 + 1  # two sides of three classes, and the matches


def lengths(strips: list[Any]) -> float:
    return float(sum(np.linalg.norm(np.diff(np.array(strip), axis=0), axis=1).sum() for strip in strips))


@pytest.mark.parametrize("frame", [0, 2, 11])
def test_predictions_have_the_marks_of_all_drawings(recording: Recording, results: mg.Results, frame: int) -> None:
    """Near pieces have the colour of the class, far ones are orange to red, and false ones are dashes."""
    assignment = results.assignment(results.tokens[frame])
    matched = {match.prediction for match in assignment.matches}
    levels = levels_of(assignment)
    colours = {"divider": colours_of(results.class_names)["divider"]}
    expected: dict[tuple[int, float], float] = {}
    for i, (line, some) in enumerate(zip(assignment.predictions, levels, strict=True)):
        if line.class_name != "divider":
            continue
        for run in runs_of(line.points, some, closed=False):
            colour = far_colour(run.level) or colours["divider"]
            key = (int(colour.removeprefix("#") + "FF", 16), round(-0.5 * stroke_width(line.confidence), 4))
            drawn = [run.points] if i in matched else dashes(run.points)
            expected[key] = expected.get(key, 0.0) + lengths(drawn)
    entity = "world/ego/predictions/divider"
    columns = ("LineStrips3D:colors", "LineStrips3D:radii", "LineStrips3D:strips")
    found: dict[tuple[int, float], float] = {}
    for colour, radius, strip in zip(*(recording.batches(entity, column)[frame] for column in columns), strict=True):
        key = (colour, round(radius, 4))
        found[key] = found.get(key, 0.0) + lengths([strip])
    assert len({colour for colour, _ in found}) > 1
    assert found == pytest.approx(expected, rel=1e-4)


def test_a_false_prediction_is_cut_into_dashes() -> None:
    line = np.column_stack([np.arange(0, 10.1, 0.5), np.zeros(21)])
    pieces = dashes(line)
    assert [(piece[0, 0], piece[-1, 0]) for piece in pieces] == [(0, 1.5), (2.5, 4), (5, 6.5), (7.5, 9)]
    short = line[:2]
    assert [piece.tolist() for piece in dashes(short)] == [short.tolist()]


def test_a_frame_without_lines_has_empty_batches(recording: Recording) -> None:
    """The viewer would go on showing the frame before it."""
    batches = [columns["LineStrips3D:strips"] for columns in recording.columns.values() if len(columns) > 3]
    assert len(batches) == 7
    assert [batch[EMPTY] for batch in batches] == [[]] * 7


def test_predictions_have_confidences_and_causes(
    recording: Recording, world: tuple[mg.MapFrames, mg.MapFrames]
) -> None:
    x, _ = world
    entity = "world/ego/predictions/divider"
    rows = np.flatnonzero((x.frame == 2) & (x.label == x.classes.index("divider")))
    assert x.confidence is not None
    found = recording.batches(entity, "confidence")[2]
    assert len(found) > len(rows)  # a line of several colours has several pieces
    assert {round(each, 5) for each in found} == {round(each, 5) for each in x.confidence[rows].tolist()}
    labels = recording.batches(entity, "LineStrips3D:labels")[2]
    assert len(labels) == len(found)
    assert {"localisation", "background"} & set(labels)
    assert recording.batches(entity, "LineStrips3D:show_labels")[2] == [False]


def test_found_truth_is_grey_and_missed_truth_is_red(results: mg.Results, tmp_path: Path) -> None:
    x, y = results.need_data().sides
    less = mg.evaluate(x.keep(x.label != x.classes.index("divider")), y)
    mg.write_rerun(less.of_frames([0]), tmp_path / "drive.rrd")
    recording = Recording(tmp_path / "drive.rrd")
    labels = recording.batches("world/ego/truth/divider", "LineStrips3D:labels")[0]
    assert set(labels) <= {"missed", "wrong class"}
    found, missed = (int(colour.removeprefix("#") + "FF", 16) for colour in (FOUND, MISSED))
    assert set(recording.batches("world/ego/truth/divider", "LineStrips3D:colors")[0]) == {missed}
    assert found in recording.batches("world/ego/truth/boundary", "LineStrips3D:colors")[0]


def test_matches_join_points_of_both_sides(recording: Recording, results: mg.Results) -> None:
    batches = recording.batches("world/ego/matches", "LineStrips3D:strips")
    for frame in (0, 11):
        assignment = results.assignment(results.tokens[frame])
        assert len(batches[frame]) > 5
        assert len(batches[frame]) <= sum(len(match.pairs) for match in assignment.matches)
        sides = [
            {tuple(np.round(point, 3)) for line in side for point in line.points}
            for side in (assignment.predictions, assignment.truth)
        ]
        for ends in batches[frame]:
            for end, points in zip(ends, sides, strict=True):
                assert tuple(np.round(np.array(end[:2], np.float64), 3)) in points


def test_the_world_begins_at_the_first_pose(recording: Recording, world: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    poses = world[1].poses
    assert poses is not None
    moves = np.array(recording.batches("world/ego", "Transform3D:translation"))[:, 0]
    np.testing.assert_allclose(moves, poses[:, :3, 3] - poses[0, :3, 3], rtol=1e-6, atol=1e-3)
    assert not moves[0].any()
    columns = np.array(recording.batches("world/ego", "Transform3D:mat3x3"))[:, 0].reshape(-1, 3, 3)
    np.testing.assert_allclose(columns, poses[:, :3, :3].transpose(0, 2, 1), atol=1e-6)


def test_poses_far_from_the_origin_keep_their_steps(world: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path) -> None:
    """Coordinates of UTM have steps of half a metre in float32."""
    x, y = (side.between(slice(0, 5)) for side in world)
    assert y.poses is not None
    poses = y.poses.copy()
    poses[:, :3, 3] += (691_607.0, 5_334_760.0, 500.0)
    mg.write_rerun(mg.evaluate(x, replace(y, poses=poses)), tmp_path / "drive.rrd")
    moves = np.array(Recording(tmp_path / "drive.rrd").batches("world/ego", "Transform3D:translation"))[:, 0]
    np.testing.assert_allclose(moves, y.poses[:, :3, 3] - y.poses[0, :3, 3], atol=1e-3)


def test_frames_have_a_number_and_a_time(recording: Recording, world: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    stamps = recording.batches("world/ego", "time")
    assert world[1].timestamps is not None
    assert stamps == (world[1].timestamps * 1000).tolist()


def test_frames_are_in_the_order_of_time_within_their_scene(
    world: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path
) -> None:
    shuffled = np.random.default_rng(1).permutation(COUNT).tolist()
    x, y = (side.at(shuffled) for side in world)
    results = mg.evaluate(x, y)
    mg.write_rerun(results, tmp_path / "drive.rrd")
    texts = [text for (text,) in Recording(tmp_path / "drive.rrd").batches("frame", "TextDocument:text")]
    by_scene: dict[str, list[str]] = {}
    for text in texts:
        scene, token = text.split("\n")
        by_scene.setdefault(scene, []).append(token)
    assert [token for tokens in by_scene.values() for token in tokens] == [text.split("\n")[1] for text in texts]
    for tokens in by_scene.values():
        assert tokens == [token for token in world[1].tokens if token in tokens]


def test_frames_without_poses_and_times_have_numbers_only(
    world: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path
) -> None:
    x, y = (replace(side.between(slice(0, 3)), poses=None, scenes=None, timestamps=np.arange(3)) for side in world)
    mg.write_rerun(mg.evaluate(x, y), tmp_path / "drive.rrd")
    recording = Recording(tmp_path / "drive.rrd")
    assert "world/ego" not in recording.columns
    assert "time" not in recording.columns["frame"]
    assert [text for (text,) in recording.batches("frame", "TextDocument:text")] == list(y.tokens)


def test_values_of_frames_are_curves(recording: Recording, results: mg.Results) -> None:
    table = FrameTable(results)
    for entity, name in (("values/pld", "pld"), ("parts/pld/missed", "pld_missed")):
        column = table.column(name)
        assert column is not None
        known = {k: value for k, value in enumerate(column.values) if value is not None}
        assert EMPTY not in known
        assert {k: v for k, (v,) in recording.columns[entity]["Scalars:scalars"].items()} == pytest.approx(known)
    precisions = recording.columns["values/ap_chamfer"]["Scalars:scalars"]
    assert precisions[7][0] == results.of_frames([7]).mean["ap_chamfer"]
    assert EMPTY not in precisions  # a frame without truth has none
    assert recording.static["values/pld"]["SeriesLines:names"] == ["PLD"]
    assert "parts/causes/due_to_missed" in recording.columns


def test_the_recording_has_a_blueprint(recording: Recording) -> None:
    assert len(recording.blueprints) == 1


def test_the_length_of_blocks_changes_nothing(results: mg.Results, recording: Recording, tmp_path: Path) -> None:
    record(results, tmp_path / "drive.rrd", images=None, progress=None, block=3)
    assert Recording(tmp_path / "drive.rrd").columns == recording.columns


def test_axes_with_y_forward_are_turned(world: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path) -> None:
    x, y = (side.between(slice(0, 2)).rotate(90) for side in world)
    assert y.forward == "y"
    mg.write_rerun(mg.evaluate(x, y), tmp_path / "turned.rrd")
    x, y = (side.between(slice(0, 2)) for side in world)
    mg.write_rerun(mg.evaluate(x, y), tmp_path / "plain.rrd")
    turned, plain = Recording(tmp_path / "turned.rrd"), Recording(tmp_path / "plain.rrd")
    for entity, column in (
        ("world/ego/truth/divider", "LineStrips3D:strips"),
        ("world/ego/matches", "LineStrips3D:strips"),
        ("world/ego", "Transform3D:mat3x3"),
    ):
        for ours, theirs in zip(turned.batches(entity, column), plain.batches(entity, column), strict=True):
            assert len(ours) == len(theirs)
            for first, second in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(first, second, atol=1e-5)


def test_odd_names_of_classes_are_parts_of_paths(tmp_path: Path) -> None:
    lines = {"a/b #1\n\udcff": [[[0, 0], [9, 0]]], "日本": [[[0, 1], [9, 1]]]}
    truth = mg.MapFrames.of({"to\udcffken": lines})
    results = mg.evaluate(truth.with_confidence(1), truth, mg.protocol("paper-60x30", classes=tuple(lines)))
    mg.write_rerun(results, tmp_path / "drive.rrd")
    entities = [entity for entity in Recording(tmp_path / "drive.rrd").columns if "/truth/" in entity]
    assert len(entities) == 2


@pytest.mark.needs_feature("network")
def test_a_map_begins_at_its_first_point(tmp_path: Path) -> None:
    corner = np.array([691_607.25, 5_334_760.5])
    truth = mg.MapFrames.of({"map": {"divider": [corner + np.array([[0.0, 0.0], [9.0, 0.1]])]}})
    mg.write_rerun(mg.evaluate(truth.with_confidence(1), truth, mg.protocol("map")), tmp_path / "map.rrd")
    recording = Recording(tmp_path / "map.rrd")
    (strips,) = recording.batches("world/ego/truth/divider", "LineStrips3D:strips")
    np.testing.assert_allclose(strips[0], np.array([[0, 0, 0], [9, 0.1, 0]]), atol=1e-6)


@pytest.fixture
def rig(world: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path) -> Path:
    return nuscenes_rig(tmp_path / "nuscenes", world[1].between(slice(0, 12)))


def images_of(recording: Recording, camera: str) -> list[Any]:
    return recording.batches(f"world/ego/cameras/{camera}", "EncodedImage:blob")


def test_images_are_copied_as_they_are(results: mg.Results, rig: Path, tmp_path: Path) -> None:
    """Frames that the data set lacks have none."""
    part = results.of_frames(range(15))
    assert mg.write_rerun(part, tmp_path / "drive.rrd", images=rig) == (15, 12 * len(CAMERAS), 0)
    recording = Recording(tmp_path / "drive.rrd")
    for camera in CAMERAS:
        (path,) = (rig / "samples" / camera).glob(f"{part.tokens[3]}__*.jpg")
        assert bytes(images_of(recording, camera)[3][0]) == path.read_bytes()
    rows = recording.columns["world/ego/cameras/CAM_BACK"]
    assert sorted(k for k, blob in rows["EncodedImage:blob"].items() if blob) == list(range(12))


def test_a_camera_sees_lines_where_they_are_projected(results: mg.Results, rig: Path, tmp_path: Path) -> None:
    mg.write_rerun(results.of_frames([1]), tmp_path / "drive.rrd", images=rig)
    recording = Recording(tmp_path / "drive.rrd")
    entity = "world/ego/cameras/CAM_FRONT"
    rows: dict[str, Any] = {
        name: np.array(recording.batches(entity, column)[0][0])
        for name, column in (
            ("turn", "Transform3D:mat3x3"),
            ("move", "Transform3D:translation"),
            ("lens", "Pinhole:image_from_camera"),
            ("size", "Pinhole:resolution"),
        )
    }
    assert rows["size"].tolist() == list(SIZE)
    np.testing.assert_allclose(rows["move"], [AHEAD + SHIFT, 0, HEIGHT], atol=1e-5)
    turn, lens = (rows[name].reshape(3, 3).T for name in ("turn", "lens"))  # they are stored by columns
    point = np.array([14.0, -2.0, 0.0])
    seen = lens @ (turn.T @ (point - rows["move"]))
    frame = open_rig(rig, results.tokens).frame(results.tokens[1])
    assert frame is not None
    image = next(image for image in frame.images if image.camera == "CAM_FRONT")
    lines = project(ground_lines(mg.Polylines.of([[point[:2], point[:2] + 1]]), np.eye(4)), frame, image)
    np.testing.assert_allclose(seen[:2] / seen[2], lines.points[0], atol=1e-3)


def test_images_that_are_missing_are_counted(results: mg.Results, rig: Path, tmp_path: Path) -> None:
    gone = sorted((rig / "samples" / "CAM_BACK").iterdir())[:2]
    for path in gone:
        path.unlink()
    part = results.of_frames(range(12))
    assert mg.write_rerun(part, tmp_path / "drive.rrd", images=rig) == (12, 12 * len(CAMERAS) - 2, 2)
    blobs = images_of(Recording(tmp_path / "drive.rrd"), "CAM_BACK")
    assert [len(blob) for blob in blobs].count(0) == 2


def test_a_folder_without_images_is_refused_and_nothing_is_written(
    results: mg.Results, rig: Path, tmp_path: Path
) -> None:
    for path in (rig / "samples").rglob("*.jpg"):
        path.unlink()
    with pytest.raises(mg.UnreadableFile, match="found none of 36 files"):
        mg.write_rerun(results.of_frames(range(12)), tmp_path / "drive.rrd", images=rig)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nuscenes"]


def test_results_without_geometry_are_refused(results: mg.Results, tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match="does not hold the geometry"):
        mg.write_rerun(results.without_data(), tmp_path / "drive.rrd")


def test_a_recording_that_cannot_be_completed_leaves_the_old_one(
    results: mg.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import rerun

    def full(*_: Any, **__: Any) -> None:
        raise RuntimeError("File-writer thread shut down prematurely")

    path = tmp_path / "drive.rrd"
    path.write_bytes(b"old")
    monkeypatch.setattr(rerun.RecordingStream, "flush", full)
    with pytest.raises(mg.MapgaugeError, match="drive.rrd: cannot be written: File-writer thread"):
        mg.write_rerun(results.of_frames([0]), path)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["drive.rrd"]
    assert not rerun.strict_mode()


def test_a_missing_kit_names_the_extra(results: mg.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(mg.MissingDependency, match="a recording needs rerun"):
        mg.write_rerun(results, tmp_path / "drive.rrd")
