"""The predictions and the truth of the methods, which are read in a thread while the page is used already."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput, MapgaugeError
from mapgauge.features.view.server import in_thread
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import time_order
from mapgauge.results.results import Results
from mapgauge.results.scene_order import frames_by_scene, seconds_of, timestamps_of
from mapgauge.scoring.data import Data
from mapgauge.typing import Floats, Indices
from mapgauge.views.report.drawings import is_map, truth_bounds
from mapgauge.views.report.explorer import geometry_arrays
from mapgauge.views.report.pack import Arrays

Placing: TypeAlias = Callable[[MapFrames], MapFrames]  # returns frames with poses

_SAMPLE = 60  # frames that say how large a drawing must be


@dataclass(frozen=True, eq=False, kw_only=True)
class Geometry:
    """Methods with their predictions and truth, and what is known from them."""

    methods: list[Results]
    world: bool  # whether the data are a map without an ego
    bounds: list[float]  # of the truth of some frames as it is drawn, in centimetres: left, right, bottom, top
    order: Indices  # (frames,): scene by scene in the order of time, if scenes are known
    seconds: Floats | None  # (frames,): times since the first
    tracks: Floats | None  # (frames, 3): x, y and heading of the ego in the world
    scenes: tuple[str, ...] | None = None  # of the results, or of what has the poses
    note: str = ""  # what is wrong with the poses
    drive: MapFrames | None = None  # frames without instances, with the poses; None without poses

    @classmethod
    def of(cls, methods: list[Results], poses: Sequence[Placing]) -> "Geometry":
        """Collect what is known from the data of methods, which are read now. ``poses`` are tried if they have none."""
        first = methods[0]
        world = is_map(first)
        sample = np.unique(np.linspace(0, len(first.tokens) - 1, _SAMPLE).astype(int)).tolist()
        bounds = truth_bounds(first.of_frames(sample), centred=world)
        if world:
            poses = ()  # a map has no ego
        placed = next((method for method in methods if _has_poses(method)), first)  # all have the same frames
        frames, note = frames_in_time(placed, poses)
        tracks = None
        if not world:
            tracks = ego_tracks(frames)
        drive = None
        if not world and frames.poses is not None:
            drive = frames
        if frames.scenes is None:
            order = time_order(frames.timestamps, frames.tokens).tolist()
        else:
            order = [frame for some in frames_by_scene(frames).values() for frame in some]
        times = seconds_of(frames.timestamps)
        seconds = None
        if times is not None:
            seconds = np.array(times)
        return cls(
            methods=methods,
            world=world,
            bounds=bounds,
            order=np.array(order, np.int32),
            seconds=seconds,
            tracks=tracks,
            scenes=frames.scenes,
            note=note,
            drive=drive,
        )

    @property
    def placed_methods(self) -> list[Results]:
        """The methods. One whose data have no poses has those of another method, or those that were found elsewhere."""
        if self.drive is None:
            return self.methods
        return [method if _has_poses(method) else _with_drive(method, self.drive) for method in self.methods]

    def arrays(self, frames: Sequence[int]) -> Arrays:
        """Return what the drawings of some frames show, by the names of the scripts."""
        return drawing_arrays([method.of_frames(frames) for method in self.methods], world=self.world)


def drawing_arrays(methods: Sequence[Results], *, world: bool) -> Arrays:
    """Return what the drawings of all frames of some methods show, by the names of the scripts."""
    arrays: Arrays = {}
    for k, method in enumerate(methods):
        arrays |= geometry_arrays(k, method, causes=None, advance=lambda: None, centred=world)
    return arrays


def _has_poses(results: Results) -> bool:
    return any(side.poses is not None for side in results.need_data().all_sides)


def _with_drive(results: Results, drive: MapFrames) -> Results:
    """Return results whose truth has poses, scenes and times of a drive, which has the frames in their order."""
    predictions, truth = results.need_data().sides
    placed = replace(truth, poses=drive.poses, scenes=drive.scenes, timestamps=drive.timestamps)
    return replace(results, geometry=Data(lambda: (predictions, placed), results.protocol))


def frames_in_time(results: Results, poses: Sequence[Placing]) -> tuple[MapFrames, str]:
    """Return the frames of results without instances, with what is known of their scenes, times and poses.

    If the data have no poses, the first of ``poses`` that has them is used. Also returns what was wrong with the last.
    """
    sides = results.need_data().all_sides
    side = next((side for side in reversed(sides) if side.poses is not None), sides[1])
    bare = side.keep(np.zeros(0, np.int64)).at([side.index[token] for token in results.tokens])
    bare = replace(bare, scenes=results.scenes, timestamps=timestamps_of(results, range(len(bare))))
    if bare.poses is not None:
        return bare, ""
    note = ""
    for with_poses in poses:
        try:
            return with_poses(bare), ""
        except MapgaugeError as error:
            note = error.for_shell()
    return bare, note


def ego_tracks(frames: MapFrames) -> Floats | None:
    """Return where the ego is in the world in each frame, and its heading; None without poses."""
    if frames.poses is None:
        return None
    ahead = frames.poses[:, :2, 1 if frames.forward == "y" else 0]
    return np.column_stack([frames.poses[:, :2, 3], np.arctan2(ahead[:, 1], ahead[:, 0])])


class GeometryReading:
    """Reads the geometry once, in threads."""

    def __init__(
        self,
        reads: Sequence[Callable[[], Results]],
        poses: Sequence[Placing] = (),
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Keep how to read each method; nothing is read yet.

        Args:
            reads: Each returns the results of a method with their data.
            poses: They may have the poses of the frames.
            tell: It is called with a sentence when reading begins and ends.
        """
        self.failure: str = ""  # why there is no geometry
        self.done = 0  # methods that are read
        self.count: int = len(reads)
        self._reads = reads
        self._poses = poses
        self._tell = tell or (lambda text: None)
        self._geometry: Geometry | None = None
        self._done = threading.Event()
        self._begun = threading.Lock()

    def end(self) -> None:
        """Say nothing more: the server ends. What is being read then fails, because no thread can be started."""
        self._tell = lambda text: None

    def begin(self) -> None:
        """Begin to read. Nothing happens the second time."""
        if self._begun.acquire(blocking=False):
            threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        begun = time.monotonic()
        self._tell("reading predictions and truth")
        try:
            geometry = Geometry.of(self._methods(), self._poses)
            geometry.arrays([0])  # loads what is compiled
            self._geometry = geometry
        except MapgaugeError as error:
            self.failure = error.for_shell()
        except Exception as error:  # the page shows it
            self.failure = f"{type(error).__name__}: {error}"
        finally:
            self._done.set()
        if self.failure:
            self._tell(f"frames cannot be drawn: {self.failure}")
        else:
            self._tell(f"frames can be drawn, after {time.monotonic() - begun:.1f} s")

    def _methods(self) -> list[Results]:
        """Return the methods with their data. They are read at the same time, as many as there are processors."""
        free = threading.Semaphore(os.cpu_count() or 1)

        def one(read: Callable[[], Results]) -> Results:
            with free:
                results = read()
            self.done += 1
            return results

        reading = [in_thread(partial(one, read)) for read in self._reads]
        return [future.result() for future in reading]

    def wait(self, seconds: float | None = None) -> Geometry | None:
        """Return the geometry as soon as it is read; None after some seconds. A failure is raised."""
        self.begin()
        if not self._done.wait(seconds):
            return None
        if self._geometry is None:
            raise InvalidInput(self.failure)
        return self._geometry

    @property
    def now(self) -> Geometry:
        """The geometry, once it is read."""
        geometry = self.wait()
        assert geometry is not None
        return geometry
