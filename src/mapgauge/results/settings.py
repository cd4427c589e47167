"""Whether results can be compared: which of their settings differ, and which of them have errors."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from mapgauge.results.results import Results


def check_comparable(methods: Sequence["Results"], names: Sequence[str], *, metrics: bool = True) -> None:
    """Refuse results that are not of the same frames and protocol, and of the same metrics unless those are ignored."""
    if not methods:
        raise InvalidInput("no results to compare")
    first = methods[0]
    if not first.tokens:
        raise InvalidInput("the results have no frames to compare")
    for name, method in zip(names[1:], methods[1:], strict=True):
        both = {"metrics": (first.metrics, method.metrics)} if metrics else {}
        if method.protocol != first.protocol or (metrics and method.metrics != first.metrics):
            apart = differing(first.protocol.to_dict(), method.protocol.to_dict(), **both)
            raise InvalidInput(
                f"{names[0]} and {name} come from different settings and cannot be compared. {apart}",
                remedy=f"Evaluate both with the same protocol{' and metrics' if metrics else ''}",
            )
        if set(method.tokens) != set(first.tokens):
            lacking = len(set(first.tokens) ^ set(method.tokens))
            raise InvalidInput(
                f"{names[0]} and {name} differ in {lacking} frames and cannot be compared",
                remedy="Evaluate both on the same truth",
            )


def with_errors(names: Sequence[str], methods: Sequence["Results"]) -> list[str]:
    """Return the names of the results whose findings say that the numbers are wrong."""
    wrong = (any(finding.level == "error" for finding in method.findings) for method in methods)
    return [name for name, is_wrong in zip(names, wrong, strict=True) if is_wrong]


def differing(one: Mapping[str, Any], other: Mapping[str, Any], **more: tuple[Any, Any]) -> str:
    """Return the settings that differ, each with both values.

    Args:
        one: Settings of a protocol, from ``Protocol.to_dict``.
        other: Those of another protocol.
        more: Both values of further settings, by name.

    >>> differing({"name": "a", "cutoffs": (1.5,)}, {"name": "a", "cutoffs": [0.5, 1.0]}, metrics=(("pld",), ("pld",)))
    'cutoffs: 1.5 and 0.5, 1.0'
    """
    pairs = {key: (one.get(key), other.get(key)) for key in dict.fromkeys((*one, *other)) if key != "about"} | more
    texts = {"protocol" if key == "name" else key.replace("_", " "): list(map(_text, pairs[key])) for key in pairs}
    return "; ".join(f"{key}: {first} and {second}" for key, (first, second) in texts.items() if first != second)


def _text(value: Any) -> str:
    """Return a value as text. A list is the same as a tuple, because JSON has no tuples."""
    if isinstance(value, tuple | list):
        return ", ".join(map(_text, value)) or "none"
    return "none" if value is None else str(value)
