"""Topology of OpenLane-V2: matrices with a row per lane, which become links.

Rows and columns follow the order of the lists of a frame, not the ids. ``topology_lclc`` and ``topology_lsls`` have a
score for each pair of lanes: the end of the first leads into the start of the second. ``topology_lcte`` and
``topology_lste`` have a score for each lane and each traffic element.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy
from mapgauge.files.errors import MakeError
from mapgauge.frames.findings import Finding, Level
from mapgauge.frames.links import CONTROLLED_BY, LEFT_LINE, RIGHT_LINE, SUCCESSOR, Links
from mapgauge.io._columns import EXAMPLES
from mapgauge.io._values import short

# The matrices between lanes, and between lanes and traffic elements, by the list of lanes.
MATRICES = {
    "lane_centerline": ("topology_lclc", "topology_lcte"),
    "lane_segment": ("topology_lsls", "topology_lste"),
}

KINDS = {  # sorted, as Links requires
    "lane_centerline": (CONTROLLED_BY, SUCCESSOR),
    "lane_segment": (CONTROLLED_BY, LEFT_LINE, RIGHT_LINE, SUCCESSOR),
}
CODES = {"lane_centerline": (1,), "lane_segment": (3, 1, 2)}  # of links to the instances of a lane
_SCORES = Remedy.of("Apply the sigmoid function to logits before saving, or clip the scores to the range from 0 to 1")
_ROWS = Remedy.of("Write one row for each lane, in the order of the list of lanes, and one column for each target")


class Topology:
    """Collects the links of all frames."""

    def __init__(self, error: MakeError, key: str) -> None:
        """Start without links.

        Args:
            error: Creates the exception to raise.
            key: The list of lanes: ``lane_centerline`` or ``lane_segment``.
        """
        self._error, self._key = error, key
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.uint8]]] = []
        self._given: dict[str, int] = {}  # frames that have a matrix, by its name
        self._lacking: dict[str, list[str]] = {}  # frames that have lanes and no matrix

    def add(self, matrices: dict[str, Any], lanes: int, first: int, elements: range, where: str) -> None:
        """Add the links of a frame.

        Args:
            matrices: The annotation or the predictions of the frame.
            lanes: The number of lanes.
            first: The index of the first lane in the file. Lane segments have three instances each.
            elements: The indices of the traffic elements.
            where: The place of the frame in the file.
        """
        codes = CODES[self._key]
        width = len(codes)
        # One table for all kinds of links, with a column per instance, gives the links in their order.
        table = np.zeros((lanes, width * lanes + len(elements)))
        columns = (slice(0, width * lanes, width), lanes), (slice(width * lanes, None), len(elements))
        for name, (there, count) in zip(MATRICES[self._key], columns, strict=True):
            given = matrices.get(name)
            if given is not None:
                self._given[name] = self._given.get(name, 0) + 1
                table[:, there] = self._scores(given, (lanes, count), f"{where}.{name}")
            elif lanes and count:
                self._lacking.setdefault(name, []).append(where)
        if width == 3:
            row = np.arange(lanes)
            table[row, 3 * row + 1] = table[row, 3 * row + 2] = 1
        row, column = table.nonzero()
        code = np.concatenate([np.tile(codes, lanes), np.zeros(len(elements))]).astype(np.uint8)
        shift = elements.start - width * lanes  # areas are between the lanes and the traffic elements
        target = np.where(column < width * lanes, first + column, shift + column)
        self._parts.append((first + width * row, target, table[row, column], code[column]))

    def _scores(self, given: Any, size: tuple[int, int], where: str) -> NDArray[np.float64]:
        """Return a matrix of scores after checking it."""
        try:
            matrix = np.asarray(given)
        except (ValueError, TypeError):  # rows of different lengths
            matrix = np.empty(0, np.object_)
        if matrix.dtype.kind not in "biuf" or isinstance(given, str | bytes):
            shown = "ragged or not numbers" if isinstance(given, list | tuple) else short(given)
            raise self._error(f"{where} is {shown}, expected a matrix of {size[0]} x {size[1]} scores", remedy=_ROWS)
        if matrix.size == 0 and 0 in size:
            return np.zeros(size)
        if matrix.shape != size:
            found = " x ".join(map(str, matrix.shape)) or "a single number"
            raise self._error(f"{where} is {found}, expected {size[0]} x {size[1]}", remedy=_ROWS)
        wrong = ~((matrix >= 0) & (matrix <= 1))
        if wrong.any():
            i, j = np.argwhere(wrong)[0].tolist()
            more = f" ({np.count_nonzero(wrong)} of {matrix.size} are outside)" if wrong.sum() > 1 else ""
            raise self._error(
                f"{where}[{i}, {j}] is {matrix[i, j]}, expected a score from 0 to 1{more}", remedy=_SCORES
            )
        return matrix.astype(np.float64)

    def links(self) -> Links | None:
        """Return the links, or None if no frame has a matrix and there are no lane segments."""
        if not self._given and self._key == "lane_centerline":
            return None
        types = (np.int64, np.int64, np.float64, np.uint8)
        none = [np.empty(0, dtype) for dtype in types]
        source, target, weight, code = (np.concatenate(column) for column in zip(none, *self._parts, strict=True))
        return Links(source, target, weight, code, KINDS[self._key])

    def findings(self, name: str) -> list[Finding]:
        """Return a finding for each matrix that frames with lanes lack."""
        return missing_matrices(name, self._given, self._lacking)


def missing_matrices(name: str, given: Mapping[str, int], lacking: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Return a finding for each matrix that frames with lanes lack.

    Args:
        name: The file.
        given: The number of frames that have a matrix, by its name.
        lacking: The places of the frames that have lanes and lack it.
    """
    found = []
    for matrix, places in lacking.items():
        everywhere = matrix not in given
        count = "no frame has" if everywhere else f"{len(places)} frames with lanes have no"
        text = f"{name}: {count} {matrix}. These lanes have no links of its kind"
        level: Level = "note" if everywhere else "warning"
        found.append(Finding(level, "topology-missing", text, len(places), tuple(places[:EXAMPLES])))
    return found
