"""Bootstrap samples of scenes, or of frames.

Frames of a scene look alike, so whole scenes are drawn, with replacement and as many as there are. This is the
bootstrap of clusters (C. A. Field and A. H. Welsh, "Bootstrapping clustered data", Journal of the Royal Statistical
Society B 69, 2007). A sample is written as how often it has each scene, so the sums of a sample are weighted sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput
from mapgauge.typing import Floats, Indices

if TYPE_CHECKING:
    from mapgauge.results.results import Results

SAMPLES = 1000  # draws of a bootstrap, unless another number is given
Kind: TypeAlias = Literal["scene", "frame"]


def check_draws(samples: int, level: float, seed: int) -> None:
    """Refuse settings of a bootstrap that are out of range."""
    if not isinstance(samples, int) or samples < 1:
        raise InvalidInput(f"samples must be at least 1, a whole number, got {samples!r}")
    if not isinstance(level, float | int) or not 0 < level < 1:
        raise InvalidInput(f"level must be between 0 and 1, got {level!r}")
    check_whole("seed", seed, least=0)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Bootstrap samples of scenes, or of frames if the scenes are not known."""

    kind: Kind
    unit_of_frame: Indices  # (frames,): the scene or frame that each frame belongs to
    weights: Floats  # (samples, units): how often each unit was drawn

    @property
    def count(self) -> int:
        """Number of scenes or frames."""
        return int(self.weights.shape[1])


def draw_units(keys: Sequence[str], samples: int, rng: np.random.Generator) -> tuple[Indices, Floats]:
    """Return the unit of each key and how often each unit was drawn, ``(samples, units)``.

    Units are numbered in the order of their names, so that the order of the keys does not matter.
    """
    unit_of_key, count = _numbered(keys)
    return unit_of_key, _multinomial(count, samples, rng)


# A command draws the same units for values, for causes and for families of causes.
@lru_cache(maxsize=1)
def _weights(count: int, samples: int, seed: int) -> Floats:
    """Return how often each of some units is drawn, ``(samples, units)``."""
    drawn = _multinomial(count, samples, np.random.default_rng(seed))
    drawn.flags.writeable = False  # it is shared
    return drawn


def _multinomial(count: int, samples: int, rng: np.random.Generator) -> Floats:
    if not count:
        return np.zeros((samples, 0))
    return rng.multinomial(count, np.full(count, 1 / count), samples).astype(np.float64)


def _numbered(keys: Sequence[str]) -> tuple[Indices, int]:
    """Return the unit of each key, in the order of their names, and the number of units."""
    units = {unit: i for i, unit in enumerate(sorted(set(keys)))}
    return np.array([units[key] for key in keys], np.int64), len(units)


def draw(methods: Sequence["Results"], samples: int, seed: int) -> Drawn:
    """Draw scenes, or frames if the scenes are not known. The methods must have the same tokens in the same order."""
    # Scenes in the data of any method come before scenes in the tokens.
    known = (method.rows.scenes for method in methods if method.rows.scenes is not None)
    scenes = next(known, None) or methods[0].scenes
    kind: Kind = "scene"
    if scenes is None:
        kind = "frame"
        scenes = methods[0].tokens
    unit_of_frame, count = _numbered(scenes)
    return Drawn(kind, unit_of_frame, _weights(count, samples, seed))


def added_by_unit(rows: Floats, unit_of_frame: Indices, units: int) -> Floats:
    """Return the sums of the rows of each unit, ``(units, ...)``."""
    sums = np.zeros((units, *rows.shape[1:]))
    np.add.at(sums, unit_of_frame, rows)
    return sums


def drawn_sums(weights: Floats, sums: Floats) -> Floats:
    """Return the sums of each sample. Unlike ``@``, the order of additions does not depend on the number of threads."""
    drawn: Floats = np.einsum("su,uc->sc", weights, sums)
    return drawn
