"""``mapgauge history``: what changed over many nights, each of which is a file of results."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit
from mapgauge.cli.output import Table, inform, printable, progress, warn
from mapgauge.cli.parsing import refuse
from mapgauge.cli.targets import check_targets
from mapgauge.markup import shortened

if TYPE_CHECKING:
    from mapgauge.features.history.curves import HistoryEvent
    from mapgauge.features.history.history import History

PAGES = (".html", ".htm")
_FILES_HELP = "A folder with files written by `mapgauge evaluate -o`, or these files."
_PROTOCOL_HELP = "Look at the files of this protocol. Default: that of most files."
_TAGS_HELP = "Tags of scenes, such as their city: a table (CSV, JSON or Parquet), or the folder of a data set."
_BY_HELP = "The column of --tags by which changes are also given."
_LONGEST = 40  # letters of a note in a table
_MOST = 20  # changes that are printed


@dataclass(frozen=True, kw_only=True)
class HistoryOptions(Printing):
    """The options of ``mapgauge history``."""

    files: Annotated[list[Path], typer.Argument(metavar="FOLDER|FILE", help=_FILES_HELP, show_default=False)]
    output: Annotated[Path | None, o.output_option("FILE", "A page with all curves (.html).")] = None
    only_worse: Annotated[bool, o.option("--only-worse", o.COMPUTED, "Keep only what got worse.")] = False
    protocol: Annotated[str | None, o.option("--protocol -p NAME", o.COMPUTED, _PROTOCOL_HELP)] = None
    tags: Annotated[Path | None, o.option("--tags TABLE", o.READ, _TAGS_HELP)] = None
    by: Annotated[str | None, o.option("--by COLUMN", o.COMPUTED, _BY_HELP)] = None
    title: Annotated[str, o.option("--title TEXT", o.WRITTEN, "Title of the figure or the page.")] = "History"
    json: o.JsonOption = False
    csv: o.CsvOption = False
    quiet: o.QuietOption = False


@command
def history(options: HistoryOptions) -> None:
    """Say what got worse over many nights, in which night, and what else changed then.

    Each file of results is a night. Steps and slow changes are told from the noise between nights, and changes of the
    inputs are listed beside them. Only pooled values are read.
    """
    if options.output is not None and options.output.suffix.lower() not in PAGES:
        refuse("--output", f"a history is an HTML page: expected a name that ends in .html, got {options.output}")
    if options.by is not None and options.tags is None:
        refuse("--by", "names a column of --tags TABLE, which is not given")
    files = [path for path in options.files if not path.is_dir()]
    check_targets([options.output], [*files, options.tags])

    from mapgauge import history as history_of
    from mapgauge import read_tags
    from mapgauge.features.history.nights import skipped_by_reason
    from mapgauge.features.history.sentences import listed

    tags = None if options.tags is None else read_tags(options.tags)
    with progress("reading nights", "files") as advance:
        found = history_of(
            options.files,
            protocol=options.protocol,
            tags=tags,
            by=options.by,
            only_worse=options.only_worse,
            progress=advance,
        )
    emit(options, HistoryDocument(found))
    for reason, left in skipped_by_reason(found.skipped).items():
        verb = "is" if len(left) == 1 else "are"
        warn(printable(f"{listed([str(file) for file in left])} {verb} left out: {reason}"))
    for remark in found.remarks:
        inform(printable(remark))
    if options.output is not None:
        found.save(options.output, title=options.title)
        inform(f"history in {options.output}")


@dataclass(frozen=True)
class HistoryDocument(Document):
    """A history as text, JSON and CSV."""

    history: "History"

    def text(self) -> Iterator[Piece]:
        """Return what is said, the changes of main values, and the changes of the inputs."""
        for statement in self.history.statements:
            yield Line(printable(statement.text), indent="  " if statement.about == "detail" else "")
        events = sorted(self.history.main_events, key=lambda event: -event.change.night)
        if events:
            header = ["night", "class", "value", "kind", "before", "after", "change", "metadata"]
            yield Table(
                title="Changes, the newest first",
                header=header,
                rows=[self._row(event) for event in events[:_MOST]],
                fixed=4,
                ids=1,
            )
        if len(events) > _MOST:
            yield Line(f"{len(events) - _MOST} more are in --json and on the page")
        inputs = self.history.inputs[::-1]
        if inputs:
            rows = [[self._label(change.night), printable(change.text)] for change in inputs[:_MOST]]
            yield Table(title="Changes of the inputs, the newest first", header=["night", "what"], rows=rows, fixed=2)
        if len(inputs) > _MOST:
            yield Line(f"{len(inputs) - _MOST} more are in --json and on the page")

    def _label(self, night: int) -> str:
        return printable(self.history.labels[night])

    def _row(self, event: "HistoryEvent") -> list[str]:
        from mapgauge.metrics.table import title_of

        change = event.change
        night = self._label(change.night)
        if change.last > change.night:
            night += f" to {self._label(change.last)}"
        noted = ", ".join(f"{key} {shortened(text, _LONGEST)}" for key, text in event.metadata.items())
        return [
            night,
            printable(event.class_name),
            title_of(event.key, protocol=self.history.protocol),
            change.kind,
            f"{change.before:.3f}",
            f"{change.after:.3f}",
            f"{change.size:+.3f}",
            printable(noted),
        ]

    def to_dict(self) -> Any:
        """Return everything."""
        return self.history.to_dict()

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each night and class."""
        return self.history.rows()
