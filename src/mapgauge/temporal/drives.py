"""Puts predictions on their drives: the scene, the order in time and the pose of every frame.

Predictions of many methods have neither poses nor scenes. They come from other frames with the same tokens, such as the
truth.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_confidence
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.alignment import align
from mapgauge.frames.boxes import without_boxes
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.scenes import scenes_from_tokens
from mapgauge.frames.track_findings import findings_of_times
from mapgauge.frames.tracks import frames_by_scene, in_time
from mapgauge.geometry.poses import check_poses, level, rotation_about_z, turns_between
from mapgauge.scoring.prepare import Frames, loaded, with_scenes
from mapgauge.typing import Indices

_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class Drives:
    """Frames with poses, and the frames of each scene in the order of time."""

    frames: MapFrames  # with scenes and poses
    poses: NDArray[np.float64]  # (frames, 4, 4); level if points have two coordinates
    scenes: dict[str, Indices]  # frames of each scene in the order of time; scenes sorted by name
    findings: tuple[Finding, ...]


def drives_of(predictions: Frames, poses: Frames | None = None, scenes: Mapping[str, str] | None = None) -> Drives:
    """Return predictions with the scene, the place in time and the pose of every frame.

    Args:
        predictions: The predictions, or the file to read.
        poses: Frames with poses, such as the truth, or the file to read. Its frames that the predictions lack become
            empty frames. If None, the predictions must have poses.
        scenes: The scene of each token, if the frames do not have it.
    """
    frames = without_boxes(loaded(predictions))  # those of an image are not in the frame of the vehicle
    name = frames.name or "predictions"
    if not len(frames):
        raise InvalidInput(f"{name}: no frames")
    if frames.confidence is not None:
        check_confidence(f"{name}: confidence", frames.confidence, len(frames.polylines), "instance")
    _check_tokens(frames, name)
    findings: list[Finding] = []
    if poses is not None:
        frames, found = _with_poses(frames, loaded(poses), name)
        findings += found
    if frames.poses is None:
        raise InvalidInput(
            f"{name}: no poses, which are needed to move one frame into another",
            remedy=Remedy("Pass poses= with frames that have poses, such as the truth", "Pass the truth with --truth"),
        )
    frames = replace(frames, scenes=_scenes(frames, scenes, name), history=None)
    motions = _rigid(frames, name)
    if frames.dimension == 2:  # the map is flat, so the vehicle must not tilt it
        motions = np.stack([level(pose) for pose in motions])
    findings += findings_of_times(name, frames)
    return Drives(frames, motions, _in_time(frames), tuple(findings))


def _in_time(frames: MapFrames) -> dict[str, Indices]:
    """Return the frames of each scene in the order of time. Scenes are sorted by name."""
    place = np.argsort(in_time(frames))
    return {scene: own[np.argsort(place[own])] for scene, own in sorted(frames_by_scene(frames).items())}


def _check_tokens(frames: MapFrames, name: str) -> None:
    if len(frames.index) < len(frames):
        twice = [token for token, times in Counter(frames.tokens).items() if times > 1]
        raise InvalidInput(f"{name}: {len(twice)} tokens occur more than once (first: {twice[0]})")


def _with_poses(frames: MapFrames, others: MapFrames, name: str) -> tuple[MapFrames, list[Finding]]:
    """Return the frames with scenes, time stamps and poses of other frames; their own where the others have none."""
    called = others.name or "poses"
    _check_tokens(others, called)
    if others.poses is None and frames.poses is None:
        raise InvalidInput(
            f"{called}: no poses, and {name} has none either",
            remedy=Remedy("Pass poses= with frames that have poses", "Pass a file with poses to --truth"),
        )
    extra = [token for token in frames.tokens if token not in others.index]
    if extra:
        raise InvalidInput(
            f"{len(extra)} of {len(frames)} frames of {name} are not in {called} (first: {extra[0]}), so they have no "
            "poses",
            remedy="Check that both are of the same data set and split",
        )
    poses = others.poses
    turns = turns_between(frames.forward, others.forward)
    if turns and poses is not None:  # the axes of the predictions are turned, and so are their poses
        poses = poses @ rotation_about_z(90 * turns)
    bare = replace(others.keep(np.empty(0, np.int64)), poses=poses)
    lacking = [token for token in others.tokens if token not in frames.index]
    if poses is None or not lacking:  # the frames keep what the others do not have
        bare = bare.at([k for k, token in enumerate(bare.tokens) if token in frames.index])
        own = frames.at([frames.index[token] for token in bare.tokens])
        times = own.timestamps if bare.timestamps is None else bare.timestamps
        kept = own.poses if poses is None else bare.poses
        return replace(own, scenes=bare.scenes or own.scenes, timestamps=times, poses=kept, history=None), []
    text = f"{len(lacking)} of {len(others)} frames of {called} are not in {name}. They count as frames without output"
    finding = Finding("warning", "frames-without-output", text, len(lacking), tuple(lacking[:_EXAMPLES]))
    return align(frames, bare, classes=frames.classes)[0], [finding]


def _scenes(frames: MapFrames, given: Mapping[str, str] | None, name: str) -> tuple[str, ...]:
    """Return the scene of each frame: as given, from the data, or from the tokens of Argoverse 2."""
    if given is not None:
        return with_scenes(frames, given).scenes or ()
    scenes = frames.scenes or scenes_from_tokens(frames.tokens)
    if scenes is None:
        raise InvalidInput(
            f"{name}: no scenes, so it is not known which frames follow each other",
            remedy=Remedy(
                "Pass poses= with frames that have scenes, or scenes= with the scene of each token",
                "Pass a file that has scenes with --truth or --scenes",
            ),
        )
    return scenes


def _rigid(frames: MapFrames, name: str) -> NDArray[np.float64]:
    """Return the poses after checking them. The message names the first frame whose pose is not valid."""
    assert frames.poses is not None
    try:
        return check_poses(frames.poses, len(frames))
    except InvalidInput:
        for token, pose in zip(frames.tokens, frames.poses, strict=True):
            try:
                check_poses(pose, 1)
            except InvalidInput as error:
                raise InvalidInput(
                    f"{name}: the pose of frame {token} is not a rigid motion (a rotation and a translation, last row "
                    "0 0 0 1)",
                    remedy="Correct the pose, or leave the frame out",
                ) from error
        raise
