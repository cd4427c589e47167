"""Pairs of frames of a drive, brought into one coordinate system."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_confidence
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.alignment import align, tokens_without
from mapgauge.frames.findings import Finding, check_tokens, findings_about
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.poses import take_poses
from mapgauge.frames.tracks import findings_of_times, frames_by_scene, scenes_from_tokens
from mapgauge.geometry.polylines import CLOSED_TOLERANCE, Polylines, ranges
from mapgauge.geometry.poses import check_poses, level, rotation_about_z, turns_between
from mapgauge.io.poses import POSES
from mapgauge.scoring.prepare import Frames, loaded, with_scenes
from mapgauge.truth.poses import read_poses
from mapgauge.typing import Bounds, Floats, Forward, Indices, Points


@dataclass(frozen=True, eq=False)
class Drives:
    """Frames with poses, and the frames of each scene in the order of time."""

    frames: MapFrames  # with scenes and poses
    poses: NDArray[np.float64]  # (frames, 4, 4); level if points have two coordinates
    scenes: dict[str, Indices]  # frames of each scene in the order of time; scenes sorted by name
    findings: tuple[Finding, ...]


def drives_of(predictions: Frames, poses: Frames | None = None, scenes: Mapping[str, str] | None = None) -> Drives:
    """Return predictions with the scene, the place in time and the pose of every frame.

    Frames that only ``poses`` have become empty frames. If it is None, the predictions must have poses. ``scenes`` has
    the scene of each token, if the frames do not have it.
    """
    frames = without_boxes(loaded(predictions))  # those of an image are not in the frame of the vehicle
    name = frames.name or "predictions"
    if not len(frames):
        raise InvalidInput(f"{name}: no frames")
    if frames.confidence is not None:
        check_confidence(f"{name}: confidence", frames.confidence, len(frames.polylines), of="instance")
    check_tokens(frames, name)
    findings: list[Finding] = []
    if poses is not None:
        if isinstance(poses, MapFrames):
            others = poses
        else:
            others = read_poses(Path(poses), frames)
        frames, findings = _with_poses(frames, others, name)
    own_poses = frames.poses
    if own_poses is None:
        raise InvalidInput(
            f"{name}: no poses, which are needed to move one frame into another",
            remedy=Remedy(
                "Pass poses= with frames that have poses, such as the truth, or a file of poses",
                "Pass the truth or a file of poses with --poses, or write FILE,poses=FILE",
            ),
        )
    if scenes is not None:
        frames = with_scenes(frames, scenes)
    known = frames.scenes or scenes_from_tokens(frames.tokens)
    if known is None:
        raise InvalidInput(
            f"{name}: no scenes, so it is not known which frames follow each other",
            remedy=Remedy(
                "Pass poses= with frames that have scenes, or scenes= with the scene of each token",
                "Pass a file that has scenes with --poses, or give them with the predictions: FILE,scenes=FILE",
            ),
        )
    at_frame = [f"{name}: the pose of frame {token}" for token in frames.tokens]
    motions = check_poses(
        own_poses, len(frames), at_frame.__getitem__, remedy="Correct the pose, or leave the frame out"
    )
    frames = replace(frames, scenes=known, history=None)
    if frames.dimension == 2:  # the map is flat, so the vehicle must not tilt it
        motions = np.stack([level(pose) for pose in motions])
    return Drives(
        frames,
        motions,
        dict(sorted(frames_by_scene(frames).items())),
        findings=(*findings, *findings_of_times(name, frames)),
    )


def _with_poses(frames: MapFrames, others: MapFrames, name: str) -> tuple[MapFrames, list[Finding]]:
    """Return the frames with scenes, time stamps and poses of other frames; their own where the others have none."""
    called = others.name or "poses"
    check_tokens(others, called)
    if others.poses is None and frames.poses is None:
        raise InvalidInput(
            f"{called}: no poses, and {name} has none either",
            remedy=Remedy("Pass poses= with frames that have poses", "Pass a file with poses to --poses"),
        )
    if others.format == POSES.name:
        return take_poses(frames, others), []
    extra = tokens_without(frames, others)
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
    lacking = tokens_without(others, frames)
    if poses is None or not lacking:  # the frames keep what the others do not have
        bare = bare.at([k for k, token in enumerate(bare.tokens) if token in frames.index])
        own = frames.at([frames.index[token] for token in bare.tokens])
        if bare.timestamps is None:
            times = own.timestamps
        else:
            times = bare.timestamps
        if poses is None:
            kept = own.poses
        else:
            kept = bare.poses
        return replace(own, scenes=bare.scenes or own.scenes, timestamps=times, poses=kept, history=None), []
    text = f"{len(lacking)} of {len(others)} frames of {called} are not in {name}. They count as frames without output"
    findings = findings_about(lacking, "warning", "frames-without-output", text=text)
    return align(frames, bare, classes=frames.classes)[0], findings


def motions_between(poses: NDArray[np.float64], earlier: Indices, later: Indices) -> NDArray[np.float64]:
    """Return the motions ``(n, 4, 4)`` from the coordinates of earlier frames to those of later frames.

    Poses are far from the origin of the world. So the difference of the positions is turned, not each position.
    """
    back = poses[later, :3, :3].transpose(0, 2, 1)
    moved = np.zeros((len(later), 4, 4))
    for k in range(3):  # no matrix product, whose last bit may depend on the number of threads
        moved[:, :3, :3] += back[:, :, k, None] * poses[earlier, None, k, :3]
        moved[:, :3, 3] += back[:, :, k] * (poses[earlier, k, 3] - poses[later, k, 3])[:, None]
    moved[:, 3, 3] = 1
    return moved


def inverse_of(motions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse of rigid motions."""
    count = len(motions)
    return motions_between(np.concatenate([motions, np.eye(4)[None]]), np.full(count, count), np.arange(count))


def common_parts(
    frames: MapFrames, poses: NDArray[np.float64], earlier: Indices, later: Indices, box: Bounds
) -> tuple[MapFrames, MapFrames]:
    """Return the earlier and the later frame of each pair, in the coordinates of the later one.

    Each side is cropped by the boxes of both frames, each box in its own frame.
    """
    forth = motions_between(poses, earlier, later)
    before = frames.at(earlier.tolist()).crop(box).transform(forth).crop(box)
    now = frames.at(later.tolist()).crop(box).transform(inverse_of(forth)).crop(box).transform(forth)
    return before, now


def common_areas(motions: NDArray[np.float64], box: Bounds) -> Floats:
    """Return the area of the region that two frames share, in square metres, for each motion between two frames."""
    x_min, y_min, x_max, y_max = box
    corners = np.array([[x_min, y_min], [x_max, y_min], [x_max, y_max], [x_min, y_max]])
    return np.array([_clipped_area(corners @ motion[:2, :2].T + motion[:2, 3], box) for motion in motions])


def _clipped_area(corners: Points, box: Bounds) -> float:
    """Return the area of the part of a convex polygon that lies in a box (Sutherland and Hodgman)."""
    polygon = corners
    for axis, bound, sign in ((0, box[0], 1.0), (1, box[1], 1.0), (0, box[2], -1.0), (1, box[3], -1.0)):
        inside = sign * (polygon[:, axis] - bound)
        kept = []
        for k in range(len(polygon)):
            a = inside[k - 1]
            b = inside[k]
            if (a >= 0) != (b >= 0):
                kept.append(polygon[k - 1] + a / (a - b) * (polygon[k] - polygon[k - 1]))
            if b >= 0:
                kept.append(polygon[k])
        polygon = np.array(kept).reshape(-1, 2)
    x, y = polygon.T
    return abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2


# Lines start at their lower end along this direction, forward and to the left. Few lines of a road run across it.
_ALONG = {"x": np.array([0.54, 0.84]), "y": np.array([-0.84, 0.54])}


def oriented(polylines: Polylines, forward: Forward | None = None) -> Polylines:
    """Return polylines that start at their lower end, and polygons that start at their lowest point, counter-clockwise.

    Low is meant along a fixed direction in the plane. If ``forward`` is None, it is taken to be x.

    >>> lines = Polylines.of([[[9, 0], [0, 0]], [[0, 1], [1, 1], [1, 0], [0, 0], [0, 1]]])
    >>> [line.tolist() for line in oriented(lines)]
    [[[0.0, 0.0], [9.0, 0.0]], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]]
    """
    along = _ALONG[forward or "x"]
    counts = np.diff(polylines.offsets)
    rows = np.flatnonzero(counts > 1)
    first = polylines.offsets[rows]
    last = polylines.offsets[rows + 1] - 1
    gap = polylines.coords[last] - polylines.coords[first]
    closed = (counts[rows] > 3) & (np.sqrt(np.square(gap).sum(axis=1)) <= CLOSED_TOLERANCE)
    falls = ~closed & ((gap[:, :2] * along).sum(axis=1) < 0)
    sizes = (last - first)[falls] + 1
    reversed_ = ranges(first[falls], sizes)
    order = np.arange(len(polylines.coords))
    order[reversed_] = np.repeat((first + last)[falls], sizes) - reversed_
    coords = polylines.coords.copy()
    for a, b in zip(first[closed].tolist(), last[closed].tolist(), strict=True):
        ring = coords[a : b + 1]
        x = ring[:, 0] - ring[0, 0]
        y = ring[:, 1] - ring[0, 1]
        if (x[:-1] * y[1:] - x[1:] * y[:-1]).sum() < 0:
            ring = ring[::-1]
        body = ring[:-1]
        start = int(np.argmin((body[:, :2] * along).sum(axis=1)))
        coords[a : b + 1] = np.concatenate([body[start:], body[:start], body[start : start + 1]])
    return Polylines.unchecked(np.ascontiguousarray(coords[order]), polylines.offsets)
