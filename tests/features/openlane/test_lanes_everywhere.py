"""Scores of lane graphs on every engine, in files of results, in accumulators and in comparisons."""

from pathlib import Path

import numpy as np
import pytest
from tests.lane_worlds import both, world
from tests.streaming.worlds import same, write_folder

import mapgauge as mg

V11, V21 = "openlanev2-v1.1", "openlanev2-v2.1"


@pytest.mark.parametrize("name", [V11, "openlanev2-v1.0-far", V21])
def test_order_workers_chunks_and_batches_do_not_change_a_bit(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    predictions, truth = both(world(8, name.removeprefix("openlanev2-v")[0] + ".1", frames=12))
    expected = mg.evaluate(predictions, truth, name, workers=1)
    assert all(value is not None for value in expected.mean.values())
    backwards = truth.at(list(range(len(truth)))[::-1])
    assert mg.evaluate(predictions, backwards, name, workers=3).classes == expected.classes
    x, y = write_folder(predictions, tmp_path / "x"), write_folder(truth, tmp_path / "y")
    assert same(mg.evaluate(x, y, name, workers=2), expected)
    accumulator = mg.Accumulator(name)
    for some in ([0, 3, 4], [1, 2, 11, 5], [6, 7, 8, 9, 10]):
        accumulator.update(predictions.at(some), truth.at(some))
    assert accumulator.results().mean == expected.mean
    expected.save(tmp_path / "results.mg")
    assert mg.load_results(tmp_path / "results.mg").classes == expected.classes


def test_comparisons_have_intervals_of_all_scores() -> None:
    truth = both(world(8, "1.1", frames=12))
    sides = [truth[0], truth[0].with_confidence(np.linspace(0, 1, len(truth[0].polylines)))]
    results = [mg.evaluate(side, truth[1], V11) for side in sides]
    comparison = mg.compare(results, names=["a", "b"], samples=50)
    found = comparison.estimates[0]["mean"]
    assert {"det_l", "det_l_ch", "det_t", "top_ll", "top_lt", "ols", "ols_l", "f_lane"} <= set(found)
    for key in ("ols", "top_lt", "det_t"):
        assert found[key].value == results[0].mean[key]
        assert found[key].low < found[key].value < found[key].high
    assert comparison.differences["a", "b"]["mean"]["f_lane"].value == 0  # the F-score does not see confidences
