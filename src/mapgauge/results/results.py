"""``Results``: the summary of an evaluation, and the rows of every frame."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mapgauge.arguments import check_cutoff
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.evaluation.prepare import Frames, Unsorted, prepare_to_score
from mapgauge.evaluation.scores import Scores
from mapgauge.evaluation.totals import Totals
from mapgauge.frames.findings import Finding
from mapgauge.frames.tracks import scenes_from_tokens
from mapgauge.protocols import Protocol, full_name
from mapgauge.results.assignment import Assignment, match_frame
from mapgauge.results.notebook import summary_html
from mapgauge.results.replay import read_again
from mapgauge.results.saving import KINDS, Geometry, Sides, geometry_arrays, save_results
from mapgauge.results.summary import Input, Summary
from mapgauge.results.tables import (
    Level,
    Rows,
    columns_of,
    frame_columns,
    frame_rows,
    pick_rows,
    to_arrow,
    to_pandas,
    to_polars,
    worst_first,
)
from mapgauge.results.values import Values


@dataclass(frozen=True, eq=False)
class Results:
    """Results of an evaluation: one row per frame and class, and the summary.

    ``classes`` holds the values of each class by name, and ``mean`` holds the means over classes. Both have the same
    keys: ``pld``, ``localisation``, ``detection``, the five parts, ``ap_chamfer``, ``ap_chamfer@0.5`` and so on. The
    values of a class with neither predictions nor truth are None, and the means leave it out.

    Rows are in memory, or in the work folder of a streamed evaluation. With a folder, the summary needs little memory.
    ``frames``, ``by``, ``save`` and ``compare`` read all rows into memory, about a kilobyte per frame.
    """

    summary: Summary
    rows: Rows
    sides: Sides | Callable[[], Sides] | None = None  # the aligned data, or a function that reads it
    origin: Path | None = None  # the file that the results were loaded from

    def __repr__(self) -> str:
        """Return the main values in one line."""
        shown = [f"{key} {self.mean[key]:.3f}" for key in self.metrics if self.mean.get(key) is not None] or ["nothing"]
        return f"<Results {full_name(self.protocol)}: {self.totals.frames} frames, mean {', '.join(shown)}>"

    def _repr_html_(self) -> str:
        return summary_html(self.summary)

    @property
    def protocol(self) -> Protocol:
        """The protocol of the evaluation, with all settings."""
        return self.summary.protocol

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the computed metrics."""
        return self.summary.metrics

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the evaluated classes."""
        return self.summary.class_names

    @property
    def ranges(self) -> tuple[float, ...]:
        """Bounds of the rings around the ego vehicle, in metres."""
        return self.summary.ranges

    @property
    def inputs(self) -> tuple[Input, Input]:
        """Files, counts and hashes of predictions and truth."""
        return self.summary.inputs

    @property
    def frames_missing(self) -> int:
        """Number of frames of the truth that the predictions lack. They count as frames without predictions."""
        return self.summary.frames_missing

    @property
    def frames_ignored(self) -> int:
        """Number of predicted frames that the truth lacks. They are left out."""
        return self.summary.frames_ignored

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of the readers and the checks."""
        return self.summary.findings

    @property
    def version(self) -> str:
        """The version of mapgauge that computed the results."""
        return self.summary.version

    @property
    def classes(self) -> dict[str, Values]:
        """Values of each class, pooled over all frames."""
        return self.summary.classes

    @property
    def mean(self) -> Values:
        """Mean over classes of each value."""
        return self.summary.mean

    @property
    def without_value(self) -> tuple[str, ...]:
        """Classes with neither predictions nor truth."""
        return self.summary.without_value

    @property
    def totals(self) -> Totals:
        """Counts and sums over all frames."""
        return self.summary.totals

    @property
    def tokens(self) -> tuple[str, ...]:
        """Tokens of the frames."""
        return self.rows.tokens

    @property
    def scenes(self) -> tuple[str, ...] | None:
        """The scene of each frame, if known: from the data, or from the tokens of Argoverse 2."""
        return scenes_from_tokens(self.tokens) if self.rows.scenes is None else self.rows.scenes

    @property
    def scores(self) -> Scores:
        """The scores of each frame."""
        return self.rows.scores

    @cached_property
    def data(self) -> Sides | None:
        """Aligned predictions and truth; None for results from a file without the geometry."""
        return self.sides() if callable(self.sides) else self.sides

    @property
    def unsorted(self) -> Sides | None:
        """The same as ``data``, but the instances of a frame may have any order. That saves a copy of all points."""
        return self.sides.sides if isinstance(self.sides, Unsorted) else self.data

    def with_data(self, predictions: Frames | None = None, truth: Frames | None = None) -> "Results":
        """Return the same results with predictions and truth, for assignments and figures.

        Results that have them already are returned as they are. Otherwise the evaluated files are read again as they
        were read the first time: with the same format, rotation, names and so on. Relative paths are searched for in
        the current folder and beside the file of results. A side whose content is not the evaluated one is refused.

        Args:
            predictions: The evaluated predictions, or their file if it was moved. If None, the recorded file.
            truth: The truth of the evaluation, or its file if it was moved. If None, the recorded file.

        >>> import mapgauge as mg
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> mg.write(mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}}), folder / "truth.geojson")
        >>> truth = mg.read(folder / "truth.geojson")
        >>> mg.evaluate(truth.rotate(2).with_confidence(1), truth).save(folder / "results.mg")
        >>> len(mg.load_results(folder / "results.mg").with_data().assignment("a").matches)
        1
        """
        if predictions is None and truth is None and self.unsorted is not None:
            return self
        x, y = read_again(self.inputs, (predictions, truth), self.origin)
        return replace(self, sides=Unsorted(prepare_to_score(x, y, self.protocol, "ignore")))

    def without_data(self) -> "Results":
        """Return the same results without predictions and truth."""
        return replace(self, summary=replace(self.summary, records=self.inputs), sides=None)

    def frames(
        self, sort: str | None = None, *, class_name: str | None = None, count: int | None = None
    ) -> list[dict[str, Any]]:
        """Return one row per frame, sorted. By default, the worst frames come first.

        Args:
            sort: A key of the rows: ``token``, ``scene``, ``predictions``, ``truth``, ``pld``, ``localisation``,
                ``detection``, a part, or a key such as ``hits:ap_chamfer@1.0``. Numbers are sorted in descending order,
                text and values of which higher ones are better in ascending order. If None, the first metric that has
                values of single frames, such as PLD.
            class_name: Only this class. If None, counts are added over classes and values pool the classes of a frame.
            count: Largest number of rows.
        """
        classes = range(len(self.class_names))
        if class_name is not None:
            if class_name not in self.class_names:
                raise InvalidInput(f"no class {class_name!r}. Available: {', '.join(self.class_names)}")
            classes = range((place := self.class_names.index(class_name)), place + 1)
        columns = frame_columns(self.scores, self.metrics, self.protocol, classes)
        return frame_rows(columns, self.rows, worst_first(self.metrics) if sort is None else sort, count)

    def of_frames(self, frames: Sequence[int]) -> "Results":
        """Return the results of some frames.

        Args:
            frames: Indices into ``tokens``, at least one. The rows have the same order.
        """
        count = len(self.tokens)
        indices = np.asarray(frames)
        if indices.ndim != 1 or not len(indices):
            raise InvalidInput(f"frames must be one or more indices into tokens, got {frames!r}")
        if indices.dtype.kind not in "iu" or indices.min() < -count or indices.max() >= count:
            raise InvalidInput(f"frames must be whole numbers below {count}, the number of tokens, got {frames!r}")
        rows = pick_rows(self.rows, frames)
        return replace(self, summary=replace(self.summary, source=rows.scores), rows=rows)

    def by(self, key: str | Mapping[str, Any] | Callable[[str], Any] = "scene") -> dict[Any, "Results"]:
        """Return the results of each group of frames.

        Args:
            key: ``"scene"``, or a mapping or function from token to group.
        """
        if isinstance(key, str):
            if key != "scene":
                raise InvalidInput(f"cannot group by {key!r}: expected 'scene', or a mapping or function of tokens")
            if self.scenes is None:
                raise InvalidInput("cannot group by 'scene': no scenes are known")
            keys: Sequence[Any] = self.scenes
        elif callable(key):
            keys = [key(token) for token in self.tokens]
        elif isinstance(key, Mapping):
            lacking = [token for token in self.tokens if token not in key]
            if lacking:
                raise InvalidInput(f"{len(lacking)} tokens have no group (first: {lacking[0]})")
            keys = [key[token] for token in self.tokens]
        else:
            raise InvalidInput(f"cannot group by {key!r}: expected 'scene', or a mapping or function of tokens")
        groups: dict[Any, list[int]] = {}
        for i, name in enumerate(keys):
            groups.setdefault(name, []).append(i)
        return {name: self.of_frames(frames) for name, frames in groups.items()}

    def assignment(self, token: str, *, cutoff: float | None = None) -> Assignment:
        """Return the assignment of predictions to truth in one frame, with the matched points.

        It is computed again from the data.

        Args:
            token: The frame.
            cutoff: SOSPA cutoff in metres. If None, the first cutoff of the protocol.
        """
        data = self.data
        if data is None:
            raise InvalidInput(
                "these results came from a file, which does not hold the geometry",
                remedy=Remedy(
                    'Call with_data() to read the evaluated files again, or save with geometry="original"',
                    "Give the predictions and the truth",
                ),
            )
        if token not in self.tokens:
            raise InvalidInput(f"no frame {token!r}")
        if cutoff is None and not self.protocol.cutoffs:
            raise InvalidInput(
                f"the protocol {full_name(self.protocol)} has no cutoff",
                remedy=Remedy("Pass cutoff= in metres", "Evaluate with --cutoff in metres"),
            )
        length = self.protocol.cutoffs[0] if cutoff is None else check_cutoff("cutoff", cutoff)
        return match_frame(*data, data[1].index[token], self.protocol, length)

    def table(self) -> str:
        """Return the summary as text: one table per metric, with a row per class and the mean."""
        return self.summary.table()

    def save(self, path: str | os.PathLike[str], *, geometry: Geometry | None = None) -> None:
        """Write the results to one file. ``load_results`` reads it.

        Args:
            path: The file.
            geometry: Whether the file also has the predictions and the truth, so that assignments, figures and the
                report need no other file. ``"original"`` keeps all bits, about 9 kB per frame with 75 predictions.
                ``"rounded"`` rounds coordinates to float32. If None, it has neither. Needs pyarrow.
        """
        if geometry is not None and geometry not in KINDS:
            raise InvalidInput(f"geometry must be {', '.join(map(repr, KINDS))} or None, got {geometry!r}")
        if geometry is not None and self.data is None:
            raise InvalidInput(
                "these results came from a file, which does not hold the geometry",
                remedy="Call with_data() first, which reads the evaluated files again",
            )
        arrays = None if geometry is None or self.data is None else geometry_arrays(self.data, self.tokens, geometry)
        save_results(self.summary, self.rows, path, arrays)

    def to_pandas(self, level: Level = "frames") -> Any:
        """Return the rows as a pandas ``DataFrame``. It needs ``pip install 'mapgauge[pandas]'``.

        Args:
            level: ``"frames"`` has one row per frame, with the columns of ``frames``: token, scene (if known), counts,
                values that pool the classes, and numbers of hits. ``"classes"`` has one row per frame and class, with
                the same columns and ``class``. ``"summary"`` has one row per class and one for the mean, with the
                values of ``classes`` and ``mean``. Rows are in the order of ``tokens`` and ``class_names``. A frame
                without predictions and truth (of the class) has a PLD of 0.
        """
        return to_pandas(columns_of(self.summary, self.rows, level))

    def to_polars(self, level: Level = "frames") -> Any:
        """Return the rows as a polars ``DataFrame``. It needs ``pip install 'mapgauge[polars]'``.

        Args:
            level: As for ``to_pandas``.
        """
        return to_polars(columns_of(self.summary, self.rows, level))

    def to_arrow(self, level: Level = "frames") -> Any:
        """Return the rows as an Arrow ``Table``. It needs ``pip install 'mapgauge[parquet]'``.

        Args:
            level: As for ``to_pandas``.
        """
        return to_arrow(columns_of(self.summary, self.rows, level))

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain Python values, without the rows of frames."""
        return self.summary.to_dict()
