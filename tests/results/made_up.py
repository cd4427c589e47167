"""Results of made-up scenes: rows are drawn at random, without geometry. They cost little, so thousands can be made.

A scene has a size and a difficulty, which both methods share. The errors of a method are independent of the other's.
Both methods have the same distribution, so they are equal, and the values of an endless data set are the true values.

In the hard world, scenes differ much more: some are easy and some hopeless, with little between, and sizes follow an
exponential distribution. AP is 0.71 there, and 0.61 in the other.
"""

from collections.abc import Sequence

import numpy as np

import mapgauge as mg
from mapgauge.metrics.causes import CAUSES
from mapgauge.results.frame_tables import MemoryRows
from mapgauge.results.results import totals_of
from mapgauge.results.values import InputRecords
from mapgauge.scoring.scores import Scores

PROTOCOL = mg.protocol(
    "paper-60x30",
    classes=("divider", "boundary"),
    settings={"ap_chamfer": {"thresholds": (1.0,)}, "ap_frechet": None},
    cutoffs=(1.5,),
)
METRICS = ("pld", "ap_chamfer")
CLASSES = 2


def made_up(
    rng: np.random.Generator,
    scenes: int,
    present: Sequence[float] = (1.0, 1.0),
    *,
    hard: bool = False,
    causes: bool = False,
    better: float = 0.0,
) -> tuple[mg.Results, mg.Results]:
    """Return two methods on the same made-up scenes, one frame each. They are equal, unless one is better.

    Args:
        rng: Where the numbers come from.
        scenes: Number of scenes.
        present: The share of scenes that have instances of each class.
        hard: Whether scenes differ much.
        causes: Whether PLD is split by cause, at random.
        better: How much more skill the second method has in every scene.
    """
    true, skill = _scenes(rng, scenes, present, hard=hard)
    first = _method(rng, true, skill, causes=causes)
    return first, _method(rng, true, skill + better, causes=causes)


def made_up_runs(
    rng: np.random.Generator, scenes: int, counts: Sequence[int], *, seeds: float, hard: bool = False
) -> list[list[mg.Results]]:
    """Return the runs of equal methods on the same made-up scenes.

    Args:
        rng: Where the numbers come from.
        scenes: Number of scenes.
        counts: The number of runs of each method.
        seeds: The standard deviation of the skill of runs.
        hard: Whether scenes differ much.
    """
    true, skill = _scenes(rng, scenes, (1.0, 1.0), hard=hard)
    return [[_method(rng, true, skill + rng.normal(0, seeds)) for _ in range(count)] for count in counts]


def _scenes(
    rng: np.random.Generator, scenes: int, present: Sequence[float], *, hard: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many true instances scenes have, by class, and the skill of methods in them."""
    if hard:
        true = 3 + rng.poisson(rng.gamma(1.0, 8.0, (scenes, CLASSES)))
        skill = np.clip(rng.beta(0.9, 0.3, (scenes, 1)), 0.02, 0.99)
    else:
        true = 3 + rng.poisson(rng.gamma(2.0, 4.0, (scenes, CLASSES)))  # a few scenes are large
        skill = np.clip(rng.normal(0.65, 0.15, (scenes, 1)), 0.1, 0.95)
    if min(present) < 1:
        true[rng.random(true.shape) >= present] = 0
    return true, skill


def _method(rng: np.random.Generator, true: np.ndarray, skill: np.ndarray, *, causes: bool = False) -> mg.Results:
    scenes = len(true)
    own = np.clip(skill + rng.normal(0, 0.08, true.shape), 0.05, 0.98)  # the skill of this method in each scene
    false = rng.poisson(0.5 * true * (1.2 - own))
    hits = rng.binomial(true, own)
    predicted = hits + false
    starts = np.repeat(np.arange(scenes * CLASSES), predicted.ravel())
    place = np.arange(len(starts)) - np.repeat(predicted.ravel().cumsum() - predicted.ravel(), predicted.ravel())
    hit = place < hits.ravel()[starts]
    confidence = np.round(np.clip(rng.normal(np.where(hit, 0.7, 0.35), 0.2), 0.01, 0.99), 3)
    mass = 0.5 * (true + np.bincount(starts, confidence, scenes * CLASSES).reshape(true.shape))
    sums = np.zeros((1, scenes, CLASSES, 6))
    sums[0, :, :, 0] = rng.uniform(0.1, 0.3, true.shape) * hits
    sums[0, :, :, 3] = 0.5 * (true - hits)
    sums[0, :, :, 4] = 0.5 * np.bincount(starts[~hit], confidence[~hit], scenes * CLASSES).reshape(true.shape)
    sums[0, :, :, 5] = mass
    of_metrics, without = {"pld": sums}, {"pld": np.zeros((0, scenes, CLASSES, 6))}
    metrics: tuple[str, ...] = METRICS
    if causes:
        shares = rng.dirichlet(np.full(len(CAUSES), 0.3), true.shape)  # most costs of a scene have few causes
        split = np.concatenate([sums[0, :, :, :5].sum(axis=2, keepdims=True) * shares, mass[..., None]], axis=2)
        of_metrics["causes"] = split[None]
        without["causes"] = np.zeros((0, scenes, CLASSES, len(CAUSES) + 1))
        metrics = (*METRICS, "causes")
    rows = Scores(
        predicted=predicted.astype(np.int64),
        true=true.astype(np.int64),
        confidence=confidence.astype(np.float64),
        sums=of_metrics,
        rings=without,
        hits={"ap_chamfer": hit.astype(np.uint16)},
    )
    side = mg.Input("", "", scenes, {}, "")
    tokens = tuple(f"scene {k:06d}" for k in range(scenes))
    kept = MemoryRows(tokens, tokens, rows)
    return mg.Results(
        protocol=PROTOCOL,
        metrics=metrics,
        class_names=("divider", "boundary"),
        ranges=(),
        records=InputRecords.known(side, side),
        frames_missing=0,
        frames_ignored=0,
        findings=(),
        version="",
        totals_from=totals_of(kept, metrics, PROTOCOL),
        rows=kept,
    )
