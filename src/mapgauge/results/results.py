"""``Results``: the summary of an evaluation, and the rows of every frame."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from mapgauge.arguments import check_cutoff
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.tracks import scenes_from_tokens
from mapgauge.manifest import public
from mapgauge.protocols import Protocol, full_name
from mapgauge.results.assignment import Assignment, match_frames
from mapgauge.results.bootstrap import SAMPLES
from mapgauge.results.drives import Drive
from mapgauge.results.families import Correction
from mapgauge.results.frame_query import FrameTable
from mapgauge.results.frame_tables import (
    Level,
    Rows,
    frame_columns,
    frame_rows,
    pick_rows,
    table_columns,
    to_arrow,
    to_pandas,
    to_polars,
    worst_first,
)
from mapgauge.results.intervals import LEVEL
from mapgauge.results.notebook import summary_html
from mapgauge.results.saving import KINDS, Geometry, geometry_arrays, read_again, save_results
from mapgauge.results.slices import Groups, Slices
from mapgauge.results.tags import Tags
from mapgauge.results.values import InputRecords, Summary
from mapgauge.scoring.data import Data, Sides
from mapgauge.scoring.prepare import Frames, prepare
from mapgauge.scoring.scores import Scores, Totals
from mapgauge.typing import Floats
from mapgauge.words import counted, did_you_mean

MOST_FRAMES = 500  # that a notebook shows with the panels of the first screen; with more they take over a second


@dataclass(frozen=True, eq=False)
class Results(Summary):
    """Results of an evaluation: one row per frame and class, and the summary.

    ``classes`` holds the values of each class by name, and ``mean`` holds the means over classes. Both have the same
    keys: ``pld``, ``localisation``, ``detection``, the five parts, ``ap_chamfer``, ``ap_chamfer@0.5`` and so on. The
    values of a class with neither predictions nor truth are None, and the means leave it out. ``save`` writes a file
    (.mg), and ``mapgauge.load_results`` reads it.

    Rows are in memory, or in the work folder of a streamed evaluation. With a folder, the summary needs little memory.
    ``frames``, ``by``, ``save`` and ``compare`` read all rows into memory, about a kilobyte per frame.
    """

    rows: Rows
    # Metrics whose totals are known, but which neither tables nor files have. See ``evaluate``.
    extra: tuple[str, ...] = ()
    geometry: Data | None = None  # predictions and truth; None for results from a file without them
    origin: Path | None = None  # the file that the results were loaded from

    def __repr__(self) -> str:
        """Return the main values in one line, and how many errors and warnings there are among the findings."""
        shown = [f"{key} {self.mean[key]:.3f}" for key in self.metrics if self.mean.get(key) is not None] or ["nothing"]
        text = f"{full_name(self.protocol)}: {counted(self.totals.frames, 'frame')}, mean {', '.join(shown)}"
        levels = Counter(finding.level for finding in self.findings)
        noticed = [counted(levels[level], level) for level in ("error", "warning") if levels[level]]
        if noticed:
            text += f"; findings: {', '.join(noticed)}"
        return f"<Results {text}>"

    def _repr_html_(self) -> str:
        # Answers and pages are made of results, so their modules cannot be imported here.
        names = [Path(self.input_names[0]).stem or "results"]
        if len(self.tokens) <= MOST_FRAMES:
            return str(public("first_screen")(self, names=names)._repr_html_())
        said = [statement.text for statement in public("answer")(self, names=names).statements]
        return summary_html(self, said, remark="mapgauge.first_screen(results) shows where, why, and frames.")

    @property
    def tokens(self) -> tuple[str, ...]:
        """Tokens of the frames."""
        return self.rows.tokens

    @property
    def scenes(self) -> tuple[str, ...] | None:
        """The scene of each frame, if known: from the data, or from the tokens of Argoverse 2."""
        if self.rows.scenes is None:
            return scenes_from_tokens(self.tokens)
        return self.rows.scenes

    @cached_property
    def scores(self) -> Scores:
        """The scores of each frame."""
        return self.rows.scores.only(self.metrics)

    def has_scored(self, metrics: Collection[str]) -> bool:
        """Whether metrics were scored, so that ``with_metrics`` shows them at no cost."""
        return set(metrics) <= {*self.metrics, *self.extra, *self.rows.metrics}

    @property
    def poses(self) -> Floats | None:
        """The motion from each frame to the world, ``(frames, 4, 4)``, in the order of ``tokens``; None if unknown.

        They come from the files that were evaluated, or from the poses that were given with them. Results of a streamed
        evaluation do not keep them, and have them with their data.
        """
        drive = drive_of(self)
        if drive is None:
            return None
        return drive.poses

    @property
    def data(self) -> Sides | None:
        """Aligned predictions and truth, in the order of the rows; None for results from a file without the geometry.

        The frames have the order of ``tokens``. The instances of a frame are sorted by class, otherwise they have the
        order of the file.
        """
        if self.geometry is None:
            return None
        return self.geometry.sorted_sides

    def need_data(self) -> Data:
        """Return predictions and truth with their groups, or raise an error that says how to get them."""
        if self.geometry is None:
            raise InvalidInput(
                f"{self.origin or 'the results'}: these results came from a file, which does not hold the geometry",
                remedy=Remedy(
                    'Call with_data() to read the evaluated files again, or save with geometry="original"',
                    "Evaluate with -o RESULTS.mg --with-geometry, or give the predictions and the truth",
                ),
            )
        return self.geometry

    def with_data(self, predictions: Frames | None = None, truth: Frames | None = None) -> "Results":
        """Return the same results with predictions and truth, for assignments and figures.

        Results that have them already are returned as they are. Otherwise the evaluated files are read again as they
        were read the first time: with the same format, rotation, names and so on. Files are also searched for beside
        the file of results. A side whose content is not the evaluated one is refused.

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
        if predictions is None and truth is None and self.geometry is not None:
            _ = self.geometry.all_sides  # an error while reading is raised here
            return self
        x, y = read_again(self.inputs, (predictions, truth), self.origin)
        if self.rows.drive is not None:
            x, y = self.rows.drive.given_to((x, y), self.protocol, self.tokens, scenes=self.rows.scenes)
        data = Data.of(*prepare(x, y, self.protocol, unknown="ignore"), self.protocol)
        return replace(self, geometry=data.at(self.tokens))

    def without_data(self) -> "Results":
        """Return the same results without predictions and truth."""
        return replace(self, records=InputRecords.known(*self.inputs), geometry=None)

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

        Returns:
            Values of a frame without predictions and truth (of the class) are None. Such frames come last.
        """
        classes = range(len(self.class_names))
        if class_name is not None:
            if class_name not in self.class_names:
                hint = did_you_mean(class_name, self.class_names)
                raise InvalidInput(f"no class {class_name!r}. Available: {', '.join(self.class_names)}{hint}")
            classes = range((place := self.class_names.index(class_name)), place + 1)
        columns = frame_columns(self, self.scores, classes)
        return frame_rows(columns, self.rows, worst_first(self.metrics) if sort is None else sort, count=count)

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
        if self.geometry is None:
            data = None
        else:
            data = self.geometry.at(rows.tokens)
        return replace(
            self,
            totals_from=totals_of(rows, self.metrics, self.protocol),
            rows=rows,
            extra=(),
            geometry=data,
            truth_lengths=None,
        )

    def where(self, query: str, tags: Tags | None = None) -> "Results":
        """Return the results of the frames that a condition holds for, at least one.

        Args:
            query: A condition, such as ``"pld > 0.8 and missed.boundary > 2"``. Columns are ``token``, ``scene``, tags,
                ``predictions``, ``truth``, ``missed`` and ``false`` (numbers of lines), the values of single frames,
                and numbers of hits, such as ``hits:ap_chamfer@1.0``. A class follows a dot.
            tags: Further columns, from ``read_tags``.

        >>> import mapgauge as mg
        >>> from mapgauge.demo import demo_world
        >>> set(mg.evaluate(*demo_world(20)).where("truth.divider > 2 and scene = 'scene-0001'").scenes)
        {'scene-0001'}
        """
        frames = FrameTable(self, tags).where(query)
        if not frames:
            raise InvalidInput(f"no frame of {len(self.tokens)} meets the condition {query!r}")
        return self.of_frames(frames)

    def by(
        self,
        by: Groups = "scene",
        *,
        tags: Tags | None = None,
        samples: int = SAMPLES,
        level: float = LEVEL,
        seed: int = 0,
        correction: Correction = "none",
    ) -> Slices:
        """Return the results of subsets of frames, with intervals, and the differences between each two subsets.

        The values of a slice are the values of a separate evaluation of its frames, to the last bit.

        Args:
            by: A column: ``"scene"``, or one of the tags. Or a function from token to group, or lists of tokens by the
                names of the slices, which may share frames.
            tags: Tags of frames or scenes, from ``read_tags``. Frames with a tag that is true are in the slice with its
                name, such as ``"night"``, and the others in ``"not night"``.
            samples: Number of bootstrap samples.
            level: The probability with which an interval covers the true value.
            seed: Seed of the draws. The same seed gives the same intervals.
            correction: ``"holm"`` corrects p-values and verdicts for the number of differences, over all classes, keys
                and pairs of slices. ``"none"`` tests each difference alone.

        Returns:
            A mapping from the names of slices to their results, with ``estimates`` and ``differences``. Scenes are
            drawn, or frames if the scenes are not known. A slice with fewer than five of them has no intervals, and
            differences to it are left out. Two slices that share scenes are compared on them (paired). Differences are
            computed for at most six slices.

        >>> import mapgauge as mg
        >>> from mapgauge.demo import demo_world
        >>> results = mg.evaluate(*demo_world(20))
        >>> halves = results.by({"first": results.tokens[:10], "last": results.tokens[10:]})
        >>> len(halves["last"].tokens)
        10
        >>> print(*halves.notes)
        fewer than 5 scenes are too few for intervals and differences: first has 1, last has 1
        """
        return Slices.of(self, by, tags, samples=samples, level=level, seed=seed, correction=correction)

    def assignment(self, token: str, *, cutoff: float | None = None) -> Assignment:
        """Return the assignment of predictions to truth in one frame, with the matched points.

        The assignment is computed again from the data.

        Args:
            token: The frame.
            cutoff: SOSPA cutoff in metres. If None, the first cutoff of the protocol.
        """
        data = self.need_data()
        if token not in self.tokens:
            raise InvalidInput(f"no frame {token!r}")
        length = self.cutoff_or_first(cutoff)
        frame = self.tokens.index(token)
        return match_frames(data.block(slice(frame, frame + 1)), self.protocol, length)[0]

    def cutoff_or_first(self, cutoff: float | None) -> float:
        """Return a cutoff in metres: as given, or the first of the protocol."""
        if cutoff is None and not self.protocol.cutoffs:
            raise InvalidInput(
                f"the protocol {full_name(self.protocol)} has no cutoff",
                remedy=Remedy("Pass cutoff= in metres", "Evaluate with --cutoff in metres"),
            )
        if cutoff is None:
            return self.protocol.cutoffs[0]
        return check_cutoff("cutoff", cutoff)

    def save(self, path: str | os.PathLike[str], *, geometry: Geometry | None = None) -> None:
        """Write the results to one file. ``load_results`` reads it.

        Args:
            path: The file.
            geometry: Whether the file also has the predictions and the truth, so that assignments, figures and the
                report need no other file. ``"original"`` keeps all bits, about 9 kB per frame with 75 predictions.
                ``"rounded"`` rounds coordinates to float32. If None, it has neither. Needs pyarrow.
        """
        from mapgauge.results.pooled import encoded, pooled

        if geometry is not None and geometry not in KINDS:
            raise InvalidInput(f"geometry must be {', '.join(map(repr, KINDS))} or None, got {geometry!r}")
        if geometry is None:
            arrays = None
            drive = self.rows.drive
        else:
            arrays = geometry_arrays(self.need_data().sorted_sides, geometry)
            drive = drive_of(self)
        save_results(self, self.rows, path, drive=drive, geometry=arrays, values=encoded(pooled(self)))

    def to_pandas(self, level: Level = "frames") -> Any:
        """Return the rows as a pandas ``DataFrame``. It needs ``pip install 'mapgauge[pandas]'``.

        Args:
            level: ``"frames"`` has one row per frame, with the columns of ``frames``: token, scene (if known), counts,
                values that pool the classes, and numbers of hits. ``"classes"`` has one row per frame and class, with
                the same columns and ``class``. ``"summary"`` has one row per class and one for the mean, with the
                values of ``classes`` and ``mean``. Rows are in the order of ``tokens`` and ``class_names``. A frame
                without predictions and truth (of the class) has no values.
        """
        return to_pandas(table_columns(self, self.rows, level))

    def to_polars(self, level: Level = "frames") -> Any:
        """Return the rows as a polars ``DataFrame``. It needs ``pip install 'mapgauge[polars]'``.

        Args:
            level: As for ``to_pandas``.
        """
        return to_polars(table_columns(self, self.rows, level))

    def to_arrow(self, level: Level = "frames") -> Any:
        """Return the rows as an Arrow ``Table``. It needs ``pip install 'mapgauge[parquet]'``.

        Args:
            level: As for ``to_pandas``.
        """
        return to_arrow(table_columns(self, self.rows, level))


def totals_of(rows: Rows, metrics: Sequence[str], protocol: Protocol) -> Callable[[], Totals]:
    """Return a function that computes the totals of rows, for some metrics."""
    return partial(_totals_of, rows, metrics, protocol)


def _totals_of(rows: Rows, metrics: Sequence[str], protocol: Protocol) -> Totals:
    return Totals.of(rows.scores.only(metrics), protocol)


def drive_of(results: Results) -> Drive | None:
    """Return the poses of results with times and axes: kept with them, or from their data; None if unknown."""
    if results.rows.drive is not None or results.geometry is None:
        return results.rows.drive
    return Drive.of(*results.geometry.sides)


def check_results(given: object, name: str = "results") -> None:
    """Raise an error for anything but the results of one evaluation."""
    if not isinstance(given, Results):
        raise InvalidInput(
            f"{name}: expected Results from evaluate(), got {type(given).__name__}",
            remedy="Evaluate first: mg.evaluate(predictions, truth)",
        )
