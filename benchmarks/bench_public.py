"""Compares the time of mapgauge with that of the public evaluators' way to compute Chamfer-AP.

Run it with ``make bench-public``. The data is part of the repository: ``tests/data/parity`` (23 frames) and 100 frames
of the demo. Shapely resamples line by line, SciPy computes every distance, and a loop marks the hits, as the evaluators
of StreamMapNet and MapTR do. Both must find the same values before anything is timed. Times are processor time.
"""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import plain
from benchmarks.baseline import Floats
from benchmarks.tables import heading, machine, race, row
from scipy.spatial.distance import cdist
from shapely.geometry import LineString

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.protocols import Protocol

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "parity"
ROUNDS = 3
MORE = 10  # rounds of mapgauge for one of the baseline, which takes longer
TOLERANCE = 1e-9
FAR = 100.0  # metres, in the place of a distance that MapTR does not compute
PROTOCOLS = ("streammapnet-60x30", "maptr")


def chamfer_precisions(groups: Sequence[plain.Group], protocol: Protocol) -> list[float]:
    """Return the average precision of one class at each threshold."""
    settings = protocol.settings["ap_chamfer"]
    hits: list[list[Floats]] = [[] for _ in settings.thresholds]
    for predictions, confidence, truth in groups:
        x = [_sampled(LineString(line), protocol.count) for line in predictions]
        y = [_sampled(LineString(line), protocol.count) for line in truth]
        distances = np.full((len(x), len(y)), FAR)
        bands = [_band(line, settings.buffers) for line in [*x, *y]]
        for i, j in np.ndindex(distances.shape):
            if settings.buffers is None or bands[i].intersects(bands[len(x) + j]):
                between = cdist(x[i], y[j])
                distances[i, j] = (between.min(axis=0).mean() + between.min(axis=1).mean()) / 2
        for t, threshold in enumerate(settings.thresholds):
            hits[t].append(plain.hits(distances, confidence, threshold))
    confidences = np.concatenate([group.confidence for group in groups])
    count = sum(len(group.truth) for group in groups)
    return [plain.area(confidences, np.concatenate(hit), count) for hit in hits]


def _sampled(line: LineString, count: int | None) -> Floats:
    places = np.linspace(0.0, line.length, count or 0)
    return np.array([line.interpolate(place).coords[0] for place in places])


def _band(line: Floats, width: float | None) -> Any:
    """Return what lies within some metres of a line."""
    return None if width is None else LineString(line).buffer(width, cap_style="flat", join_style="mitre")


def compare(data: str, predictions: mg.MapFrames, truth: mg.MapFrames, name: str) -> None:
    """Print a row for a protocol on some data."""
    protocol = mg.protocol(name)
    groups = {label: plain.groups_of(predictions, truth, label) for label in protocol.classes or ()}
    ours = partial(mg.evaluate, predictions, truth, protocol, workers=1)
    found = ours()
    thresholds = protocol.settings["ap_chamfer"].thresholds
    for label, group in groups.items():
        values = [found.classes[label][f"ap_chamfer@{threshold}"] for threshold in thresholds]
        expected = chamfer_precisions(group, protocol)
        if not np.allclose(np.array(values, np.float64), expected, rtol=0, atol=TOLERANCE):
            raise SystemExit(
                f"{data}, {name}, {label}: mapgauge gives {values}, the baseline {expected}; they must agree"
            )
    baseline = partial(_all, list(groups.values()), protocol)
    slow, *fast = race(baseline, *[ours] * MORE, rounds=ROUNDS, clock=time.process_time)
    frames = len(truth)
    row(
        data,
        f"`{name}`",
        f"{frames}",
        f"{len(predictions.polylines) / frames:.0f}",
        f"{1e3 * slow / frames:.1f} ms",
        f"{1e3 * min(fast) / frames:.2f} ms",
        f"{slow / min(fast):,.0f}",
    )


def _all(groups: Sequence[Sequence[plain.Group]], protocol: Protocol) -> None:
    for group in groups:
        chamfer_precisions(group, protocol)


def main() -> None:
    """Read the data, measure, and print the table."""
    machine("numpy", "numba", "scipy", "shapely", "mapgauge")
    truth = mg.read(FOLDER / "tmp_gts_demo_60x30.pkl")
    predictions = mg.read(FOLDER / "submission_vector_good.json.gz")
    both = set(truth.tokens) & set(predictions.tokens)
    predictions, truth = (
        side.at([k for k, token in enumerate(side.tokens) if token in both]) for side in (predictions, truth)
    )
    worlds = {"`tests/data/parity`": (predictions, truth), "the demo": demo_world(100)}
    heading(
        "Chamfer-AP of three classes, one worker, processor time for a frame",
        *("data", "protocol", "frames", "predictions in a frame", "the public way", "mapgauge", "times as fast"),
    )
    for data, (x, y) in worlds.items():
        for name in PROTOCOLS:
            compare(data, x, y, name)


if __name__ == "__main__":
    main()
