"""Ground truth from the data sets themselves, by named rules, at any region.

``nuscenes`` and ``argoverse2`` read the files of a data set as they were downloaded, without its development kit, and
give ``MapFrames`` with poses, scenes, times and stable names of instances. shapely is imported when they are called.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mapgauge.arguments import check_length, check_workers
from mapgauge.errors import InvalidInput
from mapgauge.frames.map_frames import MapFrames
from mapgauge.truth.rules import RULES, Rules, rules_named
from mapgauge.version import __version__

if TYPE_CHECKING:
    from mapgauge.truth.build import Dataset


def nuscenes(
    dataroot: str | os.PathLike[str],
    *,
    version: str = "v1.0-trainval",
    split: str = "val",
    region: tuple[float, float] = (60.0, 30.0),
    rules: str = "streammapnet",
    every: int = 1,
    scenes: Sequence[str] | None = None,
    tokens: Sequence[str] | str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    parts: str | os.PathLike[str] | None = None,
    restart: bool = False,
) -> MapFrames:
    """Truth of nuScenes, from its tables and its map expansion.

    Args:
        dataroot: The folder with ``v1.0-*`` and ``maps/expansion``.
        version: The folder of the tables.
        split: ``train``, ``val``, ``mini-train``, ``mini-val``, or StreamMapNet's ``new-train`` and ``new-val``.
        region: Length and width in metres; the length is along the driving direction, whatever the axes.
        rules: ``streammapnet``, ``maptr`` or ``maptracker``.
        every: Of the frames of a scene, which are its keyframes, take every n-th.
        scenes: Names of scenes, in place of a split.
        tokens: Sample tokens in place of a split, or a file with one in each line.
        workers: Threads; one per processor if None. They do not change the result.
        progress: Called with frames done and frames in all.
        parts: A folder in which finished scenes are kept, and taken from after an interruption. It stays.
        restart: Throw away what is in that folder, also if it was made with other settings.

    Returns:
        The frames, with what was noticed in ``findings``.
    """
    from mapgauge.truth.from_nuscenes.scenes import NuScenes
    from mapgauge.truth.selection import Selection

    chosen = rules_named("nuscenes", rules)
    selection = Selection.of(split, scenes, tokens, every)
    dataset = NuScenes(Path(dataroot), version, selection, chosen)
    return _build(dataset, chosen, region, workers, progress, parts, restart)


def argoverse2(
    dataroot: str | os.PathLike[str],
    *,
    split: str = "val",
    region: tuple[float, float] = (60.0, 30.0),
    rules: str = "streammapnet",
    every: int = 1,
    scenes: Sequence[str] | None = None,
    tokens: Sequence[str] | str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    parts: str | os.PathLike[str] | None = None,
    restart: bool = False,
) -> MapFrames:
    """Truth of Argoverse 2, from the vector map and the poses of each log.

    Args:
        dataroot: The folder with ``train``, ``val`` and ``test``.
        split: ``train``, ``val`` or ``test``, or StreamMapNet's ``new-train`` and ``new-val``.
        region: Length and width in metres; the length is along the driving direction.
        rules: ``streammapnet`` or ``maptrv2``.
        every: Of the frames of a log, which are its LiDAR sweeps, ten a second, take every n-th.
        scenes: Log ids, in place of a split.
        tokens: Tokens in place of a split, or a file with one in each line.
        workers: Threads; one per processor if None. They do not change the result.
        progress: Called with frames done and frames in all.
        parts: A folder in which finished logs are kept, and taken from after an interruption. It stays.
        restart: Throw away what is in that folder, also if it was made with other settings.

    Returns:
        The frames, with what was noticed in ``findings``.
    """
    from mapgauge.truth.from_argoverse2.scenes import Argoverse2
    from mapgauge.truth.selection import Selection

    chosen = rules_named("argoverse2", rules)
    selection = Selection.of(split, scenes, tokens, every)
    dataset = Argoverse2(Path(dataroot), selection, chosen)
    return _build(dataset, chosen, region, workers, progress, parts, restart)


def _build(
    dataset: "Dataset",
    rules: Rules,
    region: tuple[float, float],
    workers: int | None,
    progress: Callable[[int, int], None] | None,
    parts: str | os.PathLike[str] | None,
    restart: bool,
) -> MapFrames:
    from mapgauge.truth.build import build
    from mapgauge.truth.scene_store import Parts

    size = check_size(region)
    check_workers(workers)
    kept = None
    if parts is not None:
        settings: Mapping[str, Any] = {
            "mapgauge": __version__,
            "dataset": dataset.name,
            **dataset.about,
            "region": "x".join(f"{side:g}" for side in size),
            **asdict(rules),
        }
        kept = Parts(parts, settings, restart=restart)
    return build(dataset, rules, size, workers=workers, progress=progress, parts=kept)


def check_size(region: object) -> tuple[float, float]:
    """Length and width of a region around the pose."""
    if not isinstance(region, Sequence) or isinstance(region, str) or len(region) != 2:
        raise InvalidInput(f"region must be (length, width) in metres, got {region!r}")
    return check_length("length of the region", region[0]), check_length("width of the region", region[1])


__all__ = ["RULES", "Rules", "argoverse2", "nuscenes"]
