"""What ``mapgauge evaluate`` prints: text, JSON, CSV or LaTeX of all methods by all protocols."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mapgauge.cli import overview as page
from mapgauge.cli import summary
from mapgauge.cli.emit import Document, Line, Piece, one_or_all
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.answers.answer import Answer
    from mapgauge.frames.findings import Finding
    from mapgauge.hooks import Documented
    from mapgauge.results.results import Results
    from mapgauge.results.slices import Slices


@dataclass(frozen=True, kw_only=True)
class Evaluated(Document):
    """The results of all methods by all protocols: protocol by protocol for each method."""

    names: Sequence[str]  # of the methods
    results: "Sequence[Results]"
    answers: "Sequence[Answer]"  # of each protocol; empty if the form has none
    files: Sequence[Path]  # predictions of each method, then the truth
    targets: Sequence[Path | None]  # the file of each of the results
    findings: "Sequence[Finding]" = ()
    slices: "Sequence[Slices]" = ()
    # What each method makes of a prior, by the key of the feature that measured it.
    of_prior: "Mapping[str, Sequence[Documented]]" = field(default_factory=dict)
    more: Iterable[Piece] = ()  # what the text ends with
    by_class: bool = False  # whether LaTeX has a column for each class
    has_lists: bool = False  # whether --tokens chose the frames
    with_tables: bool = False
    with_notes: bool = False
    is_quiet: bool = False

    @property
    def protocols(self) -> int:
        """The number of protocols."""
        return len(self.results) // len(self.names)

    @property
    def names_of_results(self) -> list[str]:
        """The name of the method of each of the results."""
        return [name for name in self.names for _ in range(self.protocols)]

    def text(self) -> Iterator[Piece]:
        """Return what was compared, warnings, the answer, a table, and what to look at next."""
        overviews = [self._overview(k) for k in range(self.protocols)]
        yield from page.header(overviews)
        yield from self._warnings(overviews)
        for overview in overviews:
            yield from self._of_protocol(overview)
        if self.protocols > 1:
            yield summary.table_of_protocols(self.results, self.names_of_results)
        else:
            yield from page.worst_frame(overviews[0])
        yield from self._notes()
        if self.with_tables:
            for overview in overviews:
                yield from summary.tables_of(overview.results, self.names)
            yield from summary.frame_lines(self.results[:: self.protocols], self.names)
        yield from self.more

    def in_brief(self) -> Iterator[Piece]:
        """Return what was compared by the first protocol, and the answer."""
        overview = self._overview(0)
        yield from page.header([overview])
        yield from page.answer_lines(overview.answer)

    def _overview(self, number: int) -> page.Overview:
        """Return the part of one protocol."""
        return page.Overview(
            names=self.names,
            results=self.results[number :: self.protocols],
            answer=self.answers[number],
            files=self.files,
            saved=self.targets[number :: self.protocols],
            has_lists=self.has_lists,
        )

    def _of_protocol(self, overview: page.Overview) -> Iterator[Piece]:
        """Return the answer of one protocol; with the table if it is the only one."""
        left_out = set()
        if not self.is_quiet:
            left_out.add("refused")  # the errors are above
        if self.protocols > 1:
            yield from page.title_of_protocol(overview)
            yield from page.answer_lines(overview.answer, left_out=left_out)
            return
        ranges = list(page.range_lines(overview.answer))
        if ranges:
            left_out.add("distance")  # the line below the table is about distance too
        yield from page.answer_lines(overview.answer, left_out=left_out)
        yield from page.compact_table(overview)
        yield from ranges

    def _warnings(self, overviews: Sequence[page.Overview]) -> Iterator[Piece]:
        """Return errors and warnings about the input, which --quiet leaves to stderr."""
        if self.is_quiet:
            return
        for finding in self.findings:
            if finding.level == "error":
                yield from page.refusal_lines(finding, overviews)
            elif finding.level == "warning":
                yield page.finding_line(finding)

    def _notes(self) -> Iterator[Piece]:
        """Return the notes about the input and the digest of the truth, or how many notes there are."""
        if self.is_quiet:
            return
        notes = [finding for finding in self.findings if finding.level == "note"]
        if self.with_notes:
            for finding in notes:
                yield page.finding_line(finding)
            # Results of metrics with tracks have a digest of their own.
            for digest in dict.fromkeys(method.inputs[1].hash for method in self.results):
                yield Line(page.wrapped(summary.digest_in_words(digest)))
            return
        if not notes:
            return
        if len(notes) == 1:
            them = "it"
        else:
            them = "them"
        yield Line(f"{counted(len(notes), 'note')} about the input: --notes prints {them}")

    def to_dict(self) -> Any:
        """Return the summary of each method, with what is said of it."""
        more: list[dict[str, Any]] = [{} for _ in self.results]
        for key, each in self.of_prior.items():
            for document, measured in zip(more, each, strict=True):
                document[key] = measured.to_dict()
        for k, (document, name) in enumerate(zip(more, self.names_of_results, strict=True)):
            document["answer"] = self.answers[k % self.protocols].about(name).to_dict()
        return one_or_all(summary.documents_of(self.results, self.names_of_results, sliced=self.slices, more=more))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each class and the means of each method."""
        return summary.csv_rows_of(self.results, self.names_of_results, sliced=self.slices)

    def latex(self) -> str:
        """Return one table of all methods."""
        if self.protocols > 1:
            return summary.latex_of_protocols(self.results, self.names_of_results)
        return summary.latex_of(self.results, self.names, by_class=self.by_class)
