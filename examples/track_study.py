"""Which switch cost? T-PLD of simulated trackers on the demo, for several switch costs.

All trackers have the same detections of the demo. A tracker that knows the truth gives them ids. The others spoil the
ids, or leave out detections.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import mapgauge as mg
from mapgauge.demo import demo_world

COSTS = (0.1, 0.25, 0.5, 1.0)
FRAMES = 100
SCENE = 10  # frames

Tracker = Callable[[np.random.Generator, int], list[str | None]]


def true_ids(predictions: mg.MapFrames, truth: mg.MapFrames) -> np.ndarray:
    """Return the true track of each prediction, by the assignment of PLD in its frame; "" for none."""
    ids = np.full(len(predictions.polylines), "", object)
    for k in range(len(truth)):
        for label in range(len(truth.classes)):
            own, other = (np.flatnonzero((side.frame == k) & (side.label == label)) for side in (predictions, truth))
            lines = [[side.polylines[i] for i in rows.tolist()] for side, rows in ((predictions, own), (truth, other))]
            sure = predictions.confidence[own]  # type: ignore[index]
            found = mg.pld(*lines, confidence=sure, cutoff=3.0, closed="auto", directed=False)
            for i, j in found.assignment.tolist():  # type: ignore[union-attr]
                ids[own[i]] = str(truth.track[other[j]])  # type: ignore[index]
    return ids


def perfect(rng: np.random.Generator, count: int) -> list[str | None]:
    """One id."""
    return ["a"] * count


def late(rng: np.random.Generator, count: int) -> list[str | None]:
    """The first two detections are left out."""
    return [None if k < 2 else "a" for k in range(count)]


def flickering(rng: np.random.Generator, count: int) -> list[str | None]:
    """Every fifth detection is left out at random; the id stays."""
    return [None if rng.random() < 0.2 else "a" for _ in range(count)]


def fragmented(rng: np.random.Generator, count: int) -> list[str | None]:
    """The same detections are left out, and there is a new id after each gap."""
    kept = flickering(rng, count)
    ids, number = list[str | None](), 0
    for before, now in zip([None, *kept], kept, strict=False):
        number += before is None
        ids.append(None if now is None else str(number))
    return ids


def switching(rng: np.random.Generator, count: int) -> list[str | None]:
    """A new id with probability 0.2 in each frame. No detection is left out."""
    return [str(number) for number in np.cumsum(rng.random(count) < 0.2)]


def forgetful(rng: np.random.Generator, count: int) -> list[str | None]:
    """A new id in every frame."""
    return [str(k) for k in range(count)]


TRACKERS: tuple[Tracker, ...] = (perfect, late, flickering, fragmented, switching, forgetful)


def tracked(predictions: mg.MapFrames, ids: np.ndarray, tracker: Tracker, seed: int = 0) -> mg.MapFrames:
    """Return the predictions with the ids of a tracker. A detection without truth has an id of its own."""
    track = np.array([f"alone-{i}" for i in range(len(ids))], object)
    kept = np.ones(len(ids), np.bool_)
    rng = np.random.default_rng(seed)
    for name in sorted(set(ids.tolist()) - {""}):
        rows = np.flatnonzero(ids == name)
        for i, given in zip(rows.tolist(), tracker(rng, len(rows)), strict=True):
            track[i], kept[i] = f"{name}-{given}", given is not None
    return replace(predictions, track=track.astype(np.str_)).keep(kept)


def study(frames: int = FRAMES) -> dict[str, dict[float, mg.Results]]:
    """Evaluate all trackers with all switch costs."""
    predictions, truth = demo_world(frames, predictions=30)
    ids = true_ids(predictions, truth)
    found: dict[str, dict[float, mg.Results]] = {}
    for tracker in TRACKERS:
        x = tracked(predictions, ids, tracker)
        found[tracker.__name__] = {
            cost: mg.evaluate(
                x,
                truth,
                mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": cost}}),
                metrics=["pld", "track_pld"],
            )
            for cost in COSTS
        }
    return found


def main(frames: int = FRAMES) -> None:
    """Print mean T-PLD of each tracker."""
    print(f"{'tracker':12}   PLD  " + "  ".join(f"{f'g={cost:g}':>6}" for cost in COSTS))
    for name, by_cost in study(frames).items():
        first = by_cost[COSTS[0]].mean
        values = "  ".join(f"{by_cost[cost].mean['track_pld']:6.3f}" for cost in COSTS)
        print(f"{name:12} {first['pld']:.3f}  {values}")


if __name__ == "__main__":
    main()
