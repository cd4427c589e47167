"""``track``: ids for predictions of methods without tracks."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.arguments import check_confidence, check_cutoff, check_length, check_whole
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.tracks.drives import Drives, drives_of, motions_between
from mapgauge.frames.findings import Finding, place_of
from mapgauge.frames.instances import is_box
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region, check_region, crop_polylines
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.geometry.poses import move_polylines
from mapgauge.geometry.resampling import resample_polylines
from mapgauge.metrics.pld import pld
from mapgauge.scoring.data import in_threads
from mapgauge.scoring.prepare import Frames, loaded
from mapgauge.typing import Bounds, Floats, Forward, Indices, Points, Progress
from mapgauge.words import counted

FAINT = 0.4  # instances with at most this confidence get no ids, as in MapTracker
LONG = 200  # pixels along the road
SHORT = 100  # pixels across the road
LEAST = 0.001  # overlap of two drawings of the same object
_STEP = 0.5  # pixels between two marks of the brush, which is 3 x 3 pixels


class Raster(NamedTuple):
    """A grid of pixels over a region."""

    low: Points  # (2,), metres
    pixel: Points  # (2,), metres
    shape: tuple[int, int]  # pixels along x and y

    @classmethod
    def of(cls, region: Bounds, forward: Forward | None) -> "Raster":
        """Return the grid of a region. Its longer side lies along the axis that points forward."""
        if forward == "y":
            shape = (SHORT, LONG)
        else:
            shape = (LONG, SHORT)
        low = np.array(region[:2])
        high = np.array(region[2:])
        return cls(low, (high - low) / shape, shape)

    def masks(self, polylines: Polylines) -> NDArray[np.float32]:
        """Return the drawing of each polyline, ``(polylines, pixels)``: 1 where it is drawn, otherwise 0."""
        x_min, y_min = self.low - self.pixel
        x_max, y_max = self.low + self.pixel * (np.array(self.shape) + 1)
        pieces, source = crop_polylines(polylines, (x_min, y_min, x_max, y_max))  # lines may reach far beyond
        at = (pieces.coords[:, :2] - self.low) / self.pixel
        owner = np.repeat(np.arange(len(pieces)), np.diff(pieces.offsets))
        first = np.flatnonzero(owner[1:] == owner[:-1])
        step = at[first + 1] - at[first]
        counts = np.ceil(np.abs(step).max(axis=1, initial=0.0) / _STEP).astype(np.int64) + 1
        segment = np.repeat(np.arange(len(first)), counts)
        share = ranges(np.zeros_like(counts), counts) / np.maximum(counts - 1, 1)[segment]
        marks = np.floor(at[first][segment] + share[:, None] * step[segment]).astype(np.int64)
        line = source[owner[first][segment]]
        drawn = np.zeros((len(polylines), self.shape[0] * self.shape[1]), np.float32)
        for brush in np.ndindex(3, 3):
            x, y = (marks + brush - 1).T
            inside = (x >= 0) & (y >= 0) & (x < self.shape[0]) & (y < self.shape[1])
            drawn[line[inside], (x * self.shape[1] + y)[inside]] = 1
        return drawn

    def assign(self, now: NDArray[np.float32], before: NDArray[np.float32]) -> Indices:
        """Return for each drawing of a frame its partner in an earlier frame, or -1.

        The assignment has the largest sum of overlaps. An overlap is the number of common pixels over the number of
        pixels of either drawing.
        """
        common = (now @ before.T).astype(np.float64)
        either = now.sum(axis=1, dtype=np.float64)[:, None] + before.sum(axis=1, dtype=np.float64) - common
        overlap: Floats = np.divide(common, either, out=np.zeros_like(common), where=either > 0)
        partner: Indices = kernels.assignment.assign(np.where(overlap > LEAST, overlap, 0.0))[0]
        return partner


Method: TypeAlias = Literal["pld", "maptracker"]
METHODS = ("pld", "maptracker")
LOOK_BACK = 5  # frames


class _Seen(NamedTuple):
    """Instances of earlier frames, with the ids that they got."""

    frames: Indices  # the earlier frames, the most recent first
    rows: Indices  # instances
    age: Indices  # number of frames since then
    number: Indices  # ids within the scene and class


# ``matcher(rows, frame, seen)``: the id of each instance of a frame, from those of earlier frames, or -1 for a new one.
Matcher: TypeAlias = Callable[[Indices, int, _Seen], Indices]


def track(
    predictions: Frames,
    *,
    poses: Frames | None = None,
    scenes: Mapping[str, str] | None = None,
    method: Method = "pld",
    confidence: float | None = FAINT,
    look_back: int = LOOK_BACK,
    cutoff: float = 1.5,
    spacing: float = 0.5,
    region: Region = (60.0, 30.0),
    workers: int | None = None,
    progress: Progress | None = None,
) -> MapFrames:
    """Give ids to predictions: the same id for the same object in several frames of a scene.

    Faint predictions are left out first. They would take ids from confident ones, and scores of tracks would count
    them.

    Args:
        predictions: The predictions, or the file to read. Ids that they have are replaced.
        poses: Frames with poses, such as the truth, or the file to read. If None, the predictions must have poses.
        scenes: The scene of each token, if neither the predictions nor ``poses`` have it.
        method: ``"pld"`` assigns the instances of a frame to the last instances of the tracks by the assignment of PLD,
            which weighs distances with confidences. ``"maptracker"`` follows MapTracker's rule for methods without
            tracks: the overlap of rasters.
        confidence: Instances with at most this confidence are left out, with a finding. If None, all stay.
        look_back: Number of earlier frames in which a track may have been seen last. A longer gap ends it.
        cutoff: Cutoff of SOSPA in metres. Lines without points this near to each other are never the same object.
        spacing: Distance between the points of a polyline after resampling, in metres.
        region: The region of the raster: ``(length, width)`` around the ego or ``(x_min, y_min, x_max, y_max)``.
        workers: Number of threads. If None, the number of processors. The result does not depend on it.
        progress: A function that is called with the number of finished scenes and the number of all scenes.

    Returns:
        The same frames with ids in ``track``, such as ``scene-0001/divider-3``, and with the scenes, time stamps and
        poses that were used. Ids do not depend on the order of the instances, nor on that of the frames if they have
        time stamps.

    >>> import mapgauge as mg
    >>> from mapgauge.demo import demo_world
    >>> _, truth = demo_world(20)
    >>> tracked = mg.track(truth.with_confidence(0.9))
    >>> len(set(tracked.track)) < len(tracked.polylines) / 4
    True
    """
    if method not in METHODS:
        raise InvalidInput(f"method must be {' or '.join(map(repr, METHODS))}, got {method!r}")
    most = check_whole("look_back", look_back, least=1)
    cut = check_cutoff("cutoff", cutoff)
    step = check_length("spacing", spacing)
    given, left_out = _without_faint(loaded(predictions), confidence)
    drives = drives_of(given, poses, scenes)
    frames = drives.frames
    box = check_region(region, frames.forward)
    if method == "pld":
        matcher = _by_pld(drives, cut, step)
    else:
        matcher = _by_raster(drives, box)
    work = partial(_track_scene, drives, _by_content(frames), matcher, most)
    named = np.full(len(frames.polylines), "", object)
    for rows, names in in_threads(work, list(drives.scenes), workers, progress=progress):
        named[rows] = names
    findings = [*frames.findings, *drives.findings, *left_out]
    if frames.track is not None:
        count = int(np.count_nonzero(frames.track != ""))
        text = f"{counted(count, 'instance')} had ids already, which were replaced"
        findings.append(Finding("note", "tracks-replaced", text, count=count))
    tracked = replace(frames, track=named.astype(np.str_), findings=tuple(findings), history=None)
    # The order of the input, without frames that only the poses have, and with its boxes, which get no ids.
    tracked = tracked.at([tracked.index[token] for token in given.tokens])
    ids = np.full(len(given.polylines), "", object)
    ids[~is_box(given)] = tracked.track
    same = {name: getattr(tracked, name) for name in ("scenes", "timestamps", "poses", "findings")}
    return replace(given, track=ids.astype(np.str_), history=None, **same)


def _without_faint(frames: MapFrames, most: float | None) -> tuple[MapFrames, list[Finding]]:
    """Return the lines with more than this confidence, and all boxes, with a finding about the others."""
    if most is not None:
        check_confidence("confidence", [most], count=1, of="limit")
    if most is None or frames.confidence is None:
        return frames, []
    # Confidences that are not valid are refused later.
    faint = np.flatnonzero((frames.confidence <= most) & (frames.confidence >= 0) & ~is_box(frames))
    if not len(faint):
        return frames, []
    text = f"{len(faint)} of {len(frames.polylines)} instances have a confidence of at most {most:g} and were left out"
    remedy = Remedy("Pass confidence=None to give ids to all", "Give the file as FILE,confidence=0 to give ids to all")
    finding = Finding("note", "faint-left-out", text, count=len(faint), remedy=remedy)
    return frames.keep(np.delete(np.arange(len(frames.polylines)), faint)), [finding]


def _by_content(frames: MapFrames) -> Indices:
    """Return a rank of all instances by confidence and points, so that ids do not depend on their order."""
    counts = np.diff(frames.polylines.offsets)
    if frames.confidence is None:
        sure = np.ones(len(counts))
    else:
        sure = frames.confidence
    coords = frames.polylines.coords
    ends = frames.polylines.offsets.tolist()
    points = [coords[begin:end].tobytes() for begin, end in pairwise(ends)]
    keys = list(zip((-sure).tolist(), counts.tolist(), points, strict=True))
    rank = np.empty(len(counts), np.int64)
    rank[sorted(range(len(counts)), key=keys.__getitem__)] = np.arange(len(counts))
    return rank


def _track_scene(
    drives: Drives, rank: Indices, matcher: Matcher, look_back: int, scene: str
) -> tuple[Indices, list[str]]:
    """Return the instances of a scene that have ids, and the ids."""
    frames = drives.frames
    order = drives.scenes[scene].tolist()
    rows_of = [np.empty(0, np.int64)]
    names = []
    for label, class_name in enumerate(frames.classes):
        past = [_Seen(*np.empty((4, 0), np.int64))]  # the most recent first
        count = 0
        for frame in order:
            rows = np.arange(*frames.offsets[frame : frame + 2].tolist())
            rows = rows[frames.label[rows] == label]
            rows = rows[np.argsort(rank[rows])]
            number = matcher(rows, frame, _Seen(*map(np.concatenate, zip(*past, strict=True))))
            born = np.flatnonzero(number == -1)
            number[born] = count + np.arange(len(born))
            count += len(born)
            older = [seen._replace(age=seen.age + 1) for seen in past[: look_back - 1]]
            past = [_Seen(np.array([frame]), rows, np.ones(len(rows), np.int64), number=number), *older]
            rows_of.append(rows)
            names += [f"{scene}/{class_name}-{k}" for k in number.tolist()]
    return np.concatenate(rows_of), names


def _moved(drives: Drives, polylines: Polylines, frame: int, seen: _Seen, chosen: Indices) -> Polylines:
    """Return the chosen instances of earlier frames in the coordinates of a frame."""
    motions = motions_between(drives.poses, seen.frames, np.full(len(seen.frames), frame))
    return move_polylines(polylines.pick(seen.rows[chosen]), motions, seen.age[chosen] - 1)


def _by_pld(drives: Drives, cutoff: float, spacing: float) -> Matcher:
    """Return a matcher that assigns a frame to the last instances of all tracks at once, as PLD does.

    If recent tracks came first, a faint duplicate of the previous frame could take the line of a confident track that
    was missing there.
    """
    frames = drives.frames
    locate = partial(place_of, frames)
    lines = resample_polylines(frames.polylines, spacing=spacing, locate=locate, frames=frames.offsets)
    if frames.confidence is None:
        sure = np.ones(len(lines))
    else:
        sure = frames.confidence

    def match(rows: Indices, frame: int, seen: _Seen) -> Indices:
        number = np.full(len(rows), -1)
        _, last = np.unique(seen.number, return_index=True)  # the first of each track is the most recent one
        if not len(rows) or not len(last):
            return number
        earlier = _moved(drives, lines, frame, seen=seen, chosen=last)
        result = pld(
            lines.pick(rows),
            earlier,
            confidence=sure[rows],
            truth_confidence=sure[seen.rows[last]],
            cutoff=cutoff,
            closed="auto",
            directed=False,
        )
        assert result.assignment is not None
        number[result.assignment[:, 0]] = seen.number[last][result.assignment[:, 1]]
        return number

    return match


def _by_raster(drives: Drives, region: Bounds) -> Matcher:
    """Return a matcher by the overlap of rasters: the most recent frame with a match decides."""
    frames = drives.frames
    raster = Raster.of(region, frames.forward)

    def match(rows: Indices, frame: int, seen: _Seen) -> Indices:
        number = np.full(len(rows), -1)
        drawn = raster.masks(frames.polylines.pick(rows))
        for age in np.unique(seen.age).tolist():
            free = np.flatnonzero(number == -1)
            at = np.flatnonzero((seen.age == age) & ~np.isin(seen.number, number))
            if len(free) and len(at):
                earlier = _moved(drives, frames.polylines, frame, seen=seen, chosen=at)
                partner = raster.assign(drawn[free], raster.masks(earlier))
                number[free[partner >= 0]] = seen.number[at][partner[partner >= 0]]
        return number

    return match
