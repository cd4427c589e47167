"""Figure 1 of the paper: Chamfer-AP rates a map as perfect that is shifted by 1 m and has a scrambled instance."""

import numpy as np
import pytest
from examples.figure_1 import DIAGONAL, road

import mapgauge as mg


def test_a_shifted_map_with_a_scrambled_instance_has_cd_map_1_and_a_bad_mpld(rng: np.random.Generator) -> None:
    truth = road()
    predictions = {name: [line + DIAGONAL for line in lines] for name, lines in truth.items()}
    predictions["divider"][0] = rng.permutation(predictions["divider"][0])
    certain = mg.MapFrames.of({"frame": predictions}).with_confidence(1)
    results = mg.evaluate(certain, mg.MapFrames.of({"frame": truth}), "paper-100x50")
    assert results.protocol.settings["ap_chamfer"].thresholds == (1.0, 1.5, 2.0)
    assert [results.mean[f"ap_chamfer@{threshold}"] for threshold in ("1.0", "1.5", "2.0")] == [1, 1, 1]
    assert results.mean["ap_chamfer"] == 1
    for name in truth:
        assert (results.classes[name]["pld"] or 0) > 0.6, name
    assert (results.classes["divider"]["pld"] or 0) > (results.classes["boundary"]["pld"] or 0)
    assert results.mean["ap_frechet"] != 1


def test_what_the_scrambling_alone_costs_only_pld_and_frechet_see(rng: np.random.Generator) -> None:
    truth = {"divider": road()["divider"][:1]}
    predictions = {"divider": [rng.permutation(truth["divider"][0])]}
    certain = mg.MapFrames.of({"frame": predictions}).with_confidence(1)
    settings = mg.protocol("paper-60x30", classes=["divider"], spacing=None)
    results = mg.evaluate(certain, mg.MapFrames.of({"frame": truth}), settings)
    assert results.mean["ap_chamfer"] == 1
    assert results.mean["ap_frechet"] == 0
    assert (results.mean["pld"] or 0) > 0.7
    intact = mg.evaluate(
        mg.MapFrames.of({"frame": truth}).with_confidence(1), mg.MapFrames.of({"frame": truth}), settings
    )
    assert intact.mean["pld"] == pytest.approx(0, abs=1e-12)
    assert intact.mean["ap_frechet"] == 1
