"""What changed in the inputs from one night to the next, so that other data are not taken for another model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mapgauge.features.history.nights import Night

SERIES = ("frames", "missing frames", "frames without truth")  # of every night; others are of a class


@dataclass(frozen=True)
class InputChange:
    """A property of the inputs that is not what it was in the night before."""

    night: int  # index of the first night with the new value
    what: str  # "frames", "true polylines", "length of the truth", "content of the truth", "version of mapgauge"
    class_name: str  # "" if it is not of a class
    before: float | str | None
    after: float | str | None

    @property
    def text(self) -> str:
        """The change in words.

        >>> InputChange(3, "frames", "", 6019, 5800).text
        'frames 6,019 to 5,800'
        >>> InputChange(3, "length of the truth", "boundary", 1000.0, 970.0).text
        'length of the truth of boundary 1,000 m to 970 m'
        """
        if self.what == CONTENT:
            return f"{self.what} is another"
        of = f" of {self.class_name}" if self.class_name else ""
        return f"{self.what}{of} {_said(self.what, self.before)} to {_said(self.what, self.after)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the change as plain values."""
        return {
            "night": self.night,
            "what": self.what,
            "class": self.class_name or None,
            "before": self.before,
            "after": self.after,
        }


CONTENT = "content of the truth"
VERSION = "version of mapgauge"
LENGTH = "length of the truth"
COUNT = "true polylines"


def _said(what: str, value: float | str | None) -> str:
    if value is None:
        return "not known"
    if isinstance(value, str):
        return value
    if what == LENGTH:
        return f"{value:,.0f} m"
    return f"{value:,.0f}"


def input_changes(nights: Sequence[Night]) -> list[InputChange]:
    """Return all changes of the inputs, in the order of nights."""
    found: list[InputChange] = []
    for k in range(1, len(nights)):
        found += _between(k, nights[k - 1], nights[k])
    return found


def _between(k: int, before: Night, after: Night) -> list[InputChange]:
    found = []

    def note(what: str, first: float | str | None, second: float | str | None, class_name: str = "") -> None:
        if first != second and first is not None and second is not None:
            found.append(InputChange(k, what, class_name, before=first, after=second))

    old = before.pooled
    new = after.pooled
    for what, key in zip(SERIES, ("evaluated", "missing", "without_truth"), strict=True):
        note(what, old.frames.get(key), new.frames.get(key))
    for name in new.class_names:
        note(COUNT, _true(before, name), _true(after, name), class_name=name)
        note(LENGTH, (old.truth_lengths or {}).get(name), (new.truth_lengths or {}).get(name), class_name=name)
    if not found:  # more than this is known then
        note(CONTENT, old.truth.hash or None, new.truth.hash or None)
    note(VERSION, old.mapgauge, new.mapgauge)
    return found


def _true(night: Night, class_name: str) -> int | None:
    counts = night.pooled.instances.get(class_name)
    return None if counts is None else counts[1]


def same_truth(before: Night, after: Night) -> bool | None:
    """Whether two nights have the same truth, to the last bit; None if it is not known."""
    first = before.pooled.truth.hash
    second = after.pooled.truth.hash
    if not first or not second:
        return None
    return first == second
