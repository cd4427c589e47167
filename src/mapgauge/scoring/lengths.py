"""The length of the truth that was evaluated, by class. It shows whether two evaluations saw the same map.

Lengths are added as whole millimetres of lines, so they do not depend on how frames are cut or ordered.
"""

from collections.abc import Sequence

import numpy as np

from mapgauge.frames.map_frames import MapFrames


def millimetres(truth: MapFrames) -> list[int]:
    """Return the length of all lines of each class in millimetres, in the order of the classes; 0 for boxes.

    >>> millimetres(MapFrames.of({"a": {"divider": [[[0, 0], [3, 4]]]}}))
    [5000]
    """
    coords = truth.polylines.coords
    offsets = truth.polylines.offsets
    totals = np.zeros(len(truth.classes), np.int64)
    if len(coords) > 1:
        pieces = np.sqrt((np.diff(coords, axis=0) ** 2).sum(axis=1))
        line_of_point = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        inside = line_of_point[1:] == line_of_point[:-1]  # the other pieces lead from one line to the next
        lines = np.bincount(line_of_point[1:][inside], pieces[inside], minlength=len(offsets) - 1)
        np.add.at(totals, truth.label, np.rint(1000 * lines).astype(np.int64))
    for k, name in enumerate(truth.classes):
        if name in truth.boxes:  # in pixels
            totals[k] = 0
    return totals.tolist()


def metres(classes: Sequence[str], parts: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return the lengths in metres by class, from those of some parts in millimetres.

    >>> metres(["divider", "boundary"], [[1500, 0], [500, 250]])
    {'divider': 2.0, 'boundary': 0.25}
    """
    totals = [sum(column) for column in zip(*parts, strict=True)]
    return {name: total / 1000 for name, total in zip(classes, totals, strict=True)}
