"""What the package says in Python, said in options.

Errors and findings name the call that helps. On a command line the same help has another name.
"""

import re
from collections.abc import Callable

_PAIR = re.compile(r"'([^']+)': '([^']+)'")


def _renaming(match: re.Match[str]) -> str:
    pairs = _PAIR.findall(match["table"])
    option = "--rename-truth" if match["side"] == "truth" else "--rename"
    return " ".join(f"{option} {old}={new}" for old, new in pairs) if pairs else f"{option} OLD=NEW"


_OPTIONS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r'unknown="ignore"', "--ignore-unknown"),
    (r'degenerate="drop"', "--degenerate drop"),
    (r"which format\? Pass format=", "which format? Pass --to"),
    (r"Pass format=", "Pass --format or --truth-format"),
    (r"predictions\.rotate\((-?\d+)\)", r"--rotate \1"),
    (r"(?P<side>predictions|truth)?\.rename\((?P<table>\{.*?\})\)", _renaming),
    (r"[Cc]all \.planar\(\) on the one with height", "Pass --planar"),
    (r"(?:predictions|truth)\.planar\(\)", "--planar"),
    (r"call \.with_confidence\(1\)", "pass --certain"),
    (r"predictions\.with_confidence\(1\)", "--certain"),
    (r"Give them: mg\.protocol\(.*\)", "Choose another protocol, or other metrics"),
    (r"\.crop\(region\)(?: on both sides)?", "--crop"),
)
_SOUGHT = [(re.compile(pattern), option) for pattern, option in _OPTIONS]


def in_options(text: str) -> str:
    """The text with calls replaced by options.

    >>> in_options("x and y are exchanged. Use predictions.rotate(-90)")
    'x and y are exchanged. Use --rotate -90'
    >>> in_options("Use predictions.rename({'contours': 'boundary'})")
    'Use --rename contours=boundary'
    """
    for pattern, option in _SOUGHT:
        text = pattern.sub(option, text)
    return text


def printable(text: str) -> str:
    r"""The text in one line that does nothing to a terminal, whatever a file had in its names.

    >>> printable("divider\n\x1b[2J")
    'divider ?[2J'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def one_line(text: str) -> str:
    """An error in options and in one line."""
    return in_options(printable(text))
