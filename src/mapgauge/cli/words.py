"""Makes text safe to print on one line of a terminal."""

from mapgauge.errors import MapgaugeError


def printable(text: str) -> str:
    r"""Return text on one line, without control characters. Names in files can contain any character.

    >>> printable("divider\n\x1b[2J")
    'divider ?[2J'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def one_line(error: MapgaugeError) -> str:
    """Return an error on one line, with the remedy for the command line."""
    return printable(error.for_shell())
