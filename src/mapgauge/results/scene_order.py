"""The frames of a scene in the order of time."""

from collections.abc import Sequence
from difflib import get_close_matches

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import per_second, time_order
from mapgauge.markup import shortened
from mapgauge.results.results import Results
from mapgauge.typing import Indices

_NAMED = 3  # scenes that a message names


def scene_frames(data: Results | MapFrames, scene: str) -> list[int]:
    """Return the frames of a scene in the order of time, as indices into the tokens.

    Without time stamps, this is the order of the tokens.
    """
    if isinstance(data, MapFrames):
        name = data.name
    else:
        name = str(data.origin or "the results")
    if data.scenes is None:
        raise InvalidInput(
            f"{name}: the frames have no scenes",
            remedy=Remedy(
                "Pass scenes= with the scene of each token to mg.evaluate", "Evaluate with scenes: TRUTH,scenes=FILE"
            ),
        )
    if scene not in data.scenes:
        raise _no_scene(name, scene, list(dict.fromkeys(data.scenes)))
    return frames_by_scene(data)[scene]


def frames_by_scene(data: Results | MapFrames) -> dict[str, list[int]]:
    """Return the frames of each scene in the order of time. There are none without scenes."""
    scenes = data.scenes or ()
    times = timestamps_of(data, range(len(scenes)))
    order = time_order(times, data.tokens[: len(scenes)])
    by_scene: dict[str, list[int]] = {scene: [] for scene in scenes}
    for frame in order.tolist():
        by_scene[scenes[frame]].append(frame)
    return by_scene


def timestamps_of(data: Results | MapFrames, frames: Sequence[int]) -> Indices | None:
    """Return the time stamps of some frames in the unit of the data set, or None if they have none."""
    if isinstance(data, MapFrames):
        if data.timestamps is None:
            return None
        return data.timestamps[list(frames)]
    if data.geometry is not None:
        predictions, truth = data.geometry.all_sides
        for side in (truth, predictions):
            if side.timestamps is not None:
                return side.timestamps[[side.index[data.tokens[frame]] for frame in frames]]
    drive = data.rows.drive
    if drive is not None and drive.timestamps is not None:
        return drive.timestamps[list(frames)]
    return None


def seconds_of(times: Indices | None) -> list[float] | None:
    """Return times in seconds since the first one; None if the unit of the time stamps is not known.

    Data sets have times since 1970 in seconds, milliseconds, microseconds or nanoseconds. Their size tells which.

    >>> import numpy as np
    >>> seconds_of(np.array([1_700_000_000_000_000, 1_700_000_000_500_000]))
    [0.0, 0.5]
    >>> seconds_of(np.array([0, 1, 2]))
    """
    if times is None or not len(times):
        return None
    unit = per_second(times)
    if unit is None:
        return None
    seconds: list[float] = ((times - times.min()) / unit).tolist()
    return seconds


def _no_scene(name: str, scene: str, scenes: Sequence[str]) -> InvalidInput:
    """Return the error for a scene that does not exist."""
    near = get_close_matches(scene, scenes, _NAMED, 0.6)
    if near:
        hint = f"; did you mean {' or '.join(map(shortened, near))}?"
    else:
        if len(scenes) > _NAMED:
            more = f" and {len(scenes) - _NAMED} more"
        else:
            more = ""
        hint = f"; there are {', '.join(map(shortened, scenes[:_NAMED]))}{more}"
    return InvalidInput(f"{name}: no scene {shortened(scene)!r}{hint}", remedy="Give the name of a scene")
