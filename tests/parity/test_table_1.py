"""Table 1 of the paper, to the printed digit, in both groupings of the parts."""

from fractions import Fraction

import pytest
from examples.table_1 import CASES

import mapgauge as mg


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_table_1(case) -> None:  # type: ignore[no-untyped-def]
    result = mg.pld([case.prediction], [case.truth], cutoff=0.5)
    assert f"{result.normalised:.3f}" == f"{case.pld:.3f}"
    assert f"{result.localisation:.3f}" == f"{case.localisation:.3f}"
    assert f"{result.detection:.3f}" == f"{case.detection:.3f}"
    assert (mg.chamfer(case.prediction, case.truth) <= 0.5) == case.chamfer_hits
    assert (mg.frechet(case.prediction, case.truth) <= 0.5) == case.frechet_hits


# The paper's printed equations for e_loc and e_det group by instances. Where points are unmatched this gives other
# numbers.
BY_INSTANCES = {
    "FP granularity (i)": (Fraction(0), Fraction(0)),
    "FP granularity (ii)": (Fraction(4, 5), Fraction(0)),
    "TP granularity (i)": (Fraction(0), Fraction(1)),
    "TP granularity (ii)": (Fraction(7, 9), Fraction(0)),
    "order (i)": (Fraction(16, 27), Fraction(0)),
    "order (ii)": (Fraction(7, 9), Fraction(0)),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_table_1_by_instances(case) -> None:  # type: ignore[no-untyped-def]
    result = mg.pld([case.prediction], [case.truth], cutoff=0.5)
    localisation, detection = BY_INSTANCES[case.name]
    assert result.localisation_by_instances == pytest.approx(float(localisation), abs=1e-12)
    assert result.detection_by_instances == pytest.approx(float(detection), abs=1e-12)


def test_figure_1_all_hits_for_chamfer_ap_yet_far_from_perfect() -> None:
    """Truth shifted diagonally by 1 m, one instance scrambled: each Chamfer distance is within 1 m, PLD sees both."""
    truth = [[[x, y] for x in range(0, 20, 2)] for y in (0, 8, 16)]
    shift = 1 / 2**0.5
    predictions = [[[x + shift, y + shift] for x, y in line] for line in truth]
    predictions[0] = [predictions[0][i] for i in (0, 5, 2, 7, 4, 1, 6, 3, 8, 9)]
    assert all(mg.chamfer(p, t) <= 1.0 + 1e-12 for p, t in zip(predictions, truth, strict=True))
    result = mg.pld(predictions, truth)
    assert result.normalised > 0.7
    assert result.detection > 0  # the scrambled one
    assert mg.pld(predictions[1:], truth[1:]).detection == 0
