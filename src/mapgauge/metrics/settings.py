"""Settings of metrics: their base class, the description of a field, and values from texts.

The settings of a metric are a frozen dataclass. Each field has a recommended value, a unit and a sentence of help:

>>> @dataclass(frozen=True, kw_only=True)
... class ToySettings(Settings):
...     price: float = setting(1.0, help="Price of a missed polyline.")
>>> ToySettings(price=2)
ToySettings(price=2.0)
"""

import operator
import types
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from mapgauge.arguments import check_cutoff, check_flag, check_length, check_number
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.manifest import left_out
from mapgauge.words import did_you_mean

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol

MOST_THRESHOLDS = 16  # per metric: a result stores one bit for each
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def setting(
    default: Any = MISSING,
    *,
    help: str,
    unit: str = "",
    check: Callable[[str, Any], Any] | None = None,
    word: str = "",
) -> Any:
    """Describe a field of a settings class.

    Args:
        default: The recommended value. A field without one must be given.
        help: What the field means, as a sentence.
        unit: The unit: ``"m"``.
        check: ``check(name, value)`` returns the value in the form that is used, or raises ``InvalidInput``. A tuple is
            checked value by value.
        word: What the field is called in the name of a changed protocol. If empty, its name.
    """
    metadata = {"help": help, "unit": unit, "check": check, "word": word}
    return field(default=default, metadata=metadata)


def thresholds_of(default: Any = MISSING, *, unit: str = "m", word: str = "") -> Any:
    """Describe the thresholds of an average precision. ``setting`` has the same arguments."""
    text = "Distances up to which a prediction is a hit."
    return setting(default, help=text, unit=unit, check=check_length, word=word)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base class of the settings of a metric. Values are checked by the types of the fields."""

    def __post_init__(self) -> None:
        """Check all values by the types of their fields, and store them in the form that is used."""
        for name, member in fields_of(self).items():
            value = checked(name, hints_of(type(self))[name], getattr(self, name), check=member.metadata.get("check"))
            object.__setattr__(self, name, value)

    def check(self, protocol: "Protocol") -> None:
        """Refuse a protocol that lacks what the metric needs. Nothing is needed by default."""


@dataclass(frozen=True, kw_only=True)
class PldSettings(Settings):
    """Settings of a PLD with a cost of its own, as the first field."""

    def check(self, protocol: "Protocol") -> None:
        """Refuse other orders than 1, and a protocol without a cutoff."""
        if protocol.order != 1 or not protocol.cutoffs:
            raise InvalidInput(
                f"{fields(self)[0].name} needs order 1 and a cutoff, got order {protocol.order:g} and cutoffs "
                f"{protocol.cutoffs!r}",
                remedy=Remedy("Set order=1 and cutoffs=", "Pass --cutoff"),
            )


@dataclass(frozen=True, kw_only=True)
class HitSettings(Settings):
    """Settings of an average precision."""

    thresholds: tuple[float, ...] = thresholds_of()
    interpolation: Literal["area", "11-point", "101-point"] = setting(
        "area", help="How average precision follows from precision and recall."
    )

    def __post_init__(self) -> None:
        """Refuse more thresholds than a result can store."""
        super().__post_init__()
        if not 1 <= len(self.thresholds) <= MOST_THRESHOLDS:
            raise InvalidInput(
                f"thresholds must be one or more and at most {MOST_THRESHOLDS}, got {len(self.thresholds)}"
            )


@dataclass(frozen=True, kw_only=True)
class DistanceSettings(HitSettings):
    """Settings of an average precision whose hits are nearer than a threshold."""

    strict: bool = setting(default=False, help="Whether a hit needs a distance below the threshold, not equal to it.")


def word_of(field: "Field[Any]") -> str:
    """Return what a field is called in words."""
    return str(field.metadata.get("word") or field.name.replace("_", " "))


def fields_of(kind: Any) -> "dict[str, Field[Any]]":
    """Return the fields of a dataclass or of an instance of one, by name."""
    return {field.name: field for field in fields(kind)}


def hints_of(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, by name."""
    return get_type_hints(kind)


def checked(name: str, hint: Any, value: Any, check: Callable[[str, Any], Any] | None = None) -> Any:
    """Return a value in the form of a type hint, which ``check`` may check further, value by value.

    Types are a number, a flag, a text, a choice, a tuple of one of these, or one of these or None.
    """
    options = _options(hint)
    if value is None and type(None) in options:
        return None
    options = [option for option in options if option is not type(None)]
    choices = [choice for option in options if get_origin(option) is Literal for choice in get_args(option)]
    if choices and isinstance(value, str) and value in choices:
        return value
    if choices and len(options) == 1:
        raise InvalidInput(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}")
    kind = next((option for option in options if get_origin(option) is not Literal), None)
    if get_origin(kind) is tuple:
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, str) or not isinstance(value, tuple | list):
            if check in (check_length, check_cutoff):
                what = "lengths in metres"
            else:
                what = _in_words(get_args(kind)[0])
            raise InvalidInput(f"{name} must be a tuple of {what}, got {value!r}")
        several = tuple(checked(name, get_args(kind)[0], single, check=check) for single in value)
        if get_args(kind)[-1] is Ellipsis and len(set(several)) < len(several):
            raise InvalidInput(f"{name} must differ from each other, got {value!r}")
        return several
    if check is not None:
        return check(name, value)
    if kind is bool:
        return check_flag(name, value)
    if kind is float:
        return check_number(name, value)
    if kind is int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise InvalidInput(f"{name} must be a whole number, got {value!r}")
        return operator.index(value)
    if kind is str and not isinstance(value, str):
        raise InvalidInput(f"{name} must be a text, got {value!r}")
    return value


def from_text(name: str, hint: Any, text: str) -> Any:
    """Return the value of a text for a type hint. The values of a tuple are separated by commas.

    >>> from_text("thresholds", tuple[float, ...], "0.5,1"), from_text("strict", bool, "true")
    ((0.5, 1.0), True)
    >>> from_text("buffers", float | None, "none")
    """
    options = _options(hint)
    if type(None) in options and text.lower() == "none":
        return None
    if any(get_origin(option) is Literal and text in get_args(option) for option in options):
        return text
    kind = next((option for option in options if option is not type(None) and get_origin(option) is not Literal), None)
    if get_origin(kind) is tuple:
        return tuple(from_text(name, get_args(kind)[0], part.strip()) for part in text.split(",") if part.strip())
    if kind is bool:
        if text.lower() not in _FLAGS:
            raise InvalidInput(f"{name} must be true or false, got {text!r}")
        return _FLAGS[text.lower()]
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError as error:
            raise InvalidInput(f"{name} must be {_in_words(kind, count=1)}, got {text!r}") from error
    return text


def as_text(value: Any) -> str:
    """Return a value as ``with_settings`` reads it; "" if there is none.

    >>> as_text((0.5, 1.0)), as_text(None), as_text(True)
    ('0.5,1', 'none', 'true')
    """
    if value is MISSING:
        return ""
    if isinstance(value, tuple):
        return ",".join(map(as_text, value))
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def type_in_words(hint: Any) -> str:
    """Return a type hint as it is written in help and documentation.

    >>> type_in_words(tuple[float, ...]), type_in_words(float | None), type_in_words(Literal["a", "b"])
    ('numbers', 'number or none', 'a or b')
    """
    words = []
    for option in _options(hint):
        if option is type(None):
            words.append("none")
        elif get_origin(option) is Literal:
            words += get_args(option)
        elif get_origin(option) is tuple:
            words.append(_in_words(get_args(option)[0]))
        else:
            names = {bool: "true or false", int: "whole number", float: "number", str: "text"}
            words.append(names.get(option, str(option)))
    return " or ".join(words)


def no_such(kind: str, name: str, known: Sequence[str], remedy: Remedy | None = None) -> InvalidInput:
    """Return the error for an unknown name, with the nearest known one, and with plug-ins that could not be used."""
    hint = did_you_mean(name, known)
    # The nearest name comes first: the list can be long.
    return InvalidInput(f"{kind} {name!r}{hint or '.'} Known: {', '.join(known)}{left_out()}", remedy=remedy)


def _options(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return list(get_args(hint))
    return [hint]


def _in_words(kind: Any, count: int = 2) -> str:
    word = {float: "a number", int: "a whole number", str: "a text"}.get(kind, "a value")
    if count == 1:
        return word
    return f"{word.removeprefix('a ')}s"
