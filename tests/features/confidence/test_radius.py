"""The conformal radius: calibrated on one half of the scenes, checked on the other half."""

from dataclasses import replace

import numpy as np
import pytest

import mapgauge as mg


def world(offsets: dict[str, float]) -> mg.Results:
    """Frames with one divider each, which lies beside the truth by the offset of the frame."""
    line = np.array([[0.0, 0.0], [10.0, 0.0]])
    truth = mg.MapFrames.of({token: {"divider": [line]} for token in offsets})
    moved = {token: {"divider": [line + np.array([0.0, offset])]} for token, offset in offsets.items()}
    predictions = mg.MapFrames.of(moved, confidence={token: {"divider": [1.0]} for token in offsets})
    truth = replace(truth, scenes=truth.tokens)
    return mg.evaluate(predictions, truth, mg.protocol("paper-60x30", classes=["divider"]), ranges=(0, 5, 20))


def test_radius_and_coverage_of_a_uniform_world() -> None:
    offsets = np.linspace(0.0, 1.0, 400)
    found = mg.confidence(world({f"t{k:03}": float(offset) for k, offset in enumerate(offsets)}), samples=10)
    whole, near, far = found.radii
    assert (whole.class_name, whole.ring, near.ring, far.ring) == ("divider", None, (0.0, 5.0), (5.0, 20.0))
    assert whole.radius == pytest.approx(0.9, abs=0.04)
    assert whole.covered == pytest.approx(0.9, abs=0.05)
    assert found.to_dict()["radii"][0]["radius"] == whole.radius
    *_, of_class, of_rings = found.advice()
    assert of_class.startswith(
        f"In one half of the scenes, 90 % of the points matched within 1.5 m lie within {whole.radius:.2f} m (divider; "
    )
    assert of_rings.startswith(f"In rings around the ego vehicle: divider {near.radius:.2f} m (0 to 5 m; ")


def test_one_scene_and_other_cutoffs_have_no_radius() -> None:
    assert mg.confidence(world({"a": 0.1}), samples=10).radii == ()
    assert mg.confidence(world({"a": 0.1, "b": 0.2}), samples=10, cutoff=0.7).radii == ()
