"""Which frames are wanted: those of a split, of scenes, or with tokens, and of these every n-th."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.truth.build import EXAMPLES


class HasToken(Protocol):
    """A frame, or a record of one."""

    @property
    def token(self) -> str:
        """Its name."""


T = TypeVar("T", bound=HasToken)


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a data set is wanted. Tokens go before scenes, and scenes before the split."""

    split: str
    scenes: tuple[str, ...] | None = None
    tokens: frozenset[str] | None = None
    every: int = 1

    @classmethod
    def of(
        cls,
        split: str,
        scenes: Sequence[str] | None,
        tokens: Sequence[str] | str | os.PathLike[str] | None,
        every: int,
    ) -> "Selection":
        """From arguments as they were given; ``tokens`` may be a file with one in each line."""
        return cls(split, _names("scenes", scenes), _tokens(tokens), check_whole("every", every, 1))

    def frames(self, frames: Sequence[T]) -> tuple[T, ...]:
        """Those frames of a scene that are wanted: of the tokens asked for, or of all, every ``every``-th."""
        if self.tokens is not None:
            frames = [frame for frame in frames if frame.token in self.tokens]
        return tuple(frames[:: self.every])

    def check_tokens(self, found: Iterable[str], where: str) -> None:
        """Refuse tokens that no frame has."""
        lacking = sorted((self.tokens or frozenset()).difference(found))
        if lacking:
            raise InvalidInput(
                f"{where}: {len(lacking)} of {len(self.tokens or ())} tokens are not there ({_some(lacking)}). "
                "Are they of another data set or version?"
            )


def check_scenes(wanted: Sequence[str], known: Iterable[str], what: str, where: str, hint: str = "") -> None:
    """Refuse scenes that a data set does not have; ``what`` says where their names come from."""
    there = set(known)
    lacking = [name for name in wanted if name not in there]
    if lacking:
        raise InvalidInput(
            f"{where}: {len(lacking)} of {len(wanted)} scenes of {what} are not there ({_some(lacking)}).{hint}"
        )


def _names(name: str, values: Sequence[str] | None) -> tuple[str, ...] | None:
    if values is None:
        return None
    names = [values] if isinstance(values, str) else list(values)
    wrong = [value for value in names if not isinstance(value, str)]
    if wrong or not names:
        raise InvalidInput(f"{name} must be one or more names, got {wrong[0]!r}" if wrong else f"{name} is empty")
    return tuple(dict.fromkeys(names))


def _tokens(tokens: Sequence[str] | str | os.PathLike[str] | None) -> frozenset[str] | None:
    if isinstance(tokens, str | os.PathLike):
        path = Path(tokens)
        try:
            lines = path.read_text("utf-8").splitlines()
        except OSError as error:
            raise UnreadableFile(f"{path}: tokens cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise UnreadableFile(f"{path}: expected text with one token in each line: {error}") from error
        tokens = [line.strip() for line in lines if line.strip()]
        if not tokens:
            raise UnreadableFile(f"{path}: expected text with one token in each line, but it has none")
    named = _names("tokens", tokens)
    return None if named is None else frozenset(named)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:EXAMPLES]) + (", ..." if len(names) > EXAMPLES else "")
