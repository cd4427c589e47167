"""T-PLD on small scenes: one true line in 30 frames, and a prediction 8 cm beside it with different track ids.

The table shows what a switch of ids costs, whenever it happens, and what gaps cost.
"""

from collections.abc import Callable

import mapgauge as mg

FRAMES = 30
CUTOFF = 1.5
OFFSET = CUTOFF / 19  # normalised SOSPA of two parallel lines at this distance is 0.1
CONFIDENCE = 0.9


def line(y: float) -> list[list[float]]:
    """Return a line along x."""
    return [[float(x), y] for x in range(5)]


def score(id_of: Callable[[int], str | None]) -> mg.TrackPldResult:
    """Return T-PLD of a prediction whose id in each frame is given; None where there is no prediction."""
    ids = [id_of(k) for k in range(FRAMES)]
    predictions = [{} if name is None else {name: line(OFFSET)} for name in ids]
    confidence = [dict.fromkeys(frame, CONFIDENCE) for frame in predictions]
    truth = [{"line": line(0.0)}] * FRAMES
    return mg.track_pld(predictions, truth, confidence=confidence, switch_cost=0.5, cutoff=CUTOFF)


CASES: dict[str, Callable[[int], str | None]] = {
    "one id": lambda k: "a",
    "a switch at frame 1": lambda k: "a" if k < 1 else "b",
    "a switch at frame 15": lambda k: "a" if k < 15 else "b",
    "a switch at frame 29": lambda k: "a" if k < 29 else "b",
    "another id in frame 15 only": lambda k: "b" if k == 15 else "a",
    "a gap of five frames, the same id": lambda k: None if 10 <= k < 15 else "a",
    "a gap of five frames, then another id": lambda k: None if 10 <= k < 15 else "a" if k < 10 else "b",
    "five frames late": lambda k: None if k < 5 else "a",
    "a new id in every frame": str,
}


def main() -> None:
    """Print the table."""
    print(f"{'case':40}   PLD  T-PLD  switches  fragmentations")
    for name, id_of in CASES.items():
        found = score(id_of)
        numbers = f"{found.pld:.3f}  {found.normalised:.3f}  {found.switch_count:8}  {found.fragmentations:14}"
        print(f"{name:40} {numbers}")


if __name__ == "__main__":
    main()
