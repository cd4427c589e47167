"""Cuts ground truth from the maps of nuScenes and Argoverse 2, by named rules, for any region.

``nuscenes`` and ``argoverse2`` read the files of a data set as they were downloaded, without its development kit. They
return ``MapFrames`` with poses, scenes, times and stable names of instances. shapely is imported when they are called.

The subpackages are called ``from_nuscenes`` and ``from_argoverse2`` because a submodule replaces a function of the same
name: importing ``mapgauge.truth.nuscenes`` would make ``mg.truth.nuscenes`` a module.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from mapgauge.arguments import check_length, check_workers
from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.pose_checks import pose_findings
from mapgauge.frames.poses import take_poses
from mapgauge.geometry.projections import moved_by_others
from mapgauge.truth.poses import read_poses
from mapgauge.truth.rules import RULES, TruthRules, rules_named, with_height
from mapgauge.version import __version__

if TYPE_CHECKING:
    from mapgauge.truth.datasets import Dataset

PathLike: TypeAlias = str | os.PathLike[str]


def nuscenes(
    dataroot: PathLike,
    *,
    version: str = "v1.0-trainval",
    split: str = "val",
    region: tuple[float, float] = (60.0, 30.0),
    rules: str = "streammapnet",
    every: int = 1,
    scenes: Sequence[str] | None = None,
    tokens: Sequence[str] | PathLike | None = None,
    centerlines: bool = False,
    whole: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    parts: PathLike | None = None,
    restart: bool = False,
) -> MapFrames:
    """Cut truth from nuScenes and its map expansion.

    Args:
        dataroot: The folder with ``v1.0-*`` and ``maps/expansion``.
        version: The folder of the tables.
        split: ``train``, ``val``, ``mini-train``, ``mini-val``, or StreamMapNet's ``new-train`` and ``new-val``.
        region: Length and width in metres. The length is along the driving direction, whatever the axes.
        rules: ``streammapnet``, ``maptr``, ``maptracker`` or ``mapgauge``.
        every: Take every n-th frame of a scene. Frames are keyframes.
        scenes: Names of scenes, instead of a split.
        tokens: Sample tokens, or a file with one per line, instead of a split.
        centerlines: Also return the class ``centerline``: the middle of each lane, with links to its successors.
        whole: Return one map for each scene in the coordinates of the world, for ``global_map``, instead of frames.
        workers: Number of threads; one per processor if None. It does not change the result.
        progress: Called with the number of finished frames and of all frames.
        parts: A folder that keeps finished scenes, so that an interrupted run can continue. It is not removed.
        restart: Delete the finished scenes in ``parts``, also those that were cut with other settings.

    Returns:
        A frame for each keyframe. ``findings`` lists problems of the data set.
    """
    require("shapely", "cutting truth from maps", "truth")
    from mapgauge.truth.from_nuscenes.scenes import NuScenes
    from mapgauge.truth.selection import FrameSelection

    chosen = rules_named("nuscenes", rules)
    selection = FrameSelection.of(split, scenes, tokens, every=every)
    dataset = NuScenes(Path(dataroot), version, selection, rules=chosen)
    return _build(
        dataset,
        chosen,
        region,
        centerlines=centerlines,
        whole=whole,
        workers=workers,
        progress=progress,
        parts=parts,
        restart=restart,
    )


def argoverse2(
    dataroot: PathLike,
    *,
    split: str = "val",
    region: tuple[float, float] = (60.0, 30.0),
    rules: str = "streammapnet",
    every: int = 1,
    every_counts: Literal["scene", "all"] = "scene",
    height: bool = False,
    scenes: Sequence[str] | None = None,
    tokens: Sequence[str] | PathLike | None = None,
    centerlines: bool = False,
    whole: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    parts: PathLike | None = None,
    restart: bool = False,
) -> MapFrames:
    """Cut truth from Argoverse 2: the vector map and the poses of each log.

    Args:
        dataroot: The folder with ``train``, ``val`` and ``test``, or the folder with ``sensor``.
        split: ``train``, ``val`` or ``test``, or StreamMapNet's ``new-train`` and ``new-val``.
        region: Length and width in metres. The length is along the driving direction.
        rules: ``streammapnet``, ``maptrv2`` or ``maptracker``, as in the public converters; ``mapgauge`` or
            ``mapgauge-lanes``, whose lines are the same in all frames.
        every: Take every n-th frame. Frames are LiDAR sweeps, ten per second.
        every_counts: ``scene`` counts through the frames of each log, ``all`` through the frames of all logs in order,
            as the public repositories do.
        height: Whether points have a third coordinate, the height above the origin of the vehicle. Only rules of public
            converters have it.
        scenes: Log ids, instead of a split.
        tokens: Tokens, or a file with one per line, instead of a split.
        centerlines: Also return the class ``centerline``: the middle of each lane, with links to its successors.
        whole: Return one map for each scene in the coordinates of the world, for ``global_map``, instead of frames.
        workers: Number of threads; one per processor if None. It does not change the result.
        progress: Called with the number of finished frames and of all frames.
        parts: A folder that keeps finished logs, so that an interrupted run can continue. It is not removed.
        restart: Delete the finished logs in ``parts``, also those that were cut with other settings.

    Returns:
        A frame for each LiDAR sweep. ``findings`` lists problems of the data set.
    """
    require("shapely", "cutting truth from maps", "truth")
    from mapgauge.truth.from_argoverse2.scenes import Argoverse2
    from mapgauge.truth.selection import FrameSelection

    if height:
        chosen = with_height(rules_named("argoverse2", rules))
    else:
        chosen = rules_named("argoverse2", rules)
    selection = FrameSelection.of(split, scenes, tokens, every=every, every_counts=every_counts)
    dataset = Argoverse2(Path(dataroot), selection, chosen)
    return _build(
        dataset,
        chosen,
        region,
        centerlines=centerlines,
        whole=whole,
        workers=workers,
        progress=progress,
        parts=parts,
        restart=restart,
    )


def own_map(
    path: PathLike,
    poses: PathLike | MapFrames,
    *,
    region: tuple[float, float] = (60.0, 30.0),
    rules: str = "plain",
    properties: Mapping[str, str] | None = None,
    rename: Mapping[str, str] | None = None,
    project: str | None = None,
    whole: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MapFrames:
    """Cut truth from a map of your own: GeoJSON, GeoParquet, GeoPackage, Shapefile or Lanelet2.

    Args:
        path: The map, in metres or with ``project``.
        poses: A file of poses of the vehicle, or frames that have poses. Each pose gives a frame with x forward.
        region: Length and width in metres. The length is along the driving direction.
        rules: ``plain``, or ``simplified`` by 0.2 m.
        properties: ``{"class": name}``: the property of an element that names its class, if it is not class,
            class_name, kind, type, category, label or layer.
        rename: The class, ``divider``, ``boundary`` or ``ped_crossing``, of each name in the map. Usual names and types
            of Lanelet2 are known. Elements of other names are left out, and a finding counts them.
        project: How longitude and latitude become the metres of the poses: ``"utm:LAT:LON"`` (UTM less the origin),
            ``"local:LAT:LON"`` (east and north of the origin), ``"mercator:LAT:LON"`` (the default of Lanelet2),
            ``"tmerc:LAT:LON"``, or a reference system such as ``"EPSG:32632"``. ``"none"``: they are metres.
        whole: Return one map for each scene in the coordinates of the world, for ``global_map``, instead of frames.
        workers: Number of threads; one per processor if None. It does not change the result.
        progress: Called with the number of finished frames and of all frames.

    Returns:
        A frame for each pose.
    """
    require("shapely", "cutting truth from maps", "truth")
    from mapgauge.truth.from_map.dataset import OwnMap
    from mapgauge.truth.from_map.layers import read_layers

    chosen = rules_named("map", rules)
    size = check_size(region)
    given = dict(properties or {})
    if set(given) - {"class"}:
        raise InvalidInput(f'properties must be {{"class": name}}, got {properties!r}')
    if isinstance(poses, MapFrames):
        placed = poses
    else:
        placed = read_poses(Path(poses))
    if placed.forward == "y":
        placed = take_poses(placed.with_forward("x"), placed)
    layers = read_layers(Path(path), given.get("class"), dict(rename or {}), project=project)
    dataset = OwnMap(Path(path), layers, placed, region=size)
    frames = _build(
        dataset,
        chosen,
        size,
        centerlines=False,
        whole=whole,
        workers=workers,
        progress=progress,
        parts=None,
        restart=False,
    )
    scenes = None
    if placed.scenes is not None:
        scenes = frames.scenes
    times = None
    if placed.timestamps is not None:
        times = frames.timestamps
    findings = (*pose_findings(placed), *_projection_findings(placed, project), *frames.findings)
    return replace(frames, scenes=scenes, timestamps=times, name=f"{path} ({chosen.name})", findings=findings)


_NOTICED = 0.2  # metres; the smallest threshold that is in use


def _projection_findings(poses: MapFrames, project: str | None) -> tuple[Finding, ...]:
    """Return a note of the projection that was used, if another one with its origin would move the map at the poses."""
    if project is None or poses.poses is None:
        return ()
    moved = moved_by_others(poses.poses[:, :2, 3], project)
    words = [f"{metres:.1f} m ({kind})" for kind, metres in moved.items() if metres >= _NOTICED]
    if not words:
        return ()
    text = (
        f"the map is projected by {project}. Other projections with this origin would move it at the poses by up to "
        f"{', '.join(words)}"
    )
    return (Finding("note", "projection-used", text),)


def _build(
    dataset: "Dataset",
    rules: TruthRules,
    region: tuple[float, float],
    centerlines: bool,
    whole: bool,
    workers: int | None,
    progress: Callable[[int, int], None] | None,
    parts: PathLike | None,
    restart: bool,
) -> MapFrames:
    from mapgauge.truth.build import SceneStore, build
    from mapgauge.truth.lane_graphs import add_centerlines

    size = check_size(region)
    check_workers(workers)
    if whole and (centerlines or rules.height):
        raise InvalidInput(f"a whole map has no {'centrelines' if centerlines else 'heights'}")
    store = None
    if parts is not None:
        about = {"mapgauge": __version__, "dataset": dataset.name, **dataset.about}
        settings = {**about, "region": "x".join(f"{side:g}" for side in size), **asdict(rules)}
        if whole:
            settings |= {"whole": "yes"}
        store = SceneStore(parts, settings, restart=restart)
    frames = build(dataset, rules, size, whole=whole, workers=workers, progress=progress, store=store)
    if not centerlines:
        return frames
    return add_centerlines(frames, dataset.lane_graph, size, forward=rules.forward)


def check_size(region: object) -> tuple[float, float]:
    """Return the length and width of a region, or raise an error."""
    if not isinstance(region, Sequence) or isinstance(region, str) or len(region) != 2:
        raise InvalidInput(f"region must be (length, width) in metres, got {region!r}")
    return check_length("length of the region", region[0]), check_length("width of the region", region[1])


__all__ = ["RULES", "TruthRules", "argoverse2", "nuscenes", "own_map"]
