"""How a comparison is printed: ``mapgauge compare``, ``demo`` and the tables of ``paper``."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mapgauge.cli.by_cause import ByCause
from mapgauge.cli.emit import Document, Line, Piece
from mapgauge.cli.latex import LatexColumn, methods_table
from mapgauge.cli.output import Table, printable
from mapgauge.cli.planning import PlanView, finite
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.answers.answer import Answer
    from mapgauge.results.comparison import Comparison, Differences
    from mapgauge.results.gate import Verdict
    from mapgauge.results.intervals import Difference, Estimate

NO_CAUSES = ByCause({}, {})


@dataclass(frozen=True, kw_only=True)
class Compared(Document):
    """A comparison. JSON has the verdicts of a gate, and text the causes of differences to the first method."""

    comparison: "Comparison"
    classes: Sequence[str]  # of text and LaTeX; JSON and CSV have all
    causes: ByCause = NO_CAUSES
    verdicts: "Sequence[Verdict]" = ()
    plans: PlanView | None = None  # power, margins, ranks and seeds
    answer: "Answer | None" = None  # who is better, in sentences
    noted: Sequence[Mapping[str, str]] = ()  # what --metadata noted about each method
    made: Sequence[Mapping[str, str]] = ()  # the date and the digest of the results of each method, for JSON

    @property
    def _noted_keys(self) -> list[str]:
        """What was noted about some method."""
        return list(dict.fromkeys(key for of_method in self.noted for key in of_method))

    def text(self) -> Iterator[Piece]:
        """Return the answer, values and differences of each class, causes, plans, and notes."""
        from mapgauge.cli.overview import paragraphs, statement_lines

        if self.answer is not None:
            yield from statement_lines(self.answer)
        yield from paragraphs(self._after_the_answer())

    def _after_the_answer(self) -> Iterator[Piece]:
        yield from self.tables()
        if self.plans is not None:
            yield from self.plans.text(self.classes)
        for note in (self.comparison.tests, *self.comparison.notes):
            if note:
                yield Line(note)

    def tables(self) -> Iterator[Piece]:
        """Return values and differences of each class, then the causes of differences."""
        for class_name in self.classes:
            yield self._values(class_name)
            for first, second in self.comparison.differences:
                yield self._differences(first, second, class_name)
        for (first, second), changes in self.causes.differences.items():
            for class_name in self.classes:
                if first == self.comparison.names[0] and class_name in changes:
                    yield from self.causes.text(first, second, class_name)

    def _values(self, class_name: str) -> Table:
        from mapgauge.metrics.table import heading
        from mapgauge.results.comparison import plain_keys

        comparison = self.comparison
        keys = plain_keys(comparison.estimates[0][class_name])
        rows = [
            [name, *(str(estimates[class_name][key]) for key in keys)]
            for name, estimates in zip(comparison.names, comparison.estimates, strict=True)
        ]
        header = ["name", *(heading(key, comparison.protocol) for key in keys)]
        # Notes come last: they may be long.
        for row, of_method in zip(rows, self.noted, strict=False):
            row += [printable(of_method.get(key, "-")) for key in self._noted_keys]
        header += [printable(key) for key in self._noted_keys]
        return Table(title=_title(comparison, [class_name]), header=header, rows=rows)

    def _differences(self, first: str, second: str, class_name: str) -> Table:
        from mapgauge.metrics.table import title_of
        from mapgauge.results.comparison import plain_keys, verdict_of

        comparison = self.comparison
        changes = comparison.differences[first, second][class_name]
        rows = [
            [title_of(key, protocol=comparison.protocol), change.numbers, verdict_of(change, key, first, second=second)]
            for key in plain_keys(comparison.estimates[0][class_name])
            if (change := changes.get(key)) is not None
        ]
        return Table(title=f"{second} minus {first}, {class_name}", header=["", "difference", ""], rows=rows)

    def to_dict(self) -> dict[str, Any]:
        """Return all values, differences and intervals."""
        document = document_of(self.comparison)
        if self.answer is not None:
            document["answer"] = self.answer.to_dict()
        if self.causes.differences:
            document["causes"] = _pairs(self.causes.differences)
            document["lengths"] = self.causes.to_dict()
        if self.verdicts:
            document["gate"] = [verdict.to_dict() for verdict in self.verdicts]
        if self._noted_keys:
            noted = zip(self.comparison.names, self.noted, strict=True)
            document["metadata"] = {name: dict(of_method) for name, of_method in noted}
        if self.made:
            made = zip(self.comparison.names, self.made, strict=True)
            document["results"] = {name: {key: of_method[key] or None for key in of_method} for name, of_method in made}
        if self.plans is not None:
            document |= self.plans.to_dict()
        return document

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each value and difference. Rows of values have what was noted about the method."""
        rows = rows_of(self.comparison, self.causes.differences)
        if not self._noted_keys:
            return rows
        noted = dict(zip(self.comparison.names, self.noted, strict=True))
        for row in rows:
            of_method = {} if row["minus"] else noted[row["name"]]
            row.update({f"metadata:{key}": of_method.get(key) for key in self._noted_keys})
        return rows

    def latex(self) -> str:
        """Return one table of all methods."""
        return latex_of(self.comparison, self.classes)


@dataclass(frozen=True)
class ComparedSlices(Document):
    """The comparison of the methods in each slice."""

    slices: Mapping[str, Compared]
    frames: Mapping[str, int]  # the number of frames of each slice

    def text(self) -> Iterator[Piece]:
        """Return the tables of each slice, and once how many differences were tested."""
        from mapgauge.cli.overview import paragraphs

        yield from paragraphs(self._of_slices())

    def _of_slices(self) -> Iterator[Piece]:
        for name, compared in self.slices.items():
            yield Line(f"{printable(name)}: {counted(self.frames[name], 'frame')}", gap=True)
            for k, piece in enumerate(compared.tables()):
                yield piece if k else _joined(piece)
            for note in compared.comparison.notes:
                yield Line(note)
        tests = next(iter(self.slices.values())).comparison.tests
        if tests:
            yield Line(tests, gap=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison of each slice."""
        return {"slices": {name: document_of(compared.comparison) for name, compared in self.slices.items()}}

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of each slice, with its name."""
        return [{"slice": name} | row for name, compared in self.slices.items() for row in compared.rows()]


def _joined(piece: Piece) -> Piece:
    """Return a table without the empty line before it."""
    if isinstance(piece, Table):
        return Table(title=piece.title, header=piece.header, rows=piece.rows, fixed=piece.fixed, gap=False)
    return piece


def _title(comparison: "Comparison", classes: Sequence[str]) -> str:
    """Return the title of a table: classes, protocol and intervals."""
    from mapgauge.protocols import full_name

    return f"{', '.join(classes)} ({full_name(comparison.protocol)}), with {intervals_in_words(comparison)}"


def intervals_in_words(comparison: "Comparison") -> str:
    """Return the level of the intervals, and what they were drawn from."""
    if comparison.units == 1:
        return f"no intervals (one {comparison.drawn})"
    bounds = [of.low for by_class in comparison.estimates for by_key in by_class.values() for of in by_key.values()]
    if all(map(math.isnan, bounds)):
        return f"no intervals ({comparison.units} {comparison.drawn}s)"
    return (
        f"intervals of {comparison.level:.0%} from {comparison.samples} draws of {comparison.units} {comparison.drawn}s"
    )


def latex_of(comparison: "Comparison", classes: Sequence[str], captions: Sequence[str] = ()) -> str:
    """Return one LaTeX table of all methods, with intervals beside the values."""
    from mapgauge.results.comparison import plain_keys

    keys = plain_keys(comparison.estimates[0][classes[0]])

    def by_class(part: "Callable[[Estimate], Any]") -> list[dict[str, dict[str, Any]]]:
        return [
            {name: {key: part(value) for key, value in estimates[name].items()} for name in classes}
            for estimates in comparison.estimates
        ]

    values = by_class(lambda value: finite(value.value))
    bounds = by_class(lambda value: (value.low, value.high) if math.isfinite(value.low + value.high) else None)
    columns = [LatexColumn(key, name) for key in keys for name in classes]
    comments = [_title(comparison, classes), *captions]
    # Whoever sees only the table must know that there are too few scenes. A caption may have the errors already.
    comments += [note for note in comparison.notes if not any(note in caption for caption in captions)]
    return methods_table(
        comparison.names, values, columns, captions=comments, bounds=bounds, protocol=comparison.protocol
    )


def document_of(comparison: "Comparison") -> dict[str, Any]:
    """Return a comparison as plain values."""
    from mapgauge.protocols import full_name

    return {
        "names": comparison.names,
        "protocol": full_name(comparison.protocol),
        "drawn": comparison.drawn,
        "units": comparison.units,
        "samples": comparison.samples,
        "level": comparison.level,
        "correction": comparison.correction,
        "tested": comparison.tested,
        "notes": comparison.notes,
        "estimates": {
            name: _plain(estimates) for name, estimates in zip(comparison.names, comparison.estimates, strict=True)
        },
        "differences": _pairs(comparison.differences),
    }


def _pairs(differences: "Differences") -> list[dict[str, Any]]:
    """Return the differences between two methods each, for JSON."""
    return [
        {"first": first, "second": second, "classes": _plain(changes)}
        for (first, second), changes in differences.items()
    ]


def _plain(classes: "Mapping[str, Mapping[str, Estimate | Difference]]") -> dict[str, Any]:
    """Return the numbers of values or differences by class and key. Those that do not exist are None."""
    return {
        class_name: {
            key: {part: None if number is None else finite(number) for part, number in value._asdict().items()}
            for key, value in values.items()
        }
        for class_name, values in classes.items()
    }


def rows_of(comparison: "Comparison", causes: "Differences | None" = None) -> list[dict[str, Any]]:
    """Return a row per method, class and value, then one per difference and cause, for CSV. Each has the protocol."""
    from mapgauge.protocols import full_name

    protocol = full_name(comparison.protocol)
    differences = comparison.differences.items()
    of_causes = {  # by the keys of the metric of causes, without PLD itself
        pair: {
            class_name: {f"due_to_{cause}": value for cause, value in values.items() if cause != "pld"}
            for class_name, values in changes.items()
        }
        for pair, changes in (causes or {}).items()
    }
    named: list[tuple[str, str, Mapping[str, Mapping[str, Estimate | Difference]]]] = [
        *((name, "", estimates) for name, estimates in zip(comparison.names, comparison.estimates, strict=True)),
        *((second, first, changes) for (first, second), changes in differences),
        *((second, first, changes) for (first, second), changes in of_causes.items()),
    ]
    return [
        {"name": name, "protocol": protocol, "minus": minus, "class": class_name, "key": key} | numbers
        for name, minus, classes in named
        for class_name, values in _plain(classes).items()
        for key, numbers in values.items()
    ]
