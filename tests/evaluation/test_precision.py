"""Average precision from records in parts: in memory, and by an external sort with the same bits."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.metrics.average_precision import Interpolation
from mapgauge.scoring import precision as module
from mapgauge.scoring.precision import Records, precisions

PROTOCOL = mg.protocol("paper-60x30").replace(
    settings={"ap_chamfer": {"thresholds": (0.5, 1.0)}, "ap_frechet": {"thresholds": (1.0,)}}
)
METRICS = ("ap_chamfer", "ap_frechet")
INTERPOLATIONS = pytest.mark.parametrize("interpolation", ["area", "11-point", "101-point"])
LIMITS = pytest.mark.parametrize("limit", [1, 3, 7, 50, 1000])


def by_definition(records: list[Records], truth: int, interpolation: Interpolation) -> list[list[float]]:
    """Return ``average_precision`` of all records together, for each setting of each metric."""
    confidence = np.concatenate([part[0] for part in records])
    hits = np.concatenate([part[1] for part in records])
    found = [hits[:, 0] & 1 > 0, hits[:, 0] & 2 > 0, hits[:, 1] & 1 > 0]
    values = [mg.average_precision(confidence, flags, truth, interpolation=interpolation) for flags in found]
    return [values[:2], values[2:]]


def random_records(rng: np.random.Generator, sizes: list[int]) -> list[Records]:
    """Coarse confidences, so that a level is in several parts and runs. The first metric has two bits."""
    return [
        (np.round(rng.random(n), 1), np.stack([rng.integers(0, 4, n), rng.integers(0, 2, n)], axis=1).astype(np.uint16))
        for n in sizes
    ]


@INTERPOLATIONS
@LIMITS
@pytest.mark.parametrize("window", [1, 4, 1 << 18])
def test_an_external_sort_has_the_bits_of_the_definition(
    interpolation: Interpolation,
    limit: int,
    window: int,
    tmp_path: Path,
    rng: np.random.Generator,
) -> None:
    classes = [random_records(rng, [5, 1, 0, 9, 30]), random_records(rng, [2]), random_records(rng, [40, 20])]
    truth = [60, 2, 0]
    counts = [sum(len(part[0]) for part in records) for records in classes]
    found = precisions(
        *(
            classes.__getitem__,
            counts,
            truth,
            PROTOCOL.replace(
                settings={
                    "ap_chamfer": {"interpolation": interpolation},
                    "ap_frechet": {"interpolation": interpolation},
                }
            ),
            METRICS,
            tmp_path,
            limit,
            window,
        )
    )
    assert list(found) == list(METRICS)
    for c, (records, true) in enumerate(zip(classes, truth, strict=True)):
        if true:
            expected = by_definition(records, true, interpolation)
            assert [found[name][:, c].tolist() for name in METRICS] == expected
        else:
            assert [found[name][:, c].tolist() for name in METRICS] == [[0, 0], [0]]
    assert list(tmp_path.iterdir()) == []


@INTERPOLATIONS
@LIMITS
def test_a_curve_by_hand(interpolation: Interpolation, limit: int, tmp_path: Path) -> None:
    """Hits at ranks 1, 3 and 4 of 5 and 4 true instances, as in the test of ``average_precision``."""

    def records(_: int) -> Iterator[Records]:
        bits = np.array([[0, 0], [1, 0], [1, 0], [0, 0], [1, 0]], np.uint16)
        confidence = np.array([0.5, 0.9, 0.7, 0.8, 0.6])
        yield confidence[:2], bits[:2]
        yield confidence[2:], bits[2:]

    protocol = PROTOCOL.replace(
        settings={"ap_chamfer": {"interpolation": interpolation}, "ap_frechet": {"interpolation": interpolation}}
    )
    found = precisions(records, [5], [4], protocol, METRICS, tmp_path, limit)
    expected = {"area": 2.5 / 4, "11-point": 6.75 / 11, "101-point": 63.5 / 101}[interpolation]
    assert found["ap_chamfer"][:, 0].tolist() == pytest.approx([expected, 0], abs=1e-15)
    assert found["ap_frechet"][:, 0].tolist() == [0]


def test_without_average_precisions_nothing_is_read(tmp_path: Path) -> None:
    def records(_: int) -> Iterator[Records]:
        raise AssertionError

    assert precisions(records, [5], [4], PROTOCOL, (), tmp_path) == {}


@pytest.mark.parametrize("limit", [0, 10])
def test_a_class_without_predictions_has_the_value_0(limit: int, tmp_path: Path) -> None:
    found = precisions(lambda _: iter(()), [0], [4], PROTOCOL, METRICS, tmp_path, limit)
    assert found["ap_chamfer"].tolist() == [[0], [0]]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (6, [None, "_in_memory", "_in_memory"]),
        (5, [1, "_in_memory", "_in_memory"]),
        (4, [1, "_external", "_in_memory"]),
    ],
)
def test_up_to_the_limit_predictions_are_sorted_in_memory(
    limit: int, expected: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two classes with 5 predictions and 1. Classes run at the same time only if all of them fit into memory."""
    called: list[object] = []

    def pool(workers: int | None) -> ThreadPoolExecutor:
        called.append(workers)
        return ThreadPoolExecutor(1)

    def noted(name: str, *_: object) -> list[float]:
        called.append(name)
        return [0.0] * 3

    monkeypatch.setattr(module, "ThreadPoolExecutor", pool)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    for name in ("_in_memory", "_external"):
        monkeypatch.setattr(module, name, partial(noted, name))
    precisions(lambda _: iter(()), [5, 1], [4, 4], PROTOCOL, METRICS, tmp_path, limit)
    assert called == expected


def pieces(*sizes: int) -> list[Records]:
    """Predictions of falling confidence, none of which hits."""
    confidence = np.split(np.arange(sum(sizes), 0, -1) / 100, np.cumsum(sizes)[:-1])
    return [(part, np.zeros((len(part), 2), np.uint16)) for part in confidence]


def test_a_run_ends_when_it_reaches_the_limit(tmp_path: Path) -> None:
    runs, number, found = module._runs(pieces(2, 1, 2, 1, 1), [(0, 0), (1, 0)], tmp_path, 3)
    assert [confidence.tolist() for confidence, _ in runs] == [[0.05, 0.06, 0.07], [0.02, 0.03, 0.04], [0.01]]
    assert all(isinstance(column, np.memmap) for run in runs for column in run)
    assert (number, found.tolist()) == (7, [0, 0])
    names = [f"{k}.{part}.npy" for k in range(3) for part in ("confidence", "hits")]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_blocks_are_as_large_as_the_window_allows() -> None:
    """The first window of the second run ends at 0.02, so the first block has no larger confidence."""
    runs = [(np.array(column), np.zeros((len(column), 1), np.uint16)) for column in ([0.01, 0.03, 0.05], [0.02, 0.02])]
    assert [block[0].tolist() for block in module._merged(runs, 2)] == [[0.01, 0.02, 0.02], [0.03, 0.05]]


@pytest.mark.parametrize(
    ("sizes", "limit", "longest", "expected"),
    [
        ((4, 4, 4, 4, 4), 8, 100, 8 // 3),
        ((4, 4, 4, 4, 4), 8, 6, 6 // 3),
        ((9,), 8, 100, 8),
        ((1, 1, 1, 1, 1), 1, 100, 1),
    ],
)
def test_the_windows_of_all_runs_fit_into_memory(
    sizes: tuple[int, ...], limit: int, longest: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = []

    def merged(runs: list[Records], window: int) -> Iterator[Records]:
        windows.append(window)
        assert [path.name[:5] for path in tmp_path.iterdir()] == ["sort-"]
        yield from ()

    monkeypatch.setattr(module, "_merged", merged)
    precisions(lambda _: pieces(*sizes), [sum(sizes)], [4], PROTOCOL, METRICS, tmp_path, limit, longest)
    assert windows == [expected]
