"""The most bytes that a file may have, and may give once it is decompressed.

A file that is read as a whole must fit into memory. A compressed file of a few kilobytes can describe gigabytes.
Reading therefore stops at a limit that depends on the size of the file. The environment variable
``MAPGAUGE_MAX_BYTES`` replaces the limit.
"""

import os

from mapgauge.errors import InvalidInput

VARIABLE = "MAPGAUGE_MAX_BYTES"
RAISE = f"If you trust the file, set the environment variable {VARIABLE} to a larger number"

_RATIO = 100  # JSON of maps compresses to about a fifth, and seldom to less than a thirtieth
_ALWAYS = 1 << 26  # small files may have any ratio
_MOST = 1 << 34


def most_bytes(size: int) -> int:
    """Return the most bytes that a compressed file of a size may give.

    >>> most_bytes(1000), most_bytes(10**7)
    (67108864, 1000000000)
    """
    given = max_bytes()
    return min(max(_RATIO * size, _ALWAYS), _MOST) if given is None else given


def memory() -> int | None:
    """Return the bytes of memory of this machine; None if the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return None


def max_bytes() -> int | None:
    """Return the value of ``MAPGAUGE_MAX_BYTES``, which also limits files that are not compressed; None if not set."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:20]) > 0):
        raise InvalidInput(f"{VARIABLE} is {text[:40]!r}, expected a whole number of bytes greater than 0")
    return int(text[:20])
