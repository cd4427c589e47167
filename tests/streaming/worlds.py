"""Data sets for the tests, with small row groups, so that little data has many chunks."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.evaluation.streaming.plan import ROWS, plan_of
from mapgauge.evaluation.streaming.run import evaluate_stream
from mapgauge.io import parquet
from mapgauge.io.dataset import DatasetWriter, open_dataset
from mapgauge.metrics.table import METRICS, chosen_metrics
from mapgauge.scoring.prepare import check_rings

GROUP = 320  # rows
CHUNK = ROWS  # that are read together by default
FEW_ROWS = 60  # in a chunk of ``few_sides``
# Metrics of frames with the protocol that has all their settings. Network PLD is there unless its feature was deleted.
OF_FRAMES: tuple[str, ...] = ("pld", "completeness", "causes", "ap_chamfer", "ap_frechet")
LINKED = mg.protocol("paper-60x30")
if "network_pld" in METRICS:
    OF_FRAMES = (*OF_FRAMES, "network_pld")
    LINKED = LINKED.replace(settings={"network_pld": {"break_cost": 0.5}})


@pytest.fixture(scope="session")
def world() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Predictions and truth of 60 frames in six scenes. The predictions lack one frame, and one frame has no truth."""
    predictions, truth = demo_world(60, seed=3, predictions=20)
    kept = [i for i, token in enumerate(predictions.tokens) if token != truth.tokens[7]]
    return predictions.at(kept), truth.keep(truth.frame != 11)


@pytest.fixture(scope="session")
def in_memory(world: tuple[mg.MapFrames, mg.MapFrames]) -> mg.Results:
    """Return the evaluation of the world in memory."""
    return mg.evaluate(*world)


@pytest.fixture(scope="session")
def written(world: tuple[mg.MapFrames, mg.MapFrames], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Write the world as two data sets. Tests that change them take ``sides``."""
    folder = tmp_path_factory.mktemp("world")
    x, y = (write_folder(side, folder / name) for side, name in zip(world, "xy", strict=True))
    return x, y


@pytest.fixture
def sides(written: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """Return a copy of the two data sets."""
    x, y = (Path(shutil.copytree(side, tmp_path / side.name)) for side in written)
    return x, y


@pytest.fixture(scope="session")
def few() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Predictions and truth of 12 frames with few predictions, for metrics that are slow."""
    return demo_world(12, seed=3, predictions=4)


@pytest.fixture
def few_sides(few: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path) -> tuple[Path, Path]:
    """Write the few frames as two data sets of several chunks with ``FEW_ROWS``."""
    x, y = (write_folder(side, tmp_path / name) for side, name in zip(few, "xy", strict=True))
    assert len(plan_of(open_dataset(x), open_dataset(y), most_rows=FEW_ROWS).chunks) > 2
    return x, y


def in_chunks(
    predictions: str | Path,
    truth: str | Path,
    protocol: str | mg.Protocol = "paper-60x30",
    *,
    metrics: Sequence[str] | None = None,
    ranges: Sequence[float] = (),
    most_rows: int = 2 * GROUP,
    **options: Any,
) -> mg.Results:
    """Evaluate two data sets as ``mg.evaluate`` does, in chunks that hold only a few frames."""
    settings = mg.protocol(protocol)
    chosen = chosen_metrics(settings, metrics)
    return evaluate_stream(
        predictions,
        truth,
        settings,
        metrics=chosen,
        rings=check_rings(ranges, chosen),
        most_rows=most_rows,
        **options,
    )


def write_file(frames: mg.MapFrames, path: Path) -> Path:
    """Write frames as a file with small row groups, and return its path."""
    path.write_bytes(parquet.write(frames, group_rows=GROUP))
    return path


def write_folder(frames: mg.MapFrames, path: Path, group_rows: int = GROUP) -> Path:
    """Write frames as a data set with small row groups, and return its path."""
    return write_parts([frames], path, group_rows)


def write_parts(parts: Iterable[mg.MapFrames], path: Path, group_rows: int = GROUP) -> Path:
    """Write parts one after the other as one data set, and return its path."""
    writer = DatasetWriter(path, group_rows=group_rows)
    for k, part in enumerate(parts):
        writer.add(part, f"part-{k:04}", workers=1)
    writer.finish()
    return path


def without_scenes(frames: mg.MapFrames) -> mg.MapFrames:
    """Return the frames without scenes."""
    return replace(frames, scenes=None)


def copies(frames: mg.MapFrames, number: int) -> mg.MapFrames:
    """Return a copy of the frames with other tokens and scenes."""
    assert frames.scenes is not None
    return replace(
        frames,
        tokens=tuple(f"{number:04}-{token}" for token in frames.tokens),
        scenes=tuple(f"{number:04}-{scene}" for scene in frames.scenes),
    )


def same(one: mg.Results, other: mg.Results) -> bool:
    """Whether two results are equal to the last bit."""
    frames = (one.frames_missing, one.frames_ignored) == (other.frames_missing, other.frames_ignored)
    counts = one.to_dict()["frames"] == other.to_dict()["frames"]
    return one.classes == other.classes and one.mean == other.mean and frames and counts
