"""Which scenes belong to which split.

The official splits of nuScenes, and the splits that StreamMapNet introduced, whose training and validation scenes lie
in different places. Lists are package data: a split begins with its name at the start of a line; its scenes follow on
indented lines, nuScenes' as numbers (``4-11`` is ``scene-0004`` to ``scene-0011``). Argoverse 2's official splits are
the folders of the data set.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from mapgauge.errors import InvalidInput

# Their localisation is wrong; the public converters skip them in every split.
MISLOCATED = ("scene-0499", "scene-0502", "scene-0515", "scene-0517")


@cache
def splits(dataset: str) -> Mapping[str, tuple[str, ...]]:
    """The scenes of each listed split of a data set, in order.

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
    """The scenes of a split by its name. ``others`` are names that the caller knows, for the message."""
    known = splits(dataset)
    if name not in known:
        alike = name.replace("_", "-")
        hint = f" Did you mean {alike}?" if alike in (*known, *others) else ""
        raise InvalidInput(f"unknown split {name!r}. Known for {dataset}: {', '.join((*others, *known))}.{hint}")
    return known[name]
