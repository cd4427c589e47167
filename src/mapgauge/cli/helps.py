"""How a help looks: its colours in a terminal, and ``--help-all``, which every command takes."""

import re
from typing import Any

from typer.core import TyperGroup

from mapgauge.cli.output import paint

HELP = "--help"
HELP_ALL = "--help-all"
VERSION = "--version"  # the option that needs no command
_USAGE = "Usage:"
_EXAMPLES = "Examples:"
_NAMES = re.compile(r"^  (\S+(?: \S+)*)")  # two spaces end the first column


def painted_help(text: str) -> str:
    """Return a help with bold headings and coloured names, if stdout is a terminal that shows colours."""
    section = ""
    painted = []
    for line in text.split("\n"):
        names = _NAMES.match(line)
        if line.startswith(_USAGE):
            line = paint(_USAGE, "bold") + line.removeprefix(_USAGE)
        elif line and not line.startswith(" ") and line.endswith(":"):
            section = line
            line = paint(line, "bold")
        elif not line:
            section = ""
        elif names and section not in ("", _EXAMPLES):
            line = f"  {paint(names[1], 'name')}{line[names.end() :]}"
        painted.append(line)
    return "\n".join(painted)


class CommandGroup(TyperGroup):
    """A command that has commands of its own. Its help is never shortened, so ``--help-all`` prints the same."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments up to the name of a command."""
        if args and args[0] == HELP_ALL:
            args = [HELP, *args[1:]]
        return super().parse_args(ctx, args)

    def get_help(self, ctx: Any) -> str:
        """Return the help, with colours in a terminal."""
        return painted_help(super().get_help(ctx))
