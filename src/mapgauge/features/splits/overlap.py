"""``splits``: how near validation frames are to training frames, in place and in shape.

Hubbertz et al. (2026) separate the memory of places from the memory of shapes. The paper leaves the distance between
frames open. Here it is PLD between the truth of two frames, in place of Fréchet costs.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mapgauge import kernels
from mapgauge.distances.sospa import as_lines
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.splits.joint import CLOSE, Joint, joint_of
from mapgauge.features.splits.neighbours import Neighbours, neighbours_of_prepared, prepared_truth
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import scenes_from_tokens
from mapgauge.geometry.polylines import CLOSED_TOLERANCE, Polylines
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.results.bootstrap import SAMPLES, check_draws
from mapgauge.results.intervals import LEVEL
from mapgauge.results.results import Results
from mapgauge.results.tags import Tags, tag_columns
from mapgauge.scoring.prepare import Frames, loaded
from mapgauge.typing import Floats, Indices, Progress
from mapgauge.words import counted

_MOST = 95  # percent of the points; a few may lie far away
_CLEARLY = 1.4  # times as far; regions are usually twice as long as wide
_ROWS = 64  # frames whose distances to all positions are in memory at once


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitOverlap:
    """The distances of validation frames to the nearest training frames."""

    tokens: tuple[str, ...]  # of the validation frames
    scenes: tuple[str, ...] | None
    place: Floats | None  # metres to the nearest training pose; NaN in a city without training; None without poses
    shape: Neighbours  # the training frames with the nearest truth
    frechet: Floats  # (frames, 3): quartiles of the Fréchet distances to that truth in metres; NaN without a pair
    positions: tuple[Floats, Floats] | None  # (frames, 2): of training and validation in the world; None without poses
    cities: tuple[tuple[str, ...], tuple[str, ...]]  # of the same frames; "" if they are not known
    notes: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each validation frame."""
        rows = []
        for k, (token, partner) in enumerate(zip(self.tokens, self.shape.partners, strict=True)):
            low, median, high = self.frechet[k].tolist()
            row: dict[str, Any] = {"token": token}
            if self.scenes is not None:
                row["scene"] = self.scenes[k]
            if self.place is not None:
                row["place"] = float(self.place[k])
            row["shape"] = float(self.shape.distance[k, 0])
            row["partner"] = partner
            row["frechet_median"] = median
            row["frechet_iqr"] = high - low
            rows.append(row)
        return rows

    @property
    def close(self) -> float | None:
        """The share of frames closer than 5 m to a training pose; None without poses."""
        if self.place is None:
            return None
        return float((self.place < CLOSE).mean())

    def joint(
        self, results: Results, key: str | None = None, *, samples: int = SAMPLES, level: float = LEVEL, seed: int = 0
    ) -> Joint:
        """Return the error of a method over the distances in place and in shape, with intervals over scenes.

        If ``location`` and ``geometry`` are above 0, the method is worse far from training. This holds for errors and
        for scores. With fewer than five scenes there are no intervals.

        Args:
            results: Results on the validation frames.
            key: A value, such as ``"ap_chamfer"``. If None, the first metric of the results.
            samples: Number of bootstrap samples.
            level: The probability with which an interval covers the true value.
            seed: Seed of the draws.
        """
        check_draws(samples, level, seed)
        if key is None:
            value = METRICS[results.metrics[0]].main.key
        else:
            value = key
        if results.mean.get(value) is None:
            raise InvalidInput(f"the results have no value {value!r}", remedy=f"Use one of {', '.join(results.mean)}")
        known = {token: row for row, token in enumerate(self.tokens)}
        lacking = [token for token in results.tokens if token not in known]
        if lacking:
            raise InvalidInput(
                f"{counted(len(lacking), 'frame of the results is', 'frames of the results are')} not in the "
                f"validation set, such as {lacking[0]}",
                remedy="Use the truth of the evaluation as VAL",
            )
        rows = np.array([known[token] for token in results.tokens])
        place = None
        if self.place is not None:
            place = self.place[rows]
        shape = self.shape.distance[rows, 0]
        return joint_of(results, value, place, shape=shape, samples=samples, level=level, seed=seed)


def splits(
    train: Frames,
    validation: Frames,
    *,
    protocol: str | Protocol = "paper-60x30",
    tags: Tags | None = None,
    work: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SplitOverlap:
    """Measure how near the frames of a validation set are to a training set, in place and in shape.

    Args:
        train: Truth of the training frames, or its file.
        validation: Truth of the validation frames, or its file.
        protocol: The settings of PLD between the truth of two frames.
        tags: Tags with a column ``city``, from ``read_tags``. Poses of different cities are not compared.
        work: A file (.npz) for finished frames, from which an interrupted search continues.
        workers: Number of threads. If None, the number of processors.
        progress: Called with the number of finished frames and of all frames.

    >>> from mapgauge.demo import demo_world
    >>> _, train = demo_world(40, seed=1)
    >>> _, validation = demo_world(10, seed=2)
    >>> overlap = splits(train, validation)
    >>> overlap.close, overlap.shape.distance.shape
    (0.0, (10, 1))
    """
    first = loaded(train)
    second = loaded(validation)
    place = None
    positions = None
    notes = []
    settings = protocol_of(protocol)
    cities = cities_of(first, tags), cities_of(second, tags)
    if first.poses is None or second.poses is None:
        lacking = " and ".join(name for name, side in (("TRAIN", first), ("VAL", second)) if side.poses is None)
        notes.append(f"{lacking} without poses: distances in place are not known. Give poses with FILE,poses=FILE")
    else:
        if tags is None:
            notes.append("cities are not known: poses of different cities may seem close. Give them with VAL,tags=FILE")
        positions = first.poses[:, :2, 3], second.poses[:, :2, 3]
        place = nearest_place(*positions, *cities)
        if np.isnan(place).any():
            alone = counted(int(np.isnan(place).sum()), "validation frame is", "validation frames are", form=",")
            notes.append(f"{alone} in a city without training frames")
    shared = set(first.tokens) & set(second.tokens)
    if shared:
        notes.append(f"{counted(len(shared), 'frame is', 'frames are', form=',')} in both sets, such as {min(shared)}")
    notes += _other_axes(first, second)
    ours = prepared_truth(second, settings)
    theirs = prepared_truth(first, settings)
    shape = neighbours_of_prepared(ours, theirs, protocol=settings, work=work, workers=workers, progress=progress)
    if settings.spacing is not None or settings.count is not None:
        sampled: dict[str, Any] = {"spacing": settings.spacing, "count": settings.count, "sampling": settings.sampling}
        ours = ours.resample(**sampled)
        theirs = theirs.resample(**sampled)
    return SplitOverlap(
        tokens=second.tokens,
        scenes=scenes_of(second),
        place=place,
        shape=shape,
        frechet=_quartiles(ours, theirs, shape.nearest[:, 0]),
        positions=positions,
        cities=cities,
        notes=tuple(notes),
    )


def _other_axes(train: MapFrames, validation: MapFrames) -> list[str]:
    """Return a note if the frames of two sets are long along different axes, and one set does not state its axes."""
    if train.forward is not None and validation.forward is not None:
        return []  # axes that are known to differ are an error
    longer = [_longer_axis(side) for side in (train, validation)]
    if None in longer or longer[0] == longer[1]:
        return []
    return [
        f"TRAIN reaches further along {longer[0]}, VAL along {longer[1]}: one of them may be turned by 90 degrees, and "
        "distances in shape would mean nothing. Turn it with FILE,rotate=90 or FILE,rotate=-90"
    ]


def _longer_axis(frames: MapFrames) -> str | None:
    """Return the axis along which most points reach clearly further; None if there is none."""
    coords = frames.polylines.coords
    if not len(coords):
        return None
    x, y = np.percentile(np.abs(coords[:, :2]), _MOST, axis=0)
    if x > _CLEARLY * y:
        return "x"
    if y > _CLEARLY * x:
        return "y"
    return None


def _quartiles(first: MapFrames, second: MapFrames, partner: Indices) -> Floats:
    """Return the quartiles of the Fréchet distances from each frame to its partner; NaN without a pair of lines.

    The partner is an index into ``second``, or -1. The cheapest pairs of lines of each class count. Lines are compared
    in both directions, and rings from every start. Lines without a pair are left out.
    """
    joined = Polylines.joined([first.polylines, second.polylines])
    lines, closed = as_lines(joined, "auto", CLOSED_TOLERANCE)
    shift = len(first.polylines)
    quartiles: Floats = np.full((len(first), 3), np.nan)
    for v, t in enumerate(partner.tolist()):
        if t < 0:
            continue
        costs: list[float] = []
        x_rows = np.arange(first.offsets[v], first.offsets[v + 1])
        y_rows = np.arange(second.offsets[t], second.offsets[t + 1])
        for label in range(len(first.classes)):
            x = x_rows[first.label[x_rows] == label].tolist()
            y = (shift + y_rows[second.label[y_rows] == label]).tolist()
            if not x or not y:
                continue
            cost = np.empty((len(x), len(y)))
            for a, i in enumerate(x):
                for b, j in enumerate(y):
                    cyclic = bool(closed[i] or closed[j])
                    cost[a, b] = kernels.frechet.frechet_both_shifted(lines, i, j, cyclic=cyclic, directed=False)
            costs += cost[kernels.assignment.cheapest_pairs(cost)].tolist()
        if costs:
            quartiles[v] = np.percentile(costs, (25, 50, 75))
    return quartiles


def scenes_of(frames: MapFrames) -> tuple[str, ...] | None:
    """Return the scene of each frame; None if they are not known."""
    if frames.scenes is None:
        return scenes_from_tokens(frames.tokens)
    return frames.scenes


def cities_of(frames: MapFrames, tags: Tags | None) -> tuple[str, ...]:
    """Return the city of each frame; "" for all if there are no tags."""
    if tags is None:
        return ("",) * len(frames)
    columns = tag_columns(tags, frames.tokens, scenes_of(frames))
    if "city" not in columns:
        raise InvalidInput(
            f"{tags.name}: no column city, got {', '.join(columns)}",
            remedy=Remedy("Read the folder of the data set with read_tags", "Name the folder: VAL,tags=FOLDER"),
        )
    cities = columns["city"].values
    lacking = [token for token, city in zip(frames.tokens, cities, strict=True) if city is None]
    if lacking:
        raise InvalidInput(
            f"{tags.name}: {len(lacking):,} of {len(frames):,} frames of {frames.name or 'the truth'} have no city, "
            f"such as {lacking[0]}",
            remedy="Use a table with the cities of all frames, of training and validation",
        )
    return tuple(map(str, cities))


def nearest_place(train: Floats, validation: Floats, train_cities: Any, cities: Any) -> Floats:
    """Return the distance from each validation position to the nearest training position of its city."""
    nearest: Floats = np.full(len(validation), np.nan)
    named = np.array(cities, object)
    train_named = np.array(train_cities, object)
    for city in set(cities):
        rows = np.flatnonzero(named == city)
        others = train[train_named == city]
        for first in range(0, len(rows) if len(others) else 0, _ROWS):
            some = rows[first : first + _ROWS]
            gaps = validation[some, None] - others[None]
            nearest[some] = np.sqrt(np.square(gaps).sum(axis=2).min(axis=1))
    return nearest
