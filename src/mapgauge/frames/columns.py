"""Columns of instances: what a file may say about a line besides its class, its confidence and its points.

``COLUMNS`` has a row for each column, from manifests. Everything that only passes columns along loops over the columns
that frames have, and asks the rows: files, hashes, joins, groups and batches.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.manifest import RowTable
from mapgauge.metrics.settings import no_such
from mapgauge.typing import Flags

Values: TypeAlias = NDArray[Any]  # a value per instance

Kind: TypeAlias = Literal["id", "text", "flag", "number", "object"]

# The types of arrays, and what the values are in messages.
_TYPES: dict[str, tuple[type[np.generic], str]] = {
    "id": (np.str_, "texts"),
    "text": (np.str_, "texts"),
    "flag": (np.bool_, "true or false for each instance"),
    "number": (np.float64, "numbers"),
    "object": (np.object_, "objects"),
}
TEXTS = ("id", "text")  # the kinds whose values are texts

# Names that mean something else in files and batches.
_TAKEN = (
    *("frame", "token", "class", "confidence", "geometry", "scene", "timestamp", "pose", "links", "id", "wkt"),
    *("polylines", "labels"),
)


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of instances: everything that the rest of the package knows about it.

    Pieces of a line that is cut have the value of the line. Resampling changes no value.
    """

    name: str
    about: str  # one line
    kind: Kind  # "id" is a text that files may write as a whole number; "object" cannot be stored
    empty: Any  # the value of an instance that has none
    # What it means that frames lack the column: every instance has the empty value, or nobody knows. Frames that are
    # joined have an unknown column only if all parts have it.
    absent: Literal["empty", "unknown"] = "empty"
    # Whether it is part of the hash of a frame: if an instance of the frame has a value, wherever frames have the
    # column, or if an instance has a value and a metric uses tracks.
    hashed: Literal["never", "filled", "known", "tracked"] = "filled"
    key: str = ""  # its name in batches and hashes, if it is another one
    stored: bool = True  # in Parquet and GeoJSON, as a column or property of this name
    in_batches: bool = True  # whether batches of a training loop may have it
    filled_first: bool = False  # whether of equal lines in a frame those with a value come first
    opposite: Callable[[Values], Values] | None = None  # changes values if instances are in the opposite order
    order: int = 100  # in files

    def __post_init__(self) -> None:
        """Refuse names that are not names or mean something else, and unknown kinds."""
        if not self.name.isidentifier() or self.name in _TAKEN:
            raise InvalidInput(f"a column cannot be called {self.name!r}, expected an unused name such as 'cost'")
        if self.kind not in _TYPES:
            raise InvalidInput(f"the column {self.name} has the kind {self.kind!r}, expected {', '.join(_TYPES)}")
        if self.kind == "object" and (self.stored or self.in_batches or self.hashed != "never"):
            raise InvalidInput(f"the column {self.name} has objects, which cannot be stored, hashed or in batches")

    def of(self, values: ArrayLike) -> Values:
        """Return values as an array of the type of the column. Whole numbers become numbers, and ids become texts."""
        array = np.asarray(values)
        if not array.size:
            return np.full(array.shape, self.empty, self.type)
        if self.kind == "number" and array.dtype.kind in "iu":
            array = array.astype(np.float64)
        if self.kind == "id" and array.dtype.kind in "iu":
            array = array.astype(np.str_)
        self.check(array)
        return array

    def check(self, values: Values) -> None:
        """Refuse an array of another type, and numbers that are not finite."""
        if values.dtype.kind != self.type.kind:
            expected = _TYPES[self.kind][1]
            raise InvalidInput(f"{self.name} must be {expected}, got values of type {values.dtype}")
        if self.kind == "number" and not (np.isfinite(values) | ~self.filled(values)).all():
            raise InvalidInput(f"{self.name} must be finite numbers")

    @property
    def type(self) -> "np.dtype[Any]":
        """The type of its arrays."""
        return np.dtype(_TYPES[self.kind][0])

    def empties(self, count: int) -> Values:
        """Return the values of instances that have none."""
        return np.full(count, self.empty, None if self.kind in TEXTS else self.type)

    def filled(self, values: Values) -> Flags:
        """Return which values are not the empty value."""
        filled: Flags
        if self.empty != self.empty:
            filled = ~np.isnan(values)
        else:
            filled = values != self.empty
        return filled


# Files list the columns in this order.
COLUMNS: "RowTable[Column]" = RowTable("columns", "mapgauge.frames.columns:Column", order=lambda column: column.order)


def column_of(name: str) -> Column:
    """Return the row of a column."""
    if name not in COLUMNS:
        raise no_such("unknown column", name, list(COLUMNS), remedy=Remedy.of("Name it in the manifest of a plug-in"))
    return COLUMNS[name]


def stored_columns() -> list[Column]:
    """Return the columns that files have."""
    return [column for column in COLUMNS.values() if column.stored]


def _opposite_nodes(nodes: Values) -> Values:
    """Return numbers of nodes in the opposite order. An instance that is no lane of a graph has none."""
    return np.fromiter((None if lane is None else tuple(-node for node in lane) for lane in nodes), object, len(nodes))


TRACK = Column(
    name="track",
    about="the same name for the same object in several frames",
    kind="id",
    empty="",
    absent="unknown",
    hashed="tracked",
    key="tracks",
    order=1,
)
INTERSECTION = Column(
    name="intersection",
    about="whether a lane lies in an intersection",
    kind="flag",
    empty=False,
    absent="unknown",
    hashed="known",
    in_batches=False,
    order=2,
)
IGNORE = Column(
    name="ignore",
    about="true lines that count neither as found nor as missed",
    kind="flag",
    empty=False,
    filled_first=True,  # of equal lines, the last one is matched
    order=3,
)
# Only features read the two rows below. They are the core's, because they are fields of ``MapFrames``, which are public
# names, and because Parquet and GeoJSON have changes: without the feature, a file would lose them when it is converted.
CHANGE = Column(
    name="change",
    about="what changed since a prior map",
    kind="text",
    empty="",
    hashed="never",
    in_batches=False,
    order=4,
)
NODES = Column(
    name="nodes",
    about="the numbers of a lane's nodes in the graph of its file",
    kind="object",
    empty=None,
    absent="unknown",
    hashed="never",
    stored=False,
    in_batches=False,
    opposite=_opposite_nodes,
    order=5,
)
