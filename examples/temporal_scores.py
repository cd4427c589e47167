"""C-mAP, mAS and PLD on small scenes: what the scores over time see, and what they do not.

A vehicle stands beside two true lines for 30 frames. The cases differ in the ids of the predictions, in the frames in
which they exist, and in whether they stay in place.
"""

from collections.abc import Callable

import numpy as np

import mapgauge as mg

FRAMES = 30
LINES = (0.0, 5.0)  # positions of the true lines across the road, metres
# For a frame and a line: the id of the prediction, or None if there is none.
CASES: dict[str, Callable[[int, int], str | None]] = {
    "perfect ids": lambda frame, line: f"{line}",
    "ids switch at frame 1": lambda frame, line: f"{line}{frame >= 1}",
    "ids switch at frame 15": lambda frame, line: f"{line}{frame >= 15}",
    "ids switch at frame 29": lambda frame, line: f"{line}{frame >= 29}",
    "new ids in every frame": lambda frame, line: f"{line}-{frame}",
    "the two ids swap in every frame": lambda frame, line: f"{(line + frame) % 2}",
    "one id for both lines": lambda frame, line: "0",
    "every second frame is missing": lambda frame, line: None if frame % 2 else f"{line}",
}
JITTER = 0.4  # metres to each side, in an additional case


def frames_of(ids: Callable[[int, int], str | None], jitter: float = 0.0) -> mg.MapFrames:
    """Return the scene with the lines that have an id. They jump from side to side by ``jitter`` metres."""
    rows = [(k, y + jitter * (-1) ** k, ids(k, i)) for k in range(FRAMES) for i, y in enumerate(LINES)]
    kept = [(k, y, name) for k, y, name in rows if name is not None]
    return mg.MapFrames(
        tuple(f"{k:02d}" for k in range(FRAMES)),
        ("divider",),
        np.array([k for k, _, _ in kept]),
        np.zeros(len(kept), np.int64),
        mg.Polylines.of([[[-20.0, y], [20.0, y]] for _, y, _ in kept]),
        track=np.array([name for _, _, name in kept]),
        scenes=("scene",) * FRAMES,
        timestamps=np.arange(FRAMES),
        poses=np.array([np.eye(4)] * FRAMES),
        forward="x",
    )


def main() -> None:
    """Print a row for each case."""
    truth = frames_of(lambda frame, line: f"{line}")
    protocol = mg.protocol(
        "maptracker-c-60x30", name="both", classes=["divider"], truth_count=None, cutoffs=[1.5], intervals=[2]
    )
    print(f"{'':32}{'Chamfer-mAP':>12}{'C-mAP':>8}{'mAS':>8}{'PLD':>8}")
    cases = {name: frames_of(ids) for name, ids in CASES.items()}
    cases[f"lines jitter by {JITTER:g} m"] = frames_of(CASES["perfect ids"], JITTER)
    for name, predictions in cases.items():
        # Confidences fall with time, so that AP does not depend on the order of equal ones.
        sure = 0.99 - 0.001 * np.arange(len(predictions.polylines))
        results = mg.evaluate(predictions.with_confidence(sure), truth, protocol)
        values = [results.mean[key] for key in ("ap_chamfer", "c_map", "mas", "pld")]
        print(f"{name:32}{values[0]:12.3f}{values[1]:8.3f}{values[2]:8.3f}{values[3]:8.3f}")


if __name__ == "__main__":
    main()
