"""The command line: ``mapgauge``, or ``python -m mapgauge``.

Commands parse options, call the package, and print; nothing is computed here. Slow imports are inside the commands, so
that ``--help`` and completion stay fast.
"""

import io
import sys

from mapgauge.errors import MapgaugeError


def main() -> None:
    """Run the command line and exit.

    Exit codes: 0 for success, 1 for invalid input, 2 for a usage error, 3 for a failed gate, 130 after Ctrl-C.
    """
    from mapgauge.cli.app import app
    from mapgauge.cli.words import one_line

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not be able to show an arrow
    try:
        app(prog_name="mapgauge")
    except MapgaugeError as error:
        sys.stdout.flush()
        print(f"mapgauge: {one_line(error)}", file=sys.stderr)  # noqa: T201
        sys.exit(1)


__all__ = ["main"]
