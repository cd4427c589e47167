"""Checks which classes have closed shapes, and whether both sides agree."""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import Context, percent
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Flags

_OPEN = 0.1  # gap between the ends as a share of the length; models that predict a closed shape leave less
_MOSTLY, _RARELY = 60, 20  # per cent of a class
_INSTANCES = 10  # instances of a class needed on each side


def shares(context: Context) -> Iterator[Finding]:
    """Report the share of closed shapes by class."""
    told: dict[str, list[str]] = {}
    total = 0
    for name, side in context.sides:
        closed = side.polylines.closed("auto")[0]
        total += int(closed.sum())
        counts = np.bincount(side.label[closed], minlength=len(side.classes)).tolist()
        for (class_name, of), count in zip(side.counts.items(), counts, strict=True):
            if of:
                told.setdefault(class_name, []).append(f"{percent(count, of)} of {name}")
    if total:
        classes = "; ".join(f"{class_name} {', '.join(parts)}" for class_name, parts in told.items())
        yield Finding("note", "closed-shapes", f"closed shapes (ends at most 0.1 m apart): {classes}", total)


def agreeing(context: Context) -> Iterator[Finding]:
    """Find classes that are closed in the truth and clearly open in the predictions, or the reverse.

    Models rarely close a shape to 0.1 m. A shape therefore counts as open only if the gap between its ends is large
    compared with its length. Predictions are weighted by confidence.
    """
    if context.exchanged:
        return  # swapped classes explain the difference and are reported already
    x, y = context.sampled
    open_x, open_y = _clearly_open(x), _clearly_open(y)
    weight = np.ones(len(x.label)) if x.confidence is None else np.clip(np.nan_to_num(x.confidence), 0, 1)
    for name in y.classes:
        if name not in x.classes:
            continue
        mine, theirs = x.label == x.classes.index(name), y.label == y.classes.index(name)
        if min(mine.sum(), theirs.sum()) < _INSTANCES or not weight[mine].sum() > 0:
            continue
        predicted = 100 * float(np.average(open_x[mine], weights=weight[mine]))
        true = 100 * float(open_y[theirs].mean())
        if predicted > _MOSTLY and true < _RARELY:
            text = (
                f"class {name}: the truth is closed and {predicted:.0f} % of the predictions, weighted by confidence, "
                "are open"
            )
            advice = "Repeat the first point as the last when writing the file, if the closing point was left out"
        elif predicted < _RARELY and true > _MOSTLY:
            text = f"class {name}: {true:.0f} % of the truth is open, and the predictions are closed"
            advice = "Check that the class means the same on both sides, an outline or a line"
        else:
            continue
        yield Finding("warning", "closed-differs", text, int(mine.sum()), remedy=Remedy.of(advice))


def _clearly_open(side: MapFrames) -> Flags:
    """Return the instances whose ends are far apart compared with their length."""
    polylines = side.polylines
    sizes = np.diff(polylines.offsets)
    owner = np.repeat(np.arange(len(polylines)), sizes)
    step = np.hypot(*np.diff(polylines.coords[:, :2], axis=0).T) if len(owner) else np.empty(0)
    inside = owner[1:] == owner[:-1]
    length = np.bincount(owner[1:][inside], step[inside], minlength=len(polylines))
    gap = np.zeros(len(polylines))
    some = np.flatnonzero(sizes)
    first, last = (polylines.coords[at[some], :2] for at in (polylines.offsets[:-1], polylines.offsets[1:] - 1))
    gap[some] = np.hypot(*(first - last).T)
    return gap > _OPEN * length
