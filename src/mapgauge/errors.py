"""The exceptions of the package.

::

    MapgaugeError            base class: catch this to catch all of them
    ├── InvalidInput         an argument or a value in the data is invalid (also a ValueError)
    │   └── UnreadableFile   a file is missing, damaged, or not in the expected format
    └── MissingDependency    an optional package is not installed (also an ImportError)

A message says where the problem is, what was expected, and what was found. What to do about it is a ``Remedy``: one
text for Python, one for the command line.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do about an error or a finding, as a sentence without a full stop."""

    python: str
    shell: str

    @classmethod
    def of(cls, remedy: "Remedy | str") -> "Remedy":
        """A remedy; a plain text is the same in Python and in the shell."""
        if isinstance(remedy, Remedy):
            return remedy
        return cls(remedy, remedy)


class MapgaugeError(Exception):
    """Base class of all errors that mapgauge raises on purpose.

    ``str(error)`` is the message with the remedy for Python, ``error.for_shell()`` the message with the remedy for the
    command line.

    >>> error = InvalidInput("2 tokens are unknown", remedy=Remedy('Pass unknown="ignore"', "Pass --ignore-unknown"))
    >>> print(error)
    2 tokens are unknown. Pass unknown="ignore"
    >>> error.for_shell()
    '2 tokens are unknown. Pass --ignore-unknown'
    """

    def __init__(self, message: str = "", *, remedy: Remedy | str | None = None) -> None:
        """Keep the message and the remedy apart."""
        super().__init__(message)
        self.message = message
        self.remedy: Remedy | None = None
        if remedy is not None:
            self.remedy = Remedy.of(remedy)

    def __str__(self) -> str:
        return with_remedy(self.message, self.remedy.python if self.remedy else None)

    def for_shell(self) -> str:
        """The message with the remedy for the command line."""
        return with_remedy(self.message, self.remedy.shell if self.remedy else None)

    def and_also(self, remedy: Remedy) -> "MapgaugeError":
        """The same error with one more thing to do."""
        first = self.remedy or Remedy("", "")
        both = (with_remedy(a, b) if a else b for a, b in ((first.python, remedy.python), (first.shell, remedy.shell)))
        return type(self)(self.message, remedy=Remedy(*both))


class InvalidInput(MapgaugeError, ValueError):
    """An argument or a value in the data is invalid."""


class UnreadableFile(InvalidInput):
    """A file is missing, damaged, or not in the expected format. The message begins with its path."""


class MissingDependency(MapgaugeError, ImportError):
    """An optional package is not installed."""


def with_remedy(message: str, remedy: str | None) -> str:
    """A message and what to do about it, as two sentences.

    >>> with_remedy("no frames", "Pass frames="), with_remedy("Is this the truth?", "Pass --swap")
    ('no frames. Pass frames=', 'Is this the truth? Pass --swap')
    """
    if not remedy:
        return message
    if message.endswith((".", "?", "!")):
        return f"{message} {remedy}"
    return f"{message}. {remedy}"
