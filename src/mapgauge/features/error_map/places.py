"""The worst places: connected runs of pieces that are often not found, or found beside the true line."""

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput
from mapgauge.features.error_map.counting import CountedPieces
from mapgauge.geometry.connected import connected
from mapgauge.geometry.polylines import ranges
from mapgauge.results.bootstrap import SAMPLES, draw_units, drawn_sums
from mapgauge.results.estimation import estimate
from mapgauge.results.intervals import FEWEST, LEVEL, Estimate
from mapgauge.results.standard_errors import Draws
from mapgauge.typing import Flags, Floats, Indices
from mapgauge.words import counted

Kind: TypeAlias = Literal["missed", "beside", "difference", "gained"]
REACH = 1.0  # metres between the middles of two pieces of one run: one piece may be lacking
MISSED = 0.5  # share of the frames: a piece that is not found in fewer belongs to no missed run
BESIDE = 0.5  # metres beside the true line, the median over frames: a piece that is closer belongs to no run beside it
WORSE = 0.25  # of the share: a piece with a smaller difference belongs to no run of a difference
COUNT = 10  # places of a list, unless another number is given
_OF_TWO = ("difference", "gained")  # kinds that compare a method with the first one


class ErrorPlace(NamedTuple):
    """A connected run of pieces of one class."""

    kind: Kind
    class_name: str
    x: float  # metres in the world: of the pieces that most frames saw, the one nearest to the middle
    y: float
    length: float  # metres of road
    lost: float  # what places are ranked by: metres not found, square metres beside, or metres found less or more
    share: Estimate  # of what frames saw of it: not found; for differences, not found less that of the other method
    offset: float  # metres beside the true line: the median over pieces that were found; NaN without any
    frames: int  # number of frames that saw it
    scenes: int  # number of their scenes; 0 if scenes are not known
    tokens: tuple[str, ...]  # frames that saw it, the ones that found least of it first
    pieces: Indices

    def to_dict(self) -> dict[str, Any]:
        """Return the values for JSON. Those that are not known are None."""
        named = self._asdict()
        for key in ("share", "pieces"):
            del named[key]
        named |= {"not_found": self.share.value, "low": self.share.low, "high": self.share.high}
        named |= {"tokens": list(self.tokens)}
        return {key: None if isinstance(value, float) and np.isnan(value) else value for key, value in named.items()}


def worst_places(
    made: CountedPieces,
    name: str | None = None,
    *,
    kind: Kind = "missed",
    count: int = COUNT,
    samples: int = SAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> list[ErrorPlace]:
    """Return the worst places of a method. ``ErrorMap.worst`` says how they are found, and names the arguments."""
    check_whole("count", count, least=0)
    method = _method_of(made, name, kind)
    offset = made.counts(method).offset
    chosen, lost = _lost(made, method, kind, offset=offset)
    runs = _runs(made, chosen, lost)[:count]
    first = None
    if kind in _OF_TWO:
        first = 0
    draws = _SceneDraws(made, method, samples, seed=seed, first=first)
    return [_place(made, kind, run, lost=lost, offset=offset, draws=draws, level=level) for run in runs]


def _method_of(made: CountedPieces, name: str | None, kind: Kind) -> int:
    """Return the number of the method whose places are meant. Refuse unknown kinds, and the first for a difference."""
    if kind not in ("missed", "beside", *_OF_TWO):
        raise InvalidInput(f"kind must be missed, beside, difference or gained, got {kind!r}")
    if name is not None:
        method = made.index(name)
    elif kind in _OF_TWO:
        method = len(made.names) - 1
    else:
        method = 0
    if kind in _OF_TWO and method == 0:
        raise InvalidInput(
            "a difference needs a method after the first", remedy="Give results of two methods, and name the second"
        )
    return method


def _lost(made: CountedPieces, method: int, kind: Kind, *, offset: Floats) -> tuple[Flags, Floats]:
    """Return the pieces that belong to places of a kind, and what each piece adds to what places are ranked by."""
    shares = made.shares(method)
    length = made.pieces.length
    if kind == "missed":
        return shares >= MISSED, length * shares
    if kind == "beside":
        chosen = (shares <= 1 - MISSED) & (offset >= BESIDE)  # NaN is not
        return chosen, length * np.nan_to_num(offset)
    difference = shares - made.shares(0)
    if kind == "gained":
        difference = -difference
    return difference >= WORSE, length * difference


def sentence_of(place: ErrorPlace, name: str) -> str:
    """Return the worst place of a kind in words."""
    where = f"at x {place.x:.0f}, y {place.y:.0f}"
    what = f"{place.length:.0f} m of {place.class_name}"
    seen = f"the {counted(place.frames, 'frame')}"
    if place.scenes:
        seen += f" of {counted(place.scenes, 'scene')}"
    if place.kind == "missed":
        return f"{name} misses most {where}: {what}, {interval_of(place)} of it not found in {seen} that saw it"
    if place.kind == "beside":
        return (
            f"{name} has the largest area beside the truth {where}: {what}, {place.offset:.2f} m beside in {seen} that "
            "saw it"
        )
    if place.kind == "gained":
        return f"{name} gains most {where}: {what}, {_gain_of(place)} more of it found in {seen} that saw it"
    return f"{name} loses most {where}: {what}, {interval_of(place)} more of it not found in {seen} that saw it"


def interval_of(place: ErrorPlace) -> str:
    """Return the share of a place in per cent, with its interval if it has one."""
    share = place.share
    if np.isnan(share.low):
        return f"{100 * share.value:.0f} %"
    return f"{100 * share.value:.0f} % [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def _gain_of(place: ErrorPlace) -> str:
    """Return how much more was found, in per cent."""
    share = place.share
    return interval_of(place._replace(share=Estimate(-share.value, -share.high, -share.low)))


def _runs(made: CountedPieces, chosen: Flags, lost: Floats) -> list[Indices]:
    """Return the pieces of each run, the run with the largest sum of ``lost`` first."""
    pieces = np.flatnonzero(chosen)
    number = connected(made.pieces.x[pieces], made.pieces.y[pieces], made.pieces.label[pieces], reach=REACH)
    total = np.bincount(number, lost[pieces])
    order = np.argsort(number, kind="stable")
    parts = np.split(pieces[order], np.cumsum(np.bincount(number))[:-1]) if len(pieces) else []
    # Runs with equal sums have the order of their first pieces.
    return [parts[k] for k in np.argsort(-total, kind="stable").tolist()]


class _SceneDraws:
    """Draws of scenes for the interval of a share."""

    def __init__(self, made: CountedPieces, method: int, samples: int, seed: int, first: int | None) -> None:
        self.made = made
        self.is_found = [made.is_found(k) for k in ([method] if first is None else [method, first])]
        self.scenes = made.scenes
        self.unit_of_frame = np.zeros(len(made.tokens), np.int64)
        self.weights = np.zeros((samples, 0))
        if made.scenes is not None:
            drawn = draw_units(made.scenes, samples, np.random.default_rng(seed))
            self.unit_of_frame, self.weights = drawn

    def share(self, rows: Indices, level: float) -> Estimate:
        """Return the share of the length of some rows of the map that was not found, or the difference of shares."""
        made = self.made
        length = made.pieces.length[made.seen_piece[rows]]
        lost = length * ~self.is_found[0][rows]
        if len(self.is_found) > 1:
            lost = lost - length * ~self.is_found[1][rows]
        value = float(lost.sum() / length.sum())
        if self.scenes is None:
            return Estimate(value, np.nan, np.nan)
        unit = self.unit_of_frame[made.seen_frame[rows]]
        some, place = np.unique(unit, return_inverse=True)
        sums = np.zeros((len(some), 2))
        sums[:, 0] = np.bincount(place, lost, len(some))
        sums[:, 1] = np.bincount(place, length, len(some))
        drawn = drawn_sums(self.weights[:, some], sums)
        if len(some) < FEWEST:
            return Estimate(value, np.nan, np.nan)
        samples = np.divide(drawn[:, 0], drawn[:, 1], out=np.full(len(drawn), np.nan), where=drawn[:, 1] > 0)
        limits = (0.0, 1.0) if len(self.is_found) == 1 else (-1.0, 1.0)
        return estimate(value, Draws(samples, len(some)), level, limits=limits)


def _place(
    made: CountedPieces, kind: Kind, pieces: Indices, lost: Floats, offset: Floats, draws: _SceneDraws, level: float
) -> ErrorPlace:
    """Return a run as a place."""
    rows = ranges(made.offsets[pieces], made.seen[pieces])
    x = made.pieces.x[pieces]
    y = made.pieces.y[pieces]
    # A mean may lie beside a bent road. The pieces that most frames saw say most of what happened.
    distance = np.square(x - x.mean()) + np.square(y - y.mean())
    middle = int(np.lexsort((distance, -made.seen[pieces]))[0])
    frames, place = np.unique(made.seen_frame[rows], return_inverse=True)
    missed = np.bincount(place, made.pieces.length[made.seen_piece[rows]] * ~draws.is_found[0][rows])
    tokens = [made.tokens[frame] for frame in frames.tolist()]
    worst = sorted(range(len(tokens)), key=lambda k: (-missed[k], tokens[k]))
    found = offset[pieces][~np.isnan(offset[pieces])]
    return ErrorPlace(
        kind=kind,
        class_name=made.classes[int(made.pieces.label[pieces[0]])],
        x=float(x[middle]),
        y=float(y[middle]),
        length=float(made.pieces.length[pieces].sum()),
        lost=float(lost[pieces].sum()),
        share=draws.share(rows, level),
        offset=float(np.median(found)) if len(found) else float("nan"),
        frames=len(frames),
        scenes=0 if made.scenes is None else len({made.scenes[frame] for frame in frames.tolist()}),
        tokens=tuple(tokens[k] for k in worst),
        pieces=pieces,
    )


def overall(made: CountedPieces, name: str | None = None) -> dict[str, float]:
    """Return the length of the map, the share of it that was not found over all frames, and flips per pair."""
    method = 0 if name is None else made.index(name)
    counts = made.counts(method)
    length = made.pieces.length
    seen = float((length * made.seen).sum())
    pairs = float((length * made.pairs).sum())
    return {
        "length": float(length.sum()),
        "not_found": float((length * (made.seen - counts.found)).sum()) / seen if seen else float("nan"),
        "flips": float((length * counts.flips).sum()) / pairs if pairs else float("nan"),
    }
