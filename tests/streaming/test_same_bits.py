"""Streamed evaluation gives the same bits as evaluation in memory, for every layout of the data and every engine."""

import math
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.streaming.worlds import (
    FEW_ROWS,
    GROUP,
    LINKED,
    OF_FRAMES,
    copies,
    in_chunks,
    same,
    without_scenes,
    write_file,
    write_folder,
)

import mapgauge as mg
from mapgauge.evaluation.streaming.plan import plan_of
from mapgauge.frames.alignment import join_frames
from mapgauge.io.dataset import DatasetWriter, open_dataset
from mapgauge.results.loading import FolderRows, results_of

World = tuple[mg.MapFrames, mg.MapFrames]


def by_token(frames: mg.MapFrames) -> mg.MapFrames:
    return frames.at(sorted(range(len(frames)), key=frames.tokens.__getitem__))


def test_files_as_written_stream_to_the_same_bits(world: World, in_memory: mg.Results, tmp_path: Path) -> None:
    for side, name in zip(world, ("x", "y"), strict=True):
        write_file(side, tmp_path / f"{name}.parquet")
    streamed = in_chunks(tmp_path / "x.parquet", tmp_path / "y.parquet")
    assert isinstance(streamed.rows, FolderRows)
    assert same(streamed, in_memory)
    assert streamed.frames_missing == 1


def test_folders_stream_to_the_same_bits(in_memory: mg.Results, written: tuple[Path, Path]) -> None:
    x, y = written
    chunks = plan_of(open_dataset(x), open_dataset(y), most_rows=2 * GROUP).chunks
    assert len(chunks) > 3
    assert same(in_chunks(x, y), in_memory)


def test_files_with_float32_and_files_with_doubles_stream_together(world: World, tmp_path: Path) -> None:
    some, rest = world[0].between(slice(0, 30)), world[0].between(slice(30, len(world[0])))
    coords = some.polylines.coords.astype(np.float32).astype(np.float64)
    some = replace(some, polylines=replace(some.polylines, coords=coords))
    writer = DatasetWriter(tmp_path / "x")
    writer.add(some, "some")
    writer.add(rest, "rest")
    writer.finish()
    kinds = {pq.read_schema(file).field("geometry").type.value_type[0].type for file in (tmp_path / "x").iterdir()}
    assert kinds == {pa.float32(), pa.float64()}
    y = write_folder(world[1], tmp_path / "y")
    assert same(in_chunks(tmp_path / "x", y), mg.evaluate(join_frames([some, rest]), world[1]))


def test_frames_without_scenes_meet_by_token(world: World, in_memory: mg.Results, tmp_path: Path) -> None:
    x, y = (write_folder(without_scenes(side), tmp_path / name) for side, name in zip(world, "xy", strict=True))
    assert not plan_of(open_dataset(x), open_dataset(y)).by_scene
    assert same(in_chunks(x, y), in_memory)


def test_predictions_without_scenes_meet_truth_with_scenes(
    world: World, in_memory: mg.Results, written: tuple[Path, Path], tmp_path: Path
) -> None:
    x = write_folder(without_scenes(world[0]), tmp_path / "x")
    assert same(in_chunks(x, written[1]), in_memory)


def test_unsorted_predictions_cost_time_but_no_bits(
    world: World, in_memory: mg.Results, tmp_path: Path, rng: np.random.Generator
) -> None:
    write_file(world[0].at(rng.permutation(len(world[0])).tolist()), tmp_path / "x.parquet")
    write_file(world[1], tmp_path / "y.parquet")
    assert same(in_chunks(tmp_path / "x.parquet", tmp_path / "y.parquet"), in_memory)


def test_unsorted_truth_is_one_chunk(
    world: World, in_memory: mg.Results, tmp_path: Path, rng: np.random.Generator
) -> None:
    write_file(world[0], tmp_path / "x.parquet")
    write_file(without_scenes(world[1].at(rng.permutation(len(world[1])).tolist())), tmp_path / "y.parquet")
    assert same(in_chunks(tmp_path / "x.parquet", tmp_path / "y.parquet"), in_memory)


def test_a_folder_for_each_scene_is_read_too(world: World, in_memory: mg.Results, tmp_path: Path) -> None:
    for side, name in zip(world, "xy", strict=True):
        assert side.scenes is not None
        for scene in set(side.scenes):
            folder = tmp_path / name / f"scene={scene}"
            folder.mkdir(parents=True)
            mine = [i for i, of in enumerate(side.scenes) if of == scene]
            # The value is in the name of the folder, and not in the file.
            write_file(without_scenes(by_token(side.at(mine))), folder / "part-0.parquet")
    streamed = in_chunks(tmp_path / "x", tmp_path / "y")
    assert same(streamed, in_memory)
    assert set(streamed.scenes or ()) == set(world[1].scenes or ())


def test_rows_of_frames_are_those_in_memory(in_memory: mg.Results, written: tuple[Path, Path]) -> None:
    streamed, whole = in_chunks(*written), in_memory
    assert streamed.frames(sort="token") == whole.frames(sort="token")
    parts = {scene: part.mean for scene, part in streamed.by("scene").items()}
    assert parts == {scene: part.mean for scene, part in whole.by("scene").items()}
    token = streamed.tokens[3]
    mine, theirs = (each.assignment(token).matches for each in (streamed, whole))
    assert [(match.prediction, match.truth) for match in mine] == [(match.prediction, match.truth) for match in theirs]


@pytest.mark.parametrize(
    "changes",
    [
        {"cutoffs": (0.5, 1.5)},
        {"crop": True, "region": (30.0, 20.0)},
        {"classes": None},
        {"classes": ("divider", "stop_line")},
        {"order": 2.0},
        {"settings": {"ap_chamfer": {"interpolation": "11-point"}, "ap_frechet": {"interpolation": "11-point"}}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_settings_mean_the_same(world: World, written: tuple[Path, Path], changes: dict[str, object]) -> None:
    protocol = mg.protocol("paper-60x30", **changes)
    assert same(in_chunks(*written, protocol), mg.evaluate(*world, protocol))


def test_rings_mean_the_same(world: World, written: tuple[Path, Path]) -> None:
    rings = (0, 10, 20, math.inf)
    assert same(in_chunks(*written, ranges=rings), mg.evaluate(*world, ranges=rings))


def test_average_precision_by_external_sort_has_the_same_bits(written: tuple[Path, Path], tmp_path: Path) -> None:
    streamed = in_chunks(*written, work=tmp_path / "work")
    assert isinstance(streamed.rows, FolderRows)
    for limit in (1, 7, 100):
        assert same(results_of(streamed.rows.folder, limit=limit), streamed)


def test_a_url_is_read_like_a_folder(world: World, in_memory: mg.Results) -> None:
    pytest.importorskip("fsspec")
    for side, name in zip(world, "xy", strict=True):
        write_folder(side, f"memory://mapgauge/{name}")  # type: ignore[arg-type]
    assert same(in_chunks("memory://mapgauge/x", "memory://mapgauge/y"), in_memory)
    assert len(mg.read("memory://mapgauge/y")) == len(world[1])


def executors() -> list[Executor]:
    return [ThreadPoolExecutor(3), ProcessPoolExecutor(2, mp_context=get_context("spawn"))]


@pytest.mark.parametrize("executor", executors(), ids=["threads", "processes"])
def test_any_executor_does_the_work(few: World, few_sides: tuple[Path, Path], executor: Executor) -> None:
    with executor:
        streamed = in_chunks(*few_sides, LINKED, metrics=OF_FRAMES, engine=executor, most_rows=FEW_ROWS)
    assert same(streamed, mg.evaluate(*few, LINKED, metrics=OF_FRAMES))
    assert {"completeness", "due_to_missed"} <= set(streamed.mean)
    assert set(OF_FRAMES) <= set(streamed.metrics)


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_does_not_show(in_memory: mg.Results, written: tuple[Path, Path], workers: int) -> None:
    assert same(in_chunks(*written, workers=workers), in_memory)


def test_more_frames_than_predictions_and_the_other_way_round(
    world: World, written: tuple[Path, Path], tmp_path: Path
) -> None:
    x = write_folder(copies(world[0], 1), tmp_path / "x")
    y = written[1]
    with pytest.raises(mg.InvalidInput, match=r"^59 of 59 predicted frames"):
        in_chunks(x, y)
    protocol = mg.protocol("paper-60x30")
    ignoring = in_chunks(x, y, protocol, unknown="ignore")
    assert same(ignoring, mg.evaluate(copies(world[0], 1), world[1], protocol, unknown="ignore"))
    assert (ignoring.frames_missing, ignoring.frames_ignored) == (60, 59)
    by_code = {finding.code: finding for finding in ignoring.findings}
    assert by_code["tokens-missing"].message.startswith("60 of 60 frames of the truth (100 %) are not in the")
    assert by_code["tokens-unknown"].message.startswith("59 of 59 frames of the predictions (100 %) are not in the")
    assert (by_code["tokens-missing"].level, by_code["tokens-unknown"].level) == ("error", "note")


def test_counts_of_unknown_and_missing_frames_are_of_all_chunks(
    world: World, written: tuple[Path, Path], tmp_path: Path
) -> None:
    predictions, truth = world
    x, y = written[0], write_folder(truth.at(range(0, 60, 2)), tmp_path / "y")
    with pytest.raises(mg.InvalidInput, match=r"^29 of 59 predicted frames"):
        in_chunks(x, y)
    whole = mg.evaluate(predictions, truth.at(range(0, 60, 2)), unknown="ignore")
    streamed = in_chunks(x, y, unknown="ignore")
    codes = ("tokens-missing", "tokens-unknown")
    first, second = ({f.message for f in found.findings if f.code in codes} for found in (whole, streamed))
    assert first == second
    assert "checked-sample" in {finding.code for finding in streamed.findings}


def test_names_and_poses_do_not_matter(world: World, in_memory: mg.Results, tmp_path: Path) -> None:
    bare = [replace(side, poses=None, timestamps=None, track=None) for side in world]
    x, y = (write_folder(side, tmp_path / name) for side, name in zip(bare, "xy", strict=True))
    assert same(in_chunks(x, y), in_memory)


def test_saved_results_know_their_data_again(written: tuple[Path, Path], tmp_path: Path) -> None:
    x, y = written
    streamed = in_chunks(x, y)
    streamed.save(tmp_path / "results.mg")
    loaded = mg.load_results(tmp_path / "results.mg", x, y)
    assert same(loaded, streamed)
    assert loaded.assignment(streamed.tokens[0]).matches
    with pytest.raises(mg.InvalidInput, match="these are not the predictions that were evaluated"):
        mg.load_results(tmp_path / "results.mg", y, y)
