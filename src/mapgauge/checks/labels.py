"""Finds swapped class ids from the geometry: predictions lie where the truth of another class is."""

from collections.abc import Sequence

import numpy as np

from mapgauge.checks.neighbours import Motion, Neighbours

_NEAR = 2.0  # metres; a truth instance votes for the class of its nearest prediction within this distance
_VOTES = 3  # number of votes needed per class
_WON = 0.6  # share of the votes that a class needs
_OWN = 0.25  # with a larger share for the right class, nothing is swapped


def find_exchange(
    neighbours: Neighbours, motion: Motion, predicted: Sequence[str], true: Sequence[str]
) -> dict[str, str]:
    """Return predicted class names and the classes they stand for, if some are clearly permuted."""
    votes = np.zeros((len(true), len(predicted)), np.int64)
    for frame, distance in zip(neighbours.frames, neighbours.distances(motion), strict=True):
        near = distance.min(axis=1) < _NEAR
        np.add.at(votes, (frame.truth_label[near], frame.label[distance.argmin(axis=1)[near]]), 1)
    meant: dict[str, str] = {}
    for name, row in zip(true, votes, strict=True):
        total = row.sum()
        own = row[predicted.index(name)] if name in predicted else 0
        if total >= _VOTES and row.max() >= _WON * total and own <= _OWN * total:
            meant[predicted[int(row.argmax())]] = name
    return meant if set(meant) == set(meant.values()) else {}
