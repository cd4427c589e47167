"""Table 1 of the paper: PLD distinguishes cases that Chamfer-AP and Fréchet-AP cannot.

Each case has one prediction and one true line. All confidences are 1, the cutoff is 0.5 m, the order is 1, and there is
no resampling. The paper does not print the coordinates of its figure. These geometries have the structure that its
numbers imply.
"""

from dataclasses import dataclass

import mapgauge as mg

Polyline = list[tuple[float, float]]


@dataclass(frozen=True)
class Case:
    """A row of the table: two polylines, and the values in the paper."""

    name: str
    prediction: Polyline
    truth: Polyline
    pld: float
    localisation: float
    detection: float
    chamfer_hits: bool
    frechet_hits: bool


TRUTH: Polyline = [(0, 0), (1, 0), (2, 0)]
SPIKES: Polyline = [(0, 0), (0, 0.6), (0.5, 0.6), (1, 0), (1, 0.6), (1.5, 0.6), (2, 0), (2, 0.6), (2.5, 0.6)]
OFFSETS: Polyline = [(0, 0.1), (1, 0.1), (2, 0.2)]

CASES = [
    Case("FP granularity (i)", TRUTH, TRUTH, 0, 0, 0, True, True),
    Case("FP granularity (ii)", SPIKES, TRUTH, 4 / 5, 0, 4 / 5, True, False),
    Case("TP granularity (i)", [(x, 1.0) for x, _ in TRUTH], TRUTH, 1, 0, 1, False, False),
    Case("TP granularity (ii)", [(0, 0.1), (1, 0.1), (2, 2)], TRUTH, 7 / 9, 2 / 9, 5 / 9, False, False),
    Case("order (i)", OFFSETS, TRUTH, 16 / 27, 16 / 27, 0, True, True),
    Case("order (ii)", [OFFSETS[0], OFFSETS[2], OFFSETS[1]], TRUTH, 7 / 9, 2 / 9, 5 / 9, True, False),
]


def main() -> None:
    """Print the table."""
    print("Table 1 of the paper: cutoff 0.5 m, order 1; AP at a threshold of 0.5 m")
    print(f"{'':22}{'PLD':>7}{'Loc':>7}{'Det':>7}   {'Loc':>7}{'Det':>7}   {'CD-AP':>6}{'FD-AP':>6}")
    print(f"{'':29}{'by points':>14}   {'by instances':>14}")
    for case in CASES:
        result = mg.pld([case.prediction], [case.truth], cutoff=0.5)
        chamfer, frechet = (f(case.prediction, case.truth) <= 0.5 for f in (mg.chamfer, mg.frechet))
        by_points = f"{result.localisation:7.3f}{result.detection:7.3f}"
        by_instances = f"{result.localisation_by_instances:7.3f}{result.detection_by_instances:7.3f}"
        print(f"{case.name:22}{result.normalised:7.3f}{by_points}   {by_instances}   {chamfer:6.1f}{frechet:6.1f}")


if __name__ == "__main__":
    main()
