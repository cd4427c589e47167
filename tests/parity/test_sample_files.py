"""The sample files beside the repository, against the numbers that two other implementations print for them.

Skipped where the files are absent: their licence does not let them into the repository. ``sospa_public`` was printed
by the paper authors' code (float32 tables, so 1e-7 is all one can ask), ``independent`` by a brute-force evaluation
in float64.
"""

import json
import pickle
from functools import cache
from pathlib import Path

import pytest

import mapgauge as mg
from mapgauge.geometry.resampling import resample_polylines

DATA = Path(__file__).parents[3] / "shared" / "data"
CLASSES = {"ped_crossing": 0, "divider": 1, "boundary": 2}
CASES = [
    (region, cutoff, name)
    for region, cutoffs in (("60x30", (0.5, 1.0, 1.5)), ("100x50", (1.0, 1.5, 2.0)))
    for cutoff in cutoffs
    for name in CLASSES
]

Frame = tuple[mg.Polylines, list[float], mg.Polylines]


@cache
def frames(region: str, label: int) -> list[Frame]:
    """Predictions, confidences and truth of every frame, resampled at 0.5 m."""
    folder = DATA / f"sample_{region}"
    truth = pickle.loads((folder / f"tmp_gts_av2_{region}.pkl").read_bytes())
    results = json.loads((folder / "submission_vector.json").read_text())["results"]

    def resampled(lines: list[object]) -> mg.Polylines:
        return resample_polylines(mg.Polylines.of(lines), spacing=0.5)

    out = []
    for token, frame in results.items():
        chosen = [i for i, other in enumerate(frame["labels"]) if other == label]
        predictions = resampled([frame["vectors"][i] for i in chosen])
        out.append((predictions, [frame["scores"][i] for i in chosen], resampled(truth[token][label])))
    return out


@pytest.mark.skipif(not DATA.exists(), reason="the sample files (../shared/data) are not here")
@pytest.mark.parametrize(("region", "cutoff", "name"), CASES)
def test_pooled_pld_of_the_sample_files(region: str, cutoff: float, name: str) -> None:
    reference = json.loads((DATA / f"sample_{region}" / "reference.json").read_text())
    results = [
        mg.pld(predictions, truth, confidence=confidence, cutoff=cutoff)
        for predictions, confidence, truth in frames(region, CLASSES[name])
    ]
    pooled = sum(results[1:], results[0])
    assert pooled.normalised == pytest.approx(reference["sospa_public"]["PLD"][name][f"PLD_cost@{cutoff}"], abs=1e-7)
    independent = reference["independent"][f"cutoff_{cutoff}"][name]
    assert pooled.normalised == pytest.approx(independent["pld"], abs=1e-9)
    for part, value in pooled.normalised_parts._asdict().items():
        assert value == pytest.approx(independent[part], abs=1e-9), part
    if name != "ped_crossing":  # of closed truth the public code scales Loc by one point too many
        public = reference["sospa_public"]["PLD"][name][f"PLD_loc@{cutoff}"]
        assert pooled.localisation == pytest.approx(public, abs=1e-7)
