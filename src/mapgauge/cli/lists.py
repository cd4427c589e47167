"""``mapgauge formats`` and ``mapgauge protocols``: list what the package knows."""

from typing import TYPE_CHECKING

from mapgauge.cli.documents import write_json
from mapgauge.cli.options import JsonOption
from mapgauge.cli.output import Table, say, show_table

if TYPE_CHECKING:
    from mapgauge.metrics.metric import Metric, Setting
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
    from mapgauge.protocols import PROTOCOLS

    if json:
        write_json([protocol.to_dict() for protocol in PROTOCOLS.values()])
        return
    for protocol in PROTOCOLS.values():
        say(f"{protocol.name:<21}{protocol.about}", indent=" " * 21)
    header = ["protocol", "sampling", *(_title(metric, setting) for metric, setting in _with_settings())]
    show_table(Table("Settings, in metres", header, [_row(protocol) for protocol in PROTOCOLS.values()]))


def _title(metric: "Metric", setting: "Setting") -> str:
    unit = f" ({setting.unit})" if setting.unit not in ("m", "") else ""
    return f"{metric.title} {setting.word}s{unit}"


def _row(protocol: "Protocol") -> list[str]:
    settings = (metric.settings(protocol) for metric, _ in _with_settings())
    return [protocol.name, protocol.sampling, *(", ".join(map(str, values)) or "-" for values in settings)]


def _with_settings() -> "list[tuple[Metric, Setting]]":
    """Return the metrics that at least one protocol has settings for."""
    from mapgauge.metrics.table import METRICS
    from mapgauge.protocols import PROTOCOLS

    return [
        (metric, metric.setting)
        for metric in METRICS.values()
        if metric.setting is not None and any(metric.settings(protocol) for protocol in PROTOCOLS.values())
    ]
