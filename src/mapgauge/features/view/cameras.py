"""Camera images of frames, with the lines of all methods projected into them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mapgauge.cameras.opening import open_rig
from mapgauge.cameras.projection import ground_lines, project, vehicle_from_frame
from mapgauge.cameras.rig import CameraImage, Rig, RigFrame
from mapgauge.errors import InvalidInput
from mapgauge.features.view.server import Reply as Answer
from mapgauge.features.view.server import in_thread, packed
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.io.files.source import Content
from mapgauge.results.assignment import Assignment, match_frames
from mapgauge.results.marks import Levels, LineRun, levels_of, runs_of
from mapgauge.results.results import Results
from mapgauge.typing import Floats, Indices

if TYPE_CHECKING:
    from concurrent.futures import Future

    from mapgauge.views.report.pack import Arrays

_KINDS = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png"}
_BACK = 150.0  # degrees; cameras that look farther to the left than this come last
_MOST = 64 * 2**20  # bytes of an image


class Cameras:
    """The rig of a data set, which is read in a thread."""

    def __init__(self, root: Path, results: Results) -> None:
        """Begin to read the tables of the data set."""
        self._rig: Future[Rig] = in_thread(lambda: open_rig(root, results.tokens, results.scenes))

    def _frame(self, token: str) -> RigFrame | None:
        return self._rig.result().frame(token)

    def with_poses(self, frames: MapFrames) -> MapFrames:
        """Return frames with the poses of the data set, which must have all of them.

        Frames without scenes and times get those of the data set.
        """
        poses = []
        scenes = []
        times = []
        for token in frames.tokens:
            rig_frame = self._frame(token)
            if rig_frame is None:
                raise InvalidInput(f"the folder of the images has no frame {token}")
            poses.append(rig_frame.pose @ vehicle_from_frame(rig_frame, pose=None, forward=frames.forward))
            scenes.append(rig_frame.scene)
            times.append(rig_frame.time)
        frames = replace(frames, poses=np.array(poses).reshape(-1, 4, 4))
        if frames.scenes is None:
            frames = replace(frames, scenes=tuple(scenes))
        if frames.timestamps is None:
            frames = replace(frames, timestamps=np.array(times, np.int64))
        return frames

    def lines(self, methods: Sequence[Results], frame: int) -> Answer:
        """Return the cameras of a frame, and the lines that they see: numbers of instances, and points in pixels."""
        token = methods[0].tokens[frame]
        rig_frame = self._frame(token)
        if rig_frame is None:
            return packed({}, cameras=[])
        arrays: Arrays = {}
        for k, method in enumerate(methods):
            assignment, pose = _drawn(method, frame)
            motion = vehicle_from_frame(rig_frame, pose, assignment.forward)
            for side in ("predictions", "truth"):
                runs = _runs(assignment, side)
                ground = ground_lines(Polylines.of([run.points for run in runs.lines]), motion)
                for c, image in enumerate(rig_frame.images):
                    seen = project(ground, rig_frame, image)
                    arrays[f"{k}.{side}.{c}.points"] = seen.points.astype(np.float32)
                    arrays[f"{k}.{side}.{c}.offsets"] = seen.offsets.astype(np.int32)
                    arrays[f"{k}.{side}.{c}.instance"] = runs.instance[seen.polyline].astype(np.int32)
                    arrays[f"{k}.{side}.{c}.level"] = runs.level[seen.polyline].astype(np.uint8)
        around = sorted(enumerate(rig_frame.images), key=lambda pair: -_heading(pair[1]))
        return packed(arrays, cameras=[{"number": c, "name": image.camera, "size": image.size} for c, image in around])

    def image(self, token: str, number: int) -> Answer:
        """Return an image of a frame. Only images that the tables name are served, and only from inside the root."""
        rig_frame = self._frame(token)
        images = () if rig_frame is None else rig_frame.images
        if not 0 <= number < len(images):
            raise InvalidInput(f"{token}: no image {number}")
        path = self._rig.result().path(images[number])
        kind = _KINDS.get(path.suffix.lower())
        if kind is None:
            raise InvalidInput(f"{path.name}: expected an image, {' or '.join(_KINDS)}")
        return Answer(Content(path, _MOST).data, kind)


def _heading(image: CameraImage) -> float:
    """Return where a camera looks, in degrees to the left of forward. One that looks back has -180."""
    ahead = image.mount[:2, 2]  # its z axis in the coordinates of the vehicle
    degrees = float(np.degrees(np.arctan2(ahead[1], ahead[0])))
    if degrees > _BACK:
        return degrees - 360
    return degrees


def _drawn(results: Results, frame: int) -> tuple[Assignment, Floats | None]:
    """Return the instances of a frame as they are drawn, and the pose of the frame, if it has one."""
    one = results.of_frames([frame]).need_data()
    cutoff = results.protocol.cutoffs[0] if results.protocol.cutoffs else None
    (assignment,) = match_frames(one.block(slice(0, 1)), results.protocol, cutoff)
    poses = [side.poses for side in reversed(one.sides) if side.poses is not None]
    return assignment, poses[0][0] if poses else None


class _Stretches(NamedTuple):
    """The lines of one side, in pieces that are drawn in one colour."""

    lines: list[LineRun]
    instance: Indices  # (runs,): whose piece it is
    level: Levels  # (runs,): how far it is from the truth; 0 for truth


def _runs(assignment: Assignment, side: str) -> _Stretches:
    """Return the instances of one side. Those that were compared as closed lines are closed."""
    instances = getattr(assignment, side)
    closed = getattr(assignment, f"{side}_closed")
    if side == "predictions":
        levels = levels_of(assignment)
    else:
        levels = [np.zeros(len(instance.points), np.uint8) for instance in instances]
    of_instances = [
        runs_of(instance.points, level, closed=ring)
        for instance, level, ring in zip(instances, levels, closed, strict=True)
    ]
    runs = [run for some in of_instances for run in some]
    owner = np.repeat(np.arange(len(instances)), [len(some) for some in of_instances])
    return _Stretches(runs, owner, np.array([run.level for run in runs], np.uint8))
