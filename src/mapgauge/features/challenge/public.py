"""What may be published of results: values of classes and their means, with intervals, and no value of a frame."""

import math
from collections import Counter
from typing import Any

from mapgauge.features.challenge.manifest import settings_of
from mapgauge.results.bootstrap import SAMPLES
from mapgauge.results.comparison import compare
from mapgauge.results.intervals import LEVEL
from mapgauge.results.metadata import digest_of
from mapgauge.results.results import Results

RESULT_KEY = "mapgauge_result"  # the key with the version of a public file
RESULT_VERSION = 1
_DRAWS = {"samples": SAMPLES, "level": LEVEL, "seed": 0}  # of the intervals


def public_values(results: Results, *, show_scenes: bool) -> dict[str, Any]:
    """Return everything of results that may be published, and that follows from the inputs alone.

    Findings are told without their words and examples, which may name frames.
    """
    comparison = compare([results], names=["submission"], samples=SAMPLES, level=LEVEL, seed=0)
    (estimates,) = comparison.estimates
    values = {"mean": results.mean, **results.classes}
    return {
        "mapgauge": results.version,
        "settings": settings_of(results.protocol, results.metrics),
        "digests": {
            "predictions": results.inputs[0].hash,
            "truth": results.inputs[1].hash,
            "settings": digest_of(settings_of(results.protocol, results.metrics)),
        },
        "frames": results.frame_counts,
        "values": values,
        "intervals": {
            name: {key: _bounds(each.low, each.high) for key, each in by_key.items()}
            for name, by_key in estimates.items()
        },
        "draws": {**_DRAWS, "drawn": comparison.drawn, "units": comparison.units},
        "scenes": _scenes(results) if show_scenes else None,
        "findings": [
            {"level": finding.level, "code": finding.code, "count": finding.count} for finding in results.findings
        ],
    }


def _bounds(low: float, high: float) -> list[float] | None:
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return [low, high]


def _scenes(results: Results) -> dict[str, dict[str, float | None]] | None:
    """Return the means of each scene that has several frames. The value of a scene with one is that of its frame."""
    if results.scenes is None:
        return None
    frames = Counter(results.scenes)
    places: dict[str, list[int]] = {name: [] for name, count in frames.items() if count > 1}
    for place, name in enumerate(results.scenes):
        if name in places:
            places[name].append(place)
    return {name: dict(results.of_frames(some).mean) for name, some in sorted(places.items())}
