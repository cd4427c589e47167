"""The grammar of a file on the command line: ``FILE,KEY=VALUE,KEY,...``, a name and items that follow it.

- Quotes around a name, a key, a value or a part of a value protect commas, equals signs, colons and slashes. A quote
  elsewhere is a letter: ``O'Brien.json``.
- An item begins with a key. Its value has no slash, so a comma in the name of a folder begins no item.
- A value that names another file may have slashes, and commas where no item begins.
- Of a file that exists, all values may have slashes and such commas.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

_KEY = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_QUOTES = ("'", '"')
_MARKS = (",", "=", ":")  # a quoted part stands between two of them
_SLASHES = ("/", "\\")


@dataclass(frozen=True, slots=True)
class Text:
    """A text without its quotes, and which of its letters stood between quotes."""

    letters: str
    quoted: tuple[bool, ...]

    def __str__(self) -> str:
        return self.letters

    def part(self, begin: int, end: int | None = None) -> "Text":
        """Return a part of the text."""
        return Text(self.letters[begin:end], self.quoted[begin:end])

    def places(self, mark: str) -> list[int]:
        """Return where a letter stands outside of quotes."""
        return [k for k, letter in enumerate(self.letters) if letter == mark and not self.quoted[k]]

    def partition(self, mark: str) -> "tuple[Text, bool, Text]":
        """Return the texts before and after the first such letter outside of quotes, and whether there is one."""
        places = self.places(mark)
        if not places:
            return self, False, NOTHING
        return self.part(0, places[0]), True, self.part(places[0] + 1)

    def rpartition(self, mark: str) -> "tuple[Text, bool, Text]":
        """Return the texts before and after the last such letter outside of quotes, and whether there is one."""
        places = self.places(mark)
        if not places:
            return NOTHING, False, self
        return self.part(0, places[-1]), True, self.part(places[-1] + 1)

    @property
    def has_slash(self) -> bool:
        """Whether there is a slash outside of quotes."""
        return any(self.places(slash) for slash in _SLASHES)


NOTHING = Text("", ())


def unquoted(text: str) -> Text:
    """Remove the quotes around parts of a text, and remember which letters they protect.

    >>> str(unquoted('M.json,name="A, B"')), str(unquoted("O'Brien's,x.json"))
    ('M.json,name=A, B', "O'Brien's,x.json")
    """
    letters: list[str] = []
    quoted: list[bool] = []
    place = 0
    while place < len(text):
        end = _end_of_quotes(text, place)
        if end is None:
            letters.append(text[place])
            quoted.append(False)
            place += 1
        else:
            inside = text[place + 1 : end]
            letters.extend(inside)
            quoted.extend([True] * len(inside))
            place = end + 1
    return Text("".join(letters), tuple(quoted))


def _end_of_quotes(text: str, begin: int) -> int | None:
    """Return where the quotes end that begin at a place; None if none begin there."""
    if text[begin] not in _QUOTES:
        return None
    if begin > 0 and text[begin - 1] not in _MARKS:
        return None
    end = text.find(text[begin], begin + 1)
    if end < 0:
        return None
    is_last = end + 1 == len(text)
    if is_last or text[end + 1] in _MARKS:
        return end
    return None


def split(text: str, *, paths: Collection[str], exists: Callable[[str], bool]) -> tuple[str, list[Text]]:
    """Return the name of a file, and its items.

    The longest name that exists is the file. If none exists, the name is as short as it can be.

    Args:
        text: The text from the command line.
        paths: The keys whose values name other files.
        exists: Whether a name is an existing file or folder.
    """
    if exists(text):
        return text, []
    plain = unquoted(text)
    commas = plain.places(",")
    bounds = [*commas, len(plain.letters)]
    segments = [plain.part(begin + 1, end) for begin, end in zip(commas, bounds[1:], strict=True)]
    strict = _Rule([_is_item(segment, paths) for segment in segments], [_is_path(one, paths) for one in segments])
    lenient = _Rule([_has_key(segment) for segment in segments], [bool(one.places("=")) for one in segments])
    for first in reversed(range(len(commas))):
        name = plain.letters[: commas[first]]
        for rule in (strict, lenient):
            starts = rule.starts(first)
            if starts and exists(name):
                return name, _items(plain, bounds, starts)
    for first in range(len(commas)):
        starts = strict.starts(first)
        if starts:
            return plain.letters[: commas[first]], _items(plain, bounds, starts)
    return plain.letters, []


@dataclass(frozen=True, slots=True)
class _Rule:
    """Which texts between commas begin an item, and of which items the value goes on after a comma."""

    begins: Sequence[bool]
    goes_on: Sequence[bool]

    def starts(self, first: int) -> list[int]:
        """Return which texts begin items, if all texts from ``first`` on are items or belong to one; else none."""
        found: list[int] = []
        for k in range(first, len(self.begins)):
            if self.begins[k]:
                found.append(k)
            elif not found or not self.goes_on[found[-1]]:
                return []
        return found


def _items(text: Text, bounds: Sequence[int], starts: Sequence[int]) -> list[Text]:
    """Return the items that begin after some commas. ``bounds`` has the places of the commas, and the end."""
    ends = [*starts[1:], len(bounds) - 1]
    return [text.part(bounds[start] + 1, bounds[end]) for start, end in zip(starts, ends, strict=True)]


def _has_key(segment: Text) -> bool:
    key, _, _ = segment.partition("=")
    return _KEY.fullmatch(key.letters) is not None


def _is_path(segment: Text, paths: Collection[str]) -> bool:
    key, equals, _ = segment.partition("=")
    return equals and key.letters in paths


def _is_item(segment: Text, paths: Collection[str]) -> bool:
    """Whether a text is an item of a file that need not exist."""
    if _is_path(segment, paths):
        return True
    return _has_key(segment) and not segment.has_slash
