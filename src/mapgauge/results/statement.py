"""``Statement``: a sentence about results, with the values that it rests on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Statement:
    """A sentence about results, with the values that it rests on."""

    about: str  # what it is about, for programs: "found", "causes", "confidence"
    text: str  # for people: whole sentences, with a capital letter and a full stop
    values: Mapping[str, float | str | None] = field(default_factory=dict)  # the numbers of the text, and names
    method: str = ""  # the method that it is about; "" if there is one only, or if it is about several
    change: float | None = None  # what following it would change PLD by, if it is advice

    def __str__(self) -> str:
        """The text."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain Python values. Numbers that do not exist are None."""
        values = {name: _plain(value) for name, value in self.values.items()}
        return {"about": self.about, "method": self.method, "text": self.text, "values": values}


def _plain(value: float | str | None) -> float | str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
