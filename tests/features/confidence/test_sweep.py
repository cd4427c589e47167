"""Tests that values over the threshold are those of thresholded predictions that are evaluated one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared_data import DATA, needs_data

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.confidence.solved import solve


@given(st.data())
def test_every_prefix_is_assigned_optimally(data: st.DataObject) -> None:
    from scipy.optimize import linear_sum_assignment

    from mapgauge.features.confidence.kernels import assign_by_confidence

    rows, columns = data.draw(st.integers(0, 7)), data.draw(st.integers(0, 5))
    few = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)
    distance = np.array(data.draw(st.lists(few, min_size=rows * columns, max_size=rows * columns)))
    weight = np.array(data.draw(st.lists(few, min_size=rows + columns, max_size=rows + columns)))
    order = np.array(data.draw(st.permutations(range(rows)))[:rows] + list(range(rows, rows + columns)), np.int64)
    power = data.draw(st.sampled_from([1.0, 2.0]))
    growth, hits, assigned = np.zeros(rows + columns), np.zeros(rows + columns, np.int64), np.zeros(rows + columns)
    bounds = np.array([[0, rows, rows + columns]])
    assign_by_confidence(bounds, order, weight, distance, power, 0.5, growth, hits, assigned)
    pairs = distance.reshape(rows, columns)
    saving = np.minimum.outer(weight[:rows], weight[rows:]) * (1 - pairs**power)
    total = 0.0
    for k in range(rows):
        total += growth[order[k]]
        part = saving[order[: k + 1]]
        assert total == pytest.approx(part[linear_sum_assignment(part, maximize=True)].sum(), abs=1e-12)
    matched = [d for d in assigned[:rows] if not np.isnan(d)]
    assert len(matched) <= columns
    assert hits[:rows].sum() == sum(d <= 0.5 for d in matched)


ELEVEN = {name: {"interpolation": "11-point"} for name in ("ap_chamfer", "ap_frechet")}


@pytest.mark.parametrize("settings", [{}, {"order": 2.0}, {"settings": ELEVEN}])
def test_the_sweep_agrees_with_thresholded_predictions(settings: dict[str, object]) -> None:
    protocol = mg.protocol("paper-60x30", **settings)
    predictions, truth = demo_world(6, seed=3, predictions=30)
    assert predictions.confidence is not None
    predictions = predictions.with_confidence(np.round(predictions.confidence, 2))  # with ties
    found = mg.confidence(mg.evaluate(predictions, truth, protocol), samples=1)
    thresholds = [0.0, 0.05, 0.3, 0.31, 0.77, 0.98]
    rows = {name: found.rows(name, thresholds) for name in found.classes}
    for k, threshold in enumerate(thresholds):
        kept = predictions.filter(threshold)
        dropped, rounded = mg.evaluate(kept, truth, protocol), mg.evaluate(kept.with_confidence(1), truth, protocol)
        for name, of_class in rows.items():
            row, one = of_class[k], dropped.classes[name]
            assert row["kept"] == one["predictions"]
            assert row["dropped"] == pytest.approx(one["pld"], rel=1e-12)
            assert row["rounded"] == pytest.approx(rounded.classes[name]["pld"], rel=1e-12)
            averages = {key: one[key] for key in one if key.startswith("ap_")}
            assert {key: row[key] for key in averages} == pytest.approx(averages, abs=1e-12)
            matches = [
                match
                for token in truth.tokens
                for match in rounded.assignment(token).matches
                if match.class_name == name and match.distance <= 0.5
            ]
            hits, true = len(matches), one["truth"]
            assert true is not None
            assert row["recall"] == pytest.approx(hits / true)
            assert row["precision"] == (pytest.approx(hits / row["kept"]) if row["kept"] else None)
            assert row["f1"] == pytest.approx(2 * hits / (row["kept"] + true))


@pytest.mark.parametrize("order", [1.0, 2.0])
def test_savings_with_other_confidences_are_those_of_an_evaluation(order: float) -> None:
    predictions, truth = demo_world(20, predictions=30)
    protocol = mg.protocol("paper-60x30", order=order)
    solved = solve(mg.evaluate(predictions, truth, protocol, metrics=["pld"]), 1.5, 0.5)
    assert predictions.confidence is not None
    other = predictions.with_confidence(1 - predictions.confidence)
    sums = mg.evaluate(other, truth, protocol, metrics=["pld"]).scores.sums["pld"][0].sum(axis=(0, 1))
    mass = solved.true_mass.sum() + 0.5 * (1 - solved.confidence).sum()
    assert mass == pytest.approx(sums[-1])
    assert mass - solved.with_confidences(1 - solved.confidence).sum() == pytest.approx(sums[:-1].sum(), rel=1e-12)


def test_the_order_of_the_file_and_threads_do_not_matter(rng: np.random.Generator) -> None:
    predictions, truth = demo_world(60, predictions=20)
    assert predictions.confidence is not None
    predictions = predictions.with_confidence(np.round(predictions.confidence, 1))  # with ties
    turned = list(range(60))[::-1]
    mixed = [
        side.keep(np.lexsort((rng.random(len(side.frame)), side.frame))).at(turned) for side in (predictions, truth)
    ]
    one = mg.confidence(mg.evaluate(predictions, truth), workers=1)
    other = mg.confidence(mg.evaluate(mixed[0], mixed[1]), workers=3)
    assert one.to_dict() == other.to_dict()


@needs_data("sample_60x30")
def test_the_numbers_of_the_sample() -> None:
    folder = DATA / "sample_60x30"
    results = mg.evaluate(folder / "submission_vector.json", folder / "tmp_gts_av2_60x30.pkl", metrics=["pld"])
    found = mg.confidence(results, samples=10)
    rows = found.rows("divider", [0.0, 0.3, 0.4, 0.5])
    assert [round(row["rounded"], 4) for row in rows[1:]] == [0.7100, 0.7085, 0.7123]
    assert (round(rows[0]["dropped"], 4), round(rows[2]["dropped"], 4)) == (0.7730, 0.7335)
