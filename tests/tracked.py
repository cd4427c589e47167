"""A small world with tracks whose switches are known: parallel lines, seen in the frames of a few scenes."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

import mapgauge as mg

EVIL = "</script><script>alert(1)</script>\n\u202e" + "x" * 300


def tracked_world(
    *,
    scenes: int = 2,
    frames: int = 6,
    lines: int = 3,
    name: Callable[[int], str] = lambda k: f"lane-{k}",
    times: bool = True,
) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return predictions and truth. All scenes are equal, but later ones are predicted less well.

    The last line of a scene is predicted by track ``early`` in its first half and by ``late`` in the second half. The
    first line is missed in frame 1. There is a false track ``ghost``.
    """
    here, there = {}, {}
    tracks: tuple[list[str], list[str]] = ([], [])
    for s in range(scenes):
        for k in range(frames):
            true = [np.array([[-3.0, 4.0 * i], [3.0, 4.0 * i]]) for i in range(lines)]
            names = [name(i) for i in range(lines)]
            found = [
                (line + np.array([0, 0.02 * s]), "early" if i == lines - 1 and k < frames // 2 else f"p{i}")
                for i, line in enumerate(true)
                if (i, k) != (0, 1)
            ]
            found = [(line, "late" if track == f"p{lines - 1}" else track) for line, track in found]
            found.append((np.array([[-3.0, -9.0], [3.0, -9.0]]), "ghost"))
            token = f"s{s}-{k}"
            there[token] = {"divider": true}
            here[token] = {"divider": [line for line, _ in found]}
            tracks[0].extend(track for _, track in found)
            tracks[1].extend(names)
    sides = []
    for content, track in zip((here, there), tracks, strict=True):
        side = mg.MapFrames.of(content)
        of = tuple(token.split("-")[0] for token in side.tokens)
        stamps = np.array([1_700_000_000 + 10 * k for k in range(len(side))]) if times else None
        sides.append(replace(side, track=np.array(track), scenes=of, timestamps=stamps))
    return replace(sides[0].with_confidence(0.9), name="predictions"), replace(sides[1], name="truth")


def tracked_results(predictions: mg.MapFrames, truth: mg.MapFrames) -> mg.Results:
    settings = mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}}, classes=["divider"])
    return mg.evaluate(predictions, truth, settings, metrics=["pld", "track_pld"])


@cache
def many_tracks() -> mg.Results:
    """Return results with 500 true tracks whose names are long and odd."""
    return tracked_results(*tracked_world(scenes=1, frames=2, lines=500, name=lambda k: f"{k}{EVIL}"))
