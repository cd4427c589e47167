"""PLD, T-PLD, C-mAP and mAS on the same small scenes: what the scores over time see, and what they do not.

Two true lines are seen for 30 frames from a vehicle that stands. Predictions lie 8 cm beside them, with confidence 0.9.
The cases differ in the ids of the predictions, and in what is missing or out of place.
"""

from collections.abc import Callable

import numpy as np

import mapgauge as mg

FRAMES = 30
LINES = (0.0, 5.0)  # positions of the true lines across the road, metres
CUTOFF = 1.5
BESIDE = CUTOFF / 19  # metres: normalised SOSPA of two parallel lines at this distance is 0.1

# For a frame and a line: the id of the prediction, or None if there is none.
Ids = Callable[[int, int], str | None]
CASES: dict[str, Ids] = {
    "perfect ids": lambda k, line: f"{line}",
    "ids switch at frame 1": lambda k, line: f"{line}{k >= 1}",
    "ids switch at frame 15": lambda k, line: f"{line}{k >= 15}",
    "ids switch at frame 29": lambda k, line: f"{line}{k >= 29}",
    "other ids in frame 15 only": lambda k, line: f"{line}{k == 15}",
    "new ids in every frame": lambda k, line: f"{line}-{k}",
    "the two ids swap in every frame": lambda k, line: f"{(line + k) % 2}",
    "one id for both lines": lambda k, line: "0",
    "five frames late": lambda k, line: None if k < 5 else f"{line}",
    "a gap of five frames, same ids": lambda k, line: None if 10 <= k < 15 else f"{line}",
    "a gap of five frames, then new ids": lambda k, line: None if 10 <= k < 15 else f"{line}{k >= 15}",
    "every second frame is missing": lambda k, line: None if k % 2 else f"{line}",
}
MOVED: dict[str, Callable[[int], float]] = {  # with perfect ids, metres across the road
    "lines jump by 0.4 m to each side": lambda k: 0.4 * (-1) ** k,
    "lines stay 2 m beside the truth": lambda k: 2.0,
}


def frames_of(ids: Ids, moved: Callable[[int], float] = lambda k: 0.0, *, beside: float = BESIDE) -> mg.MapFrames:
    """Return the scene with the lines that have an id."""
    rows = [(k, y + beside + moved(k), ids(k, i)) for k in range(FRAMES) for i, y in enumerate(LINES)]
    kept = [(k, y, name) for k, y, name in rows if name is not None]
    return mg.MapFrames(
        tokens=tuple(f"{k:02d}" for k in range(FRAMES)),
        classes=("divider",),
        frame=np.array([k for k, _, _ in kept]),
        label=np.zeros(len(kept), np.int64),
        polylines=mg.Polylines.of([[[-20.0, y], [20.0, y]] for _, y, _ in kept]),
        track=np.array([name for _, _, name in kept]),
        scenes=("scene",) * FRAMES,
        timestamps=np.arange(FRAMES),
        poses=np.array([np.eye(4)] * FRAMES),
        forward="x",
    )


def cases() -> dict[str, mg.MapFrames]:
    """Return the predictions of all cases."""
    found = {name: frames_of(ids) for name, ids in CASES.items()}
    found |= {name: frames_of(CASES["perfect ids"], moved) for name, moved in MOVED.items()}
    # Confidences fall a little with time, so that AP does not depend on the order of equal ones.
    return {
        name: frames.with_confidence(0.9 - 1e-6 * np.arange(len(frames.polylines))) for name, frames in found.items()
    }


def results_of(predictions: mg.MapFrames) -> mg.Results:
    """Evaluate one case by all scores."""
    truth = frames_of(CASES["perfect ids"], beside=0.0)
    protocol = mg.protocol(
        "maptracker-c-60x30",
        name="all scores over time",
        classes=["divider"],
        truth_count=None,
        cutoffs=[CUTOFF],
        settings={"track_pld": {"switch_cost": 0.5}, "mas": {"intervals": [2]}},
    )
    return mg.evaluate(predictions, truth, protocol, metrics=["pld", "track_pld", "c_map", "mas"])


def main() -> None:
    """Print a row for each case."""
    print(f"{'':35}  PLD  T-PLD  switches  C-mAP    mAS")
    for name, predictions in cases().items():
        values = results_of(predictions).classes["divider"]
        scores = [f"{values[key]:.3f}" for key in ("pld", "track_pld", "c_map", "mas")]
        print(f"{name:35}{scores[0]}  {scores[1]}  {values['switch_count']:8.0f}  {scores[2]}  {scores[3]}")


if __name__ == "__main__":
    main()
