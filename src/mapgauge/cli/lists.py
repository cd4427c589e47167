"""``mapgauge formats`` and ``mapgauge protocols``: list what the package knows."""

from typing import TYPE_CHECKING

from mapgauge.cli.documents import write_json
from mapgauge.cli.options import JsonOption
from mapgauge.cli.output import Table, say, show_table

if TYPE_CHECKING:
    from mapgauge.metrics.metric import Setting
    from mapgauge.protocols import Protocol


def formats(json: JsonOption = False) -> None:
    """List the file formats."""
    from mapgauge.io import FORMATS

    if json:
        write_json([{"name": row.name, "about": row.about, "write": row.write is not None} for row in FORMATS.values()])
        return
    for row in FORMATS.values():
        say(f"{row.name:<25}{'read, write' if row.write else 'read':<13}{row.about}", indent=" " * 38)


def protocols(json: JsonOption = False) -> None:
    """List the protocols and their settings."""
    from mapgauge.protocols import PARTS, PROTOCOLS

    if json:
        write_json([protocol.to_dict() for protocol in PROTOCOLS.values()])
        return
    for protocol in PROTOCOLS.values():
        say(f"{protocol.name:<21}{protocol.about}", indent=" " * 21)
    parts = " ".join(f"-{part}" for part in PARTS)
    say(f"For a part of the lanes, add one of these to the name of a protocol for lanes: {parts}")
    rows = [[protocol.name, protocol.sampling, _settings(protocol)] for protocol in PROTOCOLS.values()]
    show_table(Table("Settings, in metres", ["protocol", "sampling", "settings"], rows, 3))


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
        text = f"{_word(metric.setting)} {', '.join(map(str, values))}"
        titles.setdefault((word, text), []).append(metric.title)
    return "; ".join(f"{' and '.join(names)} {text}" for (_, text), names in titles.items())


def _word(setting: "Setting") -> str:
    unit = f" ({setting.unit})" if setting.unit not in ("m", "") else ""
    return f"{setting.word}s{unit}"
