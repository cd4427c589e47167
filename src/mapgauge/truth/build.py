"""From scenes and their maps to frames of truth: what all data sets share.

A data set gives its scenes (frames with token, time and pose) and the layers of their maps. Scenes are cut on several
threads. Finished scenes can be kept in a folder, so that work that was interrupted goes on where it stopped.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding, summed
from mapgauge.frames.joining import join_frames
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.truth.cutting.crossings import MERGES
from mapgauge.truth.cutting.cut import Layer, Patches, Piece, lines_of, rings_of, shapely_module
from mapgauge.truth.rules import CLASSES, Rules
from mapgauge.truth.scene_store import Parts
from mapgauge.truth.tracks import Tracker

EXAMPLES = 3  # named in a finding


class Frame(NamedTuple):
    """One time step."""

    token: str
    timestamp: int  # in the unit of the data set
    pose: NDArray[np.float64]  # (4, 4), to the map: of the centre of the region, x forward


class Scene(NamedTuple):
    """A drive through a map."""

    name: str
    frames: tuple[Frame, ...]  # in order of time
    map: str  # which map; one data set may have a map for many scenes, or one for each


@dataclass(frozen=True, eq=False)
class MapLayers:
    """What the rules need of a map, prepared once."""

    crossings: Layer  # polygons
    dividers: Layer  # lines
    boundaries: Layer  # closed lines, the road on their right
    findings: tuple[Finding, ...] = ()  # about this map; the same text for the same map

    def __post_init__(self) -> None:
        """Make the indices, before several threads use them."""
        for layer in (self.dividers, self.boundaries):
            _ = layer.runs if len(layer) else None
        _ = self.crossings.tree


class Dataset(Protocol):
    """What a data set has to give."""

    name: str  # as in ``RULES``
    about: dict[str, str]  # what it was read from: root, version; part of what identifies finished scenes
    findings: tuple[Finding, ...]  # what was noticed while its tables were read

    def scenes(self) -> Sequence[Scene]:
        """The scenes to cut, in order, with the frames that are wanted."""

    def layers(self, scene: Scene, rules: Rules) -> MapLayers:
        """The map of a scene. Called from several threads."""


def build(
    dataset: Dataset,
    rules: Rules,
    region: tuple[float, float],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    parts: Parts | None = None,
) -> MapFrames:
    """Truth of all frames of all scenes.

    Args:
        dataset: Scenes and maps.
        rules: How truth is made.
        region: Length and width, metres.
        workers: Threads; one per processor if None. They do not change the result.
        progress: Called with frames done and frames in all.
        parts: Where finished scenes are kept, and taken from.
    """
    shapely_module()
    scenes = list(dataset.scenes())
    total = sum(len(scene.frames) for scene in scenes)
    done = 0
    finished: dict[int, MapFrames] = {}
    for k, scene in enumerate(scenes):
        kept = parts.load(scene.name, [frame.token for frame in scene.frames]) if parts else None
        if kept is not None:
            finished[k] = kept
            done += len(kept)
    if progress:
        progress(done, total)

    def work(scene: Scene) -> MapFrames:
        frames = cut_scene(scene, dataset.layers(scene, rules), rules, region)
        if parts:
            parts.save(scene.name, frames)
        return frames

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        jobs = {pool.submit(work, scene): k for k, scene in enumerate(scenes) if k not in finished}
        try:
            for job in as_completed(jobs):
                frames = job.result()
                finished[jobs[job]] = frames
                done += len(frames)
                if progress:
                    progress(done, total)
        except BaseException:  # Ctrl-C too: scenes that are being cut are finished, and kept
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    if not scenes:
        raise InvalidInput("no scene to cut truth for")
    frames = join_frames([finished[k] for k in range(len(scenes))])
    findings = (*dataset.findings, *summed(frames.findings, "maps"), *_empty(frames))
    if rules.forward == "y":
        frames = frames.rotate(90)
    return replace(frames, name=f"{dataset.name} ({rules.name})", format="", findings=findings)


def cut_scene(scene: Scene, layers: MapLayers, rules: Rules, region: tuple[float, float]) -> MapFrames:
    """The frames of one scene, x forward."""
    patches = Patches.of([frame.pose for frame in scene.frames], region)
    trackers = [Tracker() for _ in CLASSES]
    points: list[NDArray[np.float64]] = []
    track: list[str] = []
    label: list[int] = []
    frame: list[int] = []
    for index, by_class in enumerate(zip(*cut(layers, patches, rules), strict=True)):
        for k, pieces in enumerate(by_class):
            points += [piece.points for piece in pieces]
            track += trackers[k].names(pieces)
            label += [k] * len(pieces)
            frame += [index] * len(pieces)
    sizes = [len(piece) for piece in points]
    return MapFrames(
        tuple(one.token for one in scene.frames),
        CLASSES,
        np.array(frame, np.int64),
        np.array(label, np.int64),
        Polylines(np.concatenate([np.empty((0, 2)), *points]), np.array([0, *sizes], np.int64).cumsum()),
        track=np.array(track, np.str_),
        scenes=(scene.name,) * len(scene.frames),
        timestamps=np.array([one.timestamp for one in scene.frames], np.int64),
        poses=patches.poses,
        name=scene.name,
        findings=layers.findings,
    )


def cut(layers: MapLayers, patches: Patches, rules: Rules) -> list[list[list[Piece]]]:
    """The pieces of each class, in the order of ``CLASSES``, in each patch."""
    crossings = rings_of(
        layers.crossings,
        patches,
        merge=MERGES[rules.crossing_merge],
        clockwise=rules.crossing_clockwise,
        holes=rules.crossing_holes,
        cut=rules.crossing_cut,
    )
    dividers = lines_of(layers.dividers, patches)
    boundaries = lines_of(layers.boundaries, patches, grow=rules.boundary_grow)
    return [simplified(pieces, rules.simplify) for pieces in (crossings, dividers, boundaries)]


def simplified(pieces: list[list[Piece]], tolerance: float) -> list[list[Piece]]:
    """Pieces with the points left out that lie within a tolerance of the line without them."""
    flat = [piece for group in pieces for piece in group]
    if not flat or tolerance <= 0:
        return pieces
    shapely = shapely_module()
    coords = np.concatenate([piece.points for piece in flat])
    owner = np.repeat(np.arange(len(flat)), [len(piece.points) for piece in flat])
    lines = shapely.simplify(shapely.linestrings(coords, indices=owner), tolerance)
    left, owner = shapely.get_coordinates(lines, return_index=True)
    ends = np.searchsorted(owner, np.arange(len(flat) + 1)).tolist()
    shorter = (piece._replace(points=left[ends[k] : ends[k + 1]]) for k, piece in enumerate(flat))
    return [[next(shorter) for _ in group] for group in pieces]


def mended(place: str, repaired: Sequence[str], left_out: Sequence[str]) -> list[Finding]:
    """Findings about the elements of a map that are not as they should be, by their ids."""
    return [
        Finding("note", code, f"{place}: {len(ids)} {text}", len(ids), tuple(ids[:EXAMPLES]))
        for code, ids, text in (
            ("polygons-repaired", repaired, "polygons cross themselves or touch where they must not; repaired"),
            ("elements-left-out", left_out, "elements have too few points for a line or a polygon; left out"),
        )
        if ids
    ]


def _empty(frames: MapFrames) -> list[Finding]:
    empty = np.flatnonzero(np.diff(frames.offsets) == 0).tolist()
    if not empty:
        return []
    text = f"{len(empty)} of {len(frames)} frames have nothing of the map in their region; they are kept, without truth"
    return [Finding("note", "empty-frames", text, len(empty), tuple(frames.tokens[i] for i in empty[:EXAMPLES]))]
