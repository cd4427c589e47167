"""The states of lines between a prior and a newer map, and the costs of PLD by these states.

A line of the prior is *kept* if the assignment of PLD matches it with a line of the newer map, and the two have at most
``same`` normalised SOSPA; *moved* if they have more; *deleted* if it is not matched. A line of the newer map has the
state of its match, and is *inserted* without one.

The cost of a true line, matched or missed, belongs to its state. The cost of a false prediction is *stale* if it lies
within ``same`` of a deleted line of the prior or of the old place of a moved one, and *invented* otherwise. So the five
parts add up to PLD.

Maps of different sources draw the same line from either end, and begin the same polygon anywhere. So lines are sampled
evenly, whatever the protocol says: their points then depend on their geometry alone.

The points of a closed line begin where its geometry says. A small error of the line moves this point, and then all
points are out of step by up to half a spacing. So closed lines are compared with twice as many points where a state is
decided.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.features.priors import TRUE_STATES
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.assigned import assigned
from mapgauge.metrics.groups import Groups, group
from mapgauge.protocols import PROTOCOLS, Protocol
from mapgauge.typing import Flags, Floats, Indices

KEPT, MOVED, INSERTED, DELETED = range(4)
NOTHING = 4  # in confusions: no line, or no statement about one
PARTS = (*TRUE_STATES, "stale", "invented")
# The other parts have the numbers of states.
STALE = 3
INVENTED = 4

# How many times as many points closed lines have where a state is decided. On the frames of the reference, with 6 cm of
# noise, 24 of 163 crossings that are kept seem to be moved with 1, 5 with 2, and 3 with 4, which takes much longer.
_DENSER = 2


class Matched(NamedTuple):
    """The assignment of two sides. Instances are numbered as in the frames of their side."""

    groups: Groups
    partner: Indices  # (instances of x,): the instance of y; -1 for none
    distance: Floats  # (instances of x,): normalised SOSPA; 1 for none
    apart: Floats  # (instances of x,): the same, of closed lines with more points; states follow from it


class PriorComparison(NamedTuple):
    """What predictions say about a prior in some frames."""

    sums: Floats  # (2, frames, classes, 6): five parts of PLD and the mass, of predictions and of a copy of the prior
    confusion: NDArray[np.int64]  # (frames, classes, 5, 5): lines by true state and by what predictions say
    truth: Indices  # (true instances,): states
    prior: Indices  # (instances of the prior,): states


def of_geometry(protocol: Protocol) -> Protocol:
    """Return a protocol whose points depend on the geometry of lines alone: with even sampling, if lines are sampled.

    A protocol with a number of points gets the spacing of the paper. Points of files stay as they are.
    """
    if protocol.spacing is None and protocol.count is None:
        return protocol
    spacing = protocol.spacing or PROTOCOLS["paper-60x30"].spacing
    return protocol.replace(spacing=spacing, sampling="even", truth_count=None)


def match(x: MapFrames, y: MapFrames, protocol: Protocol) -> Matched:
    """Match two sides by the assignment of PLD at the first cutoff."""
    groups = group(x, y, protocol)
    cutoff = protocol.cutoffs[0]
    matches = assigned(groups, protocol, cutoff)
    of_x, of_y = matches.pairs
    partner = np.full(len(x.polylines), -1)
    distances = np.ones(len(x.polylines))
    partner[groups.row[of_x]] = groups.row[of_y]
    distances[groups.row[of_x]] = matches.distance[of_x]
    apart = distances.copy()
    closed = np.zeros(len(x.polylines), np.bool_)
    closed[groups.row[of_x]] = groups.closed[of_x] | groups.closed[of_y]
    rows = np.flatnonzero(closed)
    apart[rows] = _denser_distances(x, y, rows, of_y=partner[rows], protocol=protocol)
    return Matched(groups, partner, distances, apart=apart)


def _denser_distances(x: MapFrames, y: MapFrames, of_x: Indices, of_y: Indices, protocol: Protocol) -> Floats:
    """Return the normalised SOSPA of pairs of instances, given by their rows, with more points on each line."""
    if protocol.spacing is not None:
        protocol = protocol.replace(spacing=protocol.spacing / _DENSER)
    in_pair = [np.isin(np.arange(len(side.polylines)), rows) for side, rows in ((x, of_x), (y, of_y))]
    groups = group(x.keep(in_pair[0]), y.keep(in_pair[1]), protocol)
    places = []
    for is_side, kept, rows in (
        (groups.is_prediction, in_pair[0], of_x),
        (~groups.is_prediction, in_pair[1], of_y),
    ):
        place = np.flatnonzero(is_side)[np.argsort(groups.row[is_side])]
        places.append(place[kept.cumsum()[rows] - 1])
    return _distances(groups, np.column_stack(places), protocol)


def _distances(groups: Groups, pairs: Indices, protocol: Protocol) -> Floats:
    """Return the normalised SOSPA of pairs of instances of groups."""
    if not len(pairs):
        return np.empty(0)
    long = kernels.sospa.is_long(groups.lines, groups.closed)
    distances: Floats = kernels.sospa.values_of_pairs(
        groups.lines,
        groups.closed,
        pairs,
        directed=protocol.directed,
        cutoff=protocol.cutoffs[0],
        order=protocol.order,
        long=long,
    )[1]
    return distances


def states_of(matched: Matched, newer: int, same: float) -> tuple[Indices, Indices]:
    """Return the states of the lines of a prior, ``x``, and of the ``newer`` lines of a newer map, ``y``."""
    has_partner = matched.partner >= 0
    of_prior = np.where(has_partner, np.where(matched.apart <= same, KEPT, MOVED), DELETED)
    of_newer = np.full(newer, INSERTED)
    of_newer[matched.partner[has_partner]] = of_prior[has_partner]
    return of_prior, of_newer


def compare(
    predictions: MapFrames, truth: MapFrames, prior: MapFrames, protocol: Protocol, same: float, floor: float
) -> PriorComparison:
    """Compare aligned frames. The prior has the confidence 1. Predictions say something from ``floor`` on."""
    copied = match(prior, truth, protocol)
    of_prior, of_truth = states_of(copied, len(truth.polylines), same)
    changed = np.isin(of_prior, (MOVED, DELETED))
    predicted = match(predictions, truth, protocol)
    sums = [
        costs(
            predicted,
            predictions,
            truth,
            of_truth=of_truth,
            near_old=_near(predictions, prior, predicted, changed=changed, protocol=protocol, same=same),
        ),
        costs(copied, prior, truth, of_truth=of_truth, near_old=changed),
    ]
    confidence = predictions.confidence
    if confidence is None:
        said = predictions
    else:
        said = predictions.keep(confidence >= floor).with_confidence(1)
    confusion = _confusion(said, truth, prior, protocol=protocol, same=same, of_prior=of_prior, of_truth=of_truth)
    return PriorComparison(np.stack(sums), confusion, of_truth, prior=of_prior)


def costs(matched: Matched, x: MapFrames, y: MapFrames, of_truth: Indices, near_old: Flags) -> Floats:
    """Return the parts of PLD and the mass of each frame and class, ``(frames, classes, 6)``.

    ``near_old`` are the instances of ``x`` that are stale if they have no match.
    """
    if x.confidence is None:
        confidence = np.ones(len(x.polylines))
    else:
        confidence = x.confidence
    if y.confidence is None:
        true = np.ones(len(y.polylines))
    else:
        true = y.confidence
    has_partner = matched.partner >= 0
    missed = np.ones(len(true), np.bool_)
    partner = matched.partner[has_partner]
    missed[partner] = False
    own = confidence[has_partner]
    other = true[partner]
    cost = np.where(has_partner, 0.0, 0.5 * confidence)
    cost[has_partner] = np.minimum(own, other) * matched.distance[has_partner] + 0.5 * np.abs(own - other)
    part = np.where(near_old, STALE, INVENTED)
    part[has_partner] = of_truth[partner]
    sums = np.zeros((len(y), len(y.classes), len(PARTS) + 1))
    np.add.at(sums, (x.frame, x.label, part), cost)
    np.add.at(sums, (y.frame[missed], y.label[missed], of_truth[missed]), 0.5 * true[missed])
    for side, weight in ((x, confidence), (y, true)):
        np.add.at(sums[..., -1], (side.frame, side.label), 0.5 * weight)
    return sums


def _near(x: MapFrames, prior: MapFrames, matched: Matched, changed: Flags, protocol: Protocol, same: float) -> Flags:
    """Return which unmatched instances lie within ``same`` of one of the ``changed`` lines of the prior."""
    groups = group(x, prior, protocol)
    near = np.zeros(len(x.polylines), np.bool_)
    pairs = kernels.gains.pairs_of_groups(groups.bounds)
    pairs = pairs[(matched.partner < 0)[groups.row[pairs[:, 0]]] & changed[groups.row[pairs[:, 1]]]]
    if len(pairs):
        distance = _distances(groups, pairs, protocol)
        rows = groups.row[pairs]
        closed = np.flatnonzero(groups.closed[pairs].any(axis=1) & (distance < 1.0))  # at 1, all points are too far
        distance[closed] = _denser_distances(x, prior, rows[closed, 0], of_y=rows[closed, 1], protocol=protocol)
        near[rows[distance <= same, 0]] = True
    return near


def _confusion(
    said: MapFrames,
    truth: MapFrames,
    prior: MapFrames,
    protocol: Protocol,
    same: float,
    of_prior: Indices,
    of_truth: Indices,
) -> NDArray[np.int64]:
    """Return the lines of each frame and class by their true state and by the state that predictions give them.

    Lines of the prior are kept, moved or deleted. An inserted line is found if a prediction that matches no line of the
    prior matches it. Other such predictions are insertions of nothing.
    """
    stated, of_said = states_of(match(prior, said, protocol), len(said.polylines), same)
    is_new = of_said == INSERTED
    is_inserted = of_truth == INSERTED
    found = match(said, truth, protocol).partner
    right = is_new & (found >= 0) & np.append(is_inserted, False)[found]
    counts = np.zeros((len(truth), len(truth.classes), NOTHING + 1, NOTHING + 1), np.int64)
    np.add.at(counts, (prior.frame, prior.label, of_prior, stated), 1)
    missed = is_inserted.copy()
    missed[found[right]] = False
    for side, rows, state, statement in (
        (said, right, INSERTED, INSERTED),
        (truth, missed, INSERTED, NOTHING),
        (said, is_new & ~right, NOTHING, INSERTED),
    ):
        np.add.at(counts, (side.frame[rows], side.label[rows], state, statement), 1)
    return counts
