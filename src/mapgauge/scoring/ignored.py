"""Ignored truth: lines that are neither found nor missed, as in benchmarks of detection and tracking.

One rule serves all metrics. Predictions and truth are matched by the assignment of PLD, ignored lines included. Then
ignored lines and the predictions that are matched with them are taken out, and metrics compare what is left. The rest
of an optimal assignment is optimal for what is left. So PLD is the cost of the same assignment, in which ignored lines
and their matches cost nothing and have no mass.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.findings import Finding, examples
from mapgauge.frames.instances import is_box
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import ranges
from mapgauge.metrics.groups import group
from mapgauge.metrics.pld import score_groups, with_pld
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import Protocol
from mapgauge.scoring.data import BLOCK
from mapgauge.words import counted


def without_ignored(predictions: MapFrames, truth: MapFrames, protocol: Protocol) -> tuple[MapFrames, MapFrames]:
    """Return aligned sides without ignored truth and without the predictions that are matched with it.

    The flags of the truth are None if no line was ignored. Otherwise they stay, all false, as a sign. What was taken
    out is ``aside``.
    """
    if truth.ignore is None:
        return predictions, truth
    if not truth.ignore.any():
        return predictions, replace(truth, ignore=None)
    if truth.boxes and (boxes := truth.ignore & is_box(truth)).any():
        raise InvalidInput(
            f"{truth.name or 'truth'}: {counted(int(boxes.sum()), 'box in an image is', 'boxes in an image are')} "
            "ignored, expected lines only",
            remedy="Leave these boxes out of the truth, or do not ignore them",
        )
    how = with_pld(protocol)
    matched = np.zeros(len(predictions.polylines), np.bool_)
    frames = np.unique(truth.frame[truth.ignore])
    for start in range(0, len(frames), BLOCK):
        some = frames[start : start + BLOCK]
        x = predictions.at(some.tolist())
        y = truth.at(some.tolist())
        groups = group(x, y, how)
        if groups.boxes:
            lines = groups.of_lines()[0]
        else:
            lines = groups
        truth_of = score_groups(lines, how.directed, how.cutoffs[0], order=how.order).truth_of
        pairs = np.flatnonzero(truth_of >= 0)
        assert y.ignore is not None
        pairs = pairs[y.ignore[lines.row[truth_of[pairs]]]]
        first = predictions.offsets[some]
        matched[ranges(first, predictions.offsets[some + 1] - first)[lines.row[pairs]]] = True
    left_out = predictions.keep(matched), truth.keep(truth.ignore)
    return (
        replace(predictions.keep(~matched), aside=left_out[0]),
        replace(truth.keep(~truth.ignore), aside=left_out[1]),
    )


def check_ignored(metrics: Sequence[str], truth: MapFrames) -> None:
    """Refuse metrics that have no meaning for truth of which some lines were ignored."""
    unable = [name for name in metrics if truth.ignore is not None and not METRICS[name].ignores]
    if unable:
        able = ", ".join(name for name, metric in METRICS.items() if metric.ignores)
        raise InvalidInput(
            f"{truth.name or 'truth'}: some lines are ignored, and {unable[0]} has no meaning for such truth",
            remedy=Remedy(
                f"Pass metrics= with some of {able}, or remove the flags with truth.with_ignore(None)",
                f"Pass --metrics with some of {able}, or leave the flags out of the file",
            ),
        )


def refuse_ignored(frames: MapFrames, what: str) -> None:
    """Refuse frames with ignored lines, for a computation that has no meaning for them."""
    if frames.ignore is not None and frames.ignore.any():
        raise InvalidInput(
            f"{frames.name or 'frames'}: {counted(int(frames.ignore.sum()), 'line is', 'lines are')} ignored, "
            f"and {what}",
            remedy=Remedy("Remove the flags with frames.with_ignore(None)", "Leave the flags out of the file"),
        )


def ignored_findings(truth: MapFrames) -> tuple[Finding, ...]:
    """Return how many true lines are ignored."""
    if truth.ignore is None or not truth.ignore.any():
        return ()
    rows = np.flatnonzero(truth.ignore)
    text = (
        f"{len(rows)} of {len(truth.ignore)} true lines are ignored: they and the predictions that are matched with "
        "them are left out"
    )
    return (Finding("note", "truth-ignored", text, count=len(rows), examples=examples(truth, rows)),)
