"""OpenLane-V2's scores against the numbers of its public kit, on files from Argoverse 2 that are not in the repository.

The kit computes average precisions in float32, so they agree to about 1e-7. The assignment of the F-score is not
unique: the reference lists a spread of about 0.001.
"""

import json
from functools import cache
from typing import Any

import pytest
from tests.lane_frames import AREAS, TRAFFIC_ELEMENTS
from tests.shared_data import DATA, needs_data

import mapgauge as mg

pytestmark = needs_data("lanes_reference")
FOLDER = DATA / "lanes_reference"
CASES = [
    (kind, version, model)
    for kind, versions in (("centerline", ("v1.0", "v1.1")), ("segment", ("v2.0", "v2.1")))
    for version in versions
    for model in ("model_a", "model_b")
]
NAMES = {"DET_t": "det_t", "DET_a": "det_a", "TOP_ll": "top_ll", "TOP_lt": "top_lt", "OLS": "ols", "OLUS": "olus"}


@cache
def sides(kind: str, model: str) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return the predictions and the truth of a case."""
    truth = "data_dict_ref_val_ls.pkl" if kind == "segment" else "data_dict_ref_val.pkl"
    return mg.read(FOLDER / kind / model / "result.pkl"), mg.read(FOLDER / kind / truth)


def reference(kind: str, version: str, model: str) -> dict[str, Any]:
    """Return the numbers of the public kit."""
    found: dict[str, Any] = json.loads((FOLDER / kind / "reference.json").read_text(encoding="utf-8"))[version][model]
    return found


@pytest.mark.parametrize(("kind", "version", "model"), CASES)
def test_every_number_is_that_of_the_kit(kind: str, version: str, model: str) -> None:
    public = reference(kind, version, model)
    lane = "det_ls" if kind == "segment" else "det_l"
    results = mg.evaluate(*sides(kind, model), f"openlanev2-{version}")
    for called, value in public["scores"].items():
        name = {"DET_l": lane, "F": "f_lane"}.get(called) or NAMES[called]
        assert results.mean[name] == pytest.approx(value, abs=0.002 if called == "F" else 1e-6), called
    classes = {f"lane_{kind}_all": (lane, "centerline")}
    classes |= {f"area_{k}": ("det_a", name) for k, name in enumerate(AREAS, start=1)}
    classes |= {f"traffic_element_{k}": ("det_t", name) for k, name in enumerate(TRAFFIC_ELEMENTS)}
    compared = 0
    for called, by_threshold in public["per_threshold"].items():
        if called != "traffic_element_all":
            name, label = classes[called]
            for threshold, value in by_threshold.items():
                assert results.classes[label][f"{name}@{threshold}"] == pytest.approx(value, abs=1e-6), called
                compared += 1
    assert compared == 3 + 13 + 6 * (kind == "segment")


@pytest.mark.parametrize(("kind", "version", "model"), CASES)
def test_every_threshold_of_topology_is_that_of_the_kit(kind: str, version: str, model: str) -> None:
    public = reference(kind, version, model)["topology_per_threshold"]
    for threshold in (1.0, 2.0, 3.0):
        only = {"thresholds": (threshold,)}
        protocol = mg.protocol(f"openlanev2-{version}", settings={"top_ll": only, "top_lt": only})
        accumulator = mg.Accumulator(protocol, metrics=["top_ll", "top_lt"])  # without the checks of the input
        accumulator.update(*sides(kind, model))
        mean = accumulator.results().mean
        for (called, values), name in zip(public.items(), ("top_ll", "top_lt"), strict=True):
            assert mean[name] == pytest.approx(values[str(threshold)], abs=1e-9), called
