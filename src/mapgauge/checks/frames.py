"""Checks of single frames: whether each belongs to its token, and has the axes and the unit of the others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks import confidences
from mapgauge.checks.context import Context
from mapgauge.checks.fits import FARTHEST, Fits, Similarity, distances, similarity
from mapgauge.checks.neighbours import TURNS, AxisTurn, LinePairs
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding, share_of
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import survey
from mapgauge.typing import Flags, Indices

Keys: TypeAlias = NDArray[np.uint64]

_REPEATED = 0.05  # share of the frames with lines
# A frame is unrelated to its truth if it is hardly nearer to it than to others. On all samples, at most 6 % of good
# frames are, and 13 % with three predictions a frame. If a third of a file is shuffled or mirrored, 22 % are.
_UNRELATED = 0.9
_SHARE = 0.15  # of the frames
_FEW = 4  # frames that are needed for a share
_SOME = 8  # frames with enough lines that are needed
_POOR = 0.7  # median share of the distance from others above which a model is poor, and single frames say nothing
_MOST = 0.5  # share of the frames, for a poor model
# A frame is turned if a turn brings it much nearer. On all samples, at most 5 % of good frames are, in no common way.
_TURNED = 0.75
_OFF = 0.7  # the distance of such a frame from its truth, as a share of the distance from others
_TURNED_SHARE = 0.1  # of the frames, with the same turn
_CLASS = 0.7  # a class is turned if a turn reduces its distance by this factor,
_FAR = 2.0  # and it is more than this many metres away; on the samples, a class is at most 1.9 m away, a turned one 2.9
_SECOND = 0.8  # and no other turn comes so near
_LINES = 10  # true lines of a class that are needed
_BESIDE = 0.6  # share of the frames that are nearer to the truth of the next frame; good frames 10 %, shifted ones 89 %
_DECIDED = 0.05  # metres by which one of them is nearer
_STEPS = 10  # such frames that are needed
# Scale, angle and shift that a fit finds in good predictions are at most 0.014, 0.7 degrees and 0.3 m.
_SCALE = 0.03
_ANGLE = 2.0  # degrees
_SHIFT = 0.75  # metres
_CLOSER = 0.9  # a fit must reduce the distance by this factor,
_BETTER = 0.8  # in at least this share of the frames
_STARTS = (0.4, 0.5, 0.6, 0.75, 4 / 3, 5 / 3, 2.0, 2.5)  # scales to begin with if frames are unrelated to their truth
_ANGLES = (-30.0, -20.0, -10.0, 10.0, 20.0, 30.0)
_FITTED = 32  # frames of a fit
_TRIED = 12  # frames with which starts are compared
_UNIT = 20.0  # frames that reach so many times as far as most have another unit
_UNITS = {100.0: "centimetres", 1000.0: "millimetres", 39.37: "inches"}
_ALIKE = 2.0  # two factors that differ by no more than this are taken as equal


def repeated(context: Context) -> Iterator[Finding]:
    """Find frames that have the predictions of another frame, although their truth differs."""
    side = context.predictions
    truth = context.truth
    filled = np.diff(side.offsets) > 0
    tokens = [token for token in context.shared if filled[side.index[token]]]
    for exact in (False, True):  # most frames differ in the ends of their lines, and are left out at once
        x = _keys(side, [side.index[token] for token in tokens], exact=exact)
        y = _keys(truth, [truth.index[token] for token in tokens], exact=exact)
        tokens = [tokens[i] for i in _alike(x, y).tolist()]
        if not tokens:
            return
    # Of frames with the same predictions, one is right.
    x = _keys(side, [side.index[token] for token in tokens], exact=True)
    again = np.setdiff1d(np.arange(len(tokens)), np.unique(x, return_index=True)[1]).tolist()
    total = int(np.count_nonzero(filled))
    if len(again) <= _REPEATED * total or len(again) < 2:
        return
    text = (
        f"predictions: {len(again)} of {total} frames with lines ({share_of(len(again), total)}) have exactly the "
        "lines of another frame, and their truth differs"
    )
    remedy = Remedy.of("Check that each frame was predicted from its own images, and written with its own token")
    yield Finding(
        "warning",
        "frames-repeated",
        text,
        count=len(again),
        examples=tuple(tokens[i] for i in again[:3]),
        remedy=remedy,
    )


def _alike(predictions: Keys, truth: Keys) -> Indices:
    """Return the frames whose predictions are those of another frame, unless all of these have the same truth."""
    _, group = np.unique(predictions, return_inverse=True)
    pairs = np.unique(np.stack([group.astype(np.uint64), truth], axis=1), axis=0)[:, 0].astype(np.int64)
    different = np.bincount(pairs, minlength=len(predictions))  # different truths of each group
    return np.flatnonzero(different[group] > 1)


def _keys(side: MapFrames, frames: Sequence[int], *, exact: bool) -> Keys:
    """Return a number for each frame: the same for equal lines, in any order. Unless ``exact``, only ends count."""
    some = side.at(frames)
    offsets = some.polylines.offsets
    rows = np.flatnonzero(np.diff(offsets))
    if exact:
        places = np.arange(len(some.polylines.coords))
        sizes = np.diff(offsets)[rows]
    else:
        places = np.stack([offsets[rows], offsets[rows + 1] - 1])
        sizes = np.full(len(rows), 2)
    places = places.T.ravel()
    position = np.arange(len(places)) - np.repeat(sizes.cumsum() - sizes, sizes)
    point = _mixed(position.astype(np.uint64))
    for column in np.ascontiguousarray(some.polylines.coords[places].T):
        point = _mixed(point ^ (column + 0.0).view(np.uint64))  # 0.0 and -0.0 are equal
    starts = (sizes.cumsum() - sizes).astype(np.int64)
    if len(rows):
        sums: Keys = np.add.reduceat(point, starts)
    else:
        sums = point
    line = _mixed(sums ^ some.label[rows].astype(np.uint64))
    keys = np.zeros(len(some), np.uint64)
    np.add.at(keys, some.frame[rows], line)
    return keys


def _mixed(numbers: Keys) -> Keys:
    """Return numbers of which each bit depends on all bits; sums of them are different for different content."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # as in SplitMix64
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def moved(context: Context) -> Iterator[Finding]:
    """Find predictions that fit after a small change of scale, angle or origin."""
    fits = context.fits
    if len(fits.frames) < _SOME or confidences.inverted(context):
        return
    fit = _fitted(fits)
    if abs(fit.scale - 1) < _SCALE and abs(fit.degrees) < _ANGLE and max(map(abs, fit.shift)) < _SHIFT:
        return
    before = fits.own
    after = distances(fits.pairs, fit)
    if not (after.mean() < _CLOSER * before.mean() and np.mean(after < before) > _BETTER):
        return
    if fit.scale < 1 - _SCALE and not _own_is_nearest(fits, fit):
        return  # a smaller scale reduces all distances
    known = [other[~np.isnan(other)] for other in fits.beside]
    beside = min((other.mean() for other in known if len(other)), default=FARTHEST)
    if max(_nearer_beside(fits)) > _BESIDE and beside < after.mean():
        return  # the neighbouring frame explains it better
    changes = []
    words = []
    if abs(fit.scale - 1) >= _SCALE:
        words.append(f"scaled by about {1 / fit.scale:.2f}")
        changes.append(f"{'multiply' if fit.scale > 1 else 'divide'} by {max(fit.scale, 1 / fit.scale):.2f}")
    if abs(fit.degrees) >= _ANGLE:
        words.append(f"turned by about {-fit.degrees:.1f} degrees")
        changes.append(f"turn by {fit.degrees:.1f} degrees")
    if max(map(abs, fit.shift)) >= _SHIFT:
        dx, dy = fit.shift
        words.append(f"shifted by about {-dx:+.1f} m in x and {-dy:+.1f} m in y")
        changes.append(f"shift by {dx:+.1f} m in x and {dy:+.1f} m in y")
    only_shift = len(words) == 1 and words[0].startswith("shifted")
    text = (
        f"the predictions seem to be {' and '.join(words)} against the truth. In {len(fits.frames)} frames, the mean "
        f"distance between lines (at most {FARTHEST:g} m) is {before.mean():.2f} m, and {after.mean():.2f} m after "
        "the correction"
    )
    change = " and ".join(changes)
    remedy = Remedy.of(f"Correct the predictions: {change}. Or write the truth with the same scale, axes and origin")
    code = "coordinates-moved"
    if only_shift:
        code = "origin-shifted"
    yield Finding("warning", code, text, count=len(fits.frames), remedy=remedy)


def _fitted(fits: Fits) -> Similarity:
    """Return the best fit, from the predictions as they are or, if they fit nowhere, from other scales and angles."""
    start = Similarity()
    if np.median(fits.share) > _POOR:
        starts = [Similarity(), *(Similarity(scale=scale) for scale in _STARTS)]
        starts += [Similarity(degrees=degrees) for degrees in _ANGLES]
        step = max(len(fits.frames) // _TRIED, 1)
        some = Fits(
            fits.frames[::step], fits.predictions, fits.truth, turn=fits.turn, tables=fits.tables, order=fits.order
        )
        refined = [similarity(some.pairs, start) for start in starts]
        start = min(refined, key=lambda fit: float(distances(some.pairs, fit).mean()))
    step = len(fits.frames) // _FITTED + 1
    if step == 1:
        return similarity(fits.pairs, start)
    return similarity(LinePairs.of([(frame.predictions, frame.truth) for frame in fits.frames[::step]]), start)


def _own_is_nearest(fits: Fits, fit: Similarity) -> bool:
    """Return whether the frames fit their own truth after a motion, and not that of other frames."""
    frames = tuple(frame._replace(predictions=frame.predictions.moved(fit)) for frame in fits.frames)
    after = Fits(frames, fits.predictions, fits.truth, turn=fits.turn, tables=fits.tables, order=fits.order)
    return bool(np.median(after.share) < _POOR)


def of_neighbours(context: Context) -> Iterator[Finding]:
    """Find tokens that are off by one: predictions fit the truth of the next or of the previous frame."""
    fits = context.fits
    shares = _nearer_beside(fits)
    k = int(np.argmax(shares))
    if shares[k] <= _BESIDE:
        return
    which = ("previous", "next")[k]
    text = (
        f"the predictions of {100 * shares[k]:.0f} % of the frames are nearer to the truth of the {which} frame than "
        f"to their own. {len(fits.frames)} frames were compared, and frames that are as near to both are left out"
    )
    remedy = Remedy.of("Check that tokens and results were not paired with an offset of one frame")
    yield Finding("warning", "frames-shifted", text, count=len(fits.frames), remedy=remedy)


def _nearer_beside(fits: Fits) -> tuple[float, float]:
    """Return the share of the frames that are nearer to the truth of the previous and of the next frame.

    It is 0 if chance explains it.
    """
    shares = []
    for other in fits.beside:
        known = ~np.isnan(other)
        gain = fits.own[known] - other[known]
        number = int(np.count_nonzero(np.abs(gain) > _DECIDED))
        nearer = int(np.count_nonzero(gain > _DECIDED))
        by_chance = number / 2 + np.sqrt(number)  # two standard deviations
        shares.append(nearer / number if number >= _STEPS and nearer > by_chance else 0.0)
    return shares[0], shares[1]


def turned_frames(context: Context) -> Iterator[Finding]:
    """Find axes that are turned or mirrored in some frames only."""
    fits = context.fits
    turn, frames = _common_turn(fits)
    if turn is None:
        return
    total = len(fits.frames)
    number = int(np.count_nonzero(frames))
    text = (
        f"the predictions seem to be {turn.what}, in {number} of {total} frames that were compared "
        f"({share_of(number, total)})"
    )
    remedy = Remedy.of("Check what wrote these frames: all frames need the same axes")
    yield Finding("error", "axes-turned", text, count=number, examples=_tokens(fits, frames), remedy=remedy)


def _common_turn(fits: Fits) -> tuple[AxisTurn | None, Flags]:
    """Return the turn that many frames have in common, and the frames; None if there is none."""
    flags = np.zeros(len(fits.frames), np.bool_)
    suspects = np.flatnonzero(fits.enough & (fits.share > _OFF))
    if not len(suspects):
        return None, flags
    pairs = LinePairs.of([(fits.frames[i].predictions, fits.frames[i].truth) for i in suspects.tolist()])
    after = np.array([distances(pairs, turn) for turn in TURNS])
    is_turned = after.min(axis=0) < _TURNED * fits.own[suspects]
    turns = dict(zip(suspects[is_turned].tolist(), after.argmin(axis=0)[is_turned].tolist(), strict=True))  # by frame
    if not turns:
        return None, flags
    best, number = Counter(turns.values()).most_common(1)[0]
    if number < _FEW or number <= _TURNED_SHARE * len(fits.frames):
        return None, flags
    flags[[i for i, turn in turns.items() if turn == best]] = True
    return TURNS[best], flags


def turned_classes(context: Context) -> Iterator[Finding]:
    """Find axes that are turned or mirrored in one class only."""
    fits = context.fits
    if fits.tables[1] is None or context.turn.what:
        return
    for label, name in enumerate(context.truth.classes):
        frames, apart = fits.of_class(label)
        if len(frames) < _FEW:
            continue
        here = float(apart.mean())
        if here < _FAR:
            continue
        chosen = [fits.frames[i] for i in frames.tolist()]
        pairs = [(frame.predictions.of_class(label), frame.truth.of_class(label)) for frame in chosen]
        lines = sum(len(y.label) for _, y in pairs)
        if lines < _LINES:
            continue
        of_class = LinePairs.of(pairs)
        after = [float(distances(of_class, turn).mean()) for turn in TURNS]
        best, second = np.argsort(after)[:2].tolist()
        if after[best] > _CLASS * here or after[best] > _SECOND * after[second]:
            continue
        turn = TURNS[best]
        text = (
            f"class {name}: the predictions of this class seem to be {turn.what}. In {len(pairs)} frames, the mean "
            f"distance between lines (at most {FARTHEST:g} m) is {here:.2f} m, and {after[best]:.2f} m after the "
            "correction"
        )
        remedy = Remedy.of("Check what wrote the lines of this class: all classes need the same axes")
        yield Finding("error", "axes-turned", text, count=lines, remedy=remedy)


def unrelated(context: Context) -> Iterator[Finding]:
    """Find frames that have the same token but different contents."""
    fits = context.fits
    enough = fits.enough
    number = int(np.count_nonzero(enough))
    if number < _SOME or confidences.inverted(context) or confidences.shuffled(context):
        return
    if float(np.median(fits.share[enough])) > _POOR:
        least = _MOST
    else:
        least = _SHARE
    frames = enough & (fits.share > _UNRELATED)
    wrong = int(np.count_nonzero(frames))
    if wrong < _FEW or wrong <= least * number:
        return
    text = (
        f"the predictions of {wrong} of {number} frames that were compared ({share_of(wrong, number)}) are hardly "
        "nearer to the truth of their own frame than to that of other frames"
    )
    remedy = Remedy.of("Check that tokens and results were not paired by position in different orders")
    yield Finding("warning", "frames-unrelated", text, count=wrong, examples=_tokens(fits, frames), remedy=remedy)


def _tokens(fits: Fits, frames: Flags) -> tuple[str, ...]:
    return tuple(fits.frames[i].token for i in np.flatnonzero(frames)[:3].tolist())


def unit(context: Context) -> Iterator[Finding]:
    """Find frames that have another unit than most frames of their side."""
    for name, side in context.sides:
        frames, factor = _larger(side)
        if len(frames) < 2:
            continue
        known = next((size for size in _UNITS if 1 / _ALIKE < factor / size < _ALIKE), None)
        filled = int(np.count_nonzero(np.diff(side.offsets)))
        if known:
            guess = f" The unit seems to be {_UNITS[known]} there."
        else:
            guess = ""
        text = (
            f"{name}: the lines of {len(frames)} of {filled} frames ({share_of(len(frames), filled)}) reach about "
            f"{known or factor:.4g} times as far as those of the others.{guess} Expected metres in all frames"
        )
        remedy = Remedy.of(f"Divide the coordinates of these frames by {known or factor:.4g}")
        tokens = tuple(side.tokens[i] for i in frames[:3].tolist())
        yield Finding("error", "coordinates-unit", text, count=len(frames), examples=tokens, remedy=remedy)


def _larger(side: MapFrames) -> tuple[Indices, float]:
    """Return the frames that reach much farther than most, and by which factor; none if they are the larger part."""
    rows = np.flatnonzero(np.diff(side.polylines.offsets))
    if not len(rows):
        return rows, 1.0
    reach = survey(side.polylines).reach[rows, :2].max(axis=1)
    frame = side.frame[rows]
    starts = np.flatnonzero(np.diff(frame, prepend=-1))
    # The line that reaches least: a single line far away is a broken line, not another unit.
    least = np.minimum.reduceat(reach, starts)
    farthest = np.maximum.reduceat(reach, starts)
    usual = float(np.median(farthest))
    large = farthest > _UNIT * usual
    if not usual > 0 or not large.any() or np.mean(large) > _MOST:
        return rows[:0], 1.0
    large &= least > np.median(least)
    frames = frame[starts][large]
    if large.any():
        factor = float(np.median(farthest[large]) / usual)
    else:
        factor = 1.0
    return np.asarray(frames, np.int64), factor
