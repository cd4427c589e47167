"""Reads poses of frames from files of poses, from files of frames, and from the folders of data sets."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.frames.alignment import join_frames
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.poses import take_poses
from mapgauge.io import read, recognise
from mapgauge.io.files.source import Content
from mapgauge.io.globalmapnet import GLOBALMAPNET
from mapgauge.io.poses import FEATHER, POSES
from mapgauge.results.loading import load_results
from mapgauge.truth.rules import rules_named
from mapgauge.truth.selection import FrameSelection


def with_poses(frames: MapFrames, poses: str | os.PathLike[str] | MapFrames) -> MapFrames:
    """Return frames with poses, and with scenes and times if they have none.

    Args:
        frames: The frames. Poses that they have are replaced.
        poses: Frames with poses, or what has them: a file of poses, any other file whose frames have poses, the folder
            of a log of Argoverse 2 or of many logs, the folder of nuScenes, or results that keep poses.

    Returns:
        The frames with a pose each: the pose with its token, or at its time, to within a millisecond. It moves points
        from the axes of the frame to the world.

    >>> from mapgauge.demo import demo_world
    >>> predictions, truth = demo_world(20)
    >>> bare = MapFrames.of({token: {} for token in truth.tokens})
    >>> bare.poses is None, with_poses(bare, truth).poses.shape, with_poses(bare, truth).scenes[0]
    (True, (20, 4, 4), 'scene-0000')
    """
    return take_poses(frames, poses if isinstance(poses, MapFrames) else read_poses(Path(poses), frames))


def read_poses(path: Path, frames: MapFrames | None = None) -> MapFrames:
    """Return frames with poses. If ``frames`` are given, only their poses are needed, of the sensor at their centre.

    Frames with y forward have the axes of a LiDAR. They get the poses of the LiDAR if the file has them.
    """
    is_lidar = frames is not None and frames.forward == "y"
    if path.is_dir():
        tables = sorted(path.glob("ego_pose.json")) or sorted(path.glob("*/ego_pose.json"), reverse=True)
        if tables:
            return _from_nuscenes([table.parent for table in tables], frames)
        return _from_argoverse2(path, frames)
    if path.suffix == ".mg":
        return _from_results(path)
    content = Content(path)
    try:
        row = recognise(content)
        if row.name == GLOBALMAPNET.name:
            row = POSES
    except UnreadableFile:
        row = POSES  # whose reader says what is wrong
    if row is POSES and is_lidar:
        options: dict[str, Any] = {"centre": "lidar"}
    else:
        options = {}
    return read(content, row.name, **options)


def _from_results(path: Path) -> MapFrames:
    """Return the poses that results keep."""
    results = load_results(path)
    drive = results.rows.drive
    if drive is None:
        raise UnreadableFile(f"{path}: these results keep no poses", remedy="Give a file of poses")
    return drive.frames(results.tokens, results.rows.scenes, name=str(path))


def _from_argoverse2(folder: Path, frames: MapFrames | None) -> MapFrames:
    """Return the poses of a log, or of the logs of a folder that the tokens name."""
    files = [file for depth in ("", "*/", "*/*/") for file in sorted(folder.glob(depth + FEATHER))]
    if not files:
        raise UnreadableFile(f"{folder}: no {FEATHER} of Argoverse 2 and no ego_pose.json of nuScenes in this folder")
    if frames is None:
        logs = set()
    else:
        logs = {token.rpartition("_")[0] for token in frames.tokens}
    named = [file for file in files if file.absolute().parent.name in logs]
    return replace(join_frames([read(file, POSES.name) for file in named or files]), format=POSES.name)


def _from_nuscenes(folders: list[Path], frames: MapFrames | None) -> MapFrames:
    """Return the poses of frames from the tables of nuScenes. There may be several versions."""
    from mapgauge.truth.from_nuscenes.scenes import NuScenes

    if frames is None:
        raise InvalidInput(f"{folders[0]}: the tables of nuScenes give poses to frames, and no frames are given")
    rules = rules_named("nuscenes", "maptr" if frames.forward == "y" else "streammapnet")
    for folder in folders:
        try:
            dataset = NuScenes(
                folder.parent, folder.name, FrameSelection("", tokens=frozenset(frames.tokens)), rules=rules
            )
            scenes = dataset.scenes()
            break
        except InvalidInput:  # the tokens are of another version
            if folder is folders[-1]:
                raise
    steps = [step for scene in scenes for step in scene.frames]
    return replace(
        MapFrames.of({step.token: {} for step in steps}),
        scenes=tuple(scene.name for scene in scenes for _ in scene.frames),
        timestamps=np.array([step.timestamp for step in steps], np.int64),
        poses=np.array([step.pose for step in steps]).reshape(-1, 4, 4),
        forward="x",
        name=str(folder),
        format=POSES.name,
    )
