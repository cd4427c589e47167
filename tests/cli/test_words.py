"""The command line advises options where the package advises calls."""

import numpy as np
import pytest
from tests.cli.conftest import Run

import mapgauge as mg

LINES = [[[0, k], [9, k]] for k in range(1, 9)]


def frames(name: str = "divider", *, height: bool = False, far: float = 0.0, sure: bool = True) -> mg.MapFrames:
    lines = np.array(LINES, float) + np.array([far, 0])
    if height:
        lines = np.concatenate([lines, np.zeros((len(lines), 2, 1))], axis=2)
    confidence = {"a": {name: [0.1 * k for k in range(1, 9)]}} if sure else None
    return mg.MapFrames.of({"a": {name: lines}}, confidence=confidence)


def advice(predictions: mg.MapFrames, truth: mg.MapFrames, code: str) -> str:
    found = {finding.code: finding for finding in mg.check(predictions, truth, region=(60, 30))}
    return found[code].for_shell()


def test_names_of_predicted_classes() -> None:
    text = advice(frames("contours"), frames("boundary", sure=False), "classes-named-differently")
    assert text.endswith("Use PREDICTIONS,rename=contours:boundary")


def test_names_without_a_proposal() -> None:
    text = advice(frames("kerb"), frames("bollard", sure=False), "classes-disjoint")
    assert "Give one side as FILE,rename=OLD:NEW" in text


def test_height() -> None:
    assert "FILE,planar to compare" in advice(frames(), frames(height=True, sure=False), "dimensions-differ")
    with pytest.raises(mg.InvalidInput) as refused:
        mg.align(frames(), frames(height=True, sure=False))
    assert "FILE,planar to compare in the plane" in refused.value.for_shell()


def test_confidence() -> None:
    text = advice(frames(sure=False), frames(sure=False), "confidence-missing")
    assert "FILE,certain" in text
    assert "with_confidence" not in text


def test_regions() -> None:
    assert "Use --set crop=true to compare only what lies inside" in advice(
        frames(far=25), frames(far=25, sure=False), "region-left"
    )


def test_errors_are_one_line_whatever_is_in_a_name(call: Run) -> None:
    done = call("inspect", "a\nb\t(really).json")
    assert done.returncode == 1
    assert done.stderr.startswith("mapgauge: a b (really).json: no such file")
    assert done.stderr.count("\n") == 1
