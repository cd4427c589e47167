"""``consistency``: flicker between frames, without truth."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mapgauge.arguments import check_cutoff, check_length, check_not_mean, check_whole
from mapgauge.checks.context import extent_of
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.tracks.drives import common_areas, common_parts, drives_of, motions_between, oriented
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames, pick_rows
from mapgauge.geometry.cropping import Region, check_region
from mapgauge.markup import text_table
from mapgauge.metrics.groups import group
from mapgauge.metrics.metric import SumRows
from mapgauge.metrics.pld import PLD, Parts, added, normalised_parts, normalised_pld
from mapgauge.protocols import Protocol
from mapgauge.results.bootstrap import SAMPLES, added_by_unit, check_draws, draw_units, drawn_sums
from mapgauge.results.drawn_values import draws_of, mean_over_classes
from mapgauge.results.estimation import estimate
from mapgauge.results.intervals import FEWEST, LEVEL, Estimate, too_few
from mapgauge.scoring.data import in_threads
from mapgauge.scoring.prepare import Frames
from mapgauge.scoring.scores import exact_sums, rounded
from mapgauge.typing import Bounds, Floats, Indices, Progress

FLICKER = "flicker"  # the key of the value
KEYS = (FLICKER, *Parts._fields)
# What the parts of PLD mean here, as columns and legends name them: lines that stay move, become longer or shorter, or
# change their confidence; lines disappear, and lines appear.
PART_TITLES = dict(zip(Parts._fields, ("moved", "resized", "confidence", "gone", "new"), strict=True))
MEAN = "mean"


class Transitions(NamedTuple):
    """Pairs of frames of one scene, as columns."""

    lag: Indices  # number of frames from the earlier to the later
    scene: tuple[str, ...]
    earlier: tuple[str, ...]  # tokens
    later: tuple[str, ...]
    area: Floats  # square metres that both frames show
    sums: Floats  # (transitions, classes, 6): the five parts of PLD and the mass


@dataclass(frozen=True, eq=False, kw_only=True)
class Consistency:
    """How much the output changes from frame to frame, for each class and lag.

    ``flicker`` is the normalised PLD between the earlier output, moved into the later frame, and the later output, in
    the region that both frames show. It is 0 for a map that stands still, and 1 if nothing stays. Its five parts add up
    to it:

    - ``matched_points``: lines that stay move.
    - ``unmatched_points``: lines that stay become longer or shorter.
    - ``confidence``: the confidence of lines that stay changes.
    - ``missed``: lines disappear.
    - ``false``: lines appear.
    """

    name: str  # of the predictions
    class_names: tuple[str, ...]
    lags: tuple[int, ...]
    region: Bounds  # what a frame shows
    margin: float  # metres at the edge of the region that are not compared
    cutoff: float  # metres
    spacing: float  # metres
    transitions: Transitions
    estimates: dict[int, dict[str, dict[str, Estimate]]]  # by lag, class name (or "mean") and key
    scenes: int
    samples: int
    level: float
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        """Return the flicker at each lag in one line."""
        flicker = ", ".join(
            f"lag {lag}: {self.estimates[lag][MEAN][FLICKER]}" for lag in self.lags if self.estimates[lag]
        )
        return f"<Consistency {self.name or 'predictions'}: flicker {flicker or 'without value'}>"

    @property
    def flicker(self) -> float | None:
        """The flicker at the smallest lag, as the mean over classes; None if no class has output."""
        estimates = self.estimates[self.lags[0]]
        if estimates:
            return estimates[MEAN][FLICKER].value
        return None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each lag and class, and for the mean over classes. Values are None where there is no output."""
        rows = []
        for lag in self.lags:
            count = int(np.count_nonzero(self.transitions.lag == lag))
            for name in (*self.class_names, MEAN):
                estimates = self.estimates[lag].get(name)
                row: dict[str, Any] = {"lag": lag, "class": name, "transitions": count}
                row |= dict.fromkeys((FLICKER, "low", "high", *KEYS))
                if estimates:
                    row |= {key: estimates[key].value for key in KEYS}
                    flicker = estimates[FLICKER]
                    if not np.isnan(flicker.low):
                        row["low"] = flicker.low
                    if not np.isnan(flicker.high):
                        row["high"] = flicker.high
                rows.append(row)
        return rows

    def worst(self, count: int = 10, *, lag: int | None = None) -> list[dict[str, Any]]:
        """Return the transitions with the largest flicker, all classes pooled.

        Args:
            count: The number of transitions.
            lag: The lag; the smallest if None.
        """
        if lag is None:
            chosen = self.lags[0]
        else:
            chosen = lag
        if chosen not in self.lags:
            raise InvalidInput(f"lag must be one of {', '.join(map(str, self.lags))}, got {lag!r}")
        pairs = self.transitions
        # Without classes there is nothing to add.
        if self.class_names:
            sums = added(np.moveaxis(pairs.sums, 1, 0))
        else:
            sums = np.zeros((len(pairs.lag), len(KEYS)))
        values = np.nan_to_num(_values(sums))
        own = np.flatnonzero(pairs.lag == chosen).tolist()
        own.sort(key=lambda i: (-values[i, 0], pairs.scene[i], pairs.later[i]))
        return [
            {
                "lag": chosen,
                "scene": pairs.scene[i],
                "earlier": pairs.earlier[i],
                "later": pairs.later[i],
                "area": float(pairs.area[i]),
                **dict(zip(KEYS, values[i].tolist(), strict=True)),
            }
            for i in own[: check_whole("count", count, least=0)]
        ]

    def table(self) -> str:
        """Return the values of all lags and classes as text."""
        header = ["lag", "class", "transitions", "flicker", *PART_TITLES.values()]
        return text_table(header, [cells_of(row) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Return the settings, all values and the worst transitions as plain values, for JSON."""
        names = ("name", "lags", "region", "margin", "cutoff", "spacing", "scenes", "samples", "level", FLICKER)
        settings = {name: getattr(self, name) for name in names}
        lists = {"lags": list(self.lags), "region": list(self.region)}
        worst = [row for lag in self.lags for row in self.worst(lag=lag)]
        return settings | lists | {"values": self.rows, "worst": worst}


def cells_of(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row of values as text."""
    cells = ["-" if row[key] is None else f"{row[key]:.3f}" for key in KEYS]
    if row[FLICKER] is not None:
        bounds = [np.nan if row[end] is None else row[end] for end in ("low", "high")]
        cells[0] = str(Estimate(row[FLICKER], *bounds))
    return [str(row["lag"]), row["class"], str(row["transitions"]), *cells]


def estimates_of(
    transitions: Transitions, lag: int, classes: Sequence[str], samples: int, level: float, seed: int
) -> dict[str, dict[str, Estimate]]:
    """Return the values of all classes at one lag with their intervals; empty if there is no output.

    Whole scenes are drawn, because transitions of one scene are similar.
    """
    own = np.flatnonzero(transitions.lag == lag)
    scenes = [transitions.scene[i] for i in own.tolist()]
    unit, weights = draw_units(scenes, samples, np.random.default_rng(seed))
    by_scene = added_by_unit(transitions.sums[own], unit, weights.shape[1])
    values: dict[str, list[float]] = {}
    drawn: dict[str, dict[str, Floats]] = {}
    count: dict[str, int] = {}
    for c, name in enumerate(classes):
        pooled = np.array([rounded(total) for total in exact_sums(transitions.sums[own, c])])
        if pooled[-1] > 0:
            values[name] = _values(pooled).tolist()
            drawn[name] = dict(zip(KEYS, _values(drawn_sums(weights, by_scene[:, c])).T, strict=True))
            count[name] = int(np.count_nonzero(by_scene[:, c, -1]))
    if not values:
        return {}
    values[MEAN] = [float(added(column)) / len(values) for column in zip(*values.values(), strict=True)]
    drawn[MEAN] = {key: mean_over_classes([by_key[key] for by_key in drawn.values()]) for key in KEYS}
    count[MEAN] = int(np.count_nonzero(by_scene[..., -1].any(axis=1)))
    return {
        name: {
            key: estimate(value, draws_of(drawn, name, key, count=count), level, limits=(0.0, 1.0))
            for key, value in zip(KEYS, values[name], strict=True)
        }
        for name in values
    }


def _values(sums: Floats) -> Floats:
    """Return the flicker and its five parts from sums ``(..., 6)``; NaN where there is no output."""
    flicker = np.minimum(normalised_pld(sums, order=1.0), 1.0)[..., None]
    values = np.concatenate([flicker, normalised_parts(sums)], axis=-1)
    return np.where(sums[..., -1:] > 0, values, np.nan)


BLOCK = 48  # transitions that are compared together
LAGS = (1, 2, 5, 10)  # frames between the two of a transition, unless others are given
MARGIN = 2.0  # metres; see docs/how-to/consistency.md
_FITS = 0.7  # output that fills a region covers at least this share of it along each axis
_ENOUGH = 20  # instances; fewer need not fill a region
_BEYOND = 1.0  # metres
_MOVES = 1.0  # metres between frames; the output of a vehicle that stands fits any pose
_WORSE = 0.05  # of flicker; less is chance


def consistency(
    predictions: Frames,
    *,
    poses: Frames | None = None,
    scenes: Mapping[str, str] | None = None,
    classes: Sequence[str] | None = None,
    lags: Sequence[int] = LAGS,
    region: Region = (60.0, 30.0),
    margin: float = MARGIN,
    cutoff: float = 1.5,
    spacing: float = 0.5,
    samples: int = SAMPLES,
    level: float = LEVEL,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Consistency:
    """Measure how much the output of a method flickers. No truth is needed.

    The output of an earlier frame is moved into a later frame by their poses. PLD compares the two in the region that
    both frames show, with the confidences of both. All transitions of a lag are pooled for each class.

    Args:
        predictions: The output of a method, or the file to read. Without confidences, all instances have 1.
        poses: Frames with poses, such as the truth, or the file to read. If None, the predictions must have poses.
        scenes: The scene of each token, if neither the predictions nor ``poses`` have it.
        classes: The classes to compare; all if None.
        lags: Numbers of frames between the two frames of a transition.
        region: What a frame shows: ``(length, width)`` around the ego or ``(x_min, y_min, x_max, y_max)``, in metres.
        margin: Width of the edge of this region that is not compared, in metres. Lines end at the edge, and polygons
            are closed along it, at another place in every frame.
        cutoff: Cutoff of SOSPA in metres.
        spacing: Distance between the points of a polyline after resampling, in metres.
        samples: Number of bootstrap samples, which are drawn from the scenes.
        level: The probability with which an interval covers the true value.
        seed: Seed of the draws.
        workers: Number of threads. If None, the number of processors. The result does not depend on it.
        progress: A function that is called with the number of finished blocks and the number of all blocks.

    Returns:
        The flicker of each class and lag with its five parts and intervals, and the worst transitions.

    >>> import mapgauge as mg
    >>> from mapgauge.demo import demo_world
    >>> predictions, truth = demo_world(20)
    >>> still = mg.consistency(truth, lags=[1])
    >>> flickering = mg.consistency(predictions, lags=[1])
    >>> still.flicker < 0.01 < flickering.flicker
    True
    """
    wanted = check_lags(lags)
    settings = Protocol(name="consistency", classes=None, spacing=spacing, cutoffs=(check_cutoff("cutoff", cutoff),))
    check_draws(samples, level, seed)
    drives = drives_of(predictions, poses, scenes)
    if classes is None:
        frames = drives.frames
    else:
        frames = drives.frames.select(classes)
    check_not_mean(frames.classes)
    if frames.confidence is None:
        frames = frames.with_confidence(1)
    frames = replace(frames, links=None, track=None)
    bounds = check_region(region, frames.forward)
    box = inner(bounds, margin)
    pairs = [
        (each, *pair)
        for each in wanted
        for own in drives.scenes.values()
        for pair in zip(own[:-each].tolist(), own[each:].tolist(), strict=True)
    ]
    all_pairs = np.array(pairs, np.int64).reshape(-1, 3).T
    areas = common_areas(motions_between(drives.poses, all_pairs[1], all_pairs[2]), box)
    (lag, earlier, later) = all_pairs[:, areas > 0]
    area = areas[areas > 0]
    apart = int(np.count_nonzero(areas <= 0))
    if not len(lag):
        raise InvalidInput(
            f"{frames.name or 'predictions'}: no two frames of a scene are {' or '.join(map(str, wanted))} frames "
            "apart and show a common region",
            remedy="Check the scenes, the poses and the region",
        )
    blocks = [slice(start, start + BLOCK) for start in range(0, len(lag), BLOCK)]

    def work(block: slice | Indices, poses: Floats = drives.poses) -> Floats:
        """Return the five parts of PLD and the mass of transitions and classes. The earlier output is the truth."""
        sides = common_parts(frames, poses, earlier[block], later=later[block], box=box)
        before, now = (replace(side, polylines=oriented(side.polylines, frames.forward)) for side in sides)
        assert isinstance(PLD.rows, SumRows)
        parts = PLD.rows.score(group(now, before, settings), settings, settings.cutoffs[0])
        return parts.reshape(len(earlier[block]), len(frames.classes), len(KEYS))

    sums = np.concatenate(in_threads(work, blocks, workers, progress=progress))
    tokens = [pick_rows(frames.tokens, rows) for rows in (earlier, later)]
    columns = Transitions(lag, pick_rows(drives.frames.scenes, later), tokens[0], later=tokens[1], area=area, sums=sums)
    estimates = {
        each: estimates_of(columns, each, frames.classes, samples=samples, level=float(level), seed=seed)
        for each in wanted
    }
    still = np.tile(np.eye(4), (len(frames), 1, 1))  # the poses of a vehicle that does not move
    findings = (
        *frames.findings,
        *drives.findings,
        *_findings(frames, bounds, wanted, lag=lag, apart=apart, scenes=len(drives.scenes)),
        *_misfits(partial(work, poses=still), drives.poses, earlier, later=later, transitions=columns),
    )
    return Consistency(
        name=frames.name,
        class_names=frames.classes,
        lags=wanted,
        region=bounds,
        margin=float(margin),
        cutoff=settings.cutoffs[0],
        spacing=float(spacing),
        transitions=columns,
        estimates=estimates,
        scenes=len(drives.scenes),
        samples=samples,
        level=float(level),
        findings=findings,
    )


def check_lags(lags: Sequence[int]) -> tuple[int, ...]:
    """Return the lags in rising order after checking them."""
    if not isinstance(lags, tuple | list | np.ndarray) or not len(lags):
        raise InvalidInput(f"lags must be one or more numbers of frames, got {lags!r}")
    wanted = tuple(sorted(check_whole("lags", lag, least=1) for lag in lags))
    if len(set(wanted)) < len(wanted):
        raise InvalidInput(f"lags must differ from each other, got {lags!r}")
    return wanted


def inner(bounds: Bounds, margin: float) -> Bounds:
    """Return a region without its edge."""
    if margin == 0 and not isinstance(margin, bool):
        width = 0.0
    else:
        width = check_length("margin", margin)
    x_min, y_min, x_max, y_max = bounds
    if not (x_min + width < x_max - width and y_min + width < y_max - width):
        raise InvalidInput(f"margin must be smaller than half the region, got {margin!r}")
    return x_min + width, y_min + width, x_max - width, y_max - width


def _findings(
    frames: MapFrames, bounds: Bounds, lags: Sequence[int], lag: Indices, apart: int, scenes: int
) -> Iterator[Finding]:
    """Yield what limits the comparison."""
    empty = [str(each) for each in lags if not (lag == each).any()]
    if empty:
        text = f"no scene has two frames that are {' or '.join(empty)} frames apart and show a common region"
        yield Finding("note", "lags-without-transitions", text, count=len(empty))
    if apart:
        text = f"{apart} transitions have no common region, because the vehicle left it. They are not compared"
        yield Finding("note", "transitions-apart", text, count=apart)
    extent = extent_of(frames)
    if extent is not None and extent.instances >= _ENOUGH:
        low = np.array(bounds[:2])
        high = np.array(bounds[2:])
        size = high - low
        text = f"the region is {size[0]:g} x {size[1]:g} m and the output measures {extent} m"
        if (extent.size < _FITS * size).any():
            remedy = Remedy(
                "Pass region= with the region of the method, as length and width: forward first, then sideways",
                "Pass --region with the region of the method, as LENGTHxWIDTH",
            )
            text += ": lines end inside the region, at another place in every frame, and this counts as flicker"
            yield Finding("warning", "region-not-filled", text, count=extent.instances, remedy=remedy)
        elif ((extent.low < low - _BEYOND) | (extent.high > high + _BEYOND)).any():
            text += ": what lies outside is not compared"
            yield Finding("note", "region-exceeded", text, count=extent.instances)
    if few := too_few(scenes, "scene"):  # intervals are drawn from scenes
        yield Finding(
            "warning", "scenes-few", few, count=scenes, remedy=Remedy.of(f"Evaluate at least {FEWEST} scenes")
        )


def _misfits(
    unmoved: Callable[[Indices], Floats], poses: Floats, earlier: Indices, later: Indices, transitions: Transitions
) -> Iterator[Finding]:
    """Find poses that do not belong to the output: it agrees better if it is not moved at all.

    ``unmoved`` scores some transitions as if the vehicle stood still.
    """
    own = np.flatnonzero(transitions.lag == transitions.lag[0])
    moved = np.abs(motions_between(poses, earlier[own], later[own])[:, :2, 3]).max(axis=1)
    sample = own[np.argsort(-moved, kind="stable")[:BLOCK]]
    if np.sort(moved)[::-1][: len(sample)].mean() < _MOVES:
        return
    values = [
        float(normalised_pld(rows.sum(axis=(0, 1)), order=1.0)) for rows in (transitions.sums[sample], unmoved(sample))
    ]
    if values[0] > values[1] + _WORSE:
        text = (
            f"output of neighbouring frames agrees better if the poses are not used: flicker {values[1]:.3f} instead "
            f"of {values[0]:.3f} in {len(sample)} transitions. The poses may be those of another sensor, or from world "
            "to frame"
        )
        remedy = Remedy.of("Check that the poses move points of these frames to the world")
        yield Finding("warning", "poses-do-not-fit", text, count=len(sample), remedy=remedy)
