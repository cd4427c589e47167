"""Checks of the shapes of instances: points that repeat, closed lines, height."""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import Context, examples, percent
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import survey
from mapgauge.typing import Flags, Indices

_OPEN = 0.1  # gap between the ends as a share of the length; models that predict a closed shape leave less
_MOSTLY, _RARELY = 60, 20  # per cent of a class
_INSTANCES = 10  # instances of a class needed on each side
_NEAR = 2.0  # metres in the plane; heights of lines nearer than this are compared
_PAIRS = 10  # number of such pairs needed
_OFFSET = 0.5  # metres; a smaller difference in height is not reported


def few_points(context: Context) -> Iterator[Finding]:
    """Find instances with fewer than two points, with length 0, or with repeated points."""
    for name, side in context.sides:
        sizes = np.diff(side.polylines.offsets)
        repeats = survey(side.polylines).repeats
        few = sizes < 2
        flat = ~few & (repeats == sizes - 1)
        for code, rows, what in (
            ("few-points", np.flatnonzero(few), "have fewer than two points and match nothing"),
            ("zero-length", np.flatnonzero(flat), "have length 0: all their points are equal"),
            ("repeated-points", np.flatnonzero((repeats > 0) & ~flat), "have consecutive points that are equal"),
        ):
            if len(rows):
                text = f"{name}: {len(rows)} of {len(sizes)} instances ({percent(len(rows), len(sizes))}) {what}"
                yield Finding("note", code, text, len(rows), examples(side, rows))


def copies(context: Context) -> Iterator[Finding]:
    """Find exact copies of an instance in the same frame and class."""
    for name, side in context.sides:
        rows = _again(side)
        if len(rows):
            effect = (
                "all but one count as false" if name == "predictions" else "a prediction can match only one of them"
            )
            text = (
                f"{name}: {len(rows)} of {len(side.polylines)} instances are exact copies of another in the same frame "
                f"and class; {effect}"
            )
            yield Finding("note", "duplicate-instances", text, len(rows), examples(side, rows))


def _again(side: MapFrames) -> Indices:
    """Return the instances that equal an earlier one of the same frame and class, point by point."""
    offsets = side.polylines.offsets
    filled = np.flatnonzero(np.diff(offsets))
    if not len(filled):
        return filled
    # Equal instances have the same key. Most keys are unique, so few instances are compared point by point.
    key = side.frame[filled] * len(side.classes) + side.label[filled]
    for at in (offsets[:-1], offsets[1:] - 1):
        for column in side.polylines.coords[at[filled]].view(np.int64).T:
            key = key * 1_000_003 ^ column
    in_order = np.sort(key)
    several = in_order[1:][in_order[1:] == in_order[:-1]]
    seen: set[tuple[int, int, bytes]] = set()
    again: list[int] = []
    for i in filled[np.isin(key, several)].tolist():
        what = int(side.frame[i]), int(side.label[i]), side.polylines[i].tobytes()
        if what in seen:
            again.append(i)
        seen.add(what)
    return np.array(again, np.int64)


def closed_shares(context: Context) -> Iterator[Finding]:
    """Report the share of closed shapes by class."""
    told: dict[str, list[str]] = {}
    total = 0
    for name, side in context.sides:
        closed = side.polylines.closed("auto")[0]
        total += int(closed.sum())
        counts = np.bincount(side.label[closed], minlength=len(side.classes)).tolist()
        for (class_name, instances), count in zip(side.counts.items(), counts, strict=True):
            if instances:
                told.setdefault(class_name, []).append(f"{percent(count, instances)} of {name}")
    if total:
        classes = "; ".join(f"{class_name} {', '.join(parts)}" for class_name, parts in told.items())
        yield Finding("note", "closed-shapes", f"closed shapes (ends at most 0.1 m apart): {classes}", total)


def closed_on_one_side(context: Context) -> Iterator[Finding]:
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
        rows_x, rows_y = x.label == x.classes.index(name), y.label == y.classes.index(name)
        if min(rows_x.sum(), rows_y.sum()) < _INSTANCES or not weight[rows_x].sum() > 0:
            continue
        predicted = 100 * float(np.average(open_x[rows_x], weights=weight[rows_x]))
        true = 100 * float(open_y[rows_y].mean())
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
        yield Finding("warning", "closed-differs", text, int(rows_x.sum()), remedy=Remedy.of(advice))


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


def dimensions(context: Context) -> Iterator[Finding]:
    """Check that points of both sides have the same number of coordinates."""
    x, y = context.predictions, context.truth
    if len(x.polylines.coords) and len(y.polylines.coords) and x.dimension != y.dimension:
        high = "predictions" if x.dimension > y.dimension else "truth"
        text = f"the predictions are {x.dimension}-D and the truth is {y.dimension}-D"
        remedy = Remedy(
            f"Use {high}.planar() to compare in the plane",
            "Give the file with height as FILE,planar to compare in the plane",
        )
        yield Finding("error", "dimensions-differ", text, len(x.polylines) + len(y.polylines), remedy=remedy)


def height(context: Context) -> Iterator[Finding]:
    """Find heights with different origins, such as the road and the LiDAR."""
    if context.predictions.dimension < 3 or context.truth.dimension < 3:
        return
    neighbours = context.neighbours
    above: list[float] = []
    for frame, distance in zip(neighbours.frames, neighbours.distances(context.turn), strict=True):
        for i in np.flatnonzero(distance.min(axis=1) < _NEAR).tolist():
            other = frame.predictions[distance[i].argmin()]
            above.append(float(other[:, 2].mean() - frame.truth[i, :, 2].mean()))
    if len(above) < _PAIRS:
        return
    low, offset, high = np.quantile(above, (0.25, 0.5, 0.75))
    if abs(offset) > max(_OFFSET, high - low):
        text = (
            f"the predictions lie {abs(offset):.1f} m {'above' if offset > 0 else 'below'} the truth (median of "
            f"{len(above)} pairs of lines). One height may be measured from the road and the other from the LiDAR"
        )
        remedy = Remedy(
            "Use .transform(pose) on one side, or .planar() on both", "Give both as FILE,planar to leave out height"
        )
        yield Finding("warning", "height-offset", text, len(above), remedy=remedy)
