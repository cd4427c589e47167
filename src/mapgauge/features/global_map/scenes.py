"""The scenes of an evaluation of global maps: poses, regions, predictions and truth of each, relative to its origin.

A side is *maps*, one frame for each scene in the coordinates of the world, or *frames* with poses, which are
accumulated. The truth may be maps of whole cities.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.global_map.accumulate import MapLine
from mapgauge.features.global_map.region import Cut, cut, level_poses, region_of
from mapgauge.frames.alignment import join_frames
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.poses import take_poses
from mapgauge.frames.tracks import frames_by_scene, scenes_from_tokens
from mapgauge.geometry.polylines import Polylines
from mapgauge.geometry.poses import check_poses
from mapgauge.io.files.source import Content
from mapgauge.io.globalmapnet import GLOBALMAPNET, cities_of
from mapgauge.scoring.ignored import refuse_ignored
from mapgauge.scoring.prepare import Frames, loaded
from mapgauge.truth.poses import read_poses
from mapgauge.typing import Bounds, Floats, Indices
from mapgauge.words import counted

Truth: TypeAlias = Frames | Sequence[Frames]
JUMP = 25.0  # metres between two poses in a row, if it is also ten times the median
FAR = 1000.0  # metres between a drive and the nearest truth of its map
_COARSE = 0.03  # metres between two neighbouring numbers of float32


@dataclass(frozen=True, eq=False)
class MappedScene:
    """A drive and its map."""

    name: str
    origin: Floats  # (2,), metres: the first position
    poses: NDArray[np.float64]  # (poses, 4, 4), relative to the origin, in the order of time
    box: Bounds

    @cached_property
    def region(self) -> Any:
        """The closed union of the boxes of all poses."""
        return region_of(level_poses(self.poses), self.box)


def sides_of(predictions: Frames, truth: Truth, poses: Frames | None) -> tuple[MapFrames, MapFrames, MapFrames]:
    """Return predictions and truth in memory, and the evaluated poses. Predictions that are frames have poses."""
    several: list[Frames]
    if isinstance(truth, list | tuple):
        several = list(truth)
    else:
        several = [truth]  # type: ignore[list-item]
    if not several:
        raise InvalidInput("truth: no files")
    x = without_boxes(loaded(predictions))
    y = without_boxes(join_frames([loaded(each) for each in several]))
    for side in (x, y):
        refuse_ignored(side, "global maps have no meaning for such frames")
    drive = _poses_of(poses, x, y)
    _refuse_frames_without_poses(y, drive)
    x = _with_poses_from(x, drive)
    if y.poses is not None:
        y = _with_scenes_from(y, drive)
    for side, called in ((drive, "poses"), (x, "predictions"), (y, "truth")):
        if side.poses is not None:
            check_poses(side.poses, len(side), partial(_of_frame, side.name or called, side.tokens))
    return x, y, drive


def _refuse_frames_without_poses(truth: MapFrames, drive: MapFrames) -> None:
    """Refuse truth that is frames of the drive instead of maps, and has no poses that place them."""
    scenes = set(drive.scenes or ())
    if truth.poses is not None or not any(token in drive.index and token not in scenes for token in truth.tokens):
        return
    raise InvalidInput(
        f"{truth.name or 'truth'}: {counted(len(truth), 'frame')} without poses, expected maps of scenes or cities, or "
        "frames with tracks and poses",
        remedy=Remedy(
            "Give it both first: mg.track(truth, poses=FILE)",
            "Give it both first: mapgauge track TRUTH --poses POSES -o TRACKED.parquet",
        ),
    )


def _of_frame(name: str, tokens: Sequence[str], k: int) -> str:
    return f"{name}: the pose of frame {tokens[k]}"


def _poses_of(poses: Frames | None, predictions: MapFrames, truth: MapFrames) -> MapFrames:
    """Return the evaluated poses: those given, of the truth, of the predictions, or of the file of the predictions."""
    if poses is not None:
        if isinstance(poses, MapFrames):
            drive = poses
        else:
            drive = read_poses(Path(poses))
    elif truth.poses is not None or predictions.poses is not None:
        if truth.poses is not None:
            drive = truth
        else:
            drive = predictions
    elif predictions.format == GLOBALMAPNET.name and Path(predictions.name).exists():
        drive = read_poses(Path(predictions.name))
    else:
        drive = predictions
    if drive.poses is None or not len(drive):
        raise InvalidInput(
            f"{drive.name or 'predictions'}: no poses, which say where the maps are compared",
            remedy=Remedy("Pass poses= with a file of poses, or frames that have them", "Give a file with --poses"),
        )
    known = drive.scenes or scenes_from_tokens(drive.tokens)
    if known is None and len(scenes_of(predictions)) > 1:
        raise _no_scenes(drive, "poses")
    names = known or (scenes_of(predictions)[0] if len(predictions) else "scene",) * len(drive)
    return replace(drive, scenes=names, history=None)


def scenes_of(frames: MapFrames) -> list[str]:
    """Return the names of scenes, in their order. Maps without scenes have their tokens."""
    return list(dict.fromkeys(frames.scenes or scenes_from_tokens(frames.tokens) or frames.tokens))


def scenes_in(drive: MapFrames, box: Bounds) -> dict[str, MappedScene]:
    """Return the scenes of a drive by name."""
    assert drive.poses is not None
    scenes = {}
    for name, rows in sorted(frames_by_scene(drive).items()):
        poses = drive.poses[rows].copy()
        origin = poses[0, :2, 3].copy()
        poses[:, :2, 3] -= origin
        scenes[name] = MappedScene(name, origin, poses, box=box)
    return scenes


def _with_poses_from(frames: MapFrames, drive: MapFrames) -> MapFrames:
    """Return frames with poses of a drive, unless they have their own or are maps of scenes."""
    if frames.poses is not None:
        return _with_scenes_from(frames, drive)
    names = scenes_of(frames)
    alone = len(frames) == len(names) and not any(token in drive.index for token in frames.tokens)
    if frames.format == GLOBALMAPNET.name or (alone and set(names) <= set(drive.scenes or ())):
        return frames
    return take_poses(frames, drive)


def _with_scenes_from(frames: MapFrames, drive: MapFrames) -> MapFrames:
    """Return frames with their scenes, or with the only scene of a drive."""
    known = frames.scenes or scenes_from_tokens(frames.tokens)
    names = list(dict.fromkeys(drive.scenes or ()))
    if known is None and len(names) > 1:
        raise _no_scenes(frames, "frames")
    return replace(frames, scenes=known or (names[0],) * len(frames), history=None)


def _no_scenes(frames: MapFrames, called: str) -> InvalidInput:
    return InvalidInput(
        f"{frames.name or called}: no scenes, so it is not known which poses belong to one drive",
        remedy=Remedy("Give the scenes with mg.read(..., scenes=)", "Give them with the file: FILE,scenes=FILE"),
    )


Accumulation: TypeAlias = Callable[[MapFrames, NDArray[np.float64]], list[MapLine]]  # frames in time, relative poses


def lines_of(frames: MapFrames, rows: Indices, scene: MappedScene, accumulate: Accumulation) -> MapFrames:
    """Return the map of a scene as one frame, relative to its origin, from some frames in the order of time."""
    assert frames.poses is not None
    poses = frames.poses[rows].copy()
    poses[:, :2, 3] -= scene.origin
    lines = accumulate(frames.at(rows.tolist()), poses)
    if lines:
        polylines = Polylines.of([line.points for line in lines], dimension=2)
    else:
        polylines = Polylines.of([])
    if frames.confidence is None:
        confidence = None
    else:
        confidence = np.array([line.confidence for line in lines])
    return MapFrames(
        tokens=(scene.name,),
        classes=frames.classes,
        frame=np.zeros(len(lines), np.int64),
        label=np.array([line.label for line in lines], np.int64),
        polylines=polylines,
        confidence=confidence,
        scenes=(scene.name,),
    )


def part_of(maps: MapFrames, frame: int, scene: MappedScene) -> MapFrames:
    """Return one map relative to the origin of a scene, as one frame with its name."""
    if maps.dimension == 3:
        own = maps.at([frame]).planar()
    else:
        own = maps.at([frame])
    coords = own.polylines.coords - scene.origin
    moved = replace(own.polylines, coords=coords)
    return replace(
        own, tokens=(scene.name,), scenes=(scene.name,), timestamps=None, polylines=moved, track=None, history=None
    )


def map_named(maps: MapFrames, scene: str, city: str | None) -> int:
    """Return the frame of the map of a scene: the map with its name, that of its city, or the only one."""
    names = maps.scenes or maps.tokens
    for name in (scene, city):
        if name in names:
            return names.index(name)
    if len(maps) == 1:
        return 0
    known = ", ".join(names[:5]) or "none"
    raise InvalidInput(
        f"{maps.name or 'truth'}: no map of the scene {scene}{f' or the city {city}' if city else ''}; available: "
        f"{known}{', ...' if len(maps) > 5 else ''}",
        remedy="Check that both are of the same data set",
    )


def cities_in(predictions: MapFrames) -> Mapping[str, str]:
    """Return the city of each scene, if the predictions are a file of GlobalMapNet."""
    path = Path(predictions.name)
    # Other files that were converted from such a file keep the name of its format.
    is_file = predictions.format == GLOBALMAPNET.name and path.is_file() and Content(path).kind == "json"
    if not is_file:
        return {}
    return cities_of(path)


def cut_map(frames: MapFrames, scene: MappedScene) -> tuple[MapFrames, Cut]:
    """Return one map cut by the region of its scene. Pieces keep the class and the confidence of their line."""
    made = cut(frames.polylines, scene.region)
    rows: Indices = made.source
    confidence = None
    if frames.confidence is not None:
        confidence = frames.confidence[rows]
    return MapFrames(
        tokens=frames.tokens,
        classes=frames.classes,
        frame=np.zeros(len(rows), np.int64),
        label=frames.label[rows],
        polylines=made.polylines,
        confidence=confidence,
        scenes=(scene.name,),
    ), made


def findings_of(scenes: Mapping[str, MappedScene], sides: Sequence[MapFrames]) -> list[Finding]:
    """Return findings about poses that jump, and about coordinates that were stored in float32."""
    jumps = []
    for name, scene in scenes.items():
        steps = np.sqrt(np.square(np.diff(scene.poses[:, :2, 3], axis=0)).sum(axis=1))
        far = np.flatnonzero(steps > max(JUMP, 10 * float(np.median(steps)) if len(steps) else 0.0))
        jumps += [f"{name}, pose {k + 1}: {steps[k]:.0f} m" for k in far.tolist()]
    text = f"{counted(len(jumps), 'pose is', 'poses are')} more than {JUMP:g} m from the one before"
    if jumps:
        found = findings_about(jumps, "warning", "pose-jumps", text=text)
    else:
        found = []
    for side in sides:
        coords = side.polylines.coords[:, :2]
        largest = float(np.abs(coords).max(initial=0.0))
        step = float(np.spacing(np.float32(largest)))
        if step >= _COARSE and np.array_equal(coords, coords.astype(np.float32)):
            text = (
                f"{side.name or 'a side'}: coordinates up to {largest:.0f} m are stored in float32, whose numbers are "
                f"{step:.2g} m apart there"
            )
            remedy = Remedy.of("Write float64, or coordinates relative to a near point")
            found.append(Finding("warning", "float32-coordinates", text, count=len(coords), remedy=remedy))
    return found
