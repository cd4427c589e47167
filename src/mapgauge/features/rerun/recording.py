"""Writes results as a recording (``.rrd``): poses, polylines, matches, images and values of frames over time.

Polylines are batches of one class, never entities of their own, and a frame without polylines has an empty batch. The
viewer shows the latest data at a time, so a frame for which nothing is written would show the frame before it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapgauge.cameras.opening import open_rig
from mapgauge.cameras.rig import CameraImage, Rig, RigFrame
from mapgauge.dependencies import require
from mapgauge.errors import MapgaugeError, UnreadableFile
from mapgauge.features.rerun.blueprint import blueprint
from mapgauge.features.rerun.colours import LargestCauses
from mapgauge.features.rerun.lines import DrawnLines, predicted_lines, true_lines
from mapgauge.features.rerun.places import Places, places_of
from mapgauge.features.rerun.values import ValueCurve, curves_of
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import per_second, time_order
from mapgauge.io.files.source import Content, is_plain_file
from mapgauge.io.files.writing import replacing
from mapgauge.results.assignment import Assignment, match_frames
from mapgauge.results.results import Results
from mapgauge.results.scene_order import frames_by_scene, timestamps_of
from mapgauge.typing import Floats, Indices, Progress
from mapgauge.views.report.sections import sections

APPLICATION = "mapgauge"
BLOCK = 50  # frames that are sent at once, at most; the viewer loads and `rerun rrd verify` checks larger ones slowly
EVERY = 4  # of so many matched points, one is drawn with a line to its partner
MATCH_RADIUS = -0.5  # half a width in pixels
GREY = (150, 150, 150)

_NS = 10**9


class Recorded(NamedTuple):
    """What a recording has."""

    frames: int
    images: int
    missing: int  # images that the data set names, but that are not on the disk


def write_rerun(
    results: Results,
    path: str | os.PathLike[str],
    *,
    images: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Recorded:
    """Write results as a recording for the viewer of Rerun. It needs ``pip install 'mapgauge[rerun]'``.

    Polylines have the coordinates of the vehicle, x forward, and lie on the ground if they have no height. They are
    drawn as everywhere: found truth grey, missed truth red, predictions in the colour of their class and orange to red
    where they are far from the truth, false ones in dashes, and all the wider the higher their confidence. The world
    begins at the first pose.

    Args:
        results: Results with their geometry. ``Results.of_frames`` and ``Results.where`` choose frames.
        path: The file to write, ``.rrd``.
        images: The folder of nuScenes or Argoverse 2 with the images of the frames, which are copied as they are.
        progress: Called with the number of finished frames and of all frames.

    >>> import pathlib, tempfile
    >>> import mapgauge as mg
    >>> from mapgauge.demo import demo_world
    >>> mg.write_rerun(mg.evaluate(*demo_world(3)), pathlib.Path(tempfile.mkdtemp()) / "drive.rrd")
    Recorded(frames=3, images=0, missing=0)
    """
    return record(results, path, images=images, progress=progress)


def record(
    results: Results,
    path: str | os.PathLike[str],
    *,
    images: str | os.PathLike[str] | None,
    progress: Progress | None,
    block: int = BLOCK,
) -> Recorded:
    """Write a recording. At most ``block`` frames are sent at once."""
    rr = require("rerun", "a recording", "rerun")
    results.need_data()
    results = results.of_frames(_in_time(results))
    for section in sections():
        (results,) = section.prepared([results], wanted=None)
    rig = None
    if images is not None:
        rig = open_rig(images, results.tokens, results.scenes)
    writer = _Writer(rr, rr.RecordingStream(APPLICATION), results, rig=rig, block=block)
    lenient = not rr.strict_mode()
    with replacing(Path(path)) as (part, mode):
        rr.set_strict_mode(True)  # otherwise, Rerun warns of what it leaves out
        try:
            writer.write(part, _text(Path(path).stem), progress)
        finally:  # also after an error: the file is closed before it is removed
            writer.stream.disconnect()
            rr.set_strict_mode(not lenient)
        if writer.fault or not is_plain_file(part) or not part.stat().st_size:
            raise MapgaugeError(
                f"{path}: cannot be written: {writer.fault or 'Rerun wrote nothing'}",
                remedy="Check that the disk is not full, and that the environment variable RERUN does not turn it off",
            )
        if rig is not None and not writer.images:
            raise UnreadableFile(
                f"{images}: expected images of {len(results.tokens)} frames, found none of {writer.missing} files",
                remedy="Download the images, or leave them out",
            )
        if mode is not None:
            part.chmod(mode)
    return Recorded(len(results.tokens), writer.images, writer.missing)


def _in_time(results: Results) -> list[int]:
    """Return the frames scene by scene, in the order of time."""
    if results.scenes is not None:
        return [frame for frames in frames_by_scene(results).values() for frame in frames]
    order: list[int] = time_order(timestamps_of(results, range(len(results.tokens))), results.tokens).tolist()
    return order


class _Writer:
    """Sends results to a recording, block by block."""

    def __init__(self, rr: Any, stream: Any, results: Results, *, rig: Rig | None, block: int) -> None:
        self.rr = rr
        self.stream = stream
        self.results = results
        self.rig = rig
        self.block = block
        self.images = 0
        self.missing = 0
        self.fault = ""  # why the file is not complete
        self.origin: Floats | None = None  # (3,), of the world; points have float32
        times = timestamps_of(results, range(len(results.tokens)))
        unit = None
        if times is not None:
            unit = per_second(times)
        self.stamps = None  # (frames,), if the unit of time stamps is known
        if times is not None and unit is not None:
            self.stamps = (times * int(_NS // unit)).astype("datetime64[ns]")

    def write(self, path: Path, name: str, progress: Progress | None) -> None:
        """Write all frames to a file."""
        blocks = list(self._blocks())
        curves = curves_of(self.results)
        layout = blueprint(curves, self._cameras(blocks), self._rate(), ego=self.results.protocol.has_ego)
        self.stream.save(path, layout)
        self.stream.send_recording_name(name)
        self.stream.log("world", self.rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        for curve in curves:
            self._send_curve(curve)
        for frames in blocks:
            self._send_block(self.results.of_frames(frames), frames)
            if progress is not None:
                progress(frames.stop, len(self.results.tokens))
        try:
            self.stream.flush()
        except RuntimeError as error:  # the thread that writes has ended
            self.fault = str(error)

    def _blocks(self) -> Iterator[range]:
        """Yield ranges of frames of one scene, of at most ``block`` frames."""
        scenes = self.results.scenes
        count = len(self.results.tokens)
        ends = [k for k in range(1, count) if scenes is not None and scenes[k] != scenes[k - 1]]
        for start, stop in zip([0, *ends], [*ends, count], strict=True):
            for first in range(start, stop, self.block):
                yield range(first, min(first + self.block, stop))

    def _cameras(self, blocks: Sequence[range]) -> list[str]:
        """Return the cameras as parts of paths, from one frame of each block."""
        if self.rig is None:
            return []
        cameras: dict[str, None] = {}  # in the order in which they occur
        for block in blocks:
            frame = self.rig.frame(self.results.tokens[block.start])
            if frame is not None:
                cameras |= dict.fromkeys(self._part(image.camera) for image in frame.images)
        return list(cameras)

    def _part(self, name: str) -> str:
        """Return a name as a part of the path of an entity, in which some signs have a meaning."""
        part: str = self.rr.escape_entity_path_part(_text(name))
        return part

    def _rate(self) -> float:
        """Return the number of frames per second; 5 if it is not known."""
        steps = np.diff([] if self.stamps is None else self.stamps.astype(np.float64))
        steps = steps[steps > 0]  # scenes need not be in the order of time
        if not len(steps):
            return 5.0
        return min(max(_NS / float(np.median(steps)), 1.0), 30.0)

    def _times(self, frames: Sequence[int]) -> list[Any]:
        """Return the times of frames: their numbers, and the time if its unit is known."""
        numbers = np.array(frames, np.int64)
        columns = [self.rr.TimeColumn("frame", sequence=numbers)]
        if self.stamps is not None:
            columns.append(self.rr.TimeColumn("time", timestamp=self.stamps[numbers]))
        return columns

    def _send_curve(self, curve: ValueCurve) -> None:
        """Send the values of frames. Those that do not exist are left out."""
        self.stream.log(curve.entity, self.rr.SeriesLines(colors=[curve.colour], names=[curve.title]), static=True)
        exists = np.flatnonzero(~np.isnan(curve.values))
        if len(exists):
            columns = self.rr.Scalars.columns(scalars=curve.values[exists])
            self.stream.send_columns(curve.entity, self._times(exists.tolist()), columns)

    def _send_block(self, part: Results, frames: range) -> None:
        """Send everything about some frames but their values."""
        x, y = (without_boxes(side) for side in part.need_data().sorted_sides)
        places = places_of((x, y), part.protocol, self.rig)
        times = self._times(frames)
        causes = LargestCauses.of(part)
        matched = np.zeros(len(y.polylines), np.bool_)
        cutoff = None
        if part.protocol.cutoffs:
            cutoff = part.protocol.cutoffs[0]
        blocks = part.need_data().in_blocks(lambda some: match_frames(some, part.protocol, cutoff), known=part.scores)
        assignments = [frame for block in blocks for frame in block]
        for start, frame in zip(y.offsets.tolist(), assignments, strict=False):
            matched[[start + match.truth for match in frame.matches]] = True
        compared = cutoff is not None
        true = true_lines(y, places.strips(y), matched.tolist() if compared else None)
        predicted = predicted_lines(x, assignments, places.motions, compared=compared)
        self._send_lines("truth", y, true, causes=causes, times=times)
        self._send_lines("predictions", x, predicted, causes=causes, times=times)
        self._send_matches([match_ends(frame, places.motions[k]) for k, frame in enumerate(assignments)], times)
        scenes = part.scenes or [""] * len(frames)
        texts = [_text(f"{scene}\n{token}".strip()) for scene, token in zip(scenes, part.tokens, strict=True)]
        self.stream.send_columns("frame", times, self.rr.TextDocument.columns(text=texts))
        if places.poses is not None:
            if self.origin is None:
                self.origin = places.poses[0, :3, 3].copy()
            self._send_poses("world/ego", places.poses[:, :3, :3], places.poses[:, :3, 3] - self.origin, times=times)
        self._send_images(places, frames)

    def _send_lines(
        self, name: str, side: MapFrames, drawn: DrawnLines, causes: LargestCauses, times: list[Any]
    ) -> None:
        """Send the polylines of one side: a batch for each class."""
        archetype = self.rr.LineStrips3D
        labels = causes.labels(name)
        for label, class_name in enumerate(side.classes):
            rows = np.flatnonzero(side.label[drawn.instance] == label)
            instance = drawn.instance[rows]
            counts = np.bincount(side.frame[instance], minlength=len(side))
            lines: dict[str, Any] = {
                "strips": [drawn.strips[k] for k in rows.tolist()],
                "colors": drawn.colours[rows],
                "radii": drawn.radii[rows],
            }
            if causes.names:
                lines["labels"] = labels[instance]
            hidden = archetype.columns(show_labels=np.zeros(len(side), np.bool_))
            columns = [*_batches(archetype, lines, counts), *hidden]
            if side.confidence is not None:
                confidence = side.confidence[instance].astype(np.float32)
                columns += _batches(self.rr.AnyValues, {"confidence": confidence}, counts)
            self.stream.send_columns(f"world/ego/{name}/{self._part(class_name)}", times, columns)

    def _send_matches(self, ends: list[Floats], times: list[Any]) -> None:
        """Send lines between matched points, given the lines of each frame."""
        archetype = self.rr.LineStrips3D
        counts = np.array([len(lines) for lines in ends])
        whole = {"radii": np.full(len(ends), MATCH_RADIUS), "colors": np.tile(GREY, (len(ends), 1))}
        columns = _batches(archetype, {"strips": np.concatenate(ends)}, counts)
        self.stream.send_columns("world/ego/matches", times, [*columns, *archetype.columns(**whole)])

    def _send_poses(self, entity: str, turns: Floats, shifts: Floats, times: list[Any]) -> None:
        columns = self.rr.Transform3D.columns(translation=shifts, mat3x3=turns)
        self.stream.send_columns(entity, times, columns)

    def _send_images(self, places: Places, frames: range) -> None:
        """Send the images of each camera, where it was, and an empty batch for frames without its image."""
        of_camera: dict[str, dict[int, tuple[RigFrame, CameraImage]]] = {}
        for k, frame in enumerate(places.rigs):
            if frame is not None:
                for image in frame.images:
                    of_camera.setdefault(image.camera, {})[k] = frame, image
        for camera, by_frame in of_camera.items():
            entity = f"world/ego/cameras/{self._part(camera)}"
            blobs = {k: blob for k, (_, image) in by_frame.items() if (blob := self._read(image)) is not None}
            counts = np.array([k in blobs for k in range(len(frames))], np.int64)
            batches = _batches(self.rr.EncodedImage, {"blob": list(blobs.values())}, counts)
            self.stream.send_columns(entity, self._times(frames), batches)
            if not blobs:
                continue
            times = self._times([frames[k] for k in blobs])
            pairs = [by_frame[k] for k in blobs]
            mounts = np.array([np.linalg.inv(frame.pose) @ image.pose @ image.mount for frame, image in pairs])
            self._send_poses(entity, mounts[:, :3, :3], mounts[:, :3, 3], times=times)
            lenses = np.array([image.intrinsics for _, image in pairs])
            sizes = np.array([image.size for _, image in pairs])
            self.stream.send_columns(entity, times, self.rr.Pinhole.columns(image_from_camera=lenses, resolution=sizes))

    def _read(self, image: CameraImage) -> bytes | None:
        """Return the bytes of an image; None if it is not on the disk."""
        try:
            data = None
            if self.rig:
                data = Content(self.rig.path(image)).data
        except UnreadableFile:
            self.missing += 1
            return None
        self.images += 1
        return data


def match_ends(frame: Assignment, motion: Floats) -> Floats:
    """Return lines ``(lines, 2, 3)`` from predicted to true points, float32, in the coordinates of the vehicle."""
    ends = [np.empty((0, 2, 3))]
    for match in frame.matches:
        chosen = match.pairs[EVERY // 2 :: EVERY]
        points = frame.predictions[match.prediction].points, frame.truth[match.truth].points
        both = np.stack([side[chosen[:, k]] for k, side in enumerate(points)], axis=1)
        d = both.shape[2]
        ends.append(np.pad(both @ motion[:d, :d].T + motion[:d, 3], ((0, 0), (0, 0), (0, 3 - d))))
    return np.concatenate(ends).astype(np.float32)


def _batches(archetype: Any, columns: Mapping[str, Any], counts: Indices) -> Any:
    """Return columns with a batch for each frame, given the sizes of batches."""
    return archetype.columns(**columns).partition(counts)


def _text(text: str) -> str:
    """Return text without halves of surrogates, which names of files and tokens may have."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


__all__ = ["Recorded", "write_rerun"]
