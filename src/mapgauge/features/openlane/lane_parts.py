"""Parts of the lanes: near and far, in intersections and elsewhere, as in the breakdowns of TopoLogic.

A lane is near if all of its points are at most 25 m ahead or behind. A true lane lies in an intersection if the truth
says so. A predicted lane belongs to the part of the nearest true lane. All other instances stay.
"""

import numpy as np

from mapgauge import kernels
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.openlane.openlane import LaneSettings, lane_distances, of_frames
from mapgauge.frames.lane_classes import LANE
from mapgauge.frames.links import LEFT_LINE, RIGHT_LINE
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.groups import Groups, group
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Indices

REACH = 25.0  # metres ahead and behind


def lanes_of_part(predictions: MapFrames, truth: MapFrames, protocol: Protocol) -> tuple[MapFrames, MapFrames]:
    """Return aligned sides with the lanes of the part that the protocol names."""
    if protocol.part in ("near", "far"):
        forward = truth.forward or predictions.forward
        near = [_is_near(side, 1 if forward == "y" else 0) for side in (predictions, truth)]
        if protocol.part == "near":
            inside = near
        else:
            inside = [~flags for flags in near]
    else:
        crossing = _in_intersection(predictions, truth, protocol)
        if protocol.part == "intersection":
            inside = list(crossing)
        else:
            inside = [~flags for flags in crossing]
    return _kept(predictions, inside[0]), _kept(truth, inside[1])


def _is_lane(frames: MapFrames) -> Flags:
    flags: Flags = np.array([name == LANE for name in frames.classes] + [False])[frames.label]
    return flags


def _is_near(frames: MapFrames, axis: int) -> Flags:
    """Return which instances have no point beyond the reach."""
    beyond = np.append(np.abs(frames.polylines.coords[:, axis]) > REACH, False)
    far = np.logical_or.reduceat(beyond, frames.polylines.offsets[:-1]) & (np.diff(frames.polylines.offsets) > 0)
    near: Flags = ~far
    return near


def _in_intersection(predictions: MapFrames, truth: MapFrames, protocol: Protocol) -> tuple[Flags, Flags]:
    """Return which instances lie in intersections; those of predictions by the nearest true lane."""
    if truth.intersection is None:
        raise InvalidInput(
            f"{truth.name or 'truth'}: the lanes have no flag that says which lie in intersections",
            remedy=Remedy('Use part="near" or part="far"', "Choose a protocol for near or far lanes"),
        )
    groups = group(predictions, truth, protocol, links=True)
    lanes, rows = of_frames(groups, (LANE,))
    nearest = nearest_lanes(groups, lanes, rows, protocol=protocol)
    flags = np.zeros(len(predictions.polylines), np.bool_)
    matched = np.flatnonzero(nearest >= 0)
    flags[lanes.row[matched]] = truth.intersection[lanes.row[nearest[matched]]]
    return flags, truth.intersection


def _settings(protocol: Protocol) -> LaneSettings:
    """Return the settings of the distance of lanes; those of ``ap_frechet`` if the protocol has none for lanes."""
    for name in ("det_ls", "det_l"):
        if name in protocol.settings:
            own: LaneSettings = protocol.settings[name]
            return own
    frechet = protocol.settings.get("ap_frechet")
    if frechet is None:
        return LaneSettings(relaxed=False, prefilter=None, drop_closing=False)
    return LaneSettings(relaxed=frechet.relaxed, prefilter=frechet.prefilter, drop_closing=False)


def nearest_lanes(groups: Groups, lanes: Groups, rows: Indices, protocol: Protocol) -> Indices:
    """Return the nearest true lane of each predicted lane; -1 in frames without true lanes."""
    segments = "det_ls" in protocol.settings
    near = lane_distances(groups, rows, segments, lanes=lanes, protocol=protocol, own=_settings(protocol), limit=np.inf)
    plain = np.empty(lanes.pairs)
    kernels.chamfer.chamfer_pairs(
        lanes.whole, lanes.bounds, np.ones(len(rows)), limit=np.inf, nearest_only=False, out=plain
    )
    nearest = np.full(len(rows), -1)
    at = 0
    for first, true, end in lanes.bounds.tolist():
        for x in range(first, true):
            here = slice(at, at + end - true)
            at += end - true
            if end > true:
                if np.isfinite(near[here]).any():
                    chosen = near[here]
                else:
                    chosen = plain[here]
                nearest[x] = true + int(np.argmin(chosen))
    return nearest


def _kept(frames: MapFrames, inside: Flags) -> MapFrames:
    """Return the frames without the lanes that are not inside, and without the lines beside them."""
    gone = _is_lane(frames) & ~inside
    if frames.links is not None:
        beside = frames.links.is_kind(LEFT_LINE) | frames.links.is_kind(RIGHT_LINE)
        gone[frames.links.target[beside & gone[frames.links.source]]] = True
    if not gone.any():
        return frames
    return frames.keep(np.flatnonzero(~gone))
