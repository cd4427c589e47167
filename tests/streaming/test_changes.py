"""Inputs that changed since their chunks were scored are recognised, whatever their footers say."""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.streaming.worlds import in_chunks, same, write_file

import mapgauge as mg
from mapgauge.evaluation.streaming import work
from mapgauge.evaluation.streaming.plan import Chunk
from mapgauge.io.dataset import open_dataset
from mapgauge.results.folder import Folder

World = tuple[mg.MapFrames, mg.MapFrames]
SWAPS = 20


def small(world: World, frames: int = 6) -> World:
    return world[0].at(range(frames)), world[1].at([world[1].index[token] for token in world[0].tokens[:frames]])


def swapped(frames: mg.MapFrames, draw: random.Random) -> mg.MapFrames:
    """Return the frames with two confidences of one frame exchanged."""
    assert frames.confidence is not None
    confidence = frames.confidence.copy()
    while True:
        k = draw.randrange(len(frames))
        first, last = frames.offsets[k : k + 2]
        i, j = draw.sample(range(first, last), 2)
        if confidence[i] != confidence[j]:
            break
    confidence[[i, j]] = confidence[[j, i]]
    return replace(frames, confidence=confidence)


def test_exchanged_confidences_are_noticed(world: World, tmp_path: Path) -> None:
    predictions, truth = small(world)
    x, y, draw = tmp_path / "x.parquet", tmp_path / "y.parquet", random.Random(7)
    write_file(predictions, x)
    write_file(truth, y)
    in_chunks(x, y, work=tmp_path / "work")
    footers, original = open_dataset(x).digest, x.read_bytes()
    equal_footers = 0
    for _ in range(SWAPS):
        write_file(swapped(predictions, draw), x)
        equal_footers += open_dataset(x).digest == footers
        with pytest.raises(mg.InvalidInput, match="the predictions changed since the evaluation began"):
            in_chunks(x, y, work=tmp_path / "work", resume=True)
    assert equal_footers > SWAPS / 2  # footers alone would not be enough
    x.write_bytes(original)
    assert same(in_chunks(x, y, work=tmp_path / "work", resume=True), mg.evaluate(predictions, truth))


def test_a_change_that_keeps_size_and_time_is_noticed(world: World, tmp_path: Path) -> None:
    predictions, truth = small(world)
    x, y, draw = tmp_path / "x.parquet", tmp_path / "y.parquet", random.Random(1)
    write_file(predictions, x)
    write_file(truth, y)
    in_chunks(x, y, work=tmp_path / "work")
    then = x.stat()
    size = -1
    while size != then.st_size:
        write_file(swapped(predictions, draw), x)
        size = x.stat().st_size
    os.utime(x, ns=(then.st_atime_ns, then.st_mtime_ns))
    with pytest.raises(mg.InvalidInput, match="the predictions changed"):
        in_chunks(x, y, work=tmp_path / "work", resume=True)


def test_a_touched_file_is_accepted_after_it_was_read_again(
    sides: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = in_chunks(*sides, work=tmp_path / "work")
    read: list[int] = []

    def counted(job: work.Job, chunk: Chunk) -> work.Reread:
        read.append(chunk.index)
        return work.read_again(job, chunk)

    monkeypatch.setattr("mapgauge.evaluation.streaming.run.read_again", counted)
    assert same(in_chunks(*sides, work=tmp_path / "work", resume=True), first)
    assert not read  # nothing was touched
    next(sides[0].glob("*.parquet")).touch()
    assert same(in_chunks(*sides, work=tmp_path / "work", resume=True), first)
    assert sorted(read) == list(range(Folder(tmp_path / "work").about.chunks))
    read.clear()
    assert same(in_chunks(*sides, work=tmp_path / "work", resume=True), first)
    assert not read  # the new times were noted


def test_exchanged_scenes_are_noticed(world: World, tmp_path: Path) -> None:
    predictions, truth = small(world)
    y = tmp_path / "y.parquet"
    write_file(predictions, tmp_path / "x.parquet")
    write_file(replace(truth, scenes=("a", "b", "a", "b", "b", "a")), y)
    in_chunks(tmp_path / "x.parquet", y, work=tmp_path / "work")
    write_file(replace(truth, scenes=("a", "a", "b", "b", "b", "a")), y)
    with pytest.raises(mg.InvalidInput, match="changed since the evaluation began"):
        in_chunks(tmp_path / "x.parquet", y, work=tmp_path / "work", resume=True)


def test_a_file_written_during_the_evaluation_is_refused_until_it_is_compared(
    in_memory: mg.Results, sides: tuple[Path, Path], tmp_path: Path
) -> None:
    file = next(sides[0].glob("*.parquet"))
    with pytest.raises(mg.InvalidInput, match="written while it was evaluated.*resume=True"):
        in_chunks(*sides, work=tmp_path / "work", progress=lambda *_: file.touch())
    assert same(in_chunks(*sides, work=tmp_path / "work", resume=True), in_memory)


def test_the_geometry_of_changed_files_is_not_used(world: World, tmp_path: Path) -> None:
    predictions, truth = small(world)
    x, y = tmp_path / "x.parquet", tmp_path / "y.parquet"
    write_file(predictions, x)
    write_file(truth, y)
    in_chunks(x, y, work=tmp_path / "work")
    assert mg.load_results(tmp_path / "work").data is not None
    assert mg.load_results(tmp_path / "work", x, y).data is not None
    footers, draw = open_dataset(x).digest, random.Random(2)
    write_file(swapped(predictions, draw), x)
    while open_dataset(x).digest != footers:
        write_file(swapped(predictions, draw), x)
    with pytest.raises(mg.InvalidInput, match="x.parquet: changed since the evaluation"):
        _ = mg.load_results(tmp_path / "work").data


def test_files_behind_urls_have_stamps(world: World, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    predictions, truth = small(world)
    for frames, name in ((predictions, "x"), (truth, "y")):
        write_file(frames, tmp_path / f"{name}.parquet")
        with fsspec.open(f"memory://stamps/{name}.parquet", "wb") as file:
            file.write((tmp_path / f"{name}.parquet").read_bytes())
    urls = "memory://stamps/x.parquet", "memory://stamps/y.parquet"
    in_chunks(*urls, work=tmp_path / "work")
    assert all(open_dataset(urls[0]).stamps.values())
    assert open_dataset(urls[0]).stamps == open_dataset(urls[0]).stamps
    write_file(swapped(predictions, random.Random(3)), tmp_path / "x.parquet")
    with fsspec.open(urls[0], "wb") as file:
        file.write((tmp_path / "x.parquet").read_bytes())
    with pytest.raises(mg.InvalidInput, match="the predictions changed"):
        in_chunks(*urls, work=tmp_path / "work", resume=True)
