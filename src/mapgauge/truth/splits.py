"""Lists the scenes of each split.

nuScenes has its official splits. StreamMapNet introduced new splits for both data sets, whose training and validation
scenes are at different places. These lists are package data. In a list, the name of a split starts a line, and its
scenes follow on indented lines. Scenes of nuScenes are numbers: ``4-11`` is ``scene-0004`` to ``scene-0011``. The
official splits of Argoverse 2 are the folders of the data set.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from mapgauge.errors import InvalidInput, Remedy

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
    found: dict[str, list[str]] = {}
    scenes: list[str] = []
    for line in text.splitlines():
        if not line.startswith(" "):
            scenes = found[line] = []
            continue
        for item in line.split():
            scenes += _scenes(item) if dataset == "nuscenes" else [item]
    return {split: tuple(scenes) for split, scenes in found.items()}


def _scenes(item: str) -> list[str]:
    first, _, last = item.partition("-")
    return [f"scene-{number:04d}" for number in range(int(first), int(last or first) + 1)]


def split_named(dataset: str, name: str, others: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the scenes of a split.

    Args:
        dataset: ``"nuscenes"`` or ``"argoverse2"``.
        name: Name of the split.
        others: Names of splits that are not listed, for the error message.
    """
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
