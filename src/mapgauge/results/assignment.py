"""Who was assigned to whom in one frame, and which points were matched: what explains a number, and what is drawn."""

from dataclasses import dataclass

import numpy as np

from mapgauge import kernels
from mapgauge.distances.sospa import align_two_lines
from mapgauge.frames.groups import group
from mapgauge.frames.map_frames import Instance, MapFrames
from mapgauge.protocols import Protocol
from mapgauge.typing import Pairs


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A prediction and the truth it was assigned to."""

    class_name: str
    prediction: int  # index into the predictions of the frame
    truth: int  # index into its truth
    distance: float  # normalised SOSPA
    pairs: Pairs  # (k, 2): matched points, by index into both


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """One frame as it was compared: resampled, without closing points, and assigned.

    What is in no match was missed (truth) or false (predictions).
    """

    token: str
    predictions: list[Instance]
    truth: list[Instance]
    matches: list[Match]


def match_frame(predictions: MapFrames, truth: MapFrames, frame: int, protocol: Protocol, cutoff: float) -> Assignment:
    """The optimal assignment of one frame of aligned sides, all classes."""
    part = slice(frame, frame + 1)
    x, y = predictions.between(part), truth.between(part)
    groups = group(x, y, protocol)
    ends = groups.polylines.offsets[1:] - groups.repeats
    points = [groups.polylines.coords[start:end] for start, end in zip(groups.polylines.offsets, ends, strict=False)]
    sides: tuple[list[Instance], list[Instance]] = ([], [])
    matches: list[Match] = []
    for class_name, (begin, split, end) in zip(truth.classes, groups.bounds.tolist(), strict=True):
        first = (len(sides[0]), len(sides[1]))
        for side, frames, rows in ((0, x, range(begin, split)), (1, y, range(split, end))):
            certain = frames.confidence is None
            sides[side].extend(
                Instance(class_name, points[i], None if certain else float(groups.confidence[i])) for i in rows
            )
        polylines = groups.polylines.pick(np.arange(begin, end))
        starts = polylines.offsets[:-1].astype(np.uint64)
        stops = (polylines.offsets[1:] - groups.repeats[begin:end]).astype(np.uint64)
        lines = kernels.lines.index_lines(np.ascontiguousarray(polylines.coords.T), starts, stops)
        closed = groups.closed[begin:end]
        _, truth_of = kernels.pld.pld_of_lines(
            *(lines, closed, groups.confidence[begin:end], split - begin, protocol.directed, cutoff, protocol.order)
        )
        for i in np.flatnonzero(truth_of >= 0).tolist():
            j = int(truth_of[i])
            two = [i, split - begin + j]
            pair = kernels.lines.index_lines(lines.points, starts[two], stops[two])
            cyclic = bool(closed[two].any())
            alignment = align_two_lines(pair, cyclic, protocol.directed, cutoff, protocol.order)
            matches.append(Match(class_name, first[0] + i, first[1] + j, alignment.normalised, alignment.pairs))
    return Assignment(truth.tokens[frame], *sides, matches)
