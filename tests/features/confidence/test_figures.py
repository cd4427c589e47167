"""The figures of this feature have the values of the results, under the right names."""

import numpy as np
import pytest
from tests.plot.test_charts import NAMES, legend

import mapgauge as mg
from mapgauge import plot


def test_a_reliability_diagram_has_the_share_of_hits_of_each_bin() -> None:
    lines = [[[0, y], [9, y]] for y in (0, 5, 10)]
    far = [[[0, y], [9, y]] for y in (50, 60)]
    truth = mg.MapFrames.of({"a": {"divider": lines}})
    confidence = {"a": {"divider": [0.95, 0.55, 0.51, 0.59, 1.0]}}
    predictions = mg.MapFrames.of({"a": {"divider": [*lines, *far]}}, confidence=confidence)
    results = mg.evaluate(predictions, truth, mg.protocol("paper-60x30", classes=["divider"]))
    diagonal, line = plot.calibration(results, threshold=1).axes[0].get_lines()
    np.testing.assert_array_equal(np.array(diagonal.get_data()), [[0, 1], [0, 1]])
    np.testing.assert_allclose(np.array(line.get_data()), [[0.55, 0.975], [2 / 3, 1 / 2]])
    coarse = plot.calibration(results, threshold=1, bins=2).axes[0].get_lines()[1]
    np.testing.assert_allclose(np.array(coarse.get_data()), [[0.72], [3 / 5]])


def test_calibration_shows_classes_or_methods(methods: list[mg.Results]) -> None:
    shown = ["ped crossing", "divider", "boundary", "calibrated", "no band: 1 scene is too few"]
    assert sorted(legend(plot.calibration(methods[0]))) == sorted(shown)
    figure = plot.calibration(methods, names=NAMES, metric="ap_frechet")
    assert sorted(legend(figure)) == sorted([*NAMES, *shown[3:]])
    assert [axes.get_title() for axes in figure.axes] == [f"Fréchet-AP@{value} m" for value in ("1.0", "2.0", "3.0")]
    with pytest.raises(mg.InvalidInput, match=r"bins must be .*got 0"):
        plot.calibration(methods, bins=0)


def test_confidence_marks_the_best_threshold(methods: list[mg.Results]) -> None:
    found = mg.confidence(methods[0], samples=2)
    figure = plot.confidence(found)
    assert legend(figure)[:3] == ["ped crossing", "divider", "boundary"]
    rounded, dropped, mark = figure.axes[0].get_lines()[3:6]
    divider = found.classes["divider"]
    assert divider.best is not None
    assert np.asarray(mark.get_xydata()).tolist() == [[divider.thresholds["best_pld"], divider.best.value]]
    assert np.min(rounded.get_ydata()) >= divider.best.value - 1e-12
    assert np.asarray(dropped.get_ydata())[0] == pytest.approx(divider.pld.value)
    precision, recall, average = (np.asarray(line.get_ydata()) for line in figure.axes[1].get_lines()[3:6])
    row = found.rows("divider", [0.25])[0]
    assert (precision[50], recall[50], average[50]) == (row["precision"], row["recall"], row["ap_chamfer"])
    panels = [[text.get_text() for text in shown.get_texts()] for axes in figure.axes if (shown := axes.get_legend())]
    assert panels == [["rounded", "dropped"], ["precision", "recall", "Chamfer-AP"], ["calibrated"], ["calibrated"]]
    several = plot.confidence([found, mg.confidence(methods[1], samples=2)], names=NAMES)
    assert set(NAMES) <= set(legend(several))
    for wrong, message in (([], "at least one"), ([3], "expected a Confidence")):
        with pytest.raises(mg.InvalidInput, match=message):
            plot.confidence(wrong)  # type: ignore[arg-type]
    with pytest.raises(mg.InvalidInput, match="names must be"):
        plot.confidence(found, names=NAMES)
