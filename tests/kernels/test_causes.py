"""The compiled kernels of causes, lengths and offsets agree with the definitions in plain Python."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.arrays import Points
from tests.causes.planted import PLANTED, PROTOCOL, planted
from tests.kernels import reference_causes as reference

import mapgauge as mg
from mapgauge import kernels
from mapgauge.metrics.causes import CAUSES
from mapgauge.metrics.completeness import BINS, RINGS, SURE

EDGES = (0, 10, 20)  # where the rings of a region of 60 m by 30 m begin


def line(rng: np.random.Generator, closed: bool) -> Points:
    """Return a line that winds, or a ring, of 3 to 14 points."""
    n = int(rng.integers(3, 15))
    turn = np.cumsum(rng.normal(0, 0.3, n)) if not closed else np.linspace(0, 2 * np.pi, n, endpoint=False)
    steps = rng.uniform(0.5, 1.2, (n, 1)) * np.column_stack([np.cos(turn), np.sin(turn)])
    points = np.cumsum(steps, axis=0) + rng.uniform(-4, 4, 2)
    return np.concatenate([points, points[:1]]) if closed else points


def spoiled(rng: np.random.Generator, points: Points) -> Points:
    """Return a line with one of several errors."""
    kind = rng.integers(6)
    noisy: Points = points + rng.normal(0, 0.3, points.shape) + rng.normal(0, 0.5, 2)
    if (points[0] == points[-1]).all():
        noisy[-1] = noisy[0]  # the ends of a ring are equal, not only close
    if kind == 0:
        return noisy[: max(len(points) // 2, 2)]
    if kind == 1:
        return noisy[::-1]
    if kind == 2:
        noisy += rng.choice([-2.0, 2.0], 2)
    if kind == 3:
        return np.concatenate([noisy, np.add(noisy[-1:], [[0.8, 0.1], [1.7, 0.2], [2.5, 0.1]])])
    if kind == 4:
        return noisy[len(points) // 2 :] if len(points) > 3 else noisy
    return noisy


def frames(seed: int, count: int) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return small random frames of two classes, with errors of all kinds."""
    rng = np.random.default_rng(seed)
    lines: dict[str, dict[str, list[Any]]] = {}
    truth: dict[str, dict[str, list[Any]]] = {}
    sure: dict[str, dict[str, list[float]]] = {}
    for k in range(count):
        t, names = f"{k:03}", ("divider", "boundary")
        truth[t] = {name: [line(rng, bool(rng.random() < 0.2)) for _ in range(rng.integers(4))] for name in names}
        lines[t] = {name: [line(rng, bool(rng.random() < 0.2))] for name in names}
        for name in names:
            for points in truth[t][name]:
                for _ in range(rng.integers(4)):
                    other = names[int(rng.integers(2))] if rng.random() < 0.2 else name
                    lines[t][other].append(spoiled(rng, points))
            if len(truth[t][name]) > 1:
                lines[t][name].append(np.concatenate(truth[t][name][:2]))
        sure[t] = {name: rng.uniform(0.05, 1, len(lines[t][name])).tolist() for name in names}
    kinds = ["divider", "boundary"]
    return mg.MapFrames.of(lines, confidence=sure, classes=kinds), mg.MapFrames.of(truth, classes=kinds)


def sides_of(results: mg.Results, token: str) -> tuple[list[Any], list[Any], dict[int, Any]]:
    """Return the lines of a frame and their match, as the reference takes them."""
    found = results.assignment(token)

    def lines(instances: Any, closed: list[bool]) -> list[Any]:
        return [
            SimpleNamespace(
                points=one.points[:-1] if ring and (one.points[0] == one.points[-1]).all() else one.points,
                label=one.class_name,
                confidence=1.0 if one.confidence is None else one.confidence,
                closed=ring,
            )
            for one, ring in zip(instances, closed, strict=True)
        ]

    true = lines(found.truth, found.truth_closed)
    order = sorted(range(len(true)), key=lambda j: (len(true[j].points), true[j].points.tolist()))
    match = {m.prediction: (order.index(m.truth), m.pairs.tolist()) for m in found.matches}
    return lines(found.predictions, found.predictions_closed), [true[j] for j in order], match


def check(results: mg.Results, thresholds: mg.Thresholds) -> None:
    """Compare all frames. Every cause must occur in one of them."""
    assert results.data is not None
    found = mg.causes(results, thresholds=thresholds, workers=1)
    more = mg.evaluate(*results.data, results.protocol, metrics=["pld", "completeness"], workers=1)
    lengths = more.scores.sums["completeness"][0]
    assert (found.per_frame.sum(axis=(0, 1)) > 0).all()
    cutoff = results.protocol.cutoffs[0]
    shares = (getattr(thresholds, name) for name in ("covered", "winding", "sure", "faint", "worth"))
    rules = cutoff, cutoff * thresholds.reach, *shares
    for f, token in enumerate(results.tokens):
        sides = sides_of(results, token)
        costs = reference.causes_of_frame(*sides, rules)
        sums = reference.lengths_and_offsets(*sides, cutoff, SURE, BINS, EDGES, RINGS)
        for c, name in enumerate(results.class_names):
            expected = [costs[name, cause] for cause in CAUSES]
            assert found.per_frame[f, c] == pytest.approx(expected, rel=1e-9, abs=1e-12), (token, name)
            assert lengths[f, c, :-1] == pytest.approx(sums[name], rel=1e-6, abs=1e-7), (token, name)


@pytest.mark.parametrize(
    ("seed", "thresholds", "settings"),
    [
        (0, mg.Thresholds(), {}),
        (1, mg.Thresholds(covered=0.8, reach=3.0), {"directed": True}),
        (2, mg.Thresholds(covered=0.2, winding=0.0, sure=0.3, faint=0.3, worth=0.5), {"cutoffs": (0.9,)}),
    ],
)
def test_random_frames(seed: int, thresholds: mg.Thresholds, settings: dict[str, Any]) -> None:
    protocol = mg.protocol("paper-60x30", classes=["divider", "boundary"], spacing=None, **settings)
    check(mg.evaluate(*frames(seed, 15), protocol, metrics=["pld"], workers=1), thresholds)


def test_planted_errors() -> None:
    check(mg.evaluate(*planted(*PLANTED), PROTOCOL, metrics=["pld"], workers=1), mg.Thresholds())


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_covered_and_nearest_points(rng: np.random.Generator, dimension: int) -> None:
    sizes = rng.integers(1, 40, 20)
    points = np.ascontiguousarray(np.cumsum(rng.normal(0, 0.7, (sizes.sum(), dimension)), axis=0).T)
    ends = sizes.cumsum().astype(np.uint64)
    lines = kernels.lines.index_lines(points, ends - sizes.astype(np.uint64), ends)
    flags = np.empty(points.shape[1], bool)
    gap = np.empty(points.shape[1])
    spans = [(int(end - size), int(end)) for size, end in zip(sizes, ends.astype(np.int64), strict=True)]
    plain = [SimpleNamespace(points=points[:, start:stop].T) for start, stop in spans]
    u = np.uint64
    for x, y in rng.integers(0, 20, (60, 2)).tolist():
        if x == y:
            continue
        (start, stop), limit = spans[x], float(rng.uniform(0.2, 4))
        expected = reference.covered(plain[x], plain[y], limit)
        share = kernels.fits.share_covered(lines, u(x), u(y), limit**2, 0.0, flags)
        assert flags[start:stop].tolist() == expected
        assert share == sum(expected) / len(expected)
        early = kernels.fits.share_covered(lines, u(x), u(y), limit**2, 0.5, flags)
        assert early == share if share >= 0.5 else early < 0.5
        kernels.fits.gaps_between(lines, u(x), u(y), limit**2, gap)
        assert (gap[start:stop] < limit**2).tolist() == expected
        nearest = reference.nearest(plain[x], plain[y])
        for i in np.flatnonzero(expected).tolist():
            found = kernels.fits.nearest_point(lines, u(start + i), u(y), gap[start + i])
            assert found == spans[y][0] + nearest[i]
