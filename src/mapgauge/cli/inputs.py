"""Files on the command line, with how each is read after its name: ``FILE,KEY=VALUE,...``.

``nuscmap_results.json,rotate=-90,name=MapTR`` is a file with two options. A path that exists is never taken for
options. Quotes protect commas, equals signs, colons and slashes: ``x.json,name="MapTR, tiny"``.
"""

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mapgauge.cli.parsing import GivenPath, path_or_url, refuse, valid

_ZIP = b"PK\x03\x04"  # the first bytes of a file of results
AUTO = "auto"  # the angle that turns predictions to the axes of the truth
_PATHS = ("tracks", "scenes", "predictions", "truth")  # options that name another file
_KEY = "[A-Za-z][A-Za-z0-9_-]*"
# Other values have no slash, so a comma in the name of a folder is no item. A path reaches up to the next item.
_PATH = rf"(?:{'|'.join(_PATHS)})="
_PLAIN = rf"(?!{_PATH}){_KEY}(?:=[^,/\\]*)?"
_ITEM = rf",(?:{_PLAIN}|{_PATH}(?:(?!,{_PATH}|,{_PLAIN}(?:,|$)).)*)"
_OPTIONS = re.compile(rf"(?:{_ITEM})+$")
_AFTER_A_FILE = rf",{_KEY}(?:=(?:(?!,{_KEY}(?:=|,|$)).)*)?"  # values can have anything but another item
_QUOTED = re.compile(r"""(?:(?<=[,=:])|^)(?:"([^"]*)"|'([^']*)')(?=[,=:]|$)""")
_SPECIAL = ",=:/\\"
_HIDDEN = {ord(letter): 0xE000 + k for k, letter in enumerate(_SPECIAL)}  # private characters of Unicode
_SHOWN = {hidden: letter for letter, hidden in _HIDDEN.items()}


class _InputFile(GivenPath):
    """A path or a URL, and the options that were given with it."""

    given: str = ""  # as on the command line
    options: Mapping[str, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the URL and the options in another process."""
        return input_file, (self.given,)


def input_file(text: str) -> Path:
    """Return a file from the command line. ``options_of`` returns its options.

    The longest beginning of the text that is an existing file is the file, and the rest are its options.

    >>> file = input_file("s3://runs/M.parquet,rotate=-90,rename=contours:boundary,certain")
    >>> file.url, options_of(file)
    ('s3://runs/M.parquet', {'rotate': -90.0, 'rename': {'contours': 'boundary'}, 'certain': True})
    >>> options_of(input_file('M.json,name="A, B",tracks="/data/a,b.pkl"'))
    {'name': 'A, B', 'tracks': '/data/a,b.pkl'}
    """
    name, items = _split(text)
    path = _InputFile(name)
    path.url = name if "://" in name else None
    path.given = text
    path.options = _parse(name, items)
    return path


def _split(text: str) -> tuple[str, list[str]]:
    """Return the name of a file, and its options without commas. Special characters between quotes stay hidden."""
    if _exists(text):
        return text, []
    hidden = _QUOTED.sub(lambda found: (found[1] or found[2] or "").translate(_HIDDEN), text)
    for comma in reversed([found.start() for found in re.finditer(",", hidden)]):
        name = hidden[:comma].translate(_SHOWN)
        for item in (_ITEM, _AFTER_A_FILE):
            if re.fullmatch(rf"(?:{item})+", hidden[comma:]) and _exists(name):
                return name, [text[1:] for text in re.findall(item, hidden[comma:])]
    found = _OPTIONS.search(hidden)
    items = [item[1:] for item in re.findall(_ITEM, found[0])] if found else []
    return (hidden[: found.start()] if found else hidden).translate(_SHOWN), items


def split_options(text: str) -> tuple[str, dict[str, str]]:
    """Return the name of a file to write, and the options of its format.

    >>> split_options('result.pkl,points=float16,authors="A, B"')
    ('result.pkl', {'points': 'float16', 'authors': 'A, B'})
    """
    name, items = _split(text)
    split = [item.translate(_SHOWN).partition("=") if "=" in item else (item, "", "") for item in items]
    return name, {key: value for key, _, value in split}


def options_of(path: Path) -> Mapping[str, Any]:
    """Return the options that were given with a file."""
    options: Mapping[str, Any] = getattr(path, "options", {})
    return options


def named_file(path: Path, key: str) -> Path | None:
    """Return another file that an option of a file names. A bare name is a file beside that file."""
    given = options_of(path).get(key)
    if given is None:
        return None
    if "://" in given:
        return path_or_url(given)
    other, beside = Path(given), path.parent / given
    return beside if len(other.parts) == 1 and (_exists(str(beside)) or not _exists(given)) else other


def files_of(path: Path) -> list[Path]:
    """Return all other files that the options of a file name."""
    return [other for key in _PATHS if (other := named_file(path, key)) is not None]


def is_results(file: Path) -> bool:
    """Whether a path is a file of results, or the work folder of a streamed evaluation."""
    from mapgauge.io.files.source import is_plain_file

    try:
        if file.is_dir():
            from mapgauge.results.folder import is_folder

            return is_folder(file)
        if not is_plain_file(file):  # opening a pipe would wait for its writer
            return False
        with file.open("rb") as stream:
            return stream.read(len(_ZIP)) == _ZIP
    except OSError:
        return False  # reading the file raises a better error


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


def _parse(file: str, items: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for item in items:
        key, equals, value = item.partition("=")
        where = f"{file},{item.translate(_SHOWN)}"
        if key not in _KEYS:
            known = ", ".join(key if flag else f"{key}=" for key, flag in FILE_KEYS.items())
            refuse(where, f"the file has no option {key!r}. Options of a file: {known}")
        if FILE_KEYS[key] == bool(equals):
            refuse(where, f"expected {key}" if FILE_KEYS[key] else f"expected {key}=VALUE")
        parsed = _KEYS[key](where, value)
        if isinstance(parsed, dict):
            parsed = options.get(key, {}) | parsed
        elif key in options:
            refuse(where, f"{key} is given twice")
        options[key] = parsed
    return options


def _flag(where: str, value: str) -> bool:
    return True


def _text(where: str, value: str) -> str:
    if not value:
        refuse(where, "expected a value after =")
    return value.translate(_SHOWN)


def _number(where: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        refuse(where, f"expected a number, got {value!r}")
    return number


def _angle(where: str, value: str) -> float | str:
    return value if value == AUTO else _number(where, value)


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
        return {one.translate(_SHOWN): other.translate(_SHOWN)}

    return split


def _format(where: str, value: str) -> str:
    from mapgauge.io import format_named

    return valid(where, format_named, value).name


_KEYS: Mapping[str, Callable[[str, str], Any]] = {
    "name": _text,
    "format": _format,
    "rotate": _angle,
    "forward": _choice("x", "y"),
    "rename": _pair("rename=OLD:NEW"),
    "confidence": _share,
    "certain": _flag,
    "planar": _flag,
    "unshrink": _flag,
    "properties": _pair("properties=NAME:FOUND, such as properties=frame:sample_token"),
    "tracks": _text,
    "scenes": _text,
    "predictions": _text,
    "truth": _text,
    "degenerate": _choice("strict", "drop"),
}

FILE_KEYS = {key: parse is _flag for key, parse in _KEYS.items()}  # all keys, and whether they have no value
