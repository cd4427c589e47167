"""Reference systems that name a file. PROJ opens that file, whatever it is, so such systems are not given to it.

A system comes as a name (``EPSG:32632``), as WKT, as a text of PROJ (``+proj=utm +zone=32``), or as JSON of PROJ.
Each but the first can name a file: a grid of shifts, or a list of other systems.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

# What comes before the name of a file: in WKT, an element, or the extension of GDAL; in a text of PROJ, which WKT may
# contain, a parameter. A name without a slash is one of PROJ's own files.
_MARK = re.compile(r"parameterfile|proj4_grids|(?:grids|init|file|model|catalog)\s*=", re.IGNORECASE)


def names_a_file(system: str | bytes) -> bool:
    """Whether a reference system, or something that contains one, names a file by its path.

    >>> names_a_file("EPSG:32632"), names_a_file("+proj=merc +nadgrids=@null"), names_a_file("+init=/home/me/list:1")
    (False, False, True)
    """
    if isinstance(system, bytes):
        return names_a_file(system.decode("latin-1"))  # what matters is ASCII
    if _has_path(system):
        return True
    if "{" not in system:
        return False
    try:
        document = json.loads(system, strict=False)  # as pyproj reads it
    except ValueError:
        return False  # pyproj refuses it as well
    except RecursionError:
        return True  # it is not given to PROJ, which would recurse as well
    return any(
        _has_path(f"{key}={text}") or (key == "value" and _last_slash(text) >= 0) for key, text in _texts(document)
    )


def _has_path(text: str) -> bool:
    """Whether a slash comes after what stands before the name of a file."""
    return _MARK.search(text, 0, _last_slash(text) + 1) is not None


def _last_slash(text: str) -> int:
    return max(text.rfind("/"), text.rfind("\\"))


def _texts(document: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts in a document of JSON, each with the name of the member it stands in or under."""
    waiting = [("", document)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(name, inner) for inner in value]
