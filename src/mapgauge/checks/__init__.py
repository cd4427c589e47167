"""What may be wrong with two files, found before a number is computed from them.

A check is a function that looks at a ``Context`` and yields findings. A new one is a function and a row in ``CHECKS``.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mapgauge.checks import classes as class_names
from mapgauge.checks import confidence, coordinates, counts, degenerate, height, shapes, tokens
from mapgauge.checks import region as regions
from mapgauge.checks.context import Context
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region, check_region

# Findings of one level keep this order.
CHECKS: tuple[Callable[[Context], Iterator[Finding]], ...] = (
    tokens.no_frames,
    confidence.on_the_right_side,
    tokens.duplicates,
    tokens.meeting,
    class_names.names,
    height.dimensions,
    coordinates.turned,
    coordinates.coordinates,
    regions.asked_for,
    regions.far_away,
    height.height,
    confidence.in_range,
    confidence.telling_apart,
    class_names.exchanged,
    class_names.without_instances,
    shapes.agreeing,
    counts.empty,
    counts.published,
    tokens.order,
    degenerate.points,
    degenerate.duplicates,
    shapes.shares,
)

_LEVELS = ("error", "warning", "note")


def check(
    predictions: MapFrames,
    truth: MapFrames,
    *,
    region: Region | None = None,
    classes: Sequence[str] | None = None,
) -> tuple[Finding, ...]:
    """Look for what may be wrong with predictions and truth, before a number is computed from them.

    Tokens or class names that do not meet, exchanged sides, classes or axes, another region, another unit, confidences
    that are none, and more. Nothing is changed; a finding says what to do.

    Args:
        predictions: The predictions.
        truth: The truth.
        region: What will be compared: ``(length, width)`` around the ego or ``(x_min, y_min, x_max, y_max)``, metres.
        classes: The classes that will be compared, by name; all if None.

    Returns:
        The findings, most severe first, and among them those of the readers (``frames.findings``). A finding has a
        stable ``code`` for programs.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"boundary": [[[0, 0], [9, 0]]]}})
    >>> predictions = mg.MapFrames.of({"a": {"contours": [[[0, 1], [9, 1]]]}}, confidence={"a": {"contours": [0.7]}})
    >>> for finding in check(predictions, truth):
    ...     print(finding)
    error: the sides have different names for the same class: contours for boundary. Use
    predictions.rename({'contours': 'boundary'})
    """
    box = None if region is None else check_region(region)
    context = Context.of(predictions, truth, box, classes)
    found = [*predictions.findings, *truth.findings]
    with np.errstate(all="ignore"):  # coordinates may be so large that their squares are not finite
        for function in CHECKS:
            found += function(context)
    return tuple(sorted(dict.fromkeys(found), key=lambda finding: _LEVELS.index(finding.level)))


__all__ = ["CHECKS", "check"]
