"""``mapgauge list``: lists what the package knows. The manifests name the lists."""

from typing import TYPE_CHECKING

import typer

from mapgauge.cli.options import JsonOption
from mapgauge.cli.output import Table, say, say_columns, show_table, write_json
from mapgauge.manifest import load_if_possible, mapping

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol


def formats(json: JsonOption = False) -> None:
    """List the file formats."""
    from mapgauge.io import FORMATS

    if json:
        write_json([{"name": row.name, "about": row.about, "write": row.write is not None} for row in FORMATS.values()])
        return
    say_columns([[row.name, "read, write" if row.write else "read", row.about] for row in FORMATS.values()])


def protocols(json: JsonOption = False) -> None:
    """List the protocols and their settings."""
    from mapgauge.protocols import PARTS, PROTOCOLS

    if json:
        write_json([protocol.to_dict() for protocol in PROTOCOLS.values()])
        return
    say_columns([[protocol.name, protocol.about] for protocol in PROTOCOLS.values()])
    parts = " ".join(f"-{part}" for part in PARTS)
    say(f"For a part of the lanes, add one of these to the name of a protocol for lanes: {parts}")
    rows = [[protocol.name, protocol.sampling_in_words, _settings(protocol)] for protocol in PROTOCOLS.values()]
    show_table(Table("Settings, in metres", ["protocol", "sampling", "settings"], rows, 3))


def metrics(json: JsonOption = False) -> None:
    """List the metrics, and their settings for --set."""
    from mapgauge.metrics.settings import as_text, fields_of
    from mapgauge.metrics.table import METRICS, settings_rows

    settings = {row.name: {} if row.settings_type is None else fields_of(row.settings_type) for row in METRICS.values()}
    if json:
        write_json(
            [
                {"name": row.name, "title": row.title, "better": row.better}
                | {"settings": {key: field.metadata["help"] for key, field in settings[row.name].items()}}
                for row in METRICS.values()
            ]
        )
        return
    rows = [[row.name, row.title, row.better] for row in METRICS.values()]
    show_table(Table("", ["metric", "title", "better"], rows, 3), gap=False)
    rows = [[row["name"], as_text(row["default"]), row["unit"], row["help"]] for row in settings_rows()]
    show_table(Table("Settings, for --set NAME=VALUE", ["name", "recommended", "unit", "what it is"], rows, 4))


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
        unit = f" ({metric.setting.unit})" if metric.setting.unit not in ("m", "") else ""
        text = f"{metric.setting.word}s{unit} {', '.join(map(str, values))}"
        titles.setdefault((word, text), []).append(metric.title)
    return "; ".join(f"{' and '.join(names)} {text}" for (_, text), names in titles.items())


def _made() -> typer.Typer:
    """Return the command with a command for each list, of plug-ins too."""
    made = typer.Typer(
        name="list",
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


lists = _made()
