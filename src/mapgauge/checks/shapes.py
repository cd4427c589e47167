"""Closed shapes: which classes have them, and do both sides agree?"""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import Context, percent
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Flags

_OPEN = 0.1  # gap between the ends as a share of the length; models that mean a closed shape leave less
_MOSTLY, _RARELY = 60, 20  # per cent of a class
_INSTANCES = 10  # of a class, at least


def shares(context: Context) -> Iterator[Finding]:
    """How many shapes are closed, by class."""
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
    """Closed in the truth and clearly open in the predictions, or the reverse.

    Models rarely close a shape to 0.1 m. So ends count as open only if their gap is large for the length, and confident
    predictions count more than others.
    """
    if context.exchanged:
        return  # then it says the same
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
                f"class {name}: the truth is closed and {predicted:.0f} % of the predictions, by confidence, are open. "
                "Was the closing point left out? Repeat the first point as the last where the file is written"
            )
        elif predicted < _RARELY and true > _MOSTLY:
            text = (
                f"class {name}: {true:.0f} % of the truth is open, and the predictions are closed. Do both sides mean "
                "the same by this class, an outline or a line?"
            )
        else:
            continue
        yield Finding("warning", "closed-differs", text, int(mine.sum()))


def _clearly_open(side: MapFrames) -> Flags:
    """Instances whose ends are far apart, for their length."""
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
