"""The data set, the split and the rate of the frames of results, as far as their tokens and scenes say."""

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mapgauge.frames.tracks import scenes_from_tokens
from mapgauge.results.results import Results
from mapgauge.truth.selection import FAILED_LOGS, MISLOCATED, splits
from mapgauge.words import counted

TITLES = {"nuscenes": "nuScenes", "argoverse2": "Argoverse 2", "openlanev2": "OpenLane-V2"}
_NUSCENES = re.compile("[0-9a-f]{32}")
_OPENLANE = re.compile("((train|val|test)/[^/]+)/([0-9]+)")
_SUBSETS = {18: "subset-A", 16: "subset-B"}  # by the digits of a time stamp: Argoverse 2 has ns, nuScenes has us
_SEGMENTS = 150  # of val, and of test, of each subset of OpenLane-V2
_FRAMES_OF_VAL = 6019  # key frames of the 150 scenes of nuScenes' split val


class Origin(NamedTuple):
    """The data set, the split and the rate of the frames of results; "" and None for what is not known."""

    dataset: str
    split: str
    why: str  # how the split is known, or why it is not
    rate: float | None = None  # frames per second

    def __str__(self) -> str:
        """Return everything in words."""
        split = ""
        if self.split:
            split = f"split {self.split}"
        rate = ""
        if self.rate is not None:
            rate = f"{self.rate:g} Hz"
        return ", ".join(filter(None, [TITLES.get(self.dataset), split, self.why, rate]))


def origin_of(results: Results) -> Origin:
    """Return the origin of results. A split is known if the results have all of its scenes."""
    tokens = results.tokens
    matches = [match for token in tokens if (match := _OPENLANE.fullmatch(token))]
    if tokens and len(matches) == len(tokens):
        names = {f"{_SUBSETS.get(len(match[3]), 'subset')} {match[2]}" for match in matches}
        if len(names) > 1:
            return Origin("openlanev2", "", "frames of several splits")
        name = names.pop()
        segments = len({match[1] for match in matches})
        if segments != _SEGMENTS:
            return Origin("openlanev2", "", f"a part: {segments} of {_SEGMENTS} segments of {name}")
        return Origin("openlanev2", name, f"by its {segments} segments")
    if (logs := scenes_from_tokens(tokens)) is not None:
        return Origin("argoverse2", *_split(logs, "argoverse2", FAILED_LOGS), _rate(tokens, logs))
    if tokens and all(map(_NUSCENES.fullmatch, tokens)):
        split, why = _split(results.scenes or (), "nuscenes", MISLOCATED)
        if split == "val" and len(tokens) != _FRAMES_OF_VAL:
            split = ""
            why = f"a part: {len(tokens)} of {_FRAMES_OF_VAL} frames of val"
        elif results.scenes is None and len(tokens) == _FRAMES_OF_VAL:
            split = "val"
            why = f"by the number of frames ({_FRAMES_OF_VAL})"
        return Origin("nuscenes", split, why)
    return Origin("", "", "the tokens are of no data set that is known here")


def _split(names: tuple[str, ...], dataset: str, unused: tuple[str, ...]) -> tuple[str, str]:
    """Return the split of scenes, and how it is known or why not. Scenes that converters leave out do not count."""
    scenes = set(names).difference(unused)
    lists = {name: set(listed).difference(unused) for name, listed in splits(dataset).items()}
    if not any(scenes & listed for listed in lists.values()):
        return "", "the split is not known: the scenes are not named as in its lists"
    for name, listed in lists.items():
        if scenes == listed:
            return name, f"by its {counted(len(scenes), 'scene')}"
    parts = [f"{len(scenes)} of {len(listed)} scenes of {name}" for name, listed in lists.items() if scenes <= listed]
    return "", f"a part: {', '.join(parts)}" if parts else "scenes of several splits"


def _rate(tokens: tuple[str, ...], logs: tuple[str, ...]) -> float | None:
    """Return the frames per second of Argoverse 2, whose tokens end with the time in nanoseconds."""
    frames = sorted((log, int(token.rpartition("_")[2])) for log, token in zip(logs, tokens, strict=True))
    gaps = [after - before for (log, before), (other, after) in pairwise(frames) if log == other]
    if not gaps:
        return None
    return round(1e9 / float(np.median(gaps)), 1)
