"""Checks predictions and truth for likely mistakes before anything is computed from them.

A check is a function that takes a ``Context`` and yields findings. To add one, write the function and add it to
``CHECKS``.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mapgauge.checks import classes as class_names
from mapgauge.checks import confidence, coordinates, counts, links, shapes, tokens, tracks
from mapgauge.checks import region as regions
from mapgauge.checks import shapes as degenerate
from mapgauge.checks import shapes as height
from mapgauge.checks.context import Context
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region

# Findings of the same level are listed in this order.
CHECKS: tuple[Callable[[Context], Iterator[Finding]], ...] = (
    tokens.no_frames,
    confidence.on_the_right_side,
    tokens.duplicates,
    tokens.meeting,
    class_names.names,
    class_names.not_compared,
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
    tracks.one_side_only,
    tracks.ids,
    tracks.shared,
    links.one_side_only,
    links.ends,
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
    """Check predictions and truth for likely mistakes before anything is computed from them.

    The checks find tokens or class names that do not match, swapped sides, classes or axes, different regions or
    units, confidences outside [0, 1], and more. They change nothing. Each finding says what to do.

    Args:
        predictions: The predictions.
        truth: The truth.
        region: The region to compare: ``(length, width)`` around the ego or ``(x_min, y_min, x_max, y_max)``, metres.
            The length lies along the axis that points forward, or along x if it is unknown.
        classes: Names of the classes to compare; all if None.

    Returns:
        The findings, most severe first, including those of the readers (``frames.findings``). The ``code`` of a
        finding is stable and meant for programs.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"boundary": [[[0, 0], [9, 0]]]}})
    >>> predictions = mg.MapFrames.of({"a": {"contours": [[[0, 1], [9, 1]]]}}, confidence={"a": {"contours": [0.7]}})
    >>> for finding in check(predictions, truth):
    ...     print(finding)
    error: the sides have different names for the same class: contours for boundary. Use
    predictions.rename({'contours': 'boundary'})
    """
    return findings_in(Context.of(predictions, truth, region, classes), [*predictions.findings, *truth.findings])


def findings_in(context: Context, read: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings of all checks, and those of the readers, most severe first."""
    found = list(read)
    with np.errstate(all="ignore"):  # squares of very large coordinates overflow
        for function in CHECKS:
            found += function(context)
    return tuple(sorted(dict.fromkeys(found), key=lambda finding: _LEVELS.index(finding.level)))


__all__ = ["CHECKS", "check"]
