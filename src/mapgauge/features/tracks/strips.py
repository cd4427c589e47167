"""Strips: the tracks of a scene over time, and who was assigned to whom. Figures and the report draw them."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mapgauge.errors import InvalidInput, MissingDependency, Remedy
from mapgauge.features.tracks.track_pld import TRACK_PLD
from mapgauge.features.tracks.track_scene import SceneAssignment, partners, solve_scene
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import SumRows
from mapgauge.metrics.table import COLOURS
from mapgauge.results.results import Results
from mapgauge.results.scene_order import frames_by_scene, scene_frames, seconds_of, timestamps_of
from mapgauge.results.values import values_of
from mapgauge.typing import Indices
from mapgauge.views.report.pack import Added, Arrays, Section, WholeScene

ABSENT = -2  # the cell of a frame without the track
ALONE = -1  # the cell of a frame in which the track is missed or false
FALSE_TRACKS = 10  # rows of predicted tracks that are false most of the time


class Switch(NamedTuple):
    """A true track passes from one predicted track to another, which are indices into the names of the strip."""

    frame: int  # the place of the first frame after it in the scene, from 0
    before: int
    after: int


class StripRow(NamedTuple):
    """A track over the frames of a scene."""

    track: str
    cells: Indices  # (frames,): ABSENT, ALONE, or the predicted track, an index into the names of the strip
    confidence: float  # mean over its frames

    @property
    def tracks(self) -> list[int]:
        """The predicted tracks, in the order of time."""
        return list(dict.fromkeys(self.cells[self.cells >= 0].tolist()))

    @property
    def switches(self) -> list[Switch]:
        """Changes of the predicted track. Frames in which the track is missed in between do not matter."""
        matched = np.flatnonzero(self.cells >= 0)
        track = self.cells[matched].tolist()
        changes = zip(matched[1:].tolist(), track[:-1], track[1:], strict=True)
        return [Switch(frame, before, after) for frame, before, after in changes if before != after]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Strip:
    """The tracks of one class in one scene over time."""

    scene: str
    class_name: str
    frames: tuple[int, ...]  # in the order of time; indices into the tokens of the results
    seconds: tuple[float, ...] | None  # since the first frame; None if unknown
    value: float | None  # T-PLD of the class in the scene
    names: tuple[str, ...]  # predicted tracks that are drawn
    colours: tuple[str, ...]  # of each of them
    truth: tuple[StripRow, ...]  # in the order of their first frames
    false: tuple[StripRow, ...]  # predicted tracks that are false most of the time, the most confident first
    false_count: int  # number of all such tracks


def has_tracks(results: Results) -> bool:
    """Whether both sides of the data have tracks. A side without instances needs none."""
    if results.geometry is None:
        return False
    sides = results.geometry.all_sides
    return bool(sides) and all(side.track is not None or not len(side.polylines) for side in sides)


def scene_values(results: Results) -> dict[str, float]:
    """Return T-PLD of each scene, the mean over its classes, from the highest. Scenes without a value are left out."""
    by_scene = {}
    for scene, frames in frames_by_scene(results).items():
        values = [value for value in _class_values(results, frames) if value is not None]
        if values:
            by_scene[scene] = float(np.mean(values))
    return dict(sorted(by_scene.items(), key=lambda item: (-item[1], item[0])))


def _class_values(results: Results, frames: Sequence[int]) -> list[float | None]:
    """Return T-PLD of each class in some frames."""
    rows = TRACK_PLD.rows
    assert isinstance(rows, SumRows)
    sums = results.scores.sums[TRACK_PLD.name][0][list(frames)].sum(axis=0)
    counts = sum(side[list(frames)].sum(axis=0) for side in (results.scores.predicted, results.scores.true))
    has_value = [results.classes[name][TRACK_PLD.main.key] is not None for name in results.class_names]
    return [
        values_of(TRACK_PLD, rows, column, protocol=results.protocol)[TRACK_PLD.main.key] if some and count else None
        for column, count, some in zip(sums, counts, has_value, strict=True)
    ]


def strips_of(results: Results, scene: str, *, false: int = FALSE_TRACKS) -> list[Strip]:
    """Return the strips of a scene, one for each class that has a value, with at most ``false`` false tracks each."""
    origin = results.origin or "the results"
    if TRACK_PLD.name not in results.metrics:
        raise InvalidInput(
            f"{origin}: {TRACK_PLD.name} not found in these results; available: {', '.join(results.metrics)}",
            remedy=Remedy(
                'Evaluate with mg.protocol("paper-60x30", settings={"track_pld": {}}), with tracks on both sides',
                "Use mapgauge evaluate --set track_pld.switch_cost=0.5, with tracks on both sides",
            ),
        )
    data = results.need_data()
    if not has_tracks(results):
        raise InvalidInput(f"{origin}: the geometry of these results has no tracks")
    protocol = results.protocol
    cost = results.protocol.settings["track_pld"].switch_cost
    frames = scene_frames(results, scene)
    of_scene = data.at(tuple(results.tokens[frame] for frame in frames))
    groups = of_scene.block(slice(0, len(frames))).lines
    _, assignment = solve_scene(groups, directed=protocol.directed, cutoff=protocol.cutoffs[0], switch_cost=cost)
    seconds = seconds_of(timestamps_of(results, frames))
    label = groups.side // 2 % groups.classes
    true, partner = partners(groups, assignment)
    strips = []
    for c, (class_name, value) in enumerate(zip(results.class_names, _class_values(results, frames), strict=True)):
        if value is None:
            continue
        of_class = label[true] == c
        of_truth = _rows(groups, assignment, true[of_class], partner=partner[of_class], frames=len(frames))
        predicted = np.flatnonzero(groups.is_prediction & (label == c))
        matched = np.where(np.isin(predicted, partner), predicted, -1)
        of_predictions = _rows(groups, assignment, predicted, partner=matched, frames=len(frames))
        # Predicted tracks that are false in most of their frames, by their confidence in those frames.
        number = assignment.track[predicted]
        alone = matched < 0
        weight = np.bincount(number, np.where(alone, groups.confidence[predicted], 0.0))
        lonely = np.flatnonzero(2 * np.bincount(number, alone) > np.bincount(number))
        lonely = lonely[np.argsort(-weight[lonely], kind="stable")].tolist()
        of_false = [row for number in lonely[:false] if (row := of_predictions.get(number)) is not None]
        rows = sorted(of_truth.values(), key=lambda row: (int(np.argmax(row.cells > ABSENT)), _natural(row.track)))
        # Only predicted tracks that are drawn keep a number.
        used = list(dict.fromkeys(number for row in (*rows, *of_false) for number in row.tracks))
        place = {number: k for k, number in enumerate(used)} | {ABSENT: ABSENT, ALONE: ALONE}
        renamed = [
            row._replace(cells=np.array([place[number] for number in row.cells.tolist()])) for row in (*rows, *of_false)
        ]
        strips.append(
            Strip(
                scene=scene,
                class_name=class_name,
                frames=tuple(frames),
                seconds=None if seconds is None else tuple(seconds),
                value=value,
                names=tuple(of_predictions[number].track for number in used),
                colours=_colours(renamed, len(used)),
                truth=tuple(renamed[: len(rows)]),
                false=tuple(renamed[len(rows) :]),
                false_count=len(lonely),
            )
        )
    return strips


def _rows(
    groups: Groups, assignment: SceneAssignment, instances: Indices, partner: Indices, frames: int
) -> dict[int, StripRow]:
    """Return a row for each track of some instances, by the number of the track."""
    tracks = groups.column("track")
    number = assignment.track[instances]
    frame = assignment.frame[instances]
    cells = {k: np.full(frames, ABSENT) for k in np.unique(number).tolist()}
    confidence = np.bincount(number, groups.confidence[instances]) / np.maximum(np.bincount(number), 1)
    names: dict[int, str] = {}
    for i, k, f, j in zip(instances.tolist(), number.tolist(), frame.tolist(), partner.tolist(), strict=True):
        if j < 0:
            cells[k][f] = ALONE
        else:
            cells[k][f] = assignment.track[j]
        names[k] = str(tracks[i])
    seen: Counter[str] = Counter()
    rows = {}
    for k, name in names.items():  # a name that occurs twice in a frame belongs to several tracks
        seen[name] += 1
        rows[k] = StripRow(name if seen[name] == 1 else f"{name} ({seen[name]})", cells[k], float(confidence[k]))
    return rows


def _natural(name: str) -> str:
    """Return a key that sorts names by their numbers.

    >>> sorted(["lane-10", "lane-2"], key=_natural)
    ['lane-2', 'lane-10']
    """
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), name)


def _colours(rows: Sequence[StripRow], count: int) -> tuple[str, ...]:
    """Return a colour for each predicted track. Tracks of the same row and of the row above differ if possible."""
    colours: dict[int, str] = {}
    uses: Counter[str] = Counter()
    above: list[int] = []
    for row in rows:
        near = {colours[number] for number in (*row.tracks, *above) if number in colours}
        for number in row.tracks:
            if number not in colours:
                colours[number] = min(COLOURS, key=lambda colour: (colour in near, uses[colour]))
                near.add(colours[number])
                uses[colours[number]] += 1
        above = row.tracks
    return tuple(colours[number] for number in range(count))


SCENES = 50  # scenes of which the page has the tracks
_HINT = (
    "The tracks can be shown over time if T-PLD is computed: in Python with a protocol that has switch_cost=0.5, in "
    "the shell with mapgauge evaluate --set track_pld.switch_cost=0.5."
)


def worst_scenes(methods: Sequence[Results]) -> dict[str, list[int]]:
    """Return the frames of each scene, from the highest T-PLD of a method. There are none without T-PLD."""
    for method in methods:
        if TRACK_PLD.name not in method.metrics or method.scenes is None or not has_tracks(method):
            return {}
    if any(method.scenes != methods[0].scenes for method in methods):
        return {}
    values: dict[str, float] = {}
    for method in methods:
        for scene, value in scene_values(method).items():
            values[scene] = max(value, values.get(scene, value))
    order = sorted(values, key=lambda scene: (-values[scene], scene))
    frames = frames_by_scene(methods[0])
    return {scene: frames[scene] for scene in order}


def _described(strip: Strip) -> dict[str, Any]:
    """Return what the page needs to know about a strip besides its cells."""
    return {
        "scene": strip.scene,
        "of": strip.class_name,
        "seconds": None if strip.seconds is None else [round(second, 3) for second in strip.seconds],
        "value": None if strip.value is None else round(strip.value, 4),
        "names": strip.names,
        "colours": strip.colours,
        "truth": [row.track for row in strip.truth],
        "false": [[row.track, round(row.confidence, 3)] for row in strip.false],
        "falseCount": strip.false_count,
    }


def _arrays(methods: Sequence[Results], scenes: Sequence[str]) -> Arrays:
    """Return the strips of some scenes by the names of the scripts."""
    arrays: Arrays = {}
    for k, method in enumerate(methods):
        strips = [strip for scene in scenes for strip in strips_of(method, scene)]
        text = json.dumps([_described(strip) for strip in strips], separators=(",", ":"))
        cells = [row.cells.astype(np.int16) for strip in strips for row in (*strip.truth, *strip.false)]
        arrays[f"{k}.strip.text"] = np.frombuffer(text.encode(), np.uint8)
        arrays[f"{k}.strip.cells"] = np.concatenate([np.empty(0, np.int16), *cells])
    return arrays


class TracksSection(Section):
    """The tracks of scenes over time."""

    resource = "strip"
    order = 20

    def scenes(self, methods: Sequence[Results]) -> list[WholeScene]:
        """Return all scenes, from the highest T-PLD."""
        return [WholeScene(frames, "in a scene with the worst T-PLD") for frames in worst_scenes(methods).values()]

    def added(self, methods: Sequence[Results], drawn: Sequence[int], wanted: bool | None) -> Added:
        """Return the tracks of the scenes that have a drawn frame, at most ``SCENES``, from the highest T-PLD."""
        by_scene = worst_scenes(methods)
        scenes = [scene for scene, frames in by_scene.items() if not set(drawn).isdisjoint(frames)][:SCENES]
        if not scenes:
            possible = all(has_tracks(each) and TRACK_PLD.name not in each.metrics and each.scenes for each in methods)
            return Added(about=_HINT if possible else "")
        try:
            arrays = _arrays(methods, scenes)
        except MissingDependency as error:
            return Added(about=f"Tracks are not shown over time: {error}.")
        frames = [by_scene[scene] for scene in scenes]
        return Added({"strips": {"scenes": scenes, "frames": frames, "all": len(by_scene)}}, arrays)

    def has_scenes(self, methods: Sequence[Results]) -> bool:
        """Whether T-PLD was computed, and the scenes are known."""
        return all(TRACK_PLD.name in method.metrics and method.scenes is not None for method in methods)

    def scenes_meta(self, scenes: Sequence[str]) -> dict[str, Any]:
        """Return the names and the number of scenes."""
        return {"strips": {"scenes": list(scenes), "all": len(scenes)}}

    def of_scene(self, methods: Sequence[Results], scene: str) -> Arrays:
        """Return the tracks of a scene."""
        return _arrays(methods, [scene])


SECTION = TracksSection()
