"""``global_map``: compares the map of each scene with the truth of the region that the drive has seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_cutoff, check_number, check_whole
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.evaluation.evaluate import evaluate_frames
from mapgauge.features.global_map.accumulate import RULES, accumulate, check_rule, interval_of, lacks_tracks, united
from mapgauge.features.global_map.gap import Gap, gap_of
from mapgauge.features.global_map.region import shapely_module
from mapgauge.features.global_map.report_section import GROWTH
from mapgauge.features.global_map.scenes import (
    FAR,
    MappedScene,
    Truth,
    cities_in,
    cut_map,
    findings_of,
    lines_of,
    map_named,
    part_of,
    scenes_in,
    scenes_of,
    sides_of,
)
from mapgauge.features.tracks.tracking import track
from mapgauge.frames.alignment import join_frames
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.pose_checks import pose_findings
from mapgauge.frames.tracks import check_tracks, frames_by_scene
from mapgauge.geometry.cropping import Region, check_region
from mapgauge.geometry.poses import rotation_about_z
from mapgauge.protocols import Protocol, protocol
from mapgauge.results.comparison import compare
from mapgauge.results.intervals import Estimate
from mapgauge.results.results import Results
from mapgauge.scoring.data import in_threads
from mapgauge.scoring.prepare import Frames
from mapgauge.typing import Bounds, Indices, Progress
from mapgauge.words import counted

METRICS = ("pld", "network_completeness", "network_pld")
MOST_CUTOFF = 5.0  # metres
GAP_CLASSES = frozenset({"ped_crossing", "divider", "boundary"})  # of GlobalMapNet, which defines GAP
_NONE: Indices = np.empty(0, np.int64)
# What tables and JSON show of a class: the key of a value and its title. Network PLD is the headline.
SHOWN = {
    "network_pld": "network PLD ↓",
    "pld": "PLD ↓",
    "network_completeness": "completeness ↑",
    "network_correctness": "correctness ↑",
    "network_median_across": "across m ↓",
    "network_mean_along": "along m ↓",
    "ghost_length": "ghost m ↓",
    "fragments_per_km": "fragments/km",
}
SHARES = tuple(round(0.1 * k, 1) for k in range(1, 11))  # of the frames of a drive


# Standard deviations of the errors of poses: metres to the side, metres forward, and degrees.
PoseNoise: TypeAlias = tuple[float, float, float]
NOISES: dict[str, PoseNoise] = {"rtmap": (0.75, 1.5, 0.85)}  # of the experiments of RTMap, arXiv 2507.00980


@dataclass(frozen=True, eq=False, kw_only=True)
class GlobalMap:
    """Maps of scenes against the truth of their regions. A scene is one frame of ``results``."""

    results: Results  # one frame for each scene, in metres from its first pose
    gap: Gap | None  # None if the classes are not those of GlobalMapNet
    regions: dict[str, Any]  # by scene: the region as a shapely polygon, in metres from its first pose
    poses: dict[str, int]  # by scene: number of evaluated poses
    rule: str | None  # how frames were accumulated; None for maps
    findings: tuple[Finding, ...]
    shares: dict[float, Results]  # the results after a share of the frames; empty unless asked for
    noise: PoseNoise | None = None

    def __repr__(self) -> str:
        """Return the main values in one line."""
        mean = self.results.mean
        values = [
            f"{key} {mean[key]:.3f}" for key in ("network_pld", "network_completeness") if mean.get(key) is not None
        ]
        return f"<GlobalMap: {counted(len(self.regions), 'scene')}, {', '.join(values) or 'nothing'}>"

    @cached_property
    def estimates(self) -> dict[str, dict[str, Estimate]]:
        """The values of ``SHOWN`` with intervals over scenes, by class name (or "mean") and key."""
        (by_class,) = compare([self.results]).estimates
        return {name: {key: values[key] for key in SHOWN if key in values} for name, values in by_class.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the geometry as plain values."""
        return {
            "rule": self.rule,
            "pose_noise": self.noise,
            "scenes": {
                name: {"poses": self.poses[name], "area_m2": region.area} for name, region in self.regions.items()
            },
            "values": {
                name: {key: value._asdict() for key, value in values.items()} for name, values in self.estimates.items()
            },
            "gap": None if self.gap is None else self.gap._asdict() | {"sampling_floor_m": self.gap.floor},
            "over_time": self.results.kept[GROWTH],
            "findings": [{"level": each.level, "code": each.code, "text": each.text} for each in self.findings],
        }


def stated(made: GlobalMap) -> str:
    """Return the settings in words, as the title of a table."""
    rule = "maps"
    if made.rule is not None:
        rule = f"frames accumulated by {made.rule}"
    noise = ""
    if made.noise is not None:
        side, ahead, degrees = made.noise
        noise = f", poses off by {side:g} m to the side, {ahead:g} m forward and {degrees:g} degrees"
    count = len(made.regions)
    cutoff = made.results.protocol.cutoffs[0]
    return f"{counted(count, 'scene')}, {rule}{noise}; cutoff {cutoff:g} m; 95% intervals over scenes"


def checked_cutoff(cutoff: float) -> float:
    """Return the cutoff. With a large one, all lines of a street are near each other, and solving takes hours."""
    if check_cutoff("cutoff", cutoff) > MOST_CUTOFF:
        raise InvalidInput(f"cutoff must be at most {MOST_CUTOFF:g} m for a whole map, got {cutoff:g}")
    return cutoff


def global_map(
    predictions: Frames,
    truth: Truth,
    *,
    rule: str = "median",
    poses: Frames | None = None,
    region: Region = (60.0, 30.0),
    cutoff: float = 1.5,
    break_cost: float = 0.5,
    over_time: bool = False,
    pose_noise: str | Sequence[float] | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> GlobalMap:
    """Compare the map of each scene with the truth of the region that the drive has seen.

    Both sides are cut by the region: the union of the boxes of all evaluated poses, with the notches between boxes
    filled. It needs shapely.

    Args:
        predictions: One map for each scene in world metres (GlobalMapNet's JSON, GeoJSON, Parquet), or frames with
            poses, which are accumulated by ``rule``.
        truth: Maps of scenes or of cities in world metres, or frames with tracks and poses. Several files are given as
            a list.
        rule: How frames become a map. ``"stack"`` keeps every instance. ``"last"`` and ``"longest"`` keep one
            observation of each track. ``"median"`` fuses the observations of a track, and ``"maptracker"`` merges them
            as the figures of MapTracker do. All but ``"stack"`` need tracks. Frames without any get those of ``track``.
            ``"globalmapnet"`` fuses every fourth frame as GlobalMapNet's map builder does. It needs no tracks.
        poses: The evaluated poses, as a file or as frames with poses. If None, those of the truth, of the predictions,
            or of the file of the predictions.
        region: The box of a pose: ``(length, width)`` around the ego, or ``(x_min, y_min, x_max, y_max)``, in metres.
        cutoff: Cutoff of PLD in metres, at most 5.
        break_cost: Cost of a break in network PLD.
        over_time: Whether to compute the values after 10, 20, ... 100 % of the frames of each scene as well.
        pose_noise: Standard deviations of errors that are added to the poses of the predictions: metres to the side,
            metres forward, degrees; or ``"rtmap"``, which is (0.75, 1.5, 0.85).
        seed: Seed of the errors.
        workers: Number of threads. If None, the number of processors. The result does not depend on it.
        progress: A function that is called with the number of finished scenes and the number of all scenes.

    Returns:
        The results with one frame for each scene, values with intervals over scenes, and GAP.

    >>> import mapgauge as mg
    >>> from mapgauge.demo import demo_world
    >>> predictions, truth = demo_world(20)
    >>> made = global_map(mg.track(predictions, poses=truth), truth)
    >>> sorted(made.regions) == sorted(set(truth.scenes))
    True
    """
    shapely_module()
    if rule not in RULES:
        raise InvalidInput(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    settings = protocol("map", cutoffs=(checked_cutoff(cutoff),), settings={"network_pld": {"break_cost": break_cost}})

    # What is compared: both sides, and the regions of the drives.
    x, y, drive = sides_of(predictions, truth, poses)
    made_tracks = []
    if lacks_tracks(rule, x):
        made_tracks = [_tracks_made(x)]
        x = track(x, region=region, workers=workers)
    box = check_region(region, drive.forward)
    scenes = scenes_in(drive, box)
    noise = None
    if pose_noise is not None:
        noise = check_noise(pose_noise)
    _check_sides(x, y, rule, needs_frames=over_time or noise is not None)
    frames = x  # with poses as they were given
    if noise is not None:
        x = _disturbed(x, noise, seed)

    # One map for each scene and side, cut by the region.
    work = _Work(x, y, rule, region=region, cities=cities_in(x))
    sides = in_threads(work.of, list(scenes.values()), workers, progress=progress)
    findings = [
        *made_tracks,
        *dict.fromkeys((*x.findings, *y.findings, *pose_findings(drive))),
        *findings_of(scenes, (x, y)),
        *_findings(sides, scenes_of(x), x.name or "predictions"),
    ]
    x_cut = join_frames([side.predictions for side in sides])
    y_cut = join_frames([side.truth for side in sides])
    has_gap = not GAP_CLASSES.isdisjoint(y_cut.classes)
    classes = tuple(dict.fromkeys((*y_cut.classes, *x_cut.classes)))
    x_cut = x_cut.as_classes(classes)
    y_cut = y_cut.as_classes(classes)

    # The values.
    results = _scored(x_cut, y_cut, settings, workers=workers)
    gap = None
    if has_gap:
        gap = _gap(sides, scenes, frames, rule=rule, region=region, box=box)
    shares = {}
    if over_time:
        shares = _over_time(work, scenes, y_cut, settings=settings, workers=workers)
    growth = [{"share": share, **{key: each.mean.get(key) for key in SHOWN}} for share, each in shares.items()]
    return GlobalMap(
        results=replace(results, findings=(*findings, *results.findings), kept={GROWTH: growth}),
        gap=gap,
        regions={name: scene.region for name, scene in scenes.items()},
        poses={name: len(scene.poses) for name, scene in scenes.items()},
        rule=rule if x.poses is not None else None,
        findings=tuple(findings),
        shares=shares,
        noise=noise,
    )


def _check_sides(x: MapFrames, y: MapFrames, rule: str, *, needs_frames: bool) -> None:
    """Refuse sides that cannot become maps by a rule, and maps where frames are needed."""
    if y.poses is not None:
        check_tracks(y, "truth", "a map of true frames")
    if x.poses is not None:
        check_rule(rule, x, "predictions")
    elif needs_frames:
        raise InvalidInput(f"{x.name or 'predictions'}: maps have no frames, which over_time and pose_noise need")


def _gap(
    sides: Sequence["_SceneSides"],
    scenes: Mapping[str, MappedScene],
    frames: MapFrames,
    *,
    rule: str,
    region: Region,
    box: Bounds,
) -> Gap:
    """Return GAP of all scenes. ``frames`` are the predictions with poses as they were given."""
    seen = {name: scene.poses for name, scene in scenes.items()}
    every = interval_of(rule)
    if frames.poses is not None and every > 1:
        # The public evaluator looks where the frames are that were fused.
        seen = _fused_poses(frames, scenes, every)
        box = check_region(region, frames.forward)
    own = join_frames([side.own for side in sides])
    city = join_frames([side.city for side in sides])
    return gap_of(own, city, seen, box=box)


def _over_time(
    work: "_Work", scenes: Mapping[str, MappedScene], truth: MapFrames, *, settings: Protocol, workers: int | None
) -> dict[float, Results]:
    """Return the results after each of ``SHARES`` of the frames of each scene. The truth is that of whole scenes."""
    shares = {}
    for share in SHARES:
        early = in_threads(partial(work.early, share=share), list(scenes.values()), workers)
        shares[share] = _scored(join_frames(early).as_classes(truth.classes), truth, settings, workers=workers)
    return shares


def _tracks_made(predictions: MapFrames) -> Finding:
    """Return the note that predictions got the tracks that a rule needs."""
    text = f"{predictions.name or 'predictions'}: there are no tracks, so they were made"
    return Finding("note", "tracks-made", text, remedy=Remedy("Pass mg.track(...) to choose how", "See mapgauge track"))


def _fused_poses(frames: MapFrames, scenes: Mapping[str, MappedScene], every: int) -> dict[str, NDArray[np.float64]]:
    """Return the poses of the frames that a rule uses, by scene. A scene without frames has those of its drive."""
    assert frames.poses is not None
    rows = frames_by_scene(frames)
    fused = {}
    for name, scene in scenes.items():
        if name not in rows:
            fused[name] = scene.poses
            continue
        poses = frames.poses[rows[name][::every]].copy()
        poses[:, :2, 3] -= scene.origin
        fused[name] = poses
    return fused


class _SceneSides(NamedTuple):
    """Both sides of a scene, as one frame each."""

    predictions: MapFrames  # cut by the region
    truth: MapFrames
    own: MapFrames  # not cut
    city: MapFrames
    dropped: list[tuple[int, float]]  # lines wholly outside and metres outside, of predictions and of truth
    distance: float  # metres from the region to the nearest truth; 0 if some lies inside


@dataclass(frozen=True, eq=False)
class _Work:
    """What is needed to compute the sides of a scene."""

    x: MapFrames
    y: MapFrames
    rule: str
    region: Region
    cities: Mapping[str, str]

    @cached_property
    def rows(self) -> list[dict[str, Indices]]:
        """The frames of each scene in the order of time, of both sides."""
        return [frames_by_scene(side) for side in (self.x, self.y)]

    def predictions(self, scene: MappedScene, share: float = 1.0) -> MapFrames:
        """Return the predicted map of a scene, which is not cut."""
        if self.x.poses is not None:
            box = check_region(self.region, self.x.forward)
            rows = self.rows[0].get(scene.name, _NONE)
            some = rows[: int(np.ceil(share * len(rows)))]
            return lines_of(
                self.x, some, scene, accumulate=lambda own, poses: accumulate(self.rule, own, poses, box=box)
            )
        names = self.x.scenes or self.x.tokens
        if scene.name not in names:
            return part_of(self.x.keep(_NONE), frame=0, scene=scene)
        return part_of(self.x, names.index(scene.name), scene)

    def early(self, scene: MappedScene, share: float) -> MapFrames:
        """Return the predicted map of a scene after a share of its frames, cut by the region."""
        cut, _ = cut_map(self.predictions(scene, share), scene)
        return cut

    def truth(self, scene: MappedScene) -> MapFrames:
        """Return the true map of a scene, which is not cut."""
        if self.y.poses is not None:
            box = check_region(self.region, self.y.forward)
            rows = self.rows[1].get(scene.name, _NONE)
            return lines_of(self.y, rows, scene, accumulate=lambda own, poses: united(own, poses, box))
        return part_of(self.y, map_named(self.y, scene.name, self.cities.get(scene.name)), scene)

    def of(self, scene: MappedScene) -> _SceneSides:
        """Return both sides of a scene."""
        own = self.predictions(scene)
        city = self.truth(scene)
        x, x_cut = cut_map(own, scene)
        y, y_cut = cut_map(city, scene)
        # Predictions without confidences are certain.
        if x.confidence is None:
            x = x.with_confidence(1)
        if own.confidence is None:
            own = own.with_confidence(1)
        distance = 0.0
        if not len(y.polylines) and len(city.polylines):
            shapely = shapely_module()
            distance = float(shapely.distance(scene.region, shapely.multipoints(city.polylines.coords)))
        dropped = [(each.lines_outside, each.outside) for each in (x_cut, y_cut)]
        return _SceneSides(
            predictions=x,
            truth=y.with_confidence(confidence=None),
            own=own,
            city=city.with_confidence(confidence=None),
            dropped=dropped,
            distance=distance,
        )


def _scored(x: MapFrames, y: MapFrames, settings: Protocol, workers: int | None) -> Results:
    return evaluate_frames(x, y, settings, metrics=METRICS, workers=workers)


def _findings(sides: Sequence[_SceneSides], given: Sequence[str], name: str) -> list[Finding]:
    """Return findings about what the regions dropped, and about scenes without predictions or truth."""
    found = []
    lines, metres = np.array([side.dropped for side in sides]).sum(axis=0).T  # of predictions and of truth
    if metres.max() > 0.5:
        text = (
            f"{metres[0]:.0f} m of predictions ({lines[0]:.0f} whole lines) and {metres[1]:.0f} m of truth "
            f"({lines[1]:.0f} whole lines) lie outside the region and were dropped"
        )
        found.append(Finding("note", "outside-region", text, count=int(lines.sum())))
    called = [side.truth.tokens[0] for side in sides]
    if lacking := [scene for scene in called if scene not in given]:
        text = f"{len(lacking)} of {len(called)} scenes have no predictions. Their truth counts as missed"
        found += findings_about(lacking, "warning", "scenes-without-predictions", text=text)
    if extra := [scene for scene in given if scene not in called]:
        text = f"{len(extra)} of {len(given)} scenes of {name} have no poses and were left out"
        found += findings_about(extra, "warning", "scenes-without-poses", text=text)
    empty = [side for side in sides if not len(side.truth.polylines)]
    far = [f"{side.truth.tokens[0]}: {side.distance / 1000:.1f} km" for side in empty if side.distance > FAR]
    if far:
        text = (
            f"no truth lies in the region of {counted(len(far), 'scene')}, and the nearest is far away: "
            "the map is of another city"
        )
        found += findings_about(far, "error", "other-city", text=text)
    elif empty:
        text = f"no truth lies in the region of {counted(len(empty), 'scene')}"
        found += findings_about([side.truth.tokens[0] for side in empty], "warning", "scenes-without-truth", text=text)
    return found


def check_noise(noise: str | Sequence[float]) -> PoseNoise:
    """Return errors of poses, which may be named; refuse anything else."""
    if isinstance(noise, str) and noise in NOISES:
        return NOISES[noise]
    if not isinstance(noise, list | tuple) or len(noise) != 3:
        raise InvalidInput(
            f"pose_noise must be three numbers, metres to the side, metres forward, degrees, or one of "
            f"{', '.join(NOISES)}, got {noise!r}"
        )
    side, ahead, degrees = (check_number("pose_noise", each, "a standard deviation") for each in noise)
    if min(side, ahead, degrees) < 0:
        raise InvalidInput(f"pose_noise must not be negative, got {(side, ahead, degrees)}")
    return side, ahead, degrees


def _disturbed(frames: MapFrames, noise: PoseNoise, seed: int) -> MapFrames:
    """Return frames with errors added to their poses, in the axes of the vehicle. Each token has its own errors."""
    check_whole("seed", seed, least=0)
    assert frames.poses is not None
    order = np.argsort(np.array(frames.tokens, np.str_), kind="stable")  # the order of the file does not matter
    drawn = np.empty((len(frames), 3))
    drawn[order] = np.random.default_rng(seed).standard_normal((len(frames), 3)) * np.array(noise)
    poses = frames.poses.copy()
    for k, (left, ahead, degrees) in enumerate(drawn.tolist()):
        motion = rotation_about_z(degrees)
        if frames.forward == "y":
            motion[:2, 3] = (-left, ahead)
        else:
            motion[:2, 3] = (ahead, left)
        poses[k] = poses[k] @ motion
    return replace(frames, poses=poses, history=None)
