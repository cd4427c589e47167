"""``mapgauge formats`` and ``mapgauge protocols``: the tables of the package."""

from typing import TYPE_CHECKING

from mapgauge.cli.documents import write_json
from mapgauge.cli.options import JsonOption
from mapgauge.cli.output import Table, say, show_table

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol


def formats(json: JsonOption = False) -> None:
    """List the formats of files."""
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
    header = ["protocol", "sampling", "PLD cutoff", "Chamfer-AP", "Fréchet-AP"]
    show_table(Table("Settings, in metres", header, [_row(protocol) for protocol in PROTOCOLS.values()]))


def _row(protocol: "Protocol") -> list[str]:
    sampling = "as in the file"
    if protocol.spacing is not None:
        sampling = f"every {protocol.spacing:g} m"
    elif protocol.count is not None:
        sampling = f"{protocol.count} points"
    lengths = (protocol.cutoffs, protocol.chamfer, protocol.frechet)
    return [protocol.name, sampling, *(", ".join(map(str, values)) or "-" for values in lengths)]
