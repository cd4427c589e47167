"""The links of OpenLane-V2's pickles, from the matrices of all frames at once; see ``_openlanev2_topology``."""

from typing import Any, NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.frames.links import Links
from mapgauge.io._collect import Collector
from mapgauge.io._openlanev2_lists import CODES, KINDS, MATRICES, missing_matrices
from mapgauge.io.files.pickle_table import Rows, expect
from mapgauge.io.files.pickle_tree import PickleTree
from mapgauge.typing import Flags, Indices

_BLOCK = 1 << 17  # scores that are converted at once


class LaneFrames(NamedTuple):
    """The frames that have a list of lanes."""

    key: str  # of the list
    numbers: Indices  # of the frames in the file
    annotations: Rows
    lanes: Indices  # number of lanes of each frame
    elements: Indices  # number of traffic elements
    first: Indices  # index of the first instance of each frame
    last: Indices  # index after the last instance


class _Matrices(NamedTuple):
    """One matrix of each frame."""

    rows: Rows
    sizes: Indices  # (frames,): number of scores; 0 where there is no matrix
    present: Flags  # (frames,): whether there is a matrix, which may be empty


def links_of(tree: PickleTree, collector: Collector, frames: LaneFrames) -> Links | None:
    """Return the links of all frames, and add findings about matrices that are missing."""
    names = MATRICES[frames.key]
    matrices = [
        _matrices(tree, tree.find(frames.annotations, name), frames.lanes, targets)
        for name, targets in zip(names, (frames.lanes, frames.elements), strict=True)
    ]
    given = {name: int(one.present.sum()) for name, one in zip(names, matrices, strict=True) if one.present.any()}
    _note_missing(collector, frames, given, matrices)
    if not given and frames.key == "lane_centerline":
        return None
    codes = np.array([0, *CODES[frames.key]], np.uint64)
    most = int(sum(one.sizes.sum() for one in matrices) + (2 * frames.lanes.sum() if len(codes) == 4 else 0))
    columns: list[Any] = [np.empty(most + 1, kind) for kind in (np.int64, np.int64, np.float64, np.uint8)]
    count = _fill(tree, frames, matrices, codes, columns)
    if 2 * count < most:
        columns = [column[:count].copy() for column in columns]
    return Links.unchecked(*(column[:count] for column in columns), KINDS[frames.key])


def _matrices(tree: PickleTree, rows: Rows, lanes: Indices, targets: Indices) -> _Matrices:
    """Return one matrix of each frame, after checking the shapes."""
    there = rows >= 0
    full = there & (lanes * targets > 0)
    dimensions, extents = tree.shapes(rows[full])
    expect(dimensions == 2, extents[:, 0] == lanes[full], extents[:, 1] == targets[full])
    expect(tree.shapes(rows[there & ~full])[1].prod(axis=1) == 0)
    return _Matrices(rows, np.where(full, lanes * targets, 0), there)


def _note_missing(collector: Collector, frames: LaneFrames, given: dict[str, int], matrices: list[_Matrices]) -> None:
    """Add findings about frames without a matrix that others have."""
    lacking: dict[str, list[int]] = {}
    for name, one, targets in zip(MATRICES[frames.key], matrices, (frames.lanes, frames.elements), strict=True):
        without = frames.numbers[~one.present & (frames.lanes * targets > 0)].tolist()
        if without:
            lacking[name] = without
    prefix, where = ("results", "predictions") if collector.has_confidence else ("", "annotation")
    places = {
        name: [f'{prefix}["{collector.tokens[i]}"].{where}' for i in some]
        for name, some in sorted(lacking.items(), key=lambda item: item[1][0])
    }
    collector.findings += missing_matrices(collector.name, given, places)


def _fill(tree: PickleTree, frames: LaneFrames, matrices: list[_Matrices], codes: Any, columns: list[Any]) -> int:
    """Write the columns of links, and return their number."""
    kernel = kernels.matrix_links
    convert: Any = kernel.links_of_matrices
    sizes = np.stack([one.sizes for one in matrices], axis=1)
    full = sizes > 0
    given = full.astype(np.uint64)
    of_frames = [column.astype(np.uint64) for column in (frames.lanes, frames.elements)]
    bounds = [column.astype(np.uint64) for column in (frames.first, frames.last)]
    numbers = {"f8": kernel.FLOAT64, "f4": kernel.FLOAT32, "i1": kernel.INT8, "u1": kernel.UINT8}
    starts, types = np.zeros(full.shape, np.uint64), np.zeros(full.shape, np.uint64)
    at: Any = np.uint64(0)
    plain = True
    for k, one in enumerate(matrices):
        places = tree.places(one.rows[full[:, k]], numbers)
        if places is None:
            plain = False
        else:
            starts[full[:, k], k], types[full[:, k], k] = places
    if plain:
        at, sound = convert(tree.data, starts, types, *of_frames, given, *bounds, codes, at, *columns)
        expect(sound)
        return int(at)
    types[:] = kernel.FLOAT64
    ends = sizes.sum(axis=1).cumsum()
    start = 0
    while start < len(ends):
        stop = max(start + 1, int(np.searchsorted(ends, (ends[start - 1] if start else 0) + _BLOCK)))
        some = slice(start, stop)
        scores = [tree.array_floats(one.rows[some][full[some, k]], "iufb") for k, one in enumerate(matrices)]
        before = sizes[some].cumsum(axis=0) - sizes[some] + [0, len(scores[0])]
        parts = (column[some] for column in (*of_frames, given, *bounds))
        place = (8 * before).astype(np.uint64)
        block = np.concatenate(scores).view(np.uint8)
        block.flags.writeable = False  # as the bytes of the file, else the kernel would be compiled again
        at, sound = convert(block, place, types[some], *parts, codes, at, *columns)
        expect(sound)
        start = stop
    return int(at)
