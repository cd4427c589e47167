"""The assignment of predictions to truth in one frame, with the matched points. Figures and the report draw it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from mapgauge import kernels
from mapgauge.distances.sospa import align_two_lines
from mapgauge.frames.boxes import is_box
from mapgauge.frames.groups import Groups, group
from mapgauge.frames.instance import Instance
from mapgauge.frames.map_frames import MapFrames
from mapgauge.markup.html import shortened
from mapgauge.protocols import Protocol
from mapgauge.results.frame_links import FrameLink, links_of_frame
from mapgauge.results.notebook import assignment_html
from mapgauge.typing import Forward, Pairs


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A prediction and the truth it was assigned to."""

    class_name: str
    prediction: int  # index into the predictions of the frame
    truth: int  # index into its truth
    distance: float  # normalised SOSPA
    pairs: Pairs  # (k, 2): matched points, by index into both

    def __repr__(self) -> str:
        """Summary in one line."""
        ends = f"prediction {self.prediction} to truth {self.truth}"
        return f"<Match {shortened(self.class_name)}: {ends}, distance {self.distance:.3f}, {len(self.pairs)} points>"


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """One frame as it was compared: resampled polylines without closing points, and their matches.

    A true instance without a match was missed. A prediction without a match is false.
    """

    token: str
    predictions: list[Instance]
    truth: list[Instance]
    matches: list[Match]
    predictions_closed: list[bool] = field(default_factory=list)  # which predictions were compared as closed lines
    truth_closed: list[bool] = field(default_factory=list)
    forward: Forward | None = None  # the axis that points forward; None if it is unknown
    boxes: tuple[int, int] = (0, 0)  # number of predicted and true boxes in an image, which are left out
    links: list[FrameLink] = field(default_factory=list)  # between lanes, if the protocol has a link cost

    def __repr__(self) -> str:
        """Summary in one line."""
        counts = f"{len(self.predictions)} predictions, {len(self.truth)} truth, {len(self.matches)} matches"
        return f"<Assignment {shortened(self.token)}: {counts}>"

    def _repr_html_(self) -> str:
        return assignment_html(self)


def match_frame(
    predictions: MapFrames, truth: MapFrames, frame: int, protocol: Protocol, cutoff: float | None
) -> Assignment:
    """Return the optimal assignment of one frame, for all classes.

    Args:
        predictions: Aligned with the truth.
        truth: The frames.
        frame: Index of the frame.
        protocol: All settings.
        cutoff: SOSPA cutoff in metres. If None, nothing is matched.
    """
    part = slice(frame, frame + 1)
    x, y = predictions.between(part), truth.between(part)
    groups = group(x, y, protocol)
    ends = groups.polylines.offsets[1:] - groups.repeats
    points = [groups.polylines.coords[start:end] for start, end in zip(groups.polylines.offsets, ends, strict=False)]
    boxes = int(np.count_nonzero(is_box(x))), int(np.count_nonzero(is_box(y)))
    found = Assignment(truth.tokens[frame], [], [], [], [], [], truth.forward or predictions.forward, boxes)
    index = np.full(len(points), -1)
    for c, (class_name, (begin, split, end)) in enumerate(zip(truth.classes, groups.bounds.tolist(), strict=True)):
        if class_name in truth.boxes:
            continue
        index[begin:split] = len(found.predictions) + np.arange(split - begin)
        index[split:end] = len(found.truth) + np.arange(end - split)
        if cutoff is not None:
            found.matches.extend(_matches(found, class_name, groups.pick(np.array([c])), protocol, cutoff))
        for instances, closed, frames, rows in (
            (found.predictions, found.predictions_closed, x, range(begin, split)),
            (found.truth, found.truth_closed, y, range(split, end)),
        ):
            certain = frames.confidence is None
            tracks = _tracks_of(frames, c)
            instances.extend(
                Instance(class_name, points[i], None if certain else float(groups.confidence[i]), track)
                for i, track in zip(rows, tracks, strict=True)
            )
            closed.extend(groups.closed[rows.start : rows.stop].tolist())
    if cutoff is not None:
        found.links.extend(links_of_frame(x, y, protocol, cutoff, index))
    return found


def _tracks_of(frames: MapFrames, label: int) -> list[str | None]:
    """Return the tracks of the instances of one class, in the order of the file."""
    mine = np.flatnonzero(frames.label == label)
    if frames.track is None:
        return [None] * len(mine)
    return [str(track) or None for track in frames.track[mine]]


def _matches(before: Assignment, class_name: str, groups: Groups, protocol: Protocol, cutoff: float) -> Iterator[Match]:
    """Yield the matches of one class. Indices continue after the instances of the classes before it."""
    lines, closed, (_, split, _) = groups.lines, groups.closed, groups.bounds[0].tolist()
    pairs = kernels.interpreting.Pairs(lines, cutoff, protocol.order, groups.bounds[:1])
    _, truth_of = kernels.interpreting.call(
        *(kernels.pld.pld_of_lines, pairs.visits),
        *(lines, closed, groups.confidence, split, protocol.directed, cutoff, protocol.order),
        kernels.sospa.is_long(lines, closed),
    )
    starts, stops = lines.span[:, 0], lines.span[:, 1]
    for i in np.flatnonzero(truth_of >= 0).tolist():
        j = int(truth_of[i])
        two = [i, split + j]
        spans = starts[two], stops[two]
        pair = kernels.interpreting.call(kernels.lines.index_lines, lambda: 2, lines.points, *spans)
        alignment = align_two_lines(pair, bool(closed[two].any()), protocol.directed, cutoff, protocol.order)
        first = len(before.predictions), len(before.truth)
        yield Match(class_name, first[0] + i, first[1] + j, alignment.normalised, alignment.pairs)
