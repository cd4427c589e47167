"""``PldResult``: its values by hand, and how results pool."""

import math
from typing import Any

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.metrics.pld import PLD, normalised_pld
from mapgauge.plugin import SumRows

PROTOCOL = mg.protocol("paper-60x30")
assert isinstance(PLD.rows, SumRows)
ROWS = PLD.rows


def result(*, order: float = 1.0, cutoff: float = 1.5) -> mg.PldResult:
    """The parts add up to 2, the mass is 4."""
    return mg.PldResult(parts=mg.Parts(0.5, 0.25, 0.125, 1.0, 0.125), mass=4.0, cutoff=cutoff, order=order)


def test_shares_are_sums_of_parts() -> None:
    """The normalised value is 2 * 2 / (4 + 2), so a part has a share of a third of its size."""
    it = result()
    assert it.value == 2
    assert it.normalised == 2 / 3
    assert it.normalised_parts == pytest.approx([0.5 / 3, 0.25 / 3, 0.125 / 3, 1 / 3, 0.125 / 3])
    assert it.localisation == pytest.approx(0.5 / 3)
    assert it.detection == pytest.approx(1.5 / 3)
    assert it.localisation_by_instances == pytest.approx(0.75 / 3)
    assert it.detection_by_instances == pytest.approx(1.25 / 3)


def test_the_row_of_the_table_has_the_same_shares() -> None:
    """A part has a share of a third of its size, as above. The order of the values is that of tables."""
    values = ROWS.values(result().sums, PROTOCOL)
    expected = {
        "pld": 2 / 3,
        "localisation": 0.5 / 3,
        "detection": 1.5 / 3,
        "matched_points": 0.5 / 3,
        "unmatched_points": 0.25 / 3,
        "confidence": 0.125 / 3,
        "missed": 1 / 3,
        "false": 0.125 / 3,
        "localisation_by_instances": 0.75 / 3,
        "detection_by_instances": 1.25 / 3,
    }
    assert list(values) == list(expected)
    assert {key: float(value) for key, value in values.items()} == pytest.approx(expected)
    assert [value.key for value in PLD.values] == list(expected)
    several = ROWS.values(np.stack([result().sums, 0 * result().sums, result().sums]), PROTOCOL)
    assert {key: value.tolist() for key, value in several.items()} == {
        key: [value, 0, value] for key, value in values.items()
    }
    assert list(ROWS.values(result().sums, PROTOCOL.replace(order=2.0))) == ["pld"]
    assert PLD.stated(PROTOCOL.replace(cutoffs=(0.5, 1.5), order=2.0)) == "cutoff 1.5 m, order 2"
    assert ROWS.frame_mean is not None
    assert ROWS.frame_mean.of(result().sums, PROTOCOL) == 2 / 3
    assert ROWS.frame_mean.of(result().sums, PROTOCOL.replace(order=2.0)) == result(order=2).normalised


def test_order_2_takes_roots_and_has_no_shares() -> None:
    it = result(order=2)
    assert it.value == pytest.approx(math.sqrt(2))
    assert it.normalised == pytest.approx(2 * math.sqrt(2) / (2 + math.sqrt(2)))
    for name in ("normalised_parts", "localisation", "detection", "localisation_by_instances"):
        with pytest.raises(mg.InvalidInput, match=r"order 1 only, .*order 2"):
            getattr(it, name)


def test_a_value_above_1_by_rounding_is_1() -> None:
    """The mass is two bits below the sum of the parts."""
    mass = 1 - 2.0**-52
    sums = np.array([1.0, 0.0, 0.0, 0.0, 0.0, mass])
    assert normalised_pld(sums, 1.0) > 1
    assert mg.PldResult(parts=mg.Parts(1.0, 0.0, 0.0, 0.0, 0.0), mass=mass, cutoff=1.5).normalised == 1
    assert ROWS.values(sums, PROTOCOL)["pld"] == 1


def test_results_pool_by_sums() -> None:
    one, other = result(), mg.PldResult(parts=mg.Parts(1.0, 2.0, 3.0, 4.0, 5.0), mass=20.0, cutoff=1.5)
    both = one + other
    assert both.parts == (1.5, 2.25, 3.125, 5.0, 5.125)
    assert (both.mass, both.cutoff, both.order, both.assignment) == (24.0, 1.5, 1.0, None)
    assert sum([one, other]) == both
    assert 0 + one is one


@pytest.mark.parametrize("other", [1, 0.5, "0", None])
def test_a_result_pools_with_results_only(other: Any) -> None:
    with pytest.raises(TypeError):
        _ = result() + other
    with pytest.raises(TypeError):
        _ = other + result()


@pytest.mark.parametrize("other", [result(order=2), result(cutoff=3)])
def test_results_of_other_settings_do_not_pool(other: mg.PldResult) -> None:
    with pytest.raises(mg.InvalidInput) as caught:
        _ = result() + other
    assert str(caught.value) == (
        "cannot pool PLD of cutoff 1.5, order 1 " + f"with PLD of cutoff {other.cutoff:g}, order {other.order:g}"
    )


def test_pld_of_three_lines_by_hand() -> None:
    """A pair 0.3 m apart, a missed line and a false line.

    SOSPA of the pair is 2 points x 0.3 m = 0.6 m, of at most 3 m: 2 * 0.6 / (3 + 0.6) = 1/3. The smaller confidence is
    0.5, so the pair costs 1/6, and a quarter for the difference of the confidences.
    """
    predictions = [[[50, 0], [51, 0]], [[0, 0.3], [1, 0.3]]]
    truth = [[[0, 0], [1, 0]], [[90, 0], [91, 0]]]
    it = mg.pld(predictions, truth, confidence=[0.25, 0.5])
    assert it.parts == pytest.approx([1 / 6, 0, 0.25, 0.5, 0.125])
    assert it.mass == (0.25 + 0.5 + 1 + 1) / 2
    assert it.assignment is not None
    assert it.assignment.tolist() == [[1, 0]]
    x = mg.MapFrames.of({"a": {"divider": predictions}}, confidence={"a": {"divider": [0.25, 0.5]}})
    y = mg.MapFrames.of({"a": {"divider": truth}})
    protocol = PROTOCOL.replace(
        spacing=None,
        classes=("boundary", "divider"),
        settings={"ap_chamfer": None, "ap_frechet": None},
        cutoffs=(1.5, 1e-3),
    )
    rows = mg.evaluate(x, y, protocol).scores.sums["pld"]
    assert rows[0, 0].tolist() == [[0] * 6, [*it.parts, it.mass]]
    assert rows[1, 0, 1] == pytest.approx([0, 0, 0, 1, 0.375, 1.375])
    weighted = mg.pld(predictions, truth, confidence=[0.25, 0.5], truth_confidence=[0.5, 0.0])
    assert weighted.parts == pytest.approx([1 / 6, 0, 0, 0, 0.125])
    assert mg.pld([], []).parts == (0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("sides", "settings", "message"),
    [
        (([5], []), {}, "predictions[0] has shape (), expected (n, dimension)"),
        (([], [5]), {}, "truth[0] has shape (), expected (n, dimension)"),
        (([], []), {"confidence": [1]}, "confidence must be 0 numbers, one per prediction, got shape (1,)"),
        (([], []), {"truth_confidence": [1]}, "truth_confidence must be 0 numbers, one per truth, got shape (1,)"),
    ],
)
def test_errors_name_the_argument(sides: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(mg.InvalidInput) as caught:
        mg.pld(*sides, **settings)
    assert str(caught.value) == message
