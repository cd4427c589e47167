"""The type of a function that creates the error for one file."""

from typing import Protocol

from mapgauge.errors import Remedy, UnreadableFile


class MakeError(Protocol):
    """Creates an error whose message begins with the path of the file, such as ``Content.error``."""

    def __call__(self, message: str, *, remedy: Remedy | str | None = None) -> UnreadableFile:
        """Create the error; the caller raises it."""
