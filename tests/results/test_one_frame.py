"""A frame that is read alone is drawn as if all frames had been read."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.frames.poses import take_poses
from mapgauge.io import parquet
from mapgauge.io.dataset import DatasetWriter
from mapgauge.results.one_frame import frame_alone
from mapgauge.views.report.explorer import geometry_arrays
from mapgauge.views.report.pack import Arrays

FRAMES = 24
GROUP = 512  # rows; four frames
PAPER = mg.protocol("paper-60x30")
Sides: TypeAlias = tuple[mg.MapFrames, mg.MapFrames]


def stored(frames: mg.MapFrames, path: Path) -> Path:
    """Write frames to a file of several row groups."""
    path.write_bytes(parquet.write(frames, group_rows=GROUP))
    return path


def evaluated(folder: Path, sides: Sides, protocol: mg.Protocol, change: Callable[[Sides], Sides]) -> mg.Results:
    """Write both sides, read and change them, evaluate them, and load the results from their file."""
    files = [stored(side, folder / f"{name}.parquet") for side, name in zip(sides, ("found", "truth"), strict=True)]
    found, truth = change((mg.read(files[0]), mg.read(files[1])))
    mg.evaluate(found, truth, protocol).save(folder / "results.mg")
    return mg.load_results(folder / "results.mg")


def drawing(results: mg.Results) -> Arrays:
    return geometry_arrays(0, results, causes=None, advance=lambda: None, centred=False)


def same(sides: Sides) -> Sides:
    return sides


def rotated(sides: Sides) -> Sides:
    return sides[0].rotate(30.0).filter(0.2), sides[1].rotate(30.0)


def renamed(sides: Sides) -> Sides:
    found, truth = (side.rename({"divider": "lane"}).as_classes(("boundary", "lane")) for side in sides)
    return found, truth


def with_other_poses(sides: Sides) -> Sides:
    """Truth without poses of its own gets those that were given with it."""
    found, truth = sides
    assert truth.poses is not None
    poses = truth.poses.copy()
    poses[:, 0, 3] += 5
    moved = replace(truth, poses=poses)
    return replace(found, poses=None), take_poses(replace(truth, poses=None), moved)


def ignored(sides: Sides) -> Sides:
    found, truth = sides
    return found, truth.with_ignore(np.arange(len(truth.polylines)) % 3 == 0)


def shuffled(sides: Sides) -> Sides:
    found, truth = sides
    return found.at(np.random.default_rng(0).permutation(FRAMES).tolist()), truth


CASES = {
    "points every half metre": (PAPER, same, same),
    "original points": (replace(PAPER, spacing=None), same, same),
    "twenty points": (replace(PAPER, spacing=None, count=20), same, same),
    "cropped": (replace(PAPER, crop=True, region=(30.0, 20.0)), same, same),
    "no region": (replace(PAPER, region=None), same, same),
    "no line closed": (replace(PAPER, closed=False), same, same),
    "steps after reading": (PAPER, same, rotated),
    "other classes": (replace(PAPER, classes=("boundary", "lane")), same, renamed),
    "poses that were given": (PAPER, same, with_other_poses),
    "ignored truth": (PAPER, ignored, same),
    "frames in another order": (PAPER, shuffled, same),
}


@pytest.fixture(scope="module")
def world() -> Sides:
    return demo_world(FRAMES)


@pytest.mark.parametrize("name", CASES)
def test_a_frame_that_is_read_alone_is_drawn_as_with_all_frames(name: str, world: Sides, tmp_path: Path) -> None:
    protocol, before, after = CASES[name]
    results = evaluated(tmp_path, before(world), protocol, after)
    whole = results.with_data()
    closed = 0
    for frame in (0, 7, FRAMES - 1):
        alone = frame_alone(results, results.tokens[frame])
        assert alone is not None
        assert len(alone.need_data().all_sides[1]) < FRAMES / 2, "more was read than the row group"
        expected = drawing(whole.of_frames([frame]))
        drawn = drawing(alone)
        assert list(drawn) == list(expected)
        for key, column in drawn.items():
            assert column.dtype == expected[key].dtype
            np.testing.assert_array_equal(column, expected[key], err_msg=key)
        closed += int(drawn["0.truth.closed"].sum())
    assert closed or name in ("cropped", "no line closed", "other classes")


def test_a_frame_of_a_data_set_of_several_files_is_read_alone(world: Sides, tmp_path: Path) -> None:
    for side, name in zip(world, ("found", "truth"), strict=True):
        writer = DatasetWriter(tmp_path / name, file_rows=400, group_rows=GROUP)
        writer.add(side)
        writer.finish()
    mg.evaluate(mg.read(tmp_path / "found"), mg.read(tmp_path / "truth")).save(tmp_path / "results.mg")
    results = mg.load_results(tmp_path / "results.mg")
    alone = frame_alone(results, results.tokens[3])
    assert alone is not None
    expected = drawing(results.with_data().of_frames([3]))
    for key, column in drawing(alone).items():
        np.testing.assert_array_equal(column, expected[key], err_msg=key)


def test_files_that_were_moved_are_read_where_they_are(world: Sides, tmp_path: Path) -> None:
    results = evaluated(tmp_path, world, PAPER, same)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = [(tmp_path / name).rename(elsewhere / name) for name in ("found.parquet", "truth.parquet")]
    token = results.tokens[5]
    assert frame_alone(results, token) is None
    alone = frame_alone(results, token, (str(moved[0]), moved[1]))
    assert alone is not None
    assert alone.tokens == (token,)


def one_group(folder: Path) -> None:
    for name in ("found", "truth"):
        mg.write(mg.read(folder / f"{name}.parquet"), folder / f"{name}.parquet")


def another_format(folder: Path) -> None:
    mg.write(mg.read(folder / "truth.parquet"), folder / "truth.json", "maptr-truth")
    (folder / "truth.json").rename(folder / "truth.parquet")


def a_line_less(folder: Path) -> None:
    found = mg.read(folder / "found.parquet")
    stored(found.keep(np.arange(1, len(found.polylines))), folder / "found.parquet")


def no_such_frame(folder: Path) -> None:
    found = mg.read(folder / "found.parquet")
    stored(found.at(range(1, FRAMES)), folder / "found.parquet")


def damaged(folder: Path) -> None:
    data = bytearray((folder / "truth.parquet").read_bytes())
    data[100:2000] = bytes(1900)
    (folder / "truth.parquet").write_bytes(data)


def no_file(folder: Path) -> None:
    (folder / "truth.parquet").unlink()


@pytest.mark.parametrize("change", [one_group, another_format, a_line_less, no_such_frame, damaged, no_file])
def test_what_cannot_be_read_alone_is_left_to_reading_all(
    change: Callable[[Path], None], world: Sides, tmp_path: Path
) -> None:
    results = evaluated(tmp_path, world, PAPER, same)
    assert frame_alone(results, results.tokens[0]) is not None
    change(tmp_path)
    assert frame_alone(results, results.tokens[0]) is None


def test_results_of_some_tokens_or_of_a_corridor_are_not_read_alone(world: Sides, tmp_path: Path) -> None:
    some = evaluated(tmp_path, world, PAPER, lambda sides: (sides[0].of_tokens(world[1].tokens[:8]), sides[1]))
    assert frame_alone(some, some.tokens[0]) is None
    corridor = evaluated(tmp_path, world, replace(PAPER, window="corridor:10"), same)
    assert frame_alone(corridor, corridor.tokens[0]) is None
