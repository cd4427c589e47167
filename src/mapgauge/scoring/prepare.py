"""Prepares both sides of an evaluation: reads, checks, aligns and crops them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Literal, TypeAlias

import numpy as np

from mapgauge.arguments import check_not_mean
from mapgauge.checks import findings_in
from mapgauge.checks.context import Context, degrees_found, is_geographic
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.alignment import align
from mapgauge.frames.findings import Finding, ignored_frames, place_of
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import check_tracks, paths_ahead, track_findings
from mapgauge.geometry.cropping import check_region, corridor_radius, window_bounds
from mapgauge.geometry.projections import PROJECT, same_system
from mapgauge.io import read
from mapgauge.metrics.metric import SumRows
from mapgauge.metrics.rows import selected
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import Protocol, changes
from mapgauge.scoring.ignored import ignored_findings, refuse_ignored, without_ignored
from mapgauge.typing import Confidences, Degenerate, Forward

Frames: TypeAlias = MapFrames | str | os.PathLike[str]
Unknown: TypeAlias = Literal["error", "ignore"]

_IDS_OF_PREDICTIONS = "Use predictions with ids, such as pos_predictions.pkl of MapTracker"
_IDS_OF_TRUTH = Remedy(
    'Read ids with the truth: mg.read("tmp_gts_....pkl", tracks="..._gt_tracks.pkl")',
    "Give the ids with the truth: tmp_gts_....pkl,tracks=..._gt_tracks.pkl",
)


def loaded(frames: Frames, degenerate: Degenerate = "strict", workers: int | None = None) -> MapFrames:
    """Return frames in memory unchanged, or read them from a file."""
    if isinstance(frames, MapFrames):
        return frames
    return read(frames, degenerate=degenerate, workers=workers)


def check_rings(ranges: Sequence[float], metrics: Sequence[str] | None = None) -> tuple[float, ...]:
    """Return the bounds of rings around the ego vehicle. One of the metrics, if given, must have values in rings."""
    try:
        rings = tuple(float(value) for value in ranges)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"ranges must be rising distances in metres, got {ranges!r}") from error
    if rings and (len(rings) < 2 or rings[0] < 0 or not all(a < b for a, b in pairwise(rings))):
        raise InvalidInput(f"ranges must be at least two rising distances in metres, got {ranges!r}")
    if rings and metrics is not None and not has_rings(metrics):
        able = ", ".join(METRICS[name].title for name in METRICS if has_rings([name]))
        raise InvalidInput(f"ranges need a metric with values in rings ({able}), got {', '.join(metrics)}")
    return rings


def has_rings(metrics: Sequence[str]) -> bool:
    """Whether one of the metrics has values in rings."""
    rows = (METRICS[name].rows for name in metrics)
    return any(isinstance(row, SumRows) and row.rings for row in rows)


def prepare(
    predictions: MapFrames, truth: MapFrames, protocol: Protocol, unknown: Unknown
) -> tuple[MapFrames, MapFrames]:
    """Return both sides on the same frames and classes, cropped if the protocol says so."""
    check_sides(predictions, truth)
    if not len(truth):
        raise InvalidInput(f"{truth.name or 'truth'}: no frames to compare")
    x, y = align(predictions, truth, classes=protocol.classes, unknown=unknown)
    check_not_mean(y.classes)
    check_boxes_of(protocol, x, y)
    return cropped(x, y, protocol)


def check_boxes_of(protocol: Protocol, predictions: MapFrames, truth: MapFrames) -> None:
    """Refuse classes that are boxes in the data and lines in the protocol, or the other way round."""
    for side, called in ((predictions, "predictions"), (truth, "truth")):
        for name in side.classes:
            if (name in side.boxes) != (name in protocol.boxes) and side.counts[name]:
                kinds = ("boxes in an image", "polylines")
                if name in side.boxes:
                    here, expected = kinds
                else:
                    here, expected = kinds[::-1]
                raise InvalidInput(
                    f"{side.name or called}: instances of {name} are {here}, and the protocol {protocol.name} compares "
                    f"{expected} of this name",
                    remedy=Remedy("Leave the class out with classes=", "Leave the class out with --classes"),
                )


def findings_of(
    predictions: MapFrames,
    truth: MapFrames,
    protocol: Protocol,
    metrics: Sequence[str] = (),
    unknown: Unknown = "error",
) -> tuple[Finding, ...]:
    """Return the findings of the readers and of all checks, and those about links and tracks if a metric needs them.

    Tracks that one side lacks are left out: a metric that needs them refuses such data, and no other metric uses them.
    So are findings about links, unless a metric uses links, and about equal confidences if no metric uses confidences,
    as with graphs. Predicted frames that the truth lacks are a note if they are ignored.
    """
    # The checks are about lines, not about boxes.
    if protocol.classes is None:
        lines = None
    else:
        lines = [name for name in protocol.classes if name not in protocol.boxes]
    named = "classes" in changes(protocol)
    context = Context.of(predictions, truth, protocol.region, classes=lines, protocol=protocol, named=named)
    findings = findings_in(context, [*predictions.findings, *truth.findings])
    unused = {"tracks-one-side"}
    if metrics and not any("confidences" in METRICS[name].needs for name in metrics):
        unused |= {"confidence-equal", "confidence-small", "confidence-sigmoid", "confidence-order", "truth-confidence"}
    if not any("links" in METRICS[name].needs for name in metrics):
        unused |= {finding.code for finding in findings if finding.code.startswith("links-")}
    findings = tuple(
        ignored_frames(finding) if finding.code == "tokens-unknown" and unknown == "ignore" else finding
        for finding in findings
        if finding.code not in unused
    )
    findings += (*ignored_findings(truth), *_corridor_findings(predictions, truth, protocol))
    of_scenes = any(METRICS[name].level == "scene" for name in metrics)
    if not of_scenes or (predictions.track is not None and truth.track is not None):
        return findings  # with tracks on both sides, the checks have looked at them
    return (*findings, *track_findings(predictions, truth))


def _corridor_findings(predictions: MapFrames, truth: MapFrames, protocol: Protocol) -> tuple[Finding, ...]:
    """Return how many frames have a shorter path than the corridor asks for, if the protocol has one."""
    frames = truth if truth.poses is not None else predictions
    if corridor_radius(protocol.window) is None or frames.poses is None:
        return ()
    _, short = paths_ahead(frames)
    text = f"{len(short)} of {len(frames)} frames are followed by less than 6 s, so their corridor is shorter"
    tokens = tuple(frames.tokens[frame] for frame in short[:3])
    if not short:
        return ()
    return (Finding("note", "corridor-short", text, count=len(short), examples=tokens),)


def check_sides(predictions: MapFrames, truth: MapFrames) -> None:
    """Refuse ignored predictions, predictions without sound confidences, degrees, and different reference systems."""
    refuse_ignored(predictions, "predictions cannot be ignored, only truth can")
    if predictions.confidence is None and not len(predictions):
        raise InvalidInput(
            f"{predictions.name or 'predictions'}: no frames", remedy="Check that this is the file of the predictions"
        )
    if predictions.confidence is None:
        raise no_confidences(predictions.name or "predictions", truth_has_them=truth.confidence is not None)
    if predictions.crs and truth.crs and not same_system(predictions.crs, truth.crs):
        raise InvalidInput(
            f"{predictions.name or 'predictions'} has the reference system {predictions.crs[:60]}, and "
            f"{truth.name or 'truth'} has {truth.crs[:60]}, expected the same",
            remedy=PROJECT,
        )
    _refuse_degrees(predictions, truth)
    for side, name in ((predictions, "predictions"), (truth, "truth")):
        if side.confidence is not None:
            _check_range(name, side, side.confidence)


def _check_range(name: str, side: MapFrames, confidence: Confidences) -> None:
    """Refuse confidences outside [0, 1]. The error names the frame of the first one."""
    outside = np.flatnonzero(~((confidence >= 0) & (confidence <= 1)))
    if not len(outside):
        return
    first = int(outside[0])
    place = place_of(side if side.name else replace(side, name=name), first)
    if len(outside) > 1:
        more = f" ({len(outside)} of {len(confidence)} values are outside)"
    else:
        more = ""
    raise InvalidInput(
        f"{place}: confidence {confidence[first]!s}, expected a number in [0, 1]{more}",
        remedy="Apply a sigmoid to logits, divide percentages by 100",
    )


def _refuse_degrees(predictions: MapFrames, truth: MapFrames) -> None:
    """Refuse longitude and latitude, if both sides have it or the other side was projected.

    If only one side seems to have it, it may be metres: lines of a network before its training can be as short. A few
    lines tell it only in a single frame, which is usually a map.
    """
    if len(truth) == 1:
        few = {"least": 1}
    else:
        few = {}
    x = without_boxes(predictions)
    y = without_boxes(truth)
    if is_geographic(y, **few):
        both = is_geographic(x, **few)
        if both or x.crs:
            found = degrees_found("both sides" if both else "truth", y, count=0)
        else:
            found = None
    else:
        if y.crs and is_geographic(x, **few):
            found = degrees_found("predictions", x, count=0)
        else:
            found = None
    if found is not None:
        raise InvalidInput(found.message, remedy=found.remedy)


def no_confidences(name: str, *, truth_has_them: bool) -> InvalidInput:
    """Return the error for predictions without confidences."""
    if truth_has_them:
        hint = ". The truth has confidences: are the two exchanged?"
    else:
        hint = ""
    return InvalidInput(
        f"{name}: no confidences{hint}",
        remedy=Remedy(
            "If all predictions are certain, call .with_confidence(1)",
            "If all predictions are certain, give them as FILE,certain",
        ),
    )


def cropped(predictions: MapFrames, truth: MapFrames, protocol: Protocol) -> tuple[MapFrames, MapFrames]:
    """Return what ``cut`` does, without ignored truth and the predictions that are matched with it."""
    return without_ignored(*cut(predictions, truth, protocol), protocol)


def cut(predictions: MapFrames, truth: MapFrames, protocol: Protocol) -> tuple[MapFrames, MapFrames]:
    """Return both sides, cropped to the region or a part of it, and with a part of the lanes, if the protocol says so.

    If one side does not know which axis points forward, it has the axes of the other side.
    """
    regions = []
    forward = truth.forward or predictions.forward
    if protocol.crop and protocol.region is not None:
        regions.append(check_region(protocol.region, forward))
    radius = corridor_radius(protocol.window)
    if protocol.window is not None and radius is None:
        regions.append(window_bounds(protocol.window, forward))
    names = predictions.name or "predictions", truth.name or "truth"
    for region in regions:
        check_axes(predictions.forward, truth.forward, protocol, names=names)
        predictions = predictions.crop(region)
        truth = truth.crop(region)
    if radius is not None:
        check_axes(predictions.forward, truth.forward, protocol, names=names)
        paths, _ = paths_ahead(truth if truth.poses is not None else predictions)
        predictions, truth = (side.cut_to_corridors(paths, radius) for side in (predictions, truth))
    return selected(predictions, truth, protocol)


def check_axes(predictions: Forward | None, truth: Forward | None, protocol: Protocol, names: tuple[str, str]) -> None:
    """Refuse to crop sides whose forward axes are known to differ: no region is right for both."""
    cut = (protocol.crop and protocol.region is not None) or protocol.window is not None
    if cut and None not in (predictions, truth) and predictions != truth:
        if predictions == "y":
            degrees = -90
        else:
            degrees = 90
        raise InvalidInput(
            f"{names[0]} has {predictions} forward and {names[1]} has {truth} forward: they cannot be cropped to the "
            "same region",
            remedy=Remedy(
                f'Use predictions.rotate({degrees}), or pass axes="auto"',
                f"Read the predictions with {names[0]},rotate={degrees} or {names[0]},rotate=auto",
            ),
        )


def with_scenes(frames: MapFrames, scenes: Mapping[str, str], name: str = "scenes") -> MapFrames:
    """Return the frames with the scene of each token. Errors name the scenes, which may come from a file."""
    lacking = [token for token in frames.tokens if token not in scenes]
    if lacking:
        raise InvalidInput(f"{name}: {len(lacking)} tokens have no scene (first: {lacking[0]})")
    return replace(frames, scenes=tuple(str(scenes[token]) for token in frames.tokens))


def check_needs(metrics: Sequence[str], predictions: MapFrames, truth: MapFrames) -> None:
    """Refuse metrics that need scenes, tracks, links or poses if the data have none."""
    check_linked(metrics, predictions, truth)
    for name in metrics:
        metric = METRICS[name]
        for side, called in ((predictions, "predictions"), (truth, "truth")):
            needed = "tracks" in metric.needs or (side is truth and "truth tracks" in metric.needs)
            if needed and side.track is None and len(side.polylines):
                raise InvalidInput(
                    f"{side.name or called}: {name} needs tracks, and these frames have none",
                    remedy=_IDS_OF_TRUTH if side is truth else _IDS_OF_PREDICTIONS,
                )
        if metric.level == "scene" and truth.scenes is None:
            raise InvalidInput(
                f"{name} is computed per scene, and the truth has no scenes",
                remedy=Remedy(
                    "Pass scenes= with the scene of each token", "Give them with the truth: TRUTH,scenes=FILE"
                ),
            )
        if "every track" in metric.needs:
            check_tracks(predictions, "predictions", name)
            check_tracks(truth, "truth", name)
        if "poses" in metric.needs and truth.poses is None and predictions.poses is None:
            raise InvalidInput(
                f"{name} needs poses, and neither the truth nor the predictions have one for every frame",
                remedy=Remedy(
                    "Use files with poses, such as pos_predictions.pkl of MapTracker",
                    "Give poses with a file: FILE,poses=FILE",
                ),
            )


def check_linked(metrics: Sequence[str], predictions: MapFrames, truth: MapFrames) -> None:
    """Refuse metrics that need links if the data have none."""
    linked = [name for name in metrics if "links" in METRICS[name].needs]
    for name, (side, called) in product(linked, ((predictions, "predictions"), (truth, "truth"))):
        if side.links is None and len(side.polylines):
            use = "Use files with links (OpenLane-V2), or name other"
            raise InvalidInput(
                f"{side.name or called}: {name} needs links between lanes, and these frames have none",
                remedy=Remedy(f"{use} metrics with metrics=", f"{use}s: mapgauge evaluate ... --metrics"),
            )


def check_times(metrics: Sequence[str], truth: MapFrames) -> None:
    """Refuse streamed frames without time stamps for metrics of scenes. A data set is sorted by token, not by time."""
    of_scenes = [name for name in metrics if METRICS[name].level == "scene"]
    if of_scenes and len(truth) and truth.timestamps is None:
        raise InvalidInput(
            f"{truth.name or 'truth'}: {of_scenes[0]} needs the order of frames, and the data set has no time stamps",
            remedy="Write the column timestamp, or use files of another format, whose order is kept",
        )
