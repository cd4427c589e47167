"""Places where the truth may be wrong: several methods agree with each other, and not with the truth."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.error_map.error_map import drive_of, has_poses
from mapgauge.features.suspects.drafting import Draft, Kind, World, added_places, shifted_places, unfound_places
from mapgauge.features.suspects.evidence import evidence_of, lone_lines
from mapgauge.features.suspects.observing import ThinnedLines, observe, true_lines
from mapgauge.features.suspects.saving import Corrections, corrected_means, savings
from mapgauge.features.suspects.writing import save_places
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.poses import check_poses
from mapgauge.metrics.pld import PLD
from mapgauge.results.comparison import check_comparable, method_names
from mapgauge.results.results import Results, check_results
from mapgauge.typing import Indices, Points, Progress
from mapgauge.words import counted

COPIED = 0.5  # share of the lines of a method that another method has too: those of two trainings are never the same
KINDS: tuple[Kind, ...] = ("not_found", "not_in_truth", "shifted")


class SuspiciousPlace(NamedTuple):
    """A place where the truth may be wrong."""

    kind: Kind
    class_name: str
    saved: float  # PLD that correcting the truth would save: the sum over its frames of the mean over methods
    frames: int  # number of frames in which it is suspicious
    seen: int  # number of frames that could show it
    length: float  # metres of line: the longest in a frame
    x: float  # metres in the world: the middle of this line; NaN without poses
    y: float
    shift: float  # metres from the truth to where methods see the line; NaN for the other kinds
    tokens: tuple[str, ...]  # of the frames in which it is suspicious, those first in which correcting saves most
    scenes: tuple[str, ...]  # of these frames, by name; empty if scenes are not known
    line: Points  # the longest line: in the world, or without poses in the first of the frames

    def __repr__(self) -> str:
        """Summary in one line."""
        what = f"{self.length:.0f} m of {self.class_name}"
        return f"<SuspiciousPlace {self.kind}: {what}, {self.frames} of {self.seen} frames>"

    def to_dict(self) -> dict[str, Any]:
        """Return the values for JSON. Those that are not known are None."""
        named = self._asdict()
        del named["line"]
        named |= {"tokens": list(self.tokens), "scenes": list(self.scenes)}
        return {key: None if isinstance(value, float) and np.isnan(value) else value for key, value in named.items()}


_NOUNS: dict[Kind, tuple[str, str]] = {
    "not_found": ("true line that no method finds", "true lines that no method finds"),
    "not_in_truth": (
        "line that methods agree on and the truth lacks",
        "lines that methods agree on and the truth lacks",
    ),
    "shifted": ("true line that methods see shifted", "true lines that methods see shifted"),
}


# What the number of places means without poses.
_ALONE = "There are no poses, so frames were not placed in the world"
_COUNTED_ALONE = "a label can count once in each frame that shows it, and it is not known whether most of these agree"


@dataclass(frozen=True, eq=False, repr=False)
class SuspiciousTruth:
    """The places where the truth may be wrong, those first where correcting it saves most PLD."""

    names: tuple[str, ...]  # of the methods
    places: tuple[SuspiciousPlace, ...]
    frames: int  # number of frames that were looked at
    has_poses: bool  # whether places are joined over frames, and have a place in the world
    before: tuple[float, ...]  # the mean PLD of each method
    after: tuple[float, ...]  # the same with the truth corrected at all places

    def __repr__(self) -> str:
        """Summary in one line."""
        return f"<SuspiciousTruth of {', '.join(self.names)}: {self.sentence}>"

    def counts(self) -> dict[Kind, int]:
        """Return the number of places of each kind."""
        return {kind: sum(place.kind == kind for place in self.places) for kind in KINDS}

    @property
    def sentence(self) -> str:
        """How many places there are, and of which kinds. Without poses, a second sentence says what the count means."""
        if not self.has_poses:
            return self._of_single_frames()
        if not self.places:
            return "no place was found where the truth may be wrong"
        where = counted(len(self.places), "place where the truth may be wrong", "places where the truth may be wrong")
        return f"{where}: {self._kinds()}"

    def _of_single_frames(self) -> str:
        if not self.places:
            return f"no line of a single frame was found where the truth may be wrong. {_ALONE}"
        lines = counted(len(self.places), "line of a single frame", "lines of single frames")
        return f"{lines} where the truth may be wrong: {self._kinds()}. {_ALONE}: {_COUNTED_ALONE}"

    def _kinds(self) -> str:
        return ", ".join(counted(count, *_NOUNS[kind]) for kind, count in self.counts().items() if count)

    def to_dict(self) -> dict[str, Any]:
        """Return the values for JSON."""
        return {
            "names": list(self.names),
            "frames": self.frames,
            "has_poses": self.has_poses,
            "sentence": self.sentence,
            "pld_before": list(self.before),
            "pld_after": list(self.after),
            "places": [{"rank": rank} | place.to_dict() for rank, place in enumerate(self.places, start=1)],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the places as lines in the world: GeoJSON (``.geojson`` or ``.json``). They need poses."""
        if not self.has_poses:
            raise no_place("the suspicious places")
        save_places(self.to_dict(), [place.line for place in self.places], Path(path))


def no_place(where: str) -> InvalidInput:
    """Return the error that lines cannot be written, because they have no place in the world."""
    return InvalidInput(
        f"{where}: no poses, so suspicious lines have no place in the world and cannot be written",
        remedy=Remedy(
            "Pass poses= with a file of poses, or evaluate truth that has poses",
            "Give a file with --poses, give the poses of the truth with TRUTH,poses=FILE, or leave --output out",
        ),
    )


def suspicious_truth(
    results: Sequence[Results],
    *,
    names: Sequence[str] | None = None,
    poses: MapFrames | str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SuspiciousTruth:
    """Return where the truth may be wrong: true lines that no method finds, lines that it lacks, and shifted lines.

    Only sure predictions count: in each class, as many of each method as there are true lines, the most confident
    first. What methods have in common is no error of the truth. So a line counts only where methods usually find lines
    of its class, and a shift only if it is larger than usual there, and in most of the frames that show the line.

    Args:
        results: Results of two or more methods on the same truth, with PLD. They need their data
            (``Results.with_data``).
        names: Names of the methods; None uses the file names.
        poses: Frames with poses, or a file of poses, if the data have none. Without any poses, each finding in each
            frame is a place of its own.
        workers: Number of threads; None for one per processor.
        progress: Called with the number of frames done so far and their total.

    Returns:
        The places. They do not depend on the order of the methods and frames, or on the number of workers.

    >>> import mapgauge as mg
    >>> from mapgauge.demo import demo_world
    >>> methods = [mg.evaluate(*demo_world(20, quality=quality)) for quality in ("good", "poor")]
    >>> found = mg.suspicious_truth(methods, names=["A", "B"])
    >>> found.sentence
    'no place was found where the truth may be wrong'
    """
    methods, called = _checked(results, names)
    first = methods[0]
    x, y = first.need_data().sides
    observed = []
    for k, method in enumerate(methods):

        def advance(done: int, _: int, before: int = k * len(first.tokens)) -> None:
            if progress is not None:
                progress(before + done, len(first.tokens) * len(methods))

        observed.append(observe(method, workers, advance))
    lines = true_lines(first, workers)
    world = _world_of(methods, poses)
    evidence = evidence_of(lines, observed, has_ego=first.protocol.has_ego, has_poses=world is not None)
    predictions = [method.need_data().sides[0] for method in methods]
    lone = lone_lines(predictions, observed)
    forward = y.forward or x.forward
    drafts = [
        *unfound_places(lines, evidence, world),
        *added_places(lone, len(methods), world, region=first.protocol.region, forward=forward),
        *shifted_places(lines, evidence, world),
    ]
    new_lines = [predictions[k].polylines[i] for k, i in zip(lone.method.tolist(), lone.row.tolist(), strict=True)]
    of_case, corrections = _corrections(drafts, new_lines, together=False)
    saved = savings(methods, corrections)
    found = []
    for k, draft in enumerate(drafts):
        cases = np.flatnonzero(of_case == k)
        order = sorted(cases.tolist(), key=lambda case: (-saved[case], first.tokens[corrections.frame[case]]))
        total = math.fsum(saved[cases].tolist())
        frames = [int(corrections.frame[case]) for case in order]
        found.append((_place(draft, total, frames, lines=lines, lone=lone.lines, first=first, world=world), draft))
    found.sort(key=lambda pair: _rank(pair[0]))
    _, together = _corrections([draft for _, draft in found], new_lines, together=True)
    before, after = corrected_means(methods, together)
    return SuspiciousTruth(
        names=called,
        places=tuple(place for place, _ in found),
        frames=len(first.tokens),
        has_poses=world is not None,
        before=before,
        after=after,
    )


def _checked(results: Sequence[Results], names: Sequence[str] | None) -> tuple[list[Results], tuple[str, ...]]:
    """Return the methods, sorted by their names, with the frames in one order; refuse what cannot be compared."""
    methods = [results] if isinstance(results, Results) else list(results)
    for method in methods:
        check_results(method)
    if len(methods) < 2:
        raise InvalidInput(
            f"suspicious truth is where methods agree, so it needs two or more, got {len(methods)}",
            remedy="Give the results of two or more methods on the same truth",
        )
    called = method_names(methods, names)
    check_comparable(methods, called, metrics=False)
    for name, method in zip(called, methods, strict=True):
        if PLD.name not in method.metrics or not method.protocol.cutoffs:
            raise InvalidInput(f"{name}: these results have no PLD", remedy="Evaluate with the metric pld and a cutoff")
    order = sorted(range(len(methods)), key=lambda k: called[k])
    first = methods[order[0]]
    tokens = sorted(first.tokens)
    if tokens != list(first.tokens):
        first = _with_tokens(first, tokens)
    in_order = [first]
    for k in order[1:]:
        method = methods[k] if methods[k].tokens == first.tokens else _with_tokens(methods[k], tokens)
        _check_truth(first, method, called[order[0]], other_name=called[k])
        in_order.append(method)
    _check_copies(in_order, [called[k] for k in order])
    return in_order, tuple(called[k] for k in order)


def _with_tokens(method: Results, tokens: Sequence[str]) -> Results:
    """Return results with the frames in another order."""
    place = {token: k for k, token in enumerate(method.tokens)}
    return method.of_frames([place[token] for token in tokens])


def _check_truth(first: Results, other: Results, name: str, other_name: str) -> None:
    """Refuse methods with different truth."""
    one = first.need_data().sides[1]
    two = other.need_data().sides[1]
    same = np.array_equal(one.frame, two.frame) and np.array_equal(one.label, two.label)
    if not (same and np.array_equal(one.polylines.coords, two.polylines.coords)):
        raise InvalidInput(
            f"{name} and {other_name} have different truth, or truth in another order or on other axes",
            remedy="Evaluate both with the same file of truth",
        )


def _check_copies(methods: Sequence[Results], names: Sequence[str]) -> None:
    """Refuse methods that have the same lines, because copies always agree."""
    ends = [_ends(method.need_data().sides[0]) for method in methods]
    for i, j in combinations(range(len(methods)), 2):
        fewer, more = sorted((i, j), key=lambda k: len(ends[k]))
        if not len(ends[fewer]):
            continue
        _, number = np.unique(np.concatenate([ends[fewer], ends[more]]), axis=0, return_inverse=True)
        number = number.reshape(-1)
        share = float(np.isin(number[: len(ends[fewer])], number[len(ends[fewer]) :]).mean())
        if share > COPIED:
            raise InvalidInput(
                f"{names[i]} and {names[j]} have the same lines, to a centimetre: {100 * share:.0f} % of those of "
                f"{names[fewer]}. Copies always agree, which says nothing about the truth",
                remedy="Give one of them",
            )


def _ends(side: MapFrames) -> Indices:
    """Return the frame, the class, and the first and the last point in centimetres of each line."""
    offsets = side.polylines.offsets
    there = np.diff(offsets) > 0
    first = side.polylines.coords[offsets[:-1][there], :2]
    last = side.polylines.coords[offsets[1:][there] - 1, :2]
    points = np.rint(100 * np.concatenate([first, last], axis=1)).astype(np.int64)
    of = np.stack([side.frame[there], side.label[there]], axis=1)
    return np.concatenate([of, points], axis=1)


def _world_of(methods: Sequence[Results], poses: MapFrames | str | os.PathLike[str] | None) -> World | None:
    """Return where the frames are in the world; None without poses. The first method that has poses gives them."""
    first = methods[0]
    if poses is None:
        with_poses = [method for method in methods if has_poses(method)]
        if not with_poses:
            return None
        first = with_poses[0]
    drive = drive_of(first, first.need_data().sides, poses)
    assert drive.poses is not None
    locate = [f"{drive.name or 'poses'}: the pose of frame {token}" for token in drive.tokens]
    return World.of(check_poses(drive.poses, len(drive), locate.__getitem__), drive.scenes or first.scenes)


def _corrections(
    drafts: Sequence[Draft], new_lines: Sequence[Points], *, together: bool
) -> tuple[Indices, Corrections]:
    """Return the corrections of all frames of places, and the place of each.

    There is one correction for each frame of each place; together, one for each frame and class.
    """
    case_of: dict[tuple[int, int, int], int] = {}
    removed: dict[int, list[int]] = {}
    moved: dict[int, list[tuple[int, Points]]] = {}
    added: dict[int, list[Points]] = {}
    for k, draft in enumerate(drafts):
        for i, (row, frame) in enumerate(zip(draft.rows.tolist(), draft.frame.tolist(), strict=True)):
            key = (-1 if together else k, frame, draft.label)
            case = case_of.setdefault(key, len(case_of))
            if draft.kind == "not_found":
                removed.setdefault(case, []).append(row)
            elif draft.kind == "shifted":
                moved.setdefault(case, []).append((row, draft.shifts[i]))
            else:
                added.setdefault(case, []).append(new_lines[row])
    place, frames, labels = np.array(list(case_of), np.int64).reshape(-1, 3).T
    return place, Corrections(frames, labels, removed=removed, moved=moved, added=added)


def _place(
    draft: Draft,
    saved: float,
    frames: Sequence[int],
    *,
    lines: ThinnedLines,
    lone: ThinnedLines,
    first: Results,
    world: World | None,
) -> SuspiciousPlace:
    """Return a place. Its line is the longest of its frames; without poses there is one frame."""
    source = lines
    if draft.kind == "not_in_truth":
        source = lone
    sizes = np.diff(source.offsets)[draft.rows]
    longest = int(np.argmax(sizes))
    row = int(draft.rows[longest])
    line = source.points[source.offsets[row] : source.offsets[row + 1]]
    length = float(np.sqrt(np.square(np.diff(line, axis=0)).sum(axis=1)).sum())
    x = float("nan")
    y = float("nan")
    scenes: set[str] = set()
    if world is not None:
        line = world.moved(line, np.full(len(line), int(draft.frame[longest])))
        x, y = line[len(line) // 2].tolist()
        if world.scenes is not None:
            scenes = {world.scenes[frame] for frame in frames}
    shift = float("nan")
    if draft.kind == "shifted":
        shift = float(np.hypot(*draft.shifts[0]))
    return SuspiciousPlace(
        kind=draft.kind,
        class_name=first.class_names[draft.label],
        saved=saved,
        frames=len(frames),
        seen=draft.seen,
        length=length,
        x=x,
        y=y,
        shift=shift,
        tokens=tuple(first.tokens[frame] for frame in frames),
        scenes=tuple(sorted(scenes)),
        line=line,
    )


def _rank(place: SuspiciousPlace) -> tuple[float, int, str, tuple[str, ...], list[list[float]]]:
    """Return what places are sorted by. Places that save as much have the order of their kinds, classes and frames."""
    return (-place.saved, KINDS.index(place.kind), place.class_name, place.tokens, place.line.tolist())
