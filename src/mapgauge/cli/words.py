"""Text that is safe to print on one line of a terminal."""

from mapgauge.errors import MapgaugeError


def printable(text: str) -> str:
    r"""The text on one line, without characters that control a terminal. Names in files may hold any character.

    >>> printable("divider\n\x1b[2J")
    'divider ?[2J'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def one_line(error: MapgaugeError) -> str:
    """An error on one line, with the remedy for the command line."""
    return printable(error.for_shell())
