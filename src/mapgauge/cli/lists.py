"""``mapgauge list``: lists what the package knows. The manifests name the lists."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Line, Listing, Piece, Printing, emit
from mapgauge.cli.helps import CommandGroup
from mapgauge.cli.options import JsonOption
from mapgauge.cli.output import Table
from mapgauge.manifest import load_if_possible, mapping

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol


@dataclass(frozen=True, kw_only=True)
class ListOptions(Printing):
    """The options of the lists."""

    json: JsonOption = False


@command
def formats(options: ListOptions) -> None:
    """List the file formats."""
    emit(options, ListedFormats())


class ListedFormats(Document):
    """All formats of files."""

    def text(self) -> Iterator[Piece]:
        """Return a row for each format."""
        from mapgauge.io import FORMATS

        yield Listing([[row.name, "read, write" if row.write else "read", row.about] for row in FORMATS.values()])

    def to_dict(self) -> Any:
        """Return a mapping for each format."""
        from mapgauge.io import FORMATS

        return [{"name": row.name, "about": row.about, "write": row.write is not None} for row in FORMATS.values()]


@command
def protocols(options: ListOptions) -> None:
    """List the protocols and their settings."""
    emit(options, ListedProtocols())


class ListedProtocols(Document):
    """All protocols."""

    def text(self) -> Iterator[Piece]:
        """Return what each protocol is for, and its settings."""
        from mapgauge.metrics.rows import SELECTIONS
        from mapgauge.protocols import PROTOCOLS

        yield Listing([[protocol.name, protocol.about] for protocol in PROTOCOLS.values()])
        for of in dict.fromkeys(selection.of for selection in SELECTIONS.values()):
            parts = " ".join(f"-{name}" for name, selection in SELECTIONS.items() if selection.of == of)
            yield Line(f"For a part of the {of}, add one of these to the name of a protocol for {of}: {parts}")
        rows = [[protocol.name, protocol.sampling_in_words, _settings(protocol)] for protocol in PROTOCOLS.values()]
        yield Table(title="Settings, in metres", header=["protocol", "sampling", "settings"], rows=rows, fixed=3)

    def to_dict(self) -> Any:
        """Return all settings of each protocol."""
        from mapgauge.protocols import PROTOCOLS

        return [protocol.to_dict() for protocol in PROTOCOLS.values()]


@command
def metrics(options: ListOptions) -> None:
    """List the metrics, and their settings for --set."""
    emit(options, ListedMetrics())


class ListedMetrics(Document):
    """All metrics."""

    def text(self) -> Iterator[Piece]:
        """Return a row for each metric, and one for each setting."""
        from mapgauge.metrics.settings import as_text
        from mapgauge.metrics.table import METRICS, settings_rows

        rows = [[row.name, row.title, row.better] for row in METRICS.values()]
        yield Table(title="", header=["metric", "title", "better"], rows=rows, fixed=3)
        rows = [[row["name"], as_text(row["default"]), row["unit"], row["help"]] for row in settings_rows()]
        yield Table(
            title="Settings, for --set NAME=VALUE",
            header=["name", "recommended", "unit", "what it is"],
            rows=rows,
            fixed=4,
        )

    def to_dict(self) -> Any:
        """Return a mapping for each metric."""
        from mapgauge.metrics.settings import fields_of
        from mapgauge.metrics.table import METRICS

        documents = []
        for row in METRICS.values():
            if row.settings_type is None:
                fields = {}
            else:
                fields = fields_of(row.settings_type)
            settings = {key: field.metadata["help"] for key, field in fields.items()}
            documents.append({"name": row.name, "title": row.title, "better": row.better, "settings": settings})
        return documents


def _settings(protocol: "Protocol") -> str:
    """Return the settings of all metrics of a protocol. Metrics with the same setting share its values."""
    from mapgauge.metrics.settings import fields_of, word_of
    from mapgauge.metrics.table import METRICS

    titles: dict[tuple[str, str], list[str]] = {}
    for metric in METRICS.values():
        values = metric.settings(protocol)
        if metric.setting is None or not values or not metric.default:
            continue
        kind = type(protocol) if metric.at_cutoffs else metric.settings_type
        word = word_of(fields_of(kind)[metric.setting.field])
        if metric.setting.unit not in ("m", ""):
            unit = f" ({metric.setting.unit})"
        else:
            unit = ""
        text = f"{metric.setting.word}s{unit} {', '.join(map(str, values))}"
        titles.setdefault((word, text), []).append(metric.title)
    return "; ".join(f"{' and '.join(names)} {text}" for (_, text), names in titles.items())


def _made() -> typer.Typer:
    """Return the command with a command for each list, of plug-ins too."""
    made = typer.Typer(
        name="list",
        cls=CommandGroup,
        no_args_is_help=True,
        rich_markup_mode=None,
        help="List formats, protocols, metrics and more.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, (manifest, place) in mapping("lists").items():
        function = load_if_possible(manifest, place)
        if function is not None:
            made.command(name)(function)
    return made


lists: typer.Typer = _made()
