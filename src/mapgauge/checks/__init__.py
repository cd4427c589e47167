"""Checks predictions and truth for likely mistakes before anything is computed from them.

A check is a function that takes a ``Context`` and yields findings. To add one, write the function and add it to
``CHECKS``.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mapgauge.checks import classes as class_names
from mapgauge.checks import coordinates, counts, links, shapes, tokens, tracks
from mapgauge.checks import counts as confidence
from mapgauge.checks import region as regions
from mapgauge.checks.context import Context
from mapgauge.checks.extent import degrees_of_side
from mapgauge.frames.findings import Finding
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region

# Findings of the same level are listed in this order.
CHECKS: tuple[Callable[[Context], Iterator[Finding]], ...] = (
    tokens.no_frames,
    confidence.on_the_right_side,
    tokens.duplicates,
    tokens.one_side_only,
    class_names.names,
    class_names.not_compared,
    shapes.dimensions,
    coordinates.turned,
    coordinates.coordinates,
    regions.not_for_region,
    regions.far_away,
    shapes.height,
    confidence.in_range,
    confidence.all_equal,
    class_names.exchanged,
    class_names.without_instances,
    shapes.closed_on_one_side,
    counts.empty,
    counts.published,
    tokens.order,
    tracks.one_side_only,
    tracks.ids,
    tracks.shared,
    links.one_side_only,
    links.ends,
    links.cropped,
    shapes.few_points,
    shapes.copies,
    shapes.closed_shares,
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
        The findings, most severe first, including the findings of the readers (``frames.findings``). The ``code`` of a
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
    """Return the findings of the readers and of all checks, most severe first."""
    findings = list(read)
    with np.errstate(all="ignore"):  # squares of very large coordinates overflow
        for function in CHECKS:
            findings += function(context)
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: _LEVELS.index(finding.level)))


def findings_of_side(frames: MapFrames) -> list[Finding]:
    """Return the findings of the reader, and of the checks that need one side only."""
    side, lines = "truth" if frames.confidence is None else "predictions", without_boxes(frames)
    checks = (degrees_of_side, tracks.tracks_of_side, links.links_of_side)
    return [*frames.findings, *(finding for check_side in checks for finding in check_side(side, lines))]


__all__ = ["CHECKS", "check"]
