"""The values of scenes on the page are those of their frames alone, to the last bit."""

from dataclasses import replace

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.views.report.frames import scene_numbers

PAPER = mg.protocol("paper-60x30")


@pytest.mark.parametrize("protocol", [PAPER, replace(PAPER, order=2.0), replace(PAPER, cutoffs=(0.5, 1.5))])
def test_a_scene_has_the_values_of_its_frames(protocol: mg.Protocol) -> None:
    predictions, truth = demo_world(30)
    bare = np.isin(truth.frame, range(10, 20)) & (truth.label == 0)  # the second scene has no crossing
    rows = np.isin(predictions.frame, range(10, 20)) & (predictions.label == 0)
    results = mg.evaluate(predictions.keep(np.flatnonzero(~rows)), truth.keep(np.flatnonzero(~bare)), protocol)
    numbers = scene_numbers(results, results.scenes)
    assert numbers is not None
    assert results.scenes is not None
    for column, scene in zip(numbers.T, dict.fromkeys(results.scenes), strict=True):
        alone = results.of_frames([frame for frame, name in enumerate(results.scenes) if name == scene])
        values = [alone.mean["pld"], *(alone.classes[name]["pld"] for name in results.class_names)]
        np.testing.assert_array_equal(column, np.array(values, np.float64))
    assert np.isnan(numbers[1]).any()


def test_a_frame_without_lines_is_a_scene_without_values() -> None:
    empty = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {}})
    results = mg.evaluate(empty.with_confidence(1), empty, PAPER)
    numbers = scene_numbers(results, ("first", "second"))
    assert numbers is not None
    assert numbers[0, 0] == 0
    assert np.isnan(numbers[:, 1]).all()
