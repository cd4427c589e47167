"""Checks predictions and truth for likely mistakes before anything is computed from them.

A check is a function that takes a ``Context`` and yields findings. Manifests name the rows of the table ``CHECKS``.
Those of the core are in ``checks/rows.py``.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from mapgauge.checks.context import Context, degrees_found, is_geographic
from mapgauge.checks.table import CHECKS, Check
from mapgauge.frames.findings import Finding
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region

# Findings that follow from another one. They would lead away from the cause.
_REGION = {"region-left", "region-turned", "region-not-covered", "region-differs", "instances-far-away"}
_NEAREST = {"classes-exchanged", "confidence-order", "height-offset"}
_FOLLOW = {
    "coordinates-padded": {"axes-turned", "closed-differs", *_REGION, *_NEAREST},
    "coordinates-unit": _REGION | _NEAREST,
    "coordinates-moved": _REGION,
    "origin-shifted": {"region-left"},
    "axes-turned": {"axes-uncertain", "region-left"},
    "frames-repeated": {"frames-unrelated", "frames-shifted"},
    "confidence-order": {"closed-differs"},  # which weights predictions by confidence
    "confidence-sigmoid": {"closed-differs"},
}


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
    context = Context.of(predictions, truth, region, classes=classes, named=classes is not None)
    return findings_in(context, [*predictions.findings, *truth.findings])


def findings_in(
    context: Context, read: Sequence[Finding], checks: Iterable[Check] | None = None
) -> tuple[Finding, ...]:
    """Return the findings of the readers and of all checks, or of some, most severe first."""
    if checks is None:
        checks = CHECKS.values()
    findings = [*read]
    with np.errstate(all="ignore"):  # squares of very large coordinates overflow
        for row in checks:
            findings += row.find(context)
    codes = {finding.code for finding in findings}
    explained = {code for cause in codes for code in _FOLLOW.get(cause, ())}
    findings = [finding for finding in dict.fromkeys(findings) if finding.code not in explained]
    levels = ("error", "warning", "note")
    return tuple(sorted(findings, key=lambda finding: levels.index(finding.level)))


def findings_of_side(frames: MapFrames) -> list[Finding]:
    """Return the findings of the reader, and of the checks that need one side only."""
    name = "predictions"
    if frames.confidence is None:
        name = "truth"
    side = without_boxes(frames)
    findings = [*frames.findings]
    if is_geographic(side):
        findings.append(degrees_found(name, side, len(side.polylines)))
    for row in CHECKS.values():
        if row.find_in_side is not None:
            findings += row.find_in_side(name, side)
    return findings


__all__ = ["CHECKS", "check"]
