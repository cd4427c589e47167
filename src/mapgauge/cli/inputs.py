"""Input files with options of their own: ``FILE,KEY=VALUE,...``.

Commands take several files of predictions, and their options say how all of them are read. A file that must be read in
another way has its own options after its name, separated by commas: ``nuscmap_results.json,rotate=-90,name=MapTR``.
"""

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mapgauge.cli.parsing import GivenPath, refuse, valid

_KEY = "[A-Za-z][A-Za-z0-9_-]*"
# Values have no slash, so a comma in the name of a folder is no item. Only tracks= is a path, up to the next item.
_PLAIN = rf"(?!tracks=){_KEY}(?:=[^,/\\]*)?"
_ITEM = rf",(?:{_PLAIN}|tracks=(?:(?!,tracks=|,{_PLAIN}(?:,|$)).)*)"
_OPTIONS = re.compile(rf"(?:{_ITEM})+$")


class _InputFile(GivenPath):
    """A path or a URL, and the options that were given with it."""

    given: str = ""  # as on the command line
    options: Mapping[str, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the URL and the options in another process."""
        return input_file, (self.given,)


def input_file(text: str) -> Path:
    """Return a file from the command line. ``options_of`` returns its options.

    A file whose name ends like options, and which exists, has no options.

    >>> file = input_file("s3://runs/M.parquet,rotate=-90,rename=contours:boundary,certain")
    >>> file.url, options_of(file)
    ('s3://runs/M.parquet', {'rotate': -90.0, 'rename': {'contours': 'boundary'}, 'certain': True})
    """
    found = None if _exists(text) else _OPTIONS.search(text)
    name = text[: found.start()] if found else text
    path = _InputFile(name)
    path.url = name if "://" in name else None
    path.given = text
    path.options = _parse(name, found[0]) if found else {}
    return path


def options_of(path: Path) -> Mapping[str, Any]:
    """Return the options that were given with a file."""
    options: Mapping[str, Any] = getattr(path, "options", {})
    return options


def tracks_of(path: Path) -> Path | None:
    """Return the file with the tracks of a file. A bare name is a file beside that file."""
    given = options_of(path).get("tracks")
    if given is None:
        return None
    tracks = Path(given)
    return tracks if len(tracks.parts) > 1 else path.parent / tracks


def check_unnamed(*paths: Path) -> None:
    """Refuse the option ``name`` in a command that does not print the names of its files."""
    for path in paths:
        if "name" in options_of(path):
            refuse(f"{path},name", "has no effect in this command, which compares no files")


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # a name that is too long, or with a null character
        return False


def _parse(file: str, text: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for item in re.findall(_ITEM, text):
        key, equals, value = item[1:].partition("=")
        where = f"{file}{item}"
        if key not in _KEYS:
            known = ", ".join(key if key in _FLAGS else f"{key}=" for key in _KEYS)
            refuse(where, f"the file has no option {key!r}. Options of a file: {known}")
        if (key in _FLAGS) == bool(equals):
            refuse(where, f"expected {key}" if key in _FLAGS else f"expected {key}=VALUE")
        found = _KEYS[key](where, value)
        if isinstance(found, dict):
            found = options.get(key, {}) | found
        elif key in options:
            refuse(where, f"{key} is given twice")
        options[key] = found
    return options


def _flag(where: str, value: str) -> bool:
    return True


def _text(where: str, value: str) -> str:
    if not value:
        refuse(where, "expected a value after =")
    return value


def _number(where: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        refuse(where, f"expected a number, got {value!r}")
    return number


def _share(where: str, value: str) -> float:
    number = _number(where, value)
    if not 0 <= number <= 1:
        refuse(where, f"expected a number from 0 to 1, got {value!r}")
    return number


def _choice(*choices: str) -> Callable[[str, str], str]:
    def choose(where: str, value: str) -> str:
        if value not in choices:
            refuse(where, f"expected {' or '.join(choices)}, got {value!r}")
        return value

    return choose


def _pair(expected: str) -> Callable[[str, str], dict[str, str]]:
    def split(where: str, value: str) -> dict[str, str]:
        one, _, other = value.partition(":")
        if not one or not other:
            refuse(where, f"expected {expected}, got {value!r}")
        return {one: other}

    return split


def _format(where: str, value: str) -> str:
    from mapgauge.io import format_named

    return valid(where, format_named, value).name


_KEYS: Mapping[str, Callable[[str, str], Any]] = {
    "name": _text,
    "format": _format,
    "rotate": _number,
    "forward": _choice("x", "y"),
    "rename": _pair("rename=OLD:NEW"),
    "confidence": _share,
    "certain": _flag,
    "planar": _flag,
    "unshrink": _flag,
    "properties": _pair("properties=NAME:FOUND, such as properties=frame:sample_token"),
    "tracks": _text,
    "degenerate": _choice("strict", "drop"),
}
_FLAGS = [key for key, parse in _KEYS.items() if parse is _flag]
