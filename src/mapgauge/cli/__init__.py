"""The command line: ``mapgauge``, or ``python -m mapgauge``.

Commands parse, call the package, and print; nothing is computed here. What is slow to import is imported inside the
commands, so that ``--help`` and completion answer at once.
"""

import io
import sys

from mapgauge.errors import MapgaugeError


def main() -> None:
    """Run the command line and exit.

    0; 1 for an error of the input, 2 for one of the usage, 3 for a gate that fails, 130 after Ctrl-C.
    """
    from mapgauge.cli.app import app
    from mapgauge.cli.words import one_line

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an arrow that the terminal cannot show is no reason to fail
    try:
        app(prog_name="mapgauge")
    except MapgaugeError as error:
        sys.stdout.flush()
        print(f"mapgauge: {one_line(error.for_shell())}", file=sys.stderr)  # noqa: T201
        sys.exit(1)


__all__ = ["main"]
