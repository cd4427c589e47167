"""C-mAP: MapTracker's average precision, in which true positives must keep their ids over a scene.

Predictions are matched to truth in each frame, as for Chamfer-AP. The first prediction that is matched to a true track
of a scene owns this track. Later true positives of the track must have the id of the owner, otherwise they count as
false positives. Two rules of the public code matter if an id occurs twice in a frame and class:

- The match of an id in a frame is that of its last occurrence, also if that is no true positive.
- "No match" has an owner as well: the first id of the scene and class without a match, in frames with truth of the
  class. A true positive whose id has "no match" stays one only if its id is that owner.

``docs/explanation/time.md`` describes what the score cannot see.
"""

from dataclasses import dataclass

import numpy as np

from mapgauge.frames.tracks import codes_of
from mapgauge.metrics.average_precision import ChamferSettings, chamfer_distances, matches_by
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Bits, HitRows, Metric, Setting, Value
from mapgauge.metrics.settings import thresholds_of
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Indices


def _score(groups: Groups, protocol: Protocol) -> Bits:
    """Return the consistent true positives of a scene, as bits, one per threshold."""
    own = protocol.settings["c_map"]
    hits, nearest = matches_by(chamfer_distances, groups, protocol, own)
    codes = track_codes(groups)
    # Groups without truth take no part. Otherwise their predictions could become the owner of "no match".
    with_truth = groups.bounds[:, 2] > groups.bounds[:, 1]
    rows = np.flatnonzero(groups.is_prediction & with_truth[groups.side // 2])
    scored = np.zeros(len(hits), np.uint16)
    for t in range(len(own.thresholds)):
        hit = (hits[rows] >> t) & 1 == 1
        # Codes of tracks are at least 0. Each class has its own code of "no match" below 0.
        match = np.where(hit, codes[nearest[rows]], -1 - groups.label[groups.side[rows] // 2])
        kept = hit & keeps_owner(groups.side[rows], codes[rows], match)
        scored[rows] |= kept.astype(np.uint16) << t
    return scored


def track_codes(groups: Groups) -> Indices:
    """Return a number for the class and the track of each instance. An instance without a track is a track of its own.

    Predictions and true instances are numbered together: a number says nothing across the sides.
    """
    count = len(groups.confidence)
    names = np.full(count, "") if groups.track is None else groups.track
    code = np.where(names == "", count + np.arange(count), codes_of(names))
    codes: Indices = groups.label[groups.side // 2] * 2 * count + code
    return codes


def keeps_owner(frame: Indices, track: Indices, match: Indices) -> Flags:
    """Return which predictions have the id that owns what this id is matched to.

    Predictions are in the order of time, and within a frame in the order of the groups. ``frame`` numbers the frame and
    class of each. A match below 0 is none.

    >>> keeps_owner(np.array([0, 0, 1, 1]), np.array([5, 6, 6, 5]), np.array([1, 2, 1, -1])).tolist()
    [True, True, False, True]
    """
    count = track.max(initial=0) + 1
    entries, first, of = np.unique(frame * count + track, return_index=True, return_inverse=True)
    ids = entries % count
    last = np.zeros(len(ids), np.int64)
    np.maximum.at(last, of, np.arange(len(of)))
    matched = match[last]
    order = np.argsort(first)
    targets, owner = np.unique(matched[order], return_index=True)
    owners = ids[order][owner]
    kept: Flags = owners[np.searchsorted(targets, matched[of])] == track
    return kept


@dataclass(frozen=True, kw_only=True)
class ConsistentSettings(ChamferSettings):
    """Settings of C-mAP."""

    thresholds: tuple[float, ...] = thresholds_of((0.5, 1.0, 1.5), word="consistent")


C_MAP = Metric(
    name="c_map",
    title="C-mAP",
    symbol="C-AP",
    lower_is_better=False,
    values=(Value("c_map", "", "C-mAP", "main"),),
    rows=HitRows(_score),
    setting=Setting("thresholds", "threshold"),
    settings_type=ConsistentSettings,
    level="scene",
    needs=frozenset({"confidences", "tracks"}),
    stated=lambda _: "MapTracker's rules, mean over thresholds in metres",
    limits=(0.0, 1.0),
)
