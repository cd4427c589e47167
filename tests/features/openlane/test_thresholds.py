"""Topology of OpenLane-V2 at single thresholds, against the public evaluator."""

import json

import numpy as np
import pytest
from tests.shared_data import DATA, needs_data

import mapgauge as mg


@needs_data("lanes_reference")
@pytest.mark.parametrize("version", ["v1.0", "v1.1"])
def test_top_has_values_at_each_threshold(version: str) -> None:
    folder = DATA / "lanes_reference" / "centerline"
    public = json.loads((folder / "reference.json").read_text(encoding="utf-8"))[version]["model_a"]
    results = mg.evaluate(
        folder / "model_a" / "result.pkl",
        folder / "data_dict_ref_val.pkl",
        f"openlanev2-{version}",
        metrics=["top_ll", "top_lt"],
    )
    for name, values in zip(("top_ll", "top_lt"), public["topology_per_threshold"].values(), strict=True):
        for mean in (results.mean, json.loads(json.dumps(results.to_dict()))["mean"]):
            by_threshold = {key: value for key, value in mean.items() if key.startswith(f"{name}@")}
            assert by_threshold == pytest.approx({f"{name}@{at}": value for at, value in values.items()}, abs=1e-9)
            assert mean[name] == pytest.approx(np.mean(list(by_threshold.values())), abs=1e-12)
