"""The split and the frames for which truth is cut."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar, get_args

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.io.files.source import read_tokens

# nuScenes: the localisation of these scenes is wrong. The public converters leave them out of every split.
MISLOCATED = ("scene-0499", "scene-0502", "scene-0515", "scene-0517")

# Argoverse 2: the poses of these logs are wrong. The public converters leave them out of every split.
FAILED_LOGS = (
    "01bb304d-7bd8-35f8-bbef-7086b688e35e",
    "453e5558-6363-38e3-bf9b-42b5ba0a6f1d",
    "54bc6dbc-ebfb-3fba-b5b3-57f88b4b79ca",
    "6e106cf8-f6dd-38f6-89c8-9be7a71e7275",
    "75e8adad-50a6-3245-8726-5e612db3d165",
    "af170aac-8465-3d7b-82c5-64147e94af7d",
)


@cache
def splits(dataset: str) -> Mapping[str, tuple[str, ...]]:
    """Return the scenes of each listed split of a data set, in order.

    >>> {name: len(scenes) for name, scenes in splits("nuscenes").items()}
    {'train': 700, 'val': 150, 'mini-train': 8, 'mini-val': 2, 'new-train': 698, 'new-val': 148}
    >>> splits("nuscenes")["mini-val"]
    ('scene-0103', 'scene-0916')
    """
    text = files("mapgauge.truth").joinpath("split_lists", f"{dataset}.txt").read_text("utf-8")
    by_split: dict[str, list[str]] = {}
    scenes: list[str] = []
    for line in text.splitlines():
        if not line.startswith(" "):
            scenes = by_split[line] = []
        elif dataset == "nuscenes":  # numbers of scenes and ranges of them
            ranges = (item.partition("-")[::2] for item in line.split())
            scenes += [f"scene-{k:04d}" for first, last in ranges for k in range(int(first), int(last or first) + 1)]
        else:
            scenes += line.split()
    return {split: tuple(scenes) for split, scenes in by_split.items()}


def split_named(dataset: str, name: str, others: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the scenes of a split. ``others`` are splits without a list, for the error message."""
    known = splits(dataset)
    if name not in known:
        alike = name.replace("_", "-")
        raise InvalidInput(
            f"unknown split {name!r} of {dataset}, expected one of {', '.join((*others, *known))}",
            remedy=choose_split(alike) if alike in (*known, *others) else None,
        )
    return known[name]


def choose_split(name: str) -> Remedy:
    """Return the advice to choose another split."""
    return Remedy(f'Pass split="{name}"', f"Pass --split {name}")


EveryCounts: TypeAlias = Literal["scene", "all"]  # what ``every`` counts through: each scene, or all of them


class HasToken(Protocol):
    """A frame, or a record of a frame."""

    @property
    def token(self) -> str:
        """Name of the frame."""


T = TypeVar("T", bound=HasToken)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which frames to cut. Tokens take precedence over scenes, and scenes over the split."""

    split: str
    scenes: tuple[str, ...] | None = None
    tokens: frozenset[str] | None = None
    every: int = 1
    every_counts: EveryCounts = "scene"

    @classmethod
    def of(
        cls,
        split: str,
        scenes: Sequence[str] | None,
        tokens: Sequence[str] | str | os.PathLike[str] | None,
        every: int,
        every_counts: EveryCounts = "scene",
    ) -> "Selection":
        """Make a selection from user arguments. ``tokens`` may be a file with one token per line."""
        if every_counts not in get_args(EveryCounts):
            raise InvalidInput(f"every_counts must be one of {', '.join(get_args(EveryCounts))}, got {every_counts!r}")
        return cls(
            split,
            _names("scenes", scenes),
            _tokens(tokens),
            every=check_whole("every", every, 1),
            every_counts=every_counts,
        )

    def frames(self, frames: Sequence[T], before: int = 0) -> tuple[T, ...]:
        """Return the selected frames of a scene, given how many are in earlier scenes."""
        if self.tokens is not None:
            frames = [frame for frame in frames if frame.token in self.tokens]
        if self.every_counts == "all":
            first = -before % self.every
        else:
            first = 0
        return tuple(frames[first :: self.every])

    def check_tokens(self, known: Iterable[str], where: str) -> None:
        """Raise an error if a selected token is not among the known tokens."""
        lacking = sorted((self.tokens or frozenset()).difference(known))
        if lacking:
            text = f"{where}: {len(lacking)} of {len(self.tokens or ())} tokens not found ({_listed(lacking)})"
            raise InvalidInput(text, remedy="Check that the tokens belong to this data set and version")


def check_scenes(
    wanted: Sequence[str], known: Iterable[str], what: str, where: str, remedy: Remedy | str | None = None
) -> None:
    """Raise an error if a data set lacks scenes. ``what`` says what asks for them, such as ``"the split val"``."""
    known = set(known)
    lacking = [name for name in wanted if name not in known]
    if lacking:
        text = f"{where}: {len(lacking)} of {len(wanted)} scenes of {what} not found ({_listed(lacking)})"
        raise InvalidInput(text, remedy=remedy)


def _names(name: str, values: Sequence[str] | None) -> tuple[str, ...] | None:
    if values is None:
        return None
    if isinstance(values, str):
        names = [values]
    else:
        names = list(values)
    wrong = [value for value in names if not isinstance(value, str)]
    if wrong or not names:
        raise InvalidInput(f"{name} must be one or more names, got {repr(wrong[0]) if wrong else 'none'}")
    return tuple(dict.fromkeys(names))


def _tokens(tokens: Sequence[str] | str | os.PathLike[str] | None) -> frozenset[str] | None:
    if isinstance(tokens, str | os.PathLike):
        tokens = read_tokens(Path(tokens))
    if tokens is None:
        return None
    return frozenset(_names("tokens", tokens) or ())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
