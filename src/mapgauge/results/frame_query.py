"""The columns of frames that conditions and lists name, and which frames come first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.metrics.pld import PLD, Parts
from mapgauge.results.frame_tables import frame_arrays, plain_values, ranked, worst_first
from mapgauge.results.query import Columns, FrameColumn, Query, parse
from mapgauge.results.tags import Tags, tag_columns
from mapgauge.words import did_you_mean

if TYPE_CHECKING:
    from mapgauge.results.results import Results

PART_OF_PLD = {"missed": "pld_missed", "false": "pld_false"}  # ``missed`` and ``false`` are numbers of lines here


@dataclass(frozen=True, eq=False)
class FrameTable:
    """The columns of the frames of results.

    ``token``, ``scene``, tags, numbers of instances (``predictions``, ``truth``, ``missed``, ``false``, and hits such
    as ``hits:ap_chamfer@1.0``), and the values of single frames, such as ``pld``. Numbers pool the classes of a frame.
    ``pld.divider`` is the number of one class. ``pld_missed`` and ``pld_false`` are parts of PLD.
    """

    results: "Results"
    tags: Tags | None = None
    added: Mapping[str, FrameColumn] = field(default_factory=dict)  # what features know about the frames
    _of_class: dict[int, dict[str, FrameColumn]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def columns(self) -> dict[str, FrameColumn]:
        """The columns by name, without the columns of single classes."""
        texts = {"token": FrameColumn("text", self.results.tokens)}
        if self.results.scenes is not None:
            texts["scene"] = FrameColumn("text", self.results.scenes)
        numbers = self._columns(range(len(self.results.class_names)))
        if self.tags is None:
            tags = {}
        else:
            tags = tag_columns(self.tags, self.results.tokens, self.results.scenes)
        if self.tags is not None and (twice := [name for name in tags if name in numbers]):
            raise InvalidInput(
                f"{self.tags.name}: the column {twice[0]} has the name of a value of frames", remedy="Rename it"
            )
        return texts | tags | numbers | dict(self.added)

    def column(self, name: str) -> FrameColumn | None:
        """Return a column, or the column of one class; None if there is none."""
        if name in self.columns:
            return self.columns[name]
        for c, class_name in enumerate(self.results.class_names):
            base = name.removesuffix(f".{class_name}")
            if base != name and base in self._columns_of_class(c):
                return self._columns_of_class(c)[base]
        return None

    def _columns_of_class(self, c: int) -> dict[str, FrameColumn]:
        """Return the columns of one class, which are computed once: a condition, a sort and a list all ask for them."""
        if c not in self._of_class:
            self._of_class[c] = self._columns([c])
        return self._of_class[c]

    def _columns(self, classes: Sequence[int]) -> dict[str, FrameColumn]:
        return {
            name: FrameColumn("count" if numbers.dtype.kind == "i" else "number", plain_values(numbers))
            for name, numbers in self.arrays(classes).items()
        }

    def arrays(self, classes: Sequence[int]) -> dict[str, NDArray[Any]]:
        """Return the numbers of all frames by name, over some classes. Values that do not exist are NaN."""
        scores = self.results.scores
        columns = frame_arrays(self.results, scores, classes)
        counts = {key: columns.pop(key) for key in ("predictions", "truth")}
        if PLD.name in self.results.metrics:
            unmatched = scores.sums[PLD.name][0][:, list(classes), Parts._fields.index("missed")].sum(axis=1)
            missed = np.rint(2 * unmatched).astype(np.int64)  # a line without a match costs 0.5
            counts |= {"missed": missed, "false": counts["predictions"] - (counts["truth"] - missed)}
        return counts | {PART_OF_PLD.get(name, name): column for name, column in columns.items()}

    def where(self, query: Query | str) -> list[int]:
        """Return the frames that a condition holds for."""
        if isinstance(query, str):
            parsed = parse(query)
        else:
            parsed = query
        columns = Columns(self.column, list(self.columns), self.results.class_names)
        frames: list[int] = np.flatnonzero(parsed.holds(columns)).tolist()
        return frames

    def groups(self, name: str) -> dict[str, list[int]]:
        """Return the frames with each value of a column, by the value in words. Frames without one are a group too."""
        column = self.columns.get(name)
        if column is None:
            values = set()
        else:
            values = set(column.values) - {None}
        if column is None or not all(isinstance(value, str) or value == int(value) for value in values):
            groupable = [known for known, (kind, _) in self.columns.items() if kind in ("text", "flag")]
            if column is None:
                what = f"no column {name!r}"
            else:
                what = f"{name} has other numbers than whole ones"
            raise InvalidInput(
                f"cannot group by {name!r}: {what}. Available: {', '.join(groupable)}",
                remedy=Remedy("Pass tags= from read_tags", "Name a table with the file: FILE,tags=TABLE"),
            )
        if column.kind == "flag":
            words = {True: name, False: f"not {name}"}
        else:
            words = {}
        named = {value: words.get(value) or f"{value:g}" if not isinstance(value, str) else value for value in values}
        named = dict(sorted(named.items())) | {None: f"no {name}"}
        groups: dict[str, list[int]] = {word: [] for word in named.values()}
        for frame, value in enumerate(column.values):
            groups[named[value]].append(frame)
        return {word: frames for word, frames in groups.items() if frames}

    def ranked(self, sort: str | None = None, frames: Sequence[int] | None = None) -> list[int]:
        """Return frames sorted by a column, the worst first, as ``Results.frames`` does. None is the first metric."""
        if sort is None:
            name = worst_first(self.results.metrics)
        else:
            name = sort
        column = self.column(name)
        if column is None:
            known = ", ".join(self.columns)
            hint = did_you_mean(name, self.columns)
            raise InvalidInput(f"no column {name!r} to sort by. Available: {known}, or one of a class{hint}")
        return ranked(column.values, name, range(len(column.values)) if frames is None else frames)

    def apart(self, frames: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
        """Return the frames with predictions and truth, without predictions, and with predictions but no truth."""
        predicted, true = (self.columns[key].values for key in ("predictions", "truth"))
        return (
            [frame for frame in frames if predicted[frame] and true[frame]],
            [frame for frame in frames if not predicted[frame]],
            [frame for frame in frames if predicted[frame] and not true[frame]],
        )

    def rows(self, frames: Sequence[int], more: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Return all columns of frames, and further ones, such as columns of a class. What does not exist is None."""
        columns = {name: self.column(name) for name in (*self.columns, *more)}
        return [{name: column.values[frame] for name, column in columns.items() if column} for frame in frames]
