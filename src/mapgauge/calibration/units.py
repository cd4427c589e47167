"""The units that are drawn and split: scenes, or frames if the scenes are not known."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mapgauge.results.results import Results
from mapgauge.typing import Flags, Floats, Indices


@dataclass(frozen=True, eq=False)
class Units:
    """Scenes or frames, with bootstrap draws and two halves."""

    kind: Literal["scene", "frame"]
    count: int
    of_frame: Indices  # the unit of each frame, by sorted token
    draws: Floats  # (samples, units): how often each unit was drawn
    halves: tuple[Flags, Flags] | None  # which frames are in each half; None if there are fewer than two units

    @classmethod
    def of(cls, results: Results, samples: int, seed: int) -> "Units":
        """Return the units of results. The halves and the draws depend on the seed only, not on the order of frames."""
        scenes = results.scenes
        by_token = dict(zip(results.tokens, results.tokens if scenes is None else scenes, strict=True))
        names = {unit: k for k, unit in enumerate(sorted(set(by_token.values())))}
        of_frame = np.array([names[by_token[token]] for token in sorted(by_token)], np.int64)
        count = len(names)
        rng = np.random.default_rng(seed)
        draws = rng.multinomial(count, np.full(count, 1 / max(count, 1)), samples).astype(np.float64)
        first = np.zeros(count, np.bool_)
        first[rng.permutation(count)[: (count + 1) // 2]] = True
        halves = (first[of_frame], ~first[of_frame]) if count > 1 else None
        return cls("frame" if scenes is None else "scene", count, of_frame, draws, halves)
