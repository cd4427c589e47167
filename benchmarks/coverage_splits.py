"""Plants memory of places and of shapes, and counts how often intervals of O_loc and O_geom cover the planted values.

Run it with ``python -m benchmarks.coverage_splits``. It prints a table in GitHub markdown, which is in
``docs/how-to/splits.md``.

Each validation scene has a twin in training: the same roads, moved sideways. The less they are moved, the more often
the twin is at the same place, as in real data. A method that remembers shapes is therefore better at close frames, and
only frames with the same distances in shape can tell whether it remembers places.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from benchmarks.tables import heading, machine, row

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.splits.joint import CLOSE

SCENES, FRAMES = 60, 6
WORLDS, METHODS = 200, 2
FIRST_SEED = 1000  # the rule of the intervals was chosen on the seeds 0 to 19
PLANTED = ((0.0, 0.0), (0.3, 0.0), (0.0, 1.0), (0.3, 1.0))  # memory of places and of shapes


class World(NamedTuple):
    """Validation frames with the overlap of a training set."""

    val: mg.MapFrames
    overlap: mg.SplitOverlap
    far: np.ndarray

    @classmethod
    def of(cls, rng: np.random.Generator) -> "World":
        """Draw a world."""
        val = replace(demo_world(SCENES * FRAMES, seed=int(rng.integers(1 << 30)), predictions=0)[1], track=None)
        scenes = tuple(f"scene-{k:04}" for k in np.repeat(np.arange(SCENES), FRAMES))
        val = replace(val, scenes=scenes)
        apart = rng.uniform(0.05, 0.6, SCENES)
        elsewhere = np.repeat(rng.random(SCENES) < 0.2 + apart, FRAMES)
        train = moved(val, np.repeat(apart, FRAMES) * rng.uniform(0.7, 1.3, len(val)))
        poses = np.array(val.poses)
        poses[:, 0, 3] += np.where(elsewhere, 1e5, 2.0)
        tokens = tuple(f"train-{token}" for token in val.tokens)
        overlap = mg.splits(replace(train, tokens=tokens, poses=poses), val)
        assert overlap.place is not None
        return cls(val, overlap, overlap.place >= CLOSE)

    def results(
        self,
        places: float,
        shapes: float,
        noise: np.ndarray | float,
        far: np.ndarray | None = None,
        metrics: Sequence[str] = ("pld",),
    ) -> mg.Results:
        """Evaluate a method that is a little off everywhere, and more where it has seen nothing like it."""
        shape = self.overlap.shape.distance[:, 0]
        off = 0.08 * (1 + places * (self.far if far is None else far)) * (1 + shapes * shape) * noise
        return mg.evaluate(moved(self.val, off).with_confidence(1.0), self.val, metrics=metrics)


def moved(frames: mg.MapFrames, metres: np.ndarray) -> mg.MapFrames:
    """The frames, moved sideways by an own distance each."""
    motions = np.tile(np.eye(4), (len(frames), 1, 1))
    motions[:, 1, 3] = metres
    return replace(frames.transform(motions), poses=frames.poses, forward=frames.forward)


def planted_location(world: World, places: float, shapes: float, matched: tuple[tuple[str, ...], ...]) -> float:
    """O_loc of the matched frames without noise, if all of them were far, against all of them close."""
    rows = [world.val.index[token] for side in matched for token in side]
    close, away = (
        mean_of(world.results(places, shapes, 1.0, np.full(len(world.val), far)).of_frames(rows)) for far in (0, 1)
    )
    return away / close - 1


def mean_of(results: mg.Results) -> float:
    """The mean PLD."""
    return results.mean["pld"] or np.nan


def main() -> None:
    """Print for each planted memory what is found, and how often the intervals cover it."""
    machine("numpy", "numba")
    found: dict[tuple[float, float], list[list[float]]] = {key: [] for key in PLANTED}
    for seed in range(FIRST_SEED, FIRST_SEED + WORLDS):
        rng = np.random.default_rng(seed)
        world = World.of(rng)
        for places, shapes in PLANTED:
            exact = world.overlap.joint(world.results(places, shapes, 1.0), samples=2)
            location = planted_location(world, places, shapes, exact.matched)
            for _ in range(METHODS):
                noise = np.repeat(rng.uniform(0.7, 1.3, SCENES), FRAMES) * rng.uniform(0.9, 1.1, len(world.val))
                results = world.results(places, shapes, noise)
                close, away = (
                    mean_of(results.of_frames(np.flatnonzero(far).tolist())) for far in (~world.far, world.far)
                )
                joint = world.overlap.joint(results, samples=300)
                assert joint.location is not None
                line = [away / close - 1, location, *joint.location, exact.geometry.value, *joint.geometry]
                found[places, shapes].append(line)
    heading(
        f"{WORLDS * METHODS} draws of {SCENES} scenes",
        "planted",
        "far against close",
        "O_loc planted",
        "O_loc found",
        "covered",
        "O_geom planted",
        "O_geom found",
        "covered",
    )
    for (places, shapes), lines in found.items():
        naive, *parts = np.array(lines).T
        cells = [f"{naive.mean():.3f}"]
        for planted, value, low, high in (parts[:4], parts[4:]):
            covered = np.mean((low <= planted) & (planted <= high))
            cells += [f"{planted.mean():.3f}", f"{value.mean():.3f}", f"{covered:.1%}"]
        row(f"memory of places {places:g}, of shapes {shapes:g}", *cells)


if __name__ == "__main__":
    main()
