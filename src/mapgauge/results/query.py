"""The language of conditions on frames: ``pld > 0.8 and missed.boundary > 2 and city = 'boston-seaport'``.

A comparison has a column, one of ``= != < <= > >=`` or ``in (..., ...)``, and a value: a number, a text in single
quotes, ``true``, ``false``, ``none``, or another column. Comparisons are joined by ``and``, ``or``, ``not`` and
parentheses. A column of flags is a condition by itself. Names with other characters than letters, digits, ``_``, ``.``,
``:`` and ``@`` are in double quotes.

``none`` stands for a value that does not exist. Such a value fails every comparison but ``= none``.

``views/report/query.js`` is the same language for the page. One table of cases tests both.
"""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.typing import Flags

Kind: TypeAlias = Literal["number", "count", "text", "flag"]
_KINDS = {"number": "a number", "count": "a whole number", "text": "text", "flag": "true or false"}
_UNORDERED = ("text", "flag")
# Quantifiers of numbers are possessive. Otherwise the time for digits before a letter grows with their square.
_SCAN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>[+-]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?+\d++)?+(?![\w.]))
    |(?P<name>[^\W\d]\w*(?:[:@.]\w+)*)
    |"(?P<quoted>[^"]+)"
    |'(?P<text>(?:[^']|'')*)'
    |(?P<sign><=|>=|!=|==|=|<|>|\(|\)|,)""",
    re.VERBOSE,
)
_BEGINS_AS_NUMBER = re.compile(r"""[+-]?[0-9][^\s(),=<>!'"]{0,39}(?![^\s(),=<>!'"])""")  # as in query.js
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LONGEST = 10_000  # characters; as in query.js
_DEEPEST = 50  # nested parentheses
_EXAMPLE = "Write it as in \"pld > 0.8 and missed.boundary > 2 and scene = 'scene-0001'\""
_TAGS = Remedy("Further columns come from tags= of read_tags", "Further columns come from a table: FILE,tags=TABLE")


class InvalidQuery(InvalidInput):
    """A condition on frames that cannot be read or does not fit the columns. ``place`` counts characters from 0."""

    def __init__(
        self, message: str = "", *, remedy: Remedy | str | None = None, text: str | None = None, place: int = 0
    ) -> None:
        """Keep what is wrong, the condition, and the place of the character."""
        super().__init__(message if text is None else f"character {place + 1} of {text!r}: {message}", remedy=remedy)
        self.what = message
        self.text = text
        self.place = place

    @property
    def pointer(self) -> str:
        """What is wrong, and below it the condition with a mark at the character, unless it is too long."""
        if self.text is None:
            return self.what
        shown = "".join(letter if letter.isprintable() else "?" for letter in self.text)
        return f"{self.what}\n  {shown}\n  {' ' * self.place}^"


class FrameColumn(NamedTuple):
    """A value of each frame. It is None where there is none."""

    kind: Kind
    values: Sequence[Any]


class Word(NamedTuple):
    """A word of a condition: a sign, a number, a text or a name."""

    kind: str
    text: str
    place: int

    def __str__(self) -> str:
        """The word in quotes, or the end."""
        if self.kind == "end":
            return self.text
        return f"'{self.text}'"

    def is_name(self, *names: str) -> bool:
        """Whether this is one of some names, in any case."""
        return self.kind == "name" and self.text.lower() in names


class Columns(NamedTuple):
    """The columns of frames that a condition is applied to."""

    named: Callable[[str], FrameColumn | None]  # by name; None if there is none
    known: Sequence[str]  # names for messages, without those of classes
    classes: Sequence[str] = ()  # their names, for messages


@dataclass(frozen=True)
class Query:
    """A condition on frames. ``names`` are the columns on the left, in their order."""

    text: str
    names: tuple[str, ...]
    holds: Callable[[Columns], Flags]  # for which frames it holds


def parse(text: str) -> Query:
    """Read a condition. Columns and types are checked when it is applied.

    >>> parse("pld > 0.8 and not (scene in ('a', 'b') or missed.boundary > 2)").names
    ('pld', 'scene', 'missed.boundary')
    >>> parse("pld > and")
    Traceback (most recent call last):
    mapgauge.results.query.InvalidQuery: character 7 of 'pld > and': expected a value, got 'and'. Write it as in ...
    """
    if len(text) > LONGEST:
        raise InvalidQuery(f"a condition has at most {LONGEST:,} characters, got {len(text):,}")
    parser = _Parser(text)
    holds = parser.joined("or", 0)
    if parser.word.kind != "end":
        parser.fail(f"expected and, or, or the end, got {parser.word}", parser.word)
    return Query(text, tuple(dict.fromkeys(parser.names)), holds)


class _Parser:
    """Reads a condition from left to right, and returns functions of columns."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = self.scanned()
        self.next = 0
        self.names: list[str] = []

    def fail(self, what: str, word: Word, remedy: Remedy | str | None = _EXAMPLE) -> NoReturn:
        raise InvalidQuery(what, remedy=remedy, text=self.text, place=word.place)

    def scanned(self) -> list[Word]:
        words = []
        place = 0
        while place < len(self.text):
            match = _SCAN.match(self.text, place)
            if match is None:
                letter = self.text[place]
                digits = _BEGINS_AS_NUMBER.match(self.text, place)
                if letter in "'\"":
                    what = "this quote is not closed"
                elif digits:
                    what = f"{digits[0]} is not a number. Put text in quotes: '{digits[0]}'"
                else:
                    what = f"unexpected '{letter}'"
                self.fail(what, Word("", letter, place))
            kind, word = next((key, value) for key, value in match.groupdict().items() if value is not None)
            if kind != "space":
                if kind == "text":
                    plain = word.replace("''", "'")
                elif word == "==":
                    plain = "="
                else:
                    plain = word
                words.append(Word("name" if kind == "quoted" else kind, plain, place))
            place = match.end()
        return [*words, Word("end", "the end", len(self.text))]

    @property
    def word(self) -> Word:
        return self.words[self.next]

    def taken(self, *signs: str, name: str = "") -> Word | None:
        """Return the next word and go on, if it is one of some signs or a name."""
        word = self.word
        if not (word.kind == "sign" and word.text in signs) and not word.is_name(name):
            return None
        self.next += 1
        return word

    def joined(self, word: str, depth: int) -> Callable[[Columns], Flags]:
        parts: list[Callable[[Columns], Flags]] = []
        while not parts or self.taken(name=word):
            parts.append(self.joined("and", depth) if word == "or" else self.single(depth))
        if word == "or":
            return lambda columns: np.logical_or.reduce([part(columns) for part in parts])
        return lambda columns: np.logical_and.reduce([part(columns) for part in parts])

    def single(self, depth: int) -> Callable[[Columns], Flags]:
        if depth > _DEEPEST:
            self.fail("too many parentheses", self.word)
        if self.taken(name="not"):
            inner = self.single(depth + 1)
            return lambda columns: ~inner(columns)
        if opened := self.taken("("):
            inner = self.joined("or", depth + 1)
            if not self.taken(")"):
                self.fail(f"expected ) for this parenthesis, got {self.word}", opened)
            return inner
        column = self.operand("the name of a column", "name")
        self.names.append(column.text)
        sign = self.taken(*_COMPARE)
        values = []
        if sign:
            values.append(self.operand())
        elif sign := self.taken(name="in"):
            if not self.taken("("):
                self.fail(f"expected ( and values, got {self.word}", self.word)
            while not values or self.taken(","):
                values.append(self.operand())
            if not self.taken(")"):
                self.fail(f"expected , or ), got {self.word}", self.word)
        return lambda columns: np.array(self.compared(columns, column, sign, values=values), np.bool_)

    def operand(self, what: str = "a value", *kinds: str) -> Word:
        word = self.word
        if word.kind not in (kinds or ("number", "text", "name")) or word.is_name("and", "or", "not", "in"):
            self.fail(f"expected {what}, got {word}", word)
        self.next += 1
        return word

    def column(self, columns: Columns, word: Word) -> FrameColumn:
        column = columns.named(word.text)
        if column is None:
            base, dot, class_name = word.text.partition(".")
            if dot and columns.classes and columns.named(f"{base}.{columns.classes[0]}"):
                self.fail(f"no class '{class_name}'; there are {', '.join(columns.classes)}", word)
            near = get_close_matches(word.text, columns.known, 2, 0.6)
            near = near or [f"{name}{dot}{class_name}" for name in get_close_matches(base, columns.known, 2, 0.6)]
            if near:
                hint = f"did you mean {' or '.join(near)}?"
            else:
                hint = f"there are {', '.join(columns.known)}"
            self.fail(f"no column '{word.text}'; {hint}", word, None if near else _TAGS)
        return column

    def compared(self, columns: Columns, word: Word, sign: Word | None, values: Sequence[Word]) -> list[bool]:
        """Return where a column compares with one of some values. Without a sign, it is a column of flags."""
        column = self.column(columns, word)
        what = f"{word.text} is {_KINDS[column.kind]}"
        if sign is None:
            if column.kind != "flag":
                self.fail(f"{what}: compare it with a value", word, remedy=None)
            return [cell is True for cell in column.values]
        ordered = sign.text in ("<", "<=", ">", ">=")
        if ordered and column.kind in _UNORDERED:
            self.fail(f"{what}: it takes =, != and in, got {sign.text}", sign, remedy=None)
        compare = _COMPARE.get(sign.text, operator.eq)
        holds = [False] * len(column.values)
        for value in values:
            if not value.is_name("none"):
                pairs = zip(column.values, self.others(columns, column, word.text, value=value), strict=True)
                each = [a is not None and b is not None and compare(a, b) for a, b in pairs]
            elif ordered:
                self.fail(f"none takes =, != and in, got {sign.text}", sign, remedy=None)
            else:
                each = [compare(cell is None, True) for cell in column.values]
            holds = list(map(operator.or_, holds, each))
        return holds

    def others(self, columns: Columns, column: FrameColumn, name: str, value: Word) -> Sequence[Any]:
        """Return what each frame is compared with: the values of another column, or a value of the same kind."""
        what = f"{name} is {_KINDS[column.kind]}"
        literal: Any = None
        if value.kind == "name" and not value.is_name("true", "false"):
            other = self.column(columns, value)
            if other.kind != column.kind and {column.kind, other.kind} & set(_UNORDERED):
                self.fail(f"{value.text} is {_KINDS[other.kind]}, and {what}", value, remedy=None)
            return other.values
        if column.kind == value.kind == "text":
            literal = value.text
        elif column.kind == "flag" and value.kind == "name":
            literal = value.is_name("true")
        elif column.kind not in _UNORDERED and value.kind == "number":
            literal = float(value.text)
        if literal is None:
            if column.kind == "text":
                quotes = f". Text has quotes: {name} = {value}"
            else:
                quotes = ""
            self.fail(f"{what}, got {value}{quotes}", value, remedy=None)
        if column.kind == "count" and not literal.is_integer():
            if name.partition(".")[0] in ("missed", "false"):
                share = f". The part of PLD is pld_{name}"
            else:
                share = ""
            self.fail(f"{what}, got {value.text}{share}", value, remedy=None)
        return [literal] * len(column.values)
