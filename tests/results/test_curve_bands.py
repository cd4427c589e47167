"""Bands of sampling uncertainty around curves cover the true curve, and are left out where scenes are few."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.results.made_up_curves import BINS, RECALLS, covered, drawn_of, precision_at, scenes

import mapgauge as mg
from mapgauge.results.curve_bands import CurveBand, band_in_words, mean_band, precision_band


def test_bands_cover_the_true_curves_at_about_their_level(rng: np.random.Generator) -> None:
    of_precision, of_share = covered(60, 30, rng)
    # 240 and 300 points, several of them of one world: three standard errors are about 5 %.
    assert of_precision.mean() == pytest.approx(0.95, abs=0.05)
    assert of_share.mean() == pytest.approx(0.95, abs=0.05)


def test_a_band_has_the_curve_inside(rng: np.random.Generator) -> None:
    confidence, hits, unit, truth = scenes(12, rng)
    drawn = drawn_of(12, 100, rng)
    precision = precision_at(confidence, hits, truth)
    band = precision_band(confidence, hits, unit, truth, drawn, at=RECALLS, precision=precision)
    assert (band.low < precision).all()
    assert (precision <= band.high).all()
    assert (band.low >= 0).all()
    assert (band.high <= 1).all()


def test_more_scenes_have_a_narrower_band(rng: np.random.Generator) -> None:
    widths = []
    for count in (20, 500):
        confidence, hits, unit, truth = scenes(count, rng)
        precision = precision_at(confidence, hits, truth)
        drawn = drawn_of(count, 100, rng)
        band = precision_band(confidence, hits, unit, truth, drawn, at=RECALLS, precision=precision)
        widths.append(float((band.high - band.low)[2:].mean()))
    assert 0.1 < widths[1] / widths[0] < 0.4  # about a fifth, the square root of 20 / 500


def test_fewer_than_five_scenes_have_no_band(rng: np.random.Generator) -> None:
    confidence, hits, unit, truth = scenes(4, rng)
    drawn = drawn_of(4, 100, rng)
    precision = precision_at(confidence, hits, truth)
    of_precision = precision_band(confidence, hits, unit, truth, drawn, at=RECALLS, precision=precision)
    place = (confidence * BINS).astype(np.int64)
    of_share = mean_band(hits.astype(np.float64), place, unit, drawn.weights, bins=BINS)
    for band in (of_precision, of_share):
        assert isinstance(band, CurveBand)
        assert np.isnan(band.low).all()
        assert np.isnan(band.high).all()
    assert band_in_words("scene", 4) == "no band: 4 scenes are too few"


def test_a_bin_that_few_scenes_have_has_no_band(rng: np.random.Generator) -> None:
    unit = np.repeat(np.arange(20), 2)
    place = np.zeros(40, np.int64)
    place[:6] = 1  # of three scenes
    band = mean_band(rng.random(40), place, unit, drawn_of(20, 100, rng).weights, bins=2)
    assert np.isfinite(band.low[0])
    assert np.isnan(band.low[1])


def labels_of(figure: Any) -> list[str]:
    """The texts of all legends."""
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    return [text.get_text() for legend in legends if legend for text in legend.get_texts()]


@cache
def evaluated(frames: int) -> mg.Results:
    return mg.evaluate(*mg.demo.demo_world(frames, predictions=30))


WORDS_OF_BANDS = ((60, "band: 95 % at each point, over 6 scenes"), (20, "no band: 2 scenes are too few"))


@pytest.mark.parametrize(("frames", "words"), WORDS_OF_BANDS)
def test_figures_say_what_the_band_is_or_why_there_is_none(frames: int, words: str) -> None:
    plot = pytest.importorskip("mapgauge.plot", reason="matplotlib is not installed")
    results = evaluated(frames)
    for figure in (
        plot.precision_recall(results, threshold=1.0),
        plot.precision_recall([results, results], names=["A", "B"], threshold=1.0),
        plot.precision_recall([results] * 3, names=["A", "B", "C"], threshold=1.0),
    ):
        assert words in labels_of(figure)


@pytest.mark.needs_feature("confidence")
@pytest.mark.parametrize(("frames", "words"), WORDS_OF_BANDS)
def test_figures_of_calibration_say_what_the_band_is_or_why_there_is_none(frames: int, words: str) -> None:
    plot = pytest.importorskip("mapgauge.plot", reason="matplotlib is not installed")
    results = evaluated(frames)
    for figure in (
        plot.calibration(results, threshold=1.0),
        plot.calibration([results, results], names=["A", "B"], threshold=1.0),
        plot.calibration(results, metric="pld"),
    ):
        assert words in labels_of(figure)
