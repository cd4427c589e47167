"""Checks of confidences, of the numbers of instances, and of their shapes."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from mapgauge.checks.context import Context, about_instances, extent_of
from mapgauge.checks.names import common_name, kind_of
from mapgauge.checks.neighbours import LinePairs, evenly
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.alignment import align
from mapgauge.frames.findings import Finding, Level, examples, findings_about, share_of
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import survey
from mapgauge.metrics.groups import group
from mapgauge.metrics.pld import assign_groups, normalised_pld
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Indices, Points
from mapgauge.words import counted


def on_the_right_side(context: Context) -> Iterator[Finding]:
    """Check that predictions have confidences and truth has none; otherwise the files may be swapped."""
    missing = context.predictions.confidence is None and len(context.predictions.polylines) > 0
    if context.truth.confidence is not None:
        given = context.truth.confidence
    else:
        given = np.empty(0)
    varies = len(given) > 0 and given.min() < given.max()
    if missing and varies:
        text = "the truth has confidences and the predictions have none: they are swapped"
        remedy = Remedy.of("Give the predictions first and the truth second")
        yield Finding("error", "sides-exchanged", text, count=len(given), remedy=remedy)
    elif missing:
        text = "the predictions have no confidences. This may be a truth file"
        remedy = Remedy(
            "Use predictions.with_confidence(1) to give all predictions the confidence 1",
            "Give the file as FILE,certain for the confidence 1 of all predictions",
        )
        yield Finding("error", "confidence-missing", text, count=len(context.predictions.polylines), remedy=remedy)
    elif varies and _are_identical(context.predictions, context.truth):
        text = "predictions and truth are identical, also in their confidences: the same file was probably given twice"
        remedy = Remedy.of("Give the file of predictions first and the file of the truth second")
        yield Finding("warning", "sides-identical", text, count=len(given), remedy=remedy)
    elif varies:
        text = "the truth has different confidences. This may be a file of predictions"
        remedy = Remedy(
            "Use truth.with_confidence(None), unless you compare two models with each other",
            "Check which file is the truth, unless you compare two models with each other",
        )
        yield Finding("warning", "truth-confidence", text, count=len(given), remedy=remedy)
    elif len(given):
        text = f"the truth has confidences, and all are {given[0]:.4g}"
        remedy = Remedy(
            "Use truth.with_confidence(None) if they have no meaning",
            "Write the truth without confidences if they have no meaning",
        )
        yield Finding("note", "truth-confidence", text, count=len(given), remedy=remedy)


def _are_identical(first: MapFrames, second: MapFrames) -> bool:
    """Whether two sides have the same classes, points and confidences in each frame, in the same order."""
    if first.confidence is None or second.confidence is None or first.classes != second.classes:
        return False
    return (
        np.array_equal(first.offsets, second.offsets)
        and np.array_equal(first.label, second.label)
        and np.array_equal(first.polylines.offsets, second.polylines.offsets)
        and np.array_equal(first.polylines.coords, second.polylines.coords)
        and np.array_equal(first.confidence, second.confidence)
    )


def in_range(context: Context) -> Iterator[Finding]:
    """Find confidences outside [0, 1], such as logits and percentages."""
    for name, side in context.sides:
        if side.confidence is None:
            values = np.empty(0)
        else:
            values = side.confidence
        rows = np.flatnonzero(~((values >= 0) & (values <= 1)))
        if not len(rows):
            continue
        low = float(values.min())
        high = float(values.max())
        advice = "Scale them to [0, 1]"
        if low < 0:
            advice = "Apply a sigmoid, 1 / (1 + exp(-x)), if they are logits"
        elif 10 < high <= 100:
            advice = "Divide them by 100 if they are percentages"
        text = (
            f"{name}: {len(rows)} of {len(values)} confidences ({share_of(len(rows), len(values))}) are outside "
            f"[0, 1]; they range from {low:.4g} to {high:.4g}"
        )
        yield Finding(
            "error", "confidence-range", text, count=len(rows), examples=examples(side, rows), remedy=Remedy.of(advice)
        )


def all_equal(context: Context) -> Iterator[Finding]:
    """Find confidences that are all equal."""
    values = context.predictions.confidence
    if values is None or len(values) < 2 or values.min() != values.max():
        return
    if values[0] == 0:
        code = "confidence-zero"
        effect = "For PLD this means no predictions"
    elif any(step.name == "with_confidence" for step in context.predictions.history or ()):
        return  # as asked for
    else:
        code = "confidence-equal"
        effect = "PLD weights all predictions alike"
    text = (
        f"all {len(values)} confidences are {values[0]:.4g}. {effect}. AP has a single threshold, at which all "
        "predictions count"
    )
    remedy = Remedy.of("Check that the confidences were not lost when the file was written")
    yield Finding("warning", code, text, count=len(values), remedy=remedy)


class PublishedCounts(NamedTuple):
    """Numbers of frames and instances of a data set at 60 x 30 m, from papers and issues."""

    name: str
    kinds: tuple[str, ...]  # kinds of tokens
    frames: int
    instances: Mapping[str, tuple[int, ...]]  # by class; several numbers if projects differ


PUBLISHED = (
    PublishedCounts(
        "nuScenes val",
        ("nuScenes",),
        frames=6019,
        instances={
            "divider": (27332,),
            "ped_crossing": (6406, 6922),  # MapTR, MapTracker: different rules for joining crossings
            "boundary": (21050,),
            "centerline": (48536,),
        },
    ),
    PublishedCounts(
        "Argoverse 2 val (MapTRv2, MapTracker)",
        ("Argoverse 2", "timestamp"),
        frames=5881,
        instances={"ped_crossing": (11588,), "divider": (16541,), "boundary": (17831,)},
    ),
)


def empty(context: Context) -> Iterator[Finding]:
    """Find frames without instances, and sides without any."""
    for (name, side), counts in zip(context.sides, context.offered, strict=True):
        tokens = [side.tokens[i] for i in np.flatnonzero(np.diff(side.offsets) == 0).tolist()]
        others = Remedy("Choose other classes with classes=", "Choose other classes with --classes")
        if any(counts.values()):
            of = " of the compared classes"
            remedy = others
        else:
            of = ""
            remedy = None
        if len(tokens) < len(side):
            share = share_of(len(tokens), len(side))
            have = "have"
            if len(tokens) == 1:
                have = "has"
            text = f"{name}: {len(tokens)} of {counted(len(side), 'frame')} ({share}) {have} no instances"
            yield from findings_about(tokens, "note", f"{name}-frames-empty", text=text)
        elif name == "predictions":
            text = f"predictions: {_none_of(len(side))} instances{of}"
            remedy = remedy or Remedy.of("Check that no threshold removed them all")
            yield from findings_about(tokens, "warning", "predictions-empty", text=text, remedy=remedy)
        else:
            text = f"truth: {_none_of(len(side))} instances{of}, so there is nothing to compare with"
            remedy = remedy or Remedy.of("Check that this is the truth file and that it was written completely")
            yield from findings_about(tokens, "error", "truth-empty", text=text, remedy=remedy)


def _none_of(frames: int) -> str:
    if frames == 1:
        return "the only frame has no"
    return f"none of the {frames} frames has"


def published(context: Context) -> Iterator[Finding]:
    """Compare numbers of frames and instances with those published for the same data set."""
    kind = kind_of(context.truth.tokens)
    frames = len(context.truth)
    known = next((row for row in PUBLISHED if kind in row.kinds), None)
    if known is None:
        return
    if frames != known.frames:
        if kind == "nuScenes":
            text = (
                f"the truth has {counted(frames, 'frame')} with tokens as in nuScenes, whose val split has "
                f"{known.frames}. It may be the mini split, the new split without common places, or a subset"
            )
            yield Finding("note", "frames-published", text, count=frames)
        return
    extent = extent_of(context.sampled[1])
    if extent is None or np.abs(np.sort(extent.size) - (30, 60)).max() > 3:
        return  # the numbers are for 60 x 30 m
    for name, count in context.offered[1].items():
        others = known.instances.get(common_name(name), (count,))
        if count not in others:
            text = (
                f"class {name}: {counted(count, 'instance')} in the truth; {known.name} has "
                f"{' or '.join(map(str, others))} as published. The truth may be outdated, cropped to another "
                "region, or made by other rules"
            )
            yield Finding("note", "instances-published", text, count=count)


_OPEN = 0.1  # gap between the ends as a share of the length; models that predict a closed shape leave less
# Per cent of a class.
_MOSTLY = 60
_RARELY = 20
_INSTANCES = 10  # instances of a class needed on each side
# Share of the predictions, weighted by confidence, and of the truth above which copies are no accident. Good files have
# at most 0.02 and 0, and one with many false alarms 0.051 if all confidences are equal.
_COPIES = 0.1, 0.01
_EQUAL = 1e-3  # metres between the points of equal lines
_STARTS_FRAMES = 24  # frames whose closed lines are compared
_STARTS_COST = 0.05  # of PLD of closed lines; model-like predictions, whose starts are anywhere, have less than 0.01


def few_points(context: Context) -> Iterator[Finding]:
    """Find instances with fewer than two points, with length 0, or with repeated points."""
    for side in context.sides:
        sizes = np.diff(side[1].polylines.offsets)
        repeats = survey(side[1].polylines).repeats
        few = sizes < 2
        flat = ~few & (repeats == sizes - 1)
        for code, rows, text in (
            ("few-points", few, "have fewer than two points and match nothing"),
            ("zero-length", flat, "have length 0: all their points are equal"),
            ("repeated-points", (repeats > 0) & ~flat, "have consecutive points that are equal"),
        ):
            yield from about_instances(side, np.flatnonzero(rows), "note", code=code, text=text, share=True)


def copies(context: Context) -> Iterator[Finding]:
    """Find exact copies of an instance in the same frame and class."""
    effects = "all but one count as false", "a prediction can match only one of them"
    for side, effect, few in zip(context.sides, effects, _COPIES, strict=True):
        rows = _again(side[1])
        text = f"are exact copies of another in the same frame and class; {effect}"
        level: Level = "note"
        remedy = None
        if len(rows) > 1 and _weight(side[1], rows) > few * _weight(side[1], np.arange(len(side[1].polylines))):
            level = "warning"
            remedy = Remedy.of("Write each line once, also when results of several processes or views are joined")
        yield from about_instances(side, rows, level, code="duplicate-instances", text=text, remedy=remedy, share=True)


def _weight(side: MapFrames, rows: Indices) -> float:
    """Return the sum of the confidences. False alarms of very low confidence often are copies."""
    if side.confidence is None:
        return float(len(rows))
    return float(np.clip(side.confidence[rows], 0, 1).sum())


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
    first: dict[tuple[int, int, bytes], int] = {}
    rows = filled[np.isin(key, several)].tolist()
    contents = [(int(side.frame[i]), int(side.label[i]), side.polylines[i].tobytes()) for i in rows]
    return np.array([i for i, what in zip(rows, contents, strict=True) if first.setdefault(what, i) != i], np.int64)


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
                told.setdefault(class_name, []).append(f"{share_of(count, instances)} of {name}")
    if total:
        classes = "; ".join(f"{class_name} {', '.join(parts)}" for class_name, parts in told.items())
        yield Finding("note", "closed-shapes", f"closed shapes (ends at most 0.1 m apart): {classes}", count=total)


def closed_on_one_side(context: Context) -> Iterator[Finding]:
    """Find classes that are closed in the truth and clearly open in the predictions, or the reverse.

    Models rarely close a shape to 0.1 m. A shape therefore counts as open only if the gap between its ends is large
    compared with its length. Predictions are weighted by confidence.
    """
    if context.exchanged:
        return  # swapped classes explain the difference and are reported already
    x, y = context.sampled
    open_x = _clearly_open(x)
    open_y = _clearly_open(y)
    if x.confidence is None:
        weight = np.ones(len(x.label))
    else:
        weight = np.clip(np.nan_to_num(x.confidence), 0, 1)
    for name in y.classes:
        if name not in x.classes:
            continue
        rows_x = x.label == x.classes.index(name)
        rows_y = y.label == y.classes.index(name)
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
        yield Finding("warning", "closed-differs", text, count=int(rows_x.sum()), remedy=Remedy.of(advice))


def reversed_lines(context: Context) -> Iterator[Finding]:
    """Find predictions that are the lines of the truth, except that some are drawn from the other end."""
    protocol = context.protocol
    neighbours = context.neighbours
    if protocol is not None and protocol.sampling == "even" and not protocol.directed:
        return  # its points do not depend on the direction
    lines = neighbours.pairs.predictions.points
    straight = _equal_to(neighbours.pairs, lines)
    back = _equal_to(neighbours.pairs, lines[:, ::-1])
    same = int(np.count_nonzero(straight))
    turned = int(np.count_nonzero(back & ~straight))
    if not turned or same + turned < 0.9 * neighbours.truths:
        return
    text = (
        f"the predictions are the lines of the truth, but {turned} of {neighbours.truths} lines in "
        f"{counted(len(neighbours.frames), 'frame')} are drawn from the other end. "
    )
    if protocol is not None and protocol.directed:
        text += "Directions count in this protocol"
        remedy = Remedy.of("Reverse the points of these lines, or choose a protocol without directions")
    else:
        text += "Points are laid from the first point of a line, so that the distance is not 0"
        remedy = _use_even(context, "whose points do not depend on the direction")
    yield Finding("warning", "lines-reversed", text, count=turned, remedy=remedy)


def _equal_to(pairs: LinePairs, lines: Points) -> Flags:
    """Return which true lines are equal to one of the lines that are predicted in their frame."""
    begins = np.abs(pairs.truth.points[pairs.true, 0, 0] - lines[pairs.predicted, 0, 0])
    candidates = np.flatnonzero(begins < _EQUAL)
    true = pairs.true[candidates]
    apart = np.abs(pairs.truth.points[true] - lines[pairs.predicted[candidates]]).max(axis=(1, 2))
    equal = np.zeros(len(pairs.truth.label), np.bool_)
    equal[true[apart < _EQUAL]] = True
    return equal


def _use_even(context: Context, advice: str) -> Remedy:
    """Return the advice to use the protocol with even sampling for the region."""
    large = context.region is not None and max(np.diff(np.reshape(context.region, (2, 2)), axis=0)[0]) == 100
    even = "even-60x30"
    if large:
        even = "even-100x50"
    return Remedy(f"Use the protocol {even}, {advice}", f"Use --protocol {even}, {advice}")


def other_starts(context: Context) -> Iterator[Finding]:
    """Find closed lines that begin elsewhere than in the truth, where this raises PLD."""
    protocol = context.protocol
    if protocol is None or not protocol.cutoffs or protocol.spacing is None or protocol.sampling == "even":
        return
    x, y = context.sampled
    if x.tokens != y.tokens or x.dimension != y.dimension:
        return
    frames = evenly(range(len(x)), _STARTS_FRAMES)
    x, y = (_closed_lines(side.at(frames), protocol) for side in (x, y))
    if not len(x.polylines) or not len(y.polylines):
        return
    from_first = protocol
    from_fixed = protocol.replace(sampling="even")
    try:
        x, y = align(x, y, classes=y.classes, unknown="ignore")
        groups = [group(x, y, each) for each in (from_first, from_fixed)]
    except InvalidInput:  # such as a line that is too long; the evaluation says which
        return
    scored = [assign_groups(each, protocol, protocol.cutoffs[0]) for each in groups]
    cost, least = (float(normalised_pld(each.sums.sum(axis=0), protocol.order)) for each in scored)
    if cost - least < _STARTS_COST:
        return
    matched = np.flatnonzero(scored[1].truth_of >= 0)
    of_x = groups[1].row[matched]
    of_y = groups[1].row[scored[1].truth_of[matched]]
    elsewhere = [
        _drawn_otherwise(x.polylines[i], y.polylines[j], protocol.spacing)
        for i, j in zip(of_x.tolist(), of_y.tolist(), strict=True)
    ]
    turned = elsewhere.count(True)
    if not turned:
        return
    if len(frames) == 1:
        seen = "one frame"
    else:
        seen = f"{len(frames)} frames"
    text = (
        f"{turned} of {len(matched)} closed lines that are matched in {seen} begin more than {protocol.spacing:g} m "
        "from the first point of the truth, or run the other way round. Points are laid from the first point of a line,"
        f" so that PLD of the closed lines there is {cost:.3f} instead of {least:.3f}"
    )
    remedy = _use_even(context, "in which the geometry of a closed line decides where its points begin")
    yield Finding("warning", "starts-differ", text, count=turned, remedy=remedy)


def _drawn_otherwise(first: Points, second: Points, distance: float) -> bool:
    """Whether two closed lines begin farther apart than a distance, or run in different directions."""
    apart = np.hypot(*(first[0, :2] - second[0, :2])) > distance
    return bool(apart) or _double_area(first) * _double_area(second) < 0


def _double_area(closed: Points) -> float:
    """Return twice the area of a closed line, negative if it runs clockwise."""
    x, y = (closed[:, :2] - closed[0, :2]).T
    return float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum())


def _closed_lines(side: MapFrames, protocol: Protocol) -> MapFrames:
    """Return the lines whose ends meet, with possible confidences."""
    lines = side.keep(side.polylines.closed(protocol.closed, protocol.closed_tolerance)[1])
    if lines.confidence is None:
        return lines
    return lines.with_confidence(np.clip(np.nan_to_num(lines.confidence), 0, 1))


def _clearly_open(side: MapFrames) -> Flags:
    """Return the instances whose ends are far apart compared with their length."""
    coords = side.polylines.coords[:, :2]
    offsets = side.polylines.offsets
    owner = np.repeat(np.arange(len(side.polylines)), np.diff(offsets))
    if len(owner):
        step = np.hypot(*np.diff(coords, axis=0).T)
    else:
        step = np.empty(0)
    inside = owner[1:] == owner[:-1]
    length = np.bincount(owner[1:][inside], step[inside], minlength=len(side.polylines))
    gap = np.zeros(len(length))
    some = np.flatnonzero(np.diff(offsets))
    gap[some] = np.hypot(*(coords[offsets[some]] - coords[offsets[some + 1] - 1]).T)
    return gap > _OPEN * length


def dimensions(context: Context) -> Iterator[Finding]:
    """Check that points of both sides have the same number of coordinates."""
    x = context.predictions
    y = context.truth
    if len(x.polylines.coords) and len(y.polylines.coords) and x.dimension != y.dimension:
        high = "truth"
        if x.dimension > y.dimension:
            high = "predictions"
        text = f"the predictions are {x.dimension}-D and the truth is {y.dimension}-D"
        remedy = Remedy(
            f"Use {high}.planar() to compare in the plane",
            "Give the file with height as FILE,planar to compare in the plane",
        )
        yield Finding("error", "dimensions-differ", text, count=len(x.polylines) + len(y.polylines), remedy=remedy)


def height(context: Context) -> Iterator[Finding]:
    """Find heights with different origins, such as the road and the LiDAR."""
    if context.predictions.dimension < 3 or context.truth.dimension < 3:
        return
    neighbours = context.neighbours
    if not neighbours.frames:
        return
    true, predicted = neighbours.nearest(context.turn)
    heights = np.concatenate([frame.predictions[..., 2].mean(axis=1) for frame in neighbours.frames])
    true_heights = np.concatenate([frame.truth[..., 2].mean(axis=1) for frame in neighbours.frames])
    above = heights[predicted] - true_heights[true]
    if len(above) < 10:
        return
    low, offset, high = np.quantile(above, (0.25, 0.5, 0.75))
    if abs(offset) > max(0.5, high - low):
        text = (
            f"the predictions lie {abs(offset):.1f} m {'above' if offset > 0 else 'below'} the truth (median of "
            f"{len(above)} pairs of lines). One height may be measured from the road and the other from the LiDAR"
        )
        remedy = Remedy(
            "Use .transform(pose) on one side, or .planar() on both", "Give both as FILE,planar to leave out height"
        )
        yield Finding("warning", "height-offset", text, count=len(above), remedy=remedy)
