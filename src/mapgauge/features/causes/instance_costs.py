"""The causes of the costs of every instance, as columns. All views of causes are sums of these columns."""

from typing import NamedTuple

import numpy as np

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.evaluation.threads import Progress
from mapgauge.features.causes.metric import CAUSES, THRESHOLDS, Thresholds, costs_of
from mapgauge.metrics.assigned import assigned
from mapgauge.metrics.groups import Block
from mapgauge.metrics.pld import sospa_of_matches
from mapgauge.protocols import Protocol, full_name
from mapgauge.results.results import Results
from mapgauge.typing import Flags, Floats, Indices


class Instances(NamedTuple):
    """Costs of all predictions and of all truth, in the order of ``Results.data``."""

    predicted: Floats  # (predictions, causes)
    true: Floats  # (truth, causes)
    truth_of: Indices  # (predictions,): index of the true instance that it is matched with, or -1
    cause: Indices  # (predictions,): its cause if it is unmatched or in a loose pair, or -1
    about: Indices  # (predictions,): index of the true instance that this cause is about, or -1
    distance: Floats  # (predictions,): normalised SOSPA to the matched truth; 1 if it is unmatched

    def caused_by(self, name: str) -> Flags:
        """Return which unmatched predictions have a cause."""
        flags: Flags = (self.cause == list(CAUSES).index(name)) & (self.truth_of < 0)
        return flags

    @property
    def matched(self) -> Flags:
        """Which predictions are matched, and not in a loose pair."""
        return (self.truth_of >= 0) & (self.cause < 0)


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
    protocol, cutoff = results.protocol, check_settings(results.protocol)

    def work(block: Block) -> Instances:
        return _of_block(block, protocol, cutoff, thresholds)

    data = results.need_data()
    parts = data.in_blocks(work, known=results.scores, workers=workers, progress=progress)
    starts = np.cumsum([0, *(len(part.true) for part in parts)])[:-1].tolist()
    moved = [
        part._replace(
            truth_of=np.where(part.truth_of >= 0, part.truth_of + start, -1),
            about=np.where(part.about >= 0, part.about + start, -1),
        )
        for part, start in zip(parts, starts, strict=True)
    ]
    return Instances._make(np.concatenate(columns) for columns in zip(*moved, strict=True))


def _of_block(block: Block, protocol: Protocol, cutoff: float, thresholds: Thresholds) -> Instances:
    """Return the causes of the instances of a block. Indices of truth are those within the block."""
    lines, groups = block.lines, block.groups
    costs, whole = costs_of(lines, protocol, cutoff, thresholds), assigned(lines, protocol, cutoff)
    distance, matched = np.ones(len(lines.row)), np.flatnonzero(whole.truth_of >= 0)
    distance[matched] = sospa_of_matches(
        lines, matched, whole.truth_of[matched], whole.matched[matched], whole.cost[matched], cutoff, 1.0
    )[1]
    predictions, truth = groups.by_row[groups.is_prediction], groups.by_row[~groups.is_prediction]
    place = np.full(len(groups.row) + 1, -1)  # of true instances; the last is for no instance, which has the index -1
    place[truth] = np.arange(len(truth))
    of_lines = place if block.of_lines is None else np.append(place[block.of_lines], -1)
    cost = block.for_all(costs.cost, 0.0)
    return Instances(
        predicted=cost[predictions],
        true=cost[truth],
        truth_of=block.for_all(of_lines[whole.truth_of], -1)[predictions],
        cause=block.for_all(costs.cause, -1)[predictions],
        about=block.for_all(of_lines[costs.about], -1)[predictions],
        distance=block.for_all(distance, 1.0)[predictions],
    )
