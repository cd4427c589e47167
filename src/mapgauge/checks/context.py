"""The input of the checks: both sides, the settings, and values that several checks need, computed once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_class_names
from mapgauge.checks.fits import Fits, Ranking, ranking
from mapgauge.checks.neighbours import AxisTurn, CheckedFrames, Motion, evenly, find_exchange, find_turn, most_confident
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding, Level, examples, share_of
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region, check_region
from mapgauge.geometry.polylines import survey
from mapgauge.geometry.poses import turns_between
from mapgauge.geometry.projections import PROJECT
from mapgauge.protocols import Protocol
from mapgauge.typing import Bounds, Floats, Indices, Points
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.io._format import Format

Counts: TypeAlias = dict[str, int]  # number of instances per class

_FRAMES = 256  # at most this many frames are used for extents
ENOUGH = 20  # instances of a side that is called smaller than a region; a few frames need not fill one
FAR = 200.0  # metres from the origin; no frame around the ego reaches this far
_HIT = 1.5  # metres; the largest threshold of Chamfer-AP at 60 x 30 m
_EDGE = 0.2  # metres; instances that end within this distance end at the same edge
_ENOUGH = 5  # lines that one side needs if the other does not have longitude and latitude
_LINE = 0.1  # most lines are shorter than this: 10 km in degrees, or 10 cm in metres
_NEXT = 0.5  # most lines of a frame are nearer than this to the next one: 50 km, or half a metre
_FROM_ORIGIN = 2.0  # no land is nearer to longitude 0, latitude 0


class Extent(NamedTuple):
    """The extent of the instances of one side."""

    low: Points  # (2,)
    high: Points  # (2,)
    cut: NDArray[np.bool_]  # (2,): whether many instances end at the same edges along this axis, as after cropping
    of_frame: float  # the median diagonal of a frame
    instances: int

    @property
    def size(self) -> Points:
        """Size along x and y."""
        return self.high - self.low

    @property
    def centre(self) -> Points:
        """Centre."""
        return self.low / 2 + self.high / 2

    @property
    def is_world(self) -> bool:
        """Whether all instances are far from the origin, or frames are small compared with the whole extent."""
        across = np.hypot(*self.size)
        away = np.hypot(*self.centre)
        return bool(away > max(FAR, 2 * across) or (across > FAR and self.of_frame < 0.2 * across))

    def moved(self, motion: Motion) -> "Extent":
        """Return the extent after a quarter turn or a mirroring."""
        corners = motion(np.stack([self.low, self.high]))
        cut = motion(self.cut.astype(np.float64)) != 0
        return self._replace(low=corners.min(axis=0), high=corners.max(axis=0), cut=cut)

    def __str__(self) -> str:
        """Size for messages, such as ``60 x 30``."""
        return " x ".join(f"{size:.3g}" if not 1e3 <= size < 1e7 else f"{size:.0f}" for size in self.size.tolist())


def extent_of(side: MapFrames) -> Extent | None:
    """Return the extent of one side; None if it has no points."""
    rows = np.flatnonzero(np.diff(side.polylines.offsets))
    if not len(rows):
        return None
    measured = survey(side.polylines)
    low = measured.low[rows, :2]
    high = measured.high[rows, :2]
    frame = side.frame[rows]
    starts = np.flatnonzero(np.diff(frame, prepend=-1))
    span = np.maximum.reduceat(high, starts, axis=0) - np.minimum.reduceat(low, starts, axis=0)
    trimmed = max(int(0.02 * len(rows)), int(len(rows) >= 10))  # instances that are ignored at each edge
    low = np.sort(low, axis=0)
    high = np.sort(high, axis=0)[::-1]
    least = max(trimmed + 1, 4)  # instances that must end at the same edge
    cut = ((low - low[0] < _EDGE).sum(axis=0) >= least) & ((high[0] - high < _EDGE).sum(axis=0) >= least)
    return Extent(low[trimmed], high[trimmed], cut, of_frame=float(np.median(np.hypot(*span.T))), instances=len(rows))


def is_geographic(side: MapFrames, least: int = _ENOUGH) -> bool:
    """Whether at least ``least`` lines, and most lines of a side, look like longitude and latitude."""
    return _geographic_lines(side) >= max(least, 1)


def _geographic_lines(side: MapFrames) -> int:
    """Return the number of lines that are longer than 0 if most look like longitude and latitude, and otherwise 0."""
    centre, length, frame = _lines(side)
    if not len(centre) or not float(np.median(length)) < _LINE:
        return 0
    nearer, farther = np.sort(np.abs(centre), axis=1).T
    on_earth = (nearer <= 90) & (farther <= 180) & (np.hypot(nearer, farther) > _FROM_ORIGIN)
    next_one = np.hypot(*np.diff(centre, axis=0).T)[np.diff(frame) == 0]
    if len(next_one):
        apart = float(np.median(next_one))
    else:
        apart = 0.0
    if apart < _NEXT and np.median(on_earth) == 1:
        return len(centre)
    return 0


def degrees_found(name: str, side: MapFrames, count: int) -> Finding:
    """Return the finding about one side, or about both, with ``count`` instances."""
    centre, length, _ = _lines(side)
    x, y = centre[0].tolist()
    text = (
        f"{name}: the coordinates look like longitude and latitude, such as ({x:.6f}, {y:.6f}), and half of the lines "
        f"are shorter than {np.median(length):.2g}. Thresholds and cutoffs are metres, so no value has a meaning"
    )
    return Finding("error", "coordinates-world", text, count=count, remedy=PROJECT)


def _lines(side: MapFrames) -> tuple[Points, Floats, Indices]:
    """Return centre, length of the diagonal and frame of the lines that are longer than 0."""
    measured = survey(side.polylines)
    low = measured.low[:, :2]
    high = measured.high[:, :2]
    length = np.hypot(*(high - low).T)
    rows = np.flatnonzero((length > 0) & np.isfinite(length))  # without points it is minus infinity
    return low[rows] / 2 + high[rows] / 2, length[rows], side.frame[rows]


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckInput:
    """What a check gets: both sides, reduced to the classes that are compared, and the settings."""

    predictions: MapFrames
    truth: MapFrames
    region: Bounds | None = None  # the region that is compared: ``(x_min, y_min, x_max, y_max)``, metres
    classes: tuple[str, ...] | None = None  # the requested classes; None for all
    protocol: Protocol | None = None  # which compares them; None if the sides are only checked

    @property
    def sides(self) -> tuple[tuple[str, MapFrames], tuple[str, MapFrames]]:
        """Both sides with their names in messages."""
        return ("predictions", self.predictions), ("truth", self.truth)

    @cached_property
    def shared(self) -> list[str]:
        """Tokens that both sides have, sorted, so that a sample does not depend on the order in the files."""
        return sorted(self.predictions.index.keys() & self.truth.index.keys())


@dataclass(frozen=True, eq=False, kw_only=True)
class Context(CheckInput):
    """The input of a check, and values derived from it that checks of the core need."""

    offered: tuple[Counts, Counts]  # instances per class, including classes that were not requested
    named: bool = False  # whether the classes were asked for by name, and are not those of a protocol

    @classmethod
    def of(
        cls,
        predictions: MapFrames,
        truth: MapFrames,
        region: Region | None = None,
        classes: Sequence[str] | None = None,
        protocol: Protocol | None = None,
        *,
        named: bool = False,
    ) -> "Context":
        """Make a context; classes that were not requested are left out."""
        bounds = None
        if region is not None:
            bounds = check_region(region, truth.forward or predictions.forward)
        offered = (without_boxes(predictions), without_boxes(truth))
        x, y = offered
        wanted = None
        if classes is not None:
            wanted = check_class_names(classes)
            x, y = (side.as_classes([name for name in side.classes if name in wanted]) for side in offered)
        return cls(
            predictions=x,
            truth=y,
            region=bounds,
            classes=wanted,
            protocol=protocol,
            offered=(offered[0].counts, offered[1].counts),
            named=named,
        )

    @cached_property
    def sampled(self) -> tuple[MapFrames, MapFrames]:
        """An even sample of frames: the same on both sides if any frame has instances on both."""
        pairs = [(self.predictions.index[token], self.truth.index[token]) for token in self.shared]
        filled = [np.diff(side.offsets) > 0 for _, side in self.sides]
        both = evenly([(i, j) for i, j in pairs if filled[0][i] and filled[1][j]], _FRAMES)
        if both:
            return self.predictions.at([i for i, _ in both]), self.truth.at([j for _, j in both])
        x, y = (side.at(evenly(np.flatnonzero(np.diff(side.offsets)).tolist(), _FRAMES)) for _, side in self.sides)
        return x, y

    @cached_property
    def extents(self) -> tuple[Extent, Extent] | None:
        """Extents of both sides, the predictions turned to the axes of the truth; None if there are too few instances.

        Only the most confident predictions are used, as many as there are truth instances: others may lie anywhere.
        """
        predictions, truth = self.sampled
        everyone = np.arange(len(predictions.polylines))
        sure = predictions.keep(most_confident(predictions, everyone, len(truth.polylines)))
        x = extent_of(sure)
        y = extent_of(truth)
        if x is None or y is None or min(x.instances, y.instances) < 5:
            return None
        return x.moved(self.turn), y

    @cached_property
    def geographic(self) -> tuple[bool, bool]:
        """Whether the sides have longitude and latitude. A few lines tell it only if both sides have it."""
        x, y = (_geographic_lines(side) for side in self.sampled)
        if x and y:
            return (True, True)
        return (x >= _ENOUGH, y >= _ENOUGH)

    @cached_property
    def neighbours(self) -> CheckedFrames:
        """Truth and predictions of a few frames, prepared for distances; empty if no tokens match."""
        x, y = self.sampled
        if x.tokens != y.tokens:
            return CheckedFrames(())
        frames = evenly(range(len(x)), most=24)
        return CheckedFrames.of(x.at(frames), y.at(frames))

    @cached_property
    def turn(self) -> AxisTurn:
        """The turn that moves the predictions onto the truth; usually none."""
        return find_turn(self.neighbours)

    @property
    def known_turns(self) -> int | None:
        """Quarter turns from the axes of the predictions to the axes of the truth; None if one side does not say."""
        return turns_between(self.predictions.forward, self.truth.forward)

    @cached_property
    def exchanged(self) -> dict[str, str]:
        """Predicted classes that seem to be swapped, judged by the class of the nearest truth; usually empty."""
        return find_exchange(self.neighbours, self.turn, self.predictions.classes, true=self.truth.classes)

    @cached_property
    def fits(self) -> Fits:
        """Single frames, prepared for distances. Classes count if the sides have classes in common."""
        x, y = self.sampled
        if x.tokens == y.tokens:
            tokens = x.tokens
        else:
            tokens = ()
        common = any(x.counts[name] and y.counts.get(name) for name in x.classes)
        return Fits.of(self.predictions, self.truth, tokens, turn=self.turn, by_class=common and not self.exchanged)

    @cached_property
    def ranking(self) -> Ranking | None:
        """How the confidences rank predictions that lie on truth; None if it cannot be told."""
        return ranking(self.fits, _HIT)


def format_of(side: MapFrames) -> "Format | None":
    """Return the format that frames came from; None if they came from no file, or from a format that is not here."""
    if not side.format:
        return None
    # Only here: checks of frames that came from no file need no readers.
    from mapgauge.io import FORMATS

    return FORMATS.get(side.format)


def about_instances(
    side: tuple[str, MapFrames],
    rows: Indices,
    level: Level,
    code: str,
    text: str,
    remedy: Remedy | None = None,
    *,
    share: bool = False,
) -> Iterator[Finding]:
    """Yield the finding about some instances of a side, if there are any. Its text begins with their number."""
    name, frames = side
    if len(rows):
        total = len(frames.polylines)
        told = ""
        if share:
            told = f" ({share_of(len(rows), total)})"
        text = f"{name}: {len(rows)} of {counted(total, 'instance')}{told} {text}"
        yield Finding(level, code, text, count=len(rows), examples=examples(frames, rows), remedy=remedy)
