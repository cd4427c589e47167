"""Findings: what a reader or a check noticed about data, in words and numbers."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing noticed about the data.

    An ``error`` means that a number computed from the data would be wrong, a ``warning`` that it probably is not what
    was meant, a ``note`` that there is something to know.

    >>> print(Finding("note", "empty-frames", "3 frames of the truth have no instances", count=3, examples=("a", "b")))
    note: 3 frames of the truth have no instances (a, b, ...)
    """

    level: Level
    code: str  # stable, for programs: "tokens-missing"
    message: str  # for people
    count: int = 1  # how many frames, instances or values it is about
    examples: tuple[str, ...] = ()  # a few of them

    def __str__(self) -> str:
        """One line."""
        more = ", ..." if self.count > len(self.examples) else ""
        return f"{self.level}: {self.message}" + (f" ({', '.join(self.examples)}{more})" if self.examples else "")
