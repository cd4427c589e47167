"""The column ``links`` of a Parquet file: for each instance, the list of links that begin at it.

A link is a struct. ``target`` is the number of an instance in its frame: 0 is the first row of the frame.
"""

from typing import Any

import numpy as np

from mapgauge.dependencies import pyarrow_modules
from mapgauge.errors import InvalidInput
from mapgauge.frames.links import SUCCESSOR, Links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._parquet_columns import ParquetColumns
from mapgauge.typing import Indices

_REMEDY = "Number the instances of each frame from 0, in the order of their rows, or leave the column links out"


def link_type() -> Any:
    """Return the type of the column."""
    pa, _ = pyarrow_modules()
    members = [("target", pa.int32()), ("weight", pa.float64()), ("kind", pa.string())]
    return pa.list_(pa.struct([pa.field(name, kind, nullable=False) for name, kind in members]))


def link_lists(frames: MapFrames, links: Links, start: int, stop: int) -> Any:
    """Return the lists of the instances from ``start`` to ``stop``."""
    pa, _ = pyarrow_modules()
    bounds = np.searchsorted(links.source, np.arange(start, stop + 1))
    chosen = slice(int(bounds[0]), int(bounds[-1]))
    target = links.target[chosen] - frames.offsets[frames.frame[links.target[chosen]]]
    members = [
        pa.array(target, pa.int32()),
        pa.array(links.weight[chosen]),
        pa.DictionaryArray.from_arrays(links.code[chosen], pa.array(links.kinds, pa.string())).cast(pa.string()),
    ]
    kind = link_type()
    flat = pa.StructArray.from_arrays(members, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(pa.array(bounds - bounds[0], pa.int32()), flat, type=kind)


def read_links(columns: ParquetColumns, frame: Indices, instance: Indices) -> Links:
    """Return the links of all instances.

    Args:
        columns: The file.
        frame: The frame of each row.
        instance: The rows that are instances; every other row is a frame without instances.
    """
    sizes, members = columns.structs("links")
    row = np.repeat(np.arange(len(sizes)), sizes)
    weight = members.get("weight", np.ones(len(row))).astype(np.float64)
    kind = members.get("kind", np.full(len(row), SUCCESSOR))
    number = np.full(len(sizes), -1)
    number[instance] = np.arange(len(instance))
    counts = np.bincount(frame[instance], minlength=int(frame[-1]) + 1 if len(frame) else 0)
    first = counts.cumsum() - counts
    target = members["target"]

    def refuse(bad: "np.ndarray[Any, np.dtype[np.bool_]]", what: str) -> None:
        if bad.any():
            k = int(np.argmax(bad))
            link = k - int(np.searchsorted(row, row[k]))
            raise columns.error(
                f"row {row[k]}: links[{link}] {what.format(target=target[k], weight=weight[k])}", remedy=_REMEDY
            )

    refuse(number[row] < 0, "begins at a row without class and geometry")
    known = counts[frame[row]]
    refuse((target < 0) | (target >= known), "has the target {target}, expected the number of an instance of its frame")
    refuse(~(np.isfinite(weight) & (weight >= 0)), "has the weight {weight}, expected a finite number of at least 0")
    refuse(kind == "", "has no kind, expected a name")
    try:
        return Links.of(number[row], first[frame[row]] + target, weight=weight, kind=kind)
    except InvalidInput as cause:
        raise columns.error(f"damaged links: {cause}", remedy=_REMEDY) from cause
