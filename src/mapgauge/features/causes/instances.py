"""The causes of the costs of every instance, as columns. All views of causes are sums of these columns."""

from typing import NamedTuple

import numpy as np

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.evaluation.scoring import BLOCK
from mapgauge.evaluation.threads import Progress, in_threads
from mapgauge.features.causes.metric import CAUSES, THRESHOLDS, Thresholds, costs_of
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.assigned import Known, assigned, know_matches
from mapgauge.metrics.groups import group
from mapgauge.metrics.pld import sospa_of_matches
from mapgauge.protocols import Protocol, full_name
from mapgauge.results.results import Results
from mapgauge.results.saving import Sides
from mapgauge.typing import Flags, Floats, Indices


class Instances(NamedTuple):
    """Costs of all predictions and of all truth, in the order of ``Results.data``."""

    predicted: Floats  # (predictions, causes)
    true: Floats  # (truth, causes)
    truth_of: Indices  # (predictions,): index of the true instance that it is matched with, or -1
    cause: Indices  # (predictions,): its cause if it is unmatched or in a loose pair, or -1
    about: Indices  # (predictions,): index of the true instance that this cause is about, or -1
    distance: Floats  # (predictions,): normalised SOSPA to the matched truth; 1 if it is unmatched

    def between(self, predictions: slice, truth: slice) -> "Instances":
        """Return a view of some predictions and some truth."""
        return Instances(
            self.predicted[predictions],
            self.true[truth],
            self.truth_of[predictions],
            self.cause[predictions],
            self.about[predictions],
            self.distance[predictions],
        )

    def caused_by(self, name: str) -> Flags:
        """Return which unmatched predictions have a cause."""
        flags: Flags = (self.cause == list(CAUSES).index(name)) & (self.truth_of < 0)
        return flags

    @property
    def matched(self) -> Flags:
        """Which predictions are matched, and not in a loose pair."""
        return (self.truth_of >= 0) & (self.cause < 0)


def data_of(results: Results) -> Sides:
    """Return predictions and truth of results, or raise an error that says how to get them."""
    return _there(results.data)


def unsorted_data_of(results: Results) -> Sides:
    """Return the same as ``data_of``, with the instances of a frame in any order."""
    return _there(results.unsorted)


def _there(data: Sides | None) -> Sides:
    if data is None:
        raise InvalidInput(
            "the causes of errors need the geometry, and these results came from a file without it",
            remedy=Remedy(
                'Call with_data() to read the evaluated files again, save with geometry="original", or evaluate with '
                'the metric "causes"',
                "Evaluate with --with-geometry, or give the predictions and the truth",
            ),
        )
    return data


def check_settings(protocol: Protocol) -> float:
    """Return the cutoff of PLD by cause, or raise an error for a protocol without PLD of order 1."""
    if not protocol.cutoffs:
        raise InvalidInput(
            f"the protocol {full_name(protocol)} has no cutoff, so it has no PLD to explain",
            remedy=Remedy("Evaluate with a protocol that has cutoffs=", "Evaluate with --cutoff 1.5"),
        )
    if protocol.order != 1:
        raise InvalidInput(
            f"PLD splits into causes for order 1 only, these results have order {protocol.order:g}",
            remedy="Evaluate with order 1",
        )
    return protocol.cutoffs[0]


def instances_of(
    results: Results,
    thresholds: Thresholds = THRESHOLDS,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Instances:
    """Return the causes of all instances.

    Args:
        results: Results with data.
        thresholds: The numbers in the definitions.
        workers: Number of threads. If None, the number of processors.
        progress: A function that is called with the number of finished frames and the number of all frames.
    """
    predictions, truth = data_of(results)
    protocol, cutoff = results.protocol, check_settings(results.protocol)
    scores = results.scores if truth.tokens == results.tokens else None
    blocks = [slice(start, min(start + BLOCK, len(truth))) for start in range(0, len(truth), BLOCK)] or [slice(0, 0)]

    count = len(predictions.polylines)
    predicted, true = (np.zeros((len(side.polylines), len(CAUSES))) for side in (predictions, truth))
    truth_of, cause, about = np.full((3, count), -1)
    found = Instances(predicted, true, truth_of, cause, about, np.ones(count))

    def work(block: slice) -> None:
        x, y = predictions.between(block), truth.between(block)
        rows, of_truth = (slice(*side.offsets[[block.start, block.stop]]) for side in (predictions, truth))
        part = found.between(rows, of_truth)
        known = None if scores is None else scores.known(block)
        _write_block(x, y, part, int(of_truth.start), protocol, cutoff, thresholds, known)

    def advance(done: int, _: int) -> None:
        if progress is not None:
            progress(blocks[done - 1].stop, len(truth))

    in_threads(work, blocks, workers, advance)
    return found


def _write_block(
    x: MapFrames,
    y: MapFrames,
    out: Instances,
    offset: int,
    protocol: Protocol,
    cutoff: float,
    thresholds: Thresholds,
    known: Known | None,
) -> None:
    """Write the causes of a block of frames. Indices of truth start at ``offset``."""
    every = group(x, y, protocol)
    groups, kept = every.of_lines() if every.boxes else (every, None)
    if known is not None:
        know_matches(groups, protocol, known, every, kept)
    costs, found = costs_of(groups, protocol, cutoff, thresholds), assigned(groups, protocol, cutoff)
    mine = groups.is_prediction
    side = groups.row[mine], groups.row[~mine]
    place_of_truth = np.full(len(mine) + 1, -1)  # the last is the place of none, which has the index -1
    place_of_truth[np.flatnonzero(~mine)] = side[1] + offset
    out.predicted[side[0]], out.true[side[1]] = costs.cost[mine], costs.cost[~mine]
    out.truth_of[side[0]] = place_of_truth[found.truth_of[mine]]
    out.about[side[0]] = place_of_truth[costs.about[mine]]
    out.cause[side[0]] = costs.cause[mine]
    there, distance = np.flatnonzero(found.truth_of >= 0), np.ones(len(mine))
    of_matches = groups, there, found.truth_of[there], found.matched[there], found.cost[there], cutoff, 1.0
    distance[there] = sospa_of_matches(*of_matches)[1]
    out.distance[side[0]] = distance[mine]
