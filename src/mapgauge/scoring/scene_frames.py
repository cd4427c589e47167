"""``SceneFrames``: frames that an accumulator keeps, because metrics of scenes need all frames of a scene.

The frames of a scene may arrive in any order, in several batches and in several processes. They are scored when all of
them are there, in the order of their time stamps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.frames.alignment import join_frames
from mapgauge.frames.columns import TEXTS, column_of
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames, members_of
from mapgauge.frames.tracks import check_tracks, track_findings
from mapgauge.geometry.polylines import Polylines
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import Protocol
from mapgauge.scoring.data import Data
from mapgauge.scoring.ignored import check_ignored
from mapgauge.scoring.score import score_frames
from mapgauge.scoring.scores import Scores

SIDES = ("predictions", "truth")
_NOTHING = np.empty(0, np.str_)
_ARRAYS = ("frame", "label", "confidence", "timestamps", "poses")  # fields of ``MapFrames``
_TEXTS = ("scenes", "forward", "boxes")
_COLUMN = "column/"  # before the names of columns of the table ``COLUMNS``


def uses_tracks(metrics: Sequence[str]) -> tuple[bool, bool]:
    """Return whether metrics use the tracks of the predictions and of the truth."""
    needs = frozenset[str]().union(*(METRICS[name].needs for name in metrics))
    return "tracks" in needs, bool(needs & {"tracks", "truth tracks"})


@dataclass(frozen=True, eq=False)
class SceneFrames:
    """Aligned and cropped frames with their scenes and time stamps, and what else metrics of scenes need."""

    predictions: MapFrames
    truth: MapFrames

    @classmethod
    def of(cls, predictions: MapFrames, truth: MapFrames, metrics: tuple[str, ...]) -> "SceneFrames":
        """Return aligned frames with the columns that metrics of scenes need. Refuse frames that lack one."""
        check_ignored(metrics, truth)
        for name in metrics:
            _check(name, predictions, truth)
        poses = None
        if any("poses" in METRICS[name].needs for name in metrics):
            poses = truth.poses
            if poses is None:
                poses = predictions.poses
        sides = []
        for side, tracked in zip((predictions, truth), uses_tracks(metrics), strict=True):
            track = None
            if tracked:
                track = side.track
                if track is None:  # as in a side without instances. With None, joined frames would have none either
                    track = _NOTHING
            # Metrics of scenes use no other column of the package. Those of plug-ins may use their own.
            columns = members_of(side.more) | {"track": track}
            sides.append(replace(side, poses=poses, links=None, history=None, findings=(), **columns))
        return cls(*sides)

    @classmethod
    def concatenate(cls, parts: Sequence["SceneFrames"]) -> "SceneFrames":
        """Join the frames of several batches."""
        return cls(join_frames([part.predictions for part in parts]), join_frames([part.truth for part in parts]))

    def at(self, frames: Sequence[int]) -> "SceneFrames":
        """Return some of the frames, in the given order."""
        return SceneFrames(self.predictions.at(frames), self.truth.at(frames))

    def scored(
        self,
        protocol: Protocol,
        metrics: tuple[str, ...],
        tokens: tuple[str, ...],
        names: tuple[str, ...],
        hashes: NDArray[np.uint8],
    ) -> tuple[Scores, tuple[Finding, ...]]:
        """Score whole scenes. Returns the rows of the frames in their order, and findings about tracks and times.

        Of frames with the same time, the token decides, then the content hash, so that the order in which frames
        arrived has no effect. A frame without a token has the token "". Messages use ``names``.
        """
        scenes = self.truth.scenes
        times = self.truth.timestamps
        assert scenes is not None
        assert times is not None
        keys = list(zip(scenes, times.tolist(), tokens, [row.tobytes() for row in hashes], strict=True))
        order = sorted(range(len(keys)), key=keys.__getitem__)
        # Tokens decide the order of frames with equal times, so for the scores they are numbers in this order.
        numbers = tuple(f"{k:012}" for k in range(len(order)))
        x, y = (replace(side.at(order), tokens=numbers) for side in (self.predictions, self.truth))
        scores = score_frames(Data.of(x, y, protocol), metrics, workers=None)
        x, y = (replace(side, tokens=tuple(names[i] for i in order)) for side in (x, y))
        return scores.at(np.argsort(order)), tuple(track_findings(x, y))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return all columns as arrays without objects: ``x/NAME`` of the predictions, ``y/NAME`` of the truth."""
        sides = (("x/", _columns(self.predictions)), ("y/", _columns(self.truth)))
        return {prefix + name: column for prefix, columns in sides for name, column in columns.items()}

    @classmethod
    def of_columns(cls, columns: dict[str, NDArray[Any]], classes: tuple[str, ...]) -> "SceneFrames":
        """Return the frames of the columns of ``columns``."""
        x, y = ({name[2:]: columns[name] for name in columns if name.startswith(side)} for side in ("x/", "y/"))
        return cls(_frames(x, classes), _frames(y, classes))


def _columns(frames: MapFrames) -> dict[str, NDArray[Any]]:
    """Return the columns of frames as arrays without objects. Columns that frames lack are left out."""
    columns: dict[str, Any] = {name: getattr(frames, name) for name in _ARRAYS}
    columns |= {"coords": frames.polylines.coords, "offsets": frames.polylines.offsets}
    for name in _TEXTS:
        texts = getattr(frames, name)
        if texts is not None:
            columns[name] = _bytes_of([texts] if isinstance(texts, str) else texts)
    for name, values in frames.columns.items():
        columns[_COLUMN + name] = _bytes_of(values) if column_of(name).kind in TEXTS else values
    return {name: column for name, column in columns.items() if column is not None}


def _bytes_of(texts: Iterable[str]) -> NDArray[np.uint8]:
    """Return texts in UTF-8, each followed by 0."""
    return np.frombuffer("".join(f"{text}\0" for text in texts).encode(), np.uint8)


def _texts_of(data: NDArray[Any]) -> list[str]:
    """Return the texts of ``_bytes_of``."""
    return bytes(data).decode().split("\0")[:-1]


def _frames(columns: dict[str, NDArray[Any]], classes: tuple[str, ...]) -> MapFrames:
    texts = {name: _texts_of(columns[name]) for name in _TEXTS if name in columns}
    more = {}
    for key, values in columns.items():
        name = key.removeprefix(_COLUMN)
        if name != key:
            more[name] = np.array(_texts_of(values), np.str_) if column_of(name).kind in TEXTS else values
    return MapFrames(
        tokens=("",) * len(columns["timestamps"]),  # the rows have them
        classes=classes,
        polylines=Polylines(columns["coords"], columns["offsets"]),
        scenes=tuple(texts["scenes"]),
        boxes=tuple(texts["boxes"]),
        forward=texts["forward"][0] if "forward" in texts else None,  # type: ignore[arg-type]
        **{name: columns.get(name) for name in _ARRAYS},  # type: ignore[arg-type]
        **members_of(more),
    )


def _check(name: str, predictions: MapFrames, truth: MapFrames) -> None:
    """Refuse frames that lack what a metric of scenes needs."""
    metric = METRICS[name]
    if truth.scenes is None:
        raise InvalidInput(
            f"{name} is computed per scene, and these frames have no scenes",
            remedy="Pass scenes= with the scene of each frame",
        )
    if truth.timestamps is None:
        raise InvalidInput(
            f"{name} needs the order of the frames of a scene, and these frames have no time stamps",
            remedy="Pass timestamps= with the time of each frame, or its number in the scene",
        )
    for side, called, tracked in zip((predictions, truth), SIDES, uses_tracks([name]), strict=True):
        if tracked and side.track is None and len(side.polylines):
            raise InvalidInput(
                f"{side.name or called}: {name} needs tracks, and these frames have none",
                remedy="Add tracks, with one id per polyline, to the dictionary of each frame",
            )
        if "every track" in metric.needs:
            check_tracks(side, called, name)
    if "poses" in metric.needs and truth.poses is None and predictions.poses is None:
        raise InvalidInput(
            f"{name} needs poses, and these frames have none", remedy="Pass poses= with the pose of each frame"
        )
