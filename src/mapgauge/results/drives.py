"""Poses and times of the frames of results, which are kept because a file of poses is not read again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.poses import take_poses
from mapgauge.geometry.cropping import corridor_radius
from mapgauge.geometry.poses import check_poses
from mapgauge.protocols import Protocol
from mapgauge.scoring.data import Sides
from mapgauge.typing import Forward, Indices

_NAMES = ("poses", "timestamps")  # of the arrays in files


@dataclass(frozen=True, eq=False)
class Drive:
    """Where the vehicle was in each frame, and when."""

    poses: NDArray[np.float64]  # (frames, 4, 4): from frame to world coordinates
    forward: Forward | None  # the axis of the frames that points forward; None if unknown
    timestamps: Indices | None = None  # (frames,), in the unit of the data set

    @classmethod
    def of(cls, predictions: MapFrames, truth: MapFrames) -> "Drive | None":
        """Return the poses of aligned sides, those of the truth first; None if neither has them."""
        for side in (truth, predictions):
            if side.poses is not None:
                times = truth.timestamps
                if times is None:
                    times = predictions.timestamps
                return cls(side.poses, side.forward, times)
        return None

    def at(self, frames: Indices) -> "Drive":
        """Return the poses of some frames, in the given order."""
        if self.timestamps is None:
            return replace(self, poses=self.poses[frames])
        return replace(self, poses=self.poses[frames], timestamps=self.timestamps[frames])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a file."""
        arrays: dict[str, NDArray[Any]] = {"poses": self.poses}
        if self.timestamps is not None:
            arrays["timestamps"] = self.timestamps
        return arrays

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], forward: Forward | None, frames: int) -> "Drive | None":
        """Return the poses from the arrays of a file; None if there are none. Raises ``ValueError`` for wrong ones."""
        poses, times = (arrays.get(name) for name in _NAMES)
        if poses is None:
            return None
        if poses.dtype != np.float64 or poses.shape != (frames, 4, 4):
            raise ValueError("its poses do not fit its frames")
        if times is not None and (times.dtype != np.int64 or times.shape != (frames,)):
            raise ValueError("its time stamps do not fit its frames")
        return cls(check_poses(poses, frames), forward, times)

    def given_to(
        self, sides: Sides, protocol: Protocol, tokens: tuple[str, ...], scenes: tuple[str, ...] | None
    ) -> Sides:
        """Return both sides, the truth with these poses. ``tokens`` and ``scenes`` are those of the drive.

        Frames of the truth that the drive lacks are left out. They were not evaluated, or are not of these results.
        """
        predictions, truth = sides
        known = set(tokens)
        if truth.poses is not None and known <= truth.index.keys():
            own = truth.poses[[truth.index[token] for token in tokens]]
            if np.array_equal(own, self.poses):
                return sides
        kept = [frame for frame, token in enumerate(truth.tokens) if token in known]
        if len(kept) < len(truth):
            if corridor_radius(protocol.window) is not None:
                return sides  # a corridor leads through frames whose poses are not known
            truth = truth.at(kept)
        return predictions, take_poses(truth, self.frames(tokens, scenes, name="the results"))

    def frames(self, tokens: tuple[str, ...], scenes: tuple[str, ...] | None, name: str) -> MapFrames:
        """Return frames without instances, with these poses."""
        return replace(
            MapFrames.of({}),
            tokens=tokens,
            scenes=scenes,
            timestamps=self.timestamps,
            poses=self.poses,
            forward=self.forward,
            name=name,
            format="poses",
        )
