"""C-mAP, and the mAP printed beside it, against MapTracker's public code.

The numbers are in ``reference.json`` of two sets: made-up files that are part of the repository, and files from
Argoverse 2 that are not.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.shared_data import DATA, PARITY, needs_data
from tests.streaming.worlds import same

import mapgauge as mg

FOLDER = DATA / "tracks_reference"
AV2 = needs_data("tracks_reference")
METRICS = {"mAP_consist0": "ap_chamfer", "CmAP_consist1": "c_map"}
CASES = [
    *(pytest.param("demo", name) for name in ("good", "poor")),
    *(pytest.param("av2", name, marks=AV2) for name in ("model_a", "model_b")),
]


@cache
def sides(data: str, name: str) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return the predictions and the truth of a case."""
    if data == "demo":
        truth = mg.read(PARITY / "tmp_gts_demo_60x30.pkl", tracks=PARITY / "demo_gt_tracks.pkl")
        return mg.read(PARITY / f"pos_predictions_{name}.pkl"), truth
    truth = mg.read(FOLDER / "tmp_gts_av2_60x30.pkl", tracks=FOLDER / "av2_map_infos_gt_tracks.pkl")
    return mg.read(FOLDER / name / "pos_predictions.pkl"), truth


def reference(data: str, name: str) -> dict[str, Any]:
    """Return the numbers of the public code."""
    path = (PARITY if data == "demo" else FOLDER) / "reference.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    found: dict[str, Any] = (document["maptracker"]["values"] if data == "demo" else document)[name]
    return found


@pytest.mark.parametrize(("data", "name"), CASES)
def test_every_number_is_that_of_maptracker(data: str, name: str) -> None:
    results = mg.evaluate(*sides(data, name), "maptracker-c-60x30")
    for called, metric in METRICS.items():
        public = reference(data, name)[called]
        assert results.mean[metric] == pytest.approx(public["total"], abs=1e-14)
        for label, by_threshold in public["AP"].items():
            values = results.classes[label]
            assert values["truth"] == public["num_truth"][label]
            assert values[metric] == pytest.approx(public["mean"][label], abs=1e-14)
            for threshold, value in by_threshold.items():
                assert values[f"{metric}@{threshold}"] == pytest.approx(value, abs=1e-14), (label, threshold)
        for threshold, by_class in public["counted_predictions_and_tp"].items():
            t = results.protocol.settings["c_map"].thresholds.index(float(threshold))
            for label, (_, hits) in by_class.items():
                mine = results.scores.counted(results.class_names.index(label), results.protocol)
                assert int(mine.sum()) == by_class[label][0]
                assert int(((results.scores.hits[metric][mine] >> t) & 1).sum()) == hits


@pytest.mark.parametrize(("data", "name"), CASES)
def test_order_workers_and_chunks_do_not_change_a_bit(data: str, name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    predictions, truth = sides(data, name)
    expected = mg.evaluate(predictions, truth, "maptracker-c-60x30", workers=1)
    backwards = truth.at(list(range(len(truth)))[::-1])
    mixed = mg.evaluate(predictions, backwards, "maptracker-c-60x30", workers=2)
    assert mixed.classes == expected.classes
    files = tmp_path / "x.parquet", tmp_path / "y.parquet"
    for side, path in zip((predictions, truth), files, strict=True):
        mg.write(side, path)
        again = mg.read(path)
        assert again.track is not None
        assert side.track is not None
        assert again.track.tolist() == side.track.tolist()
    assert same(mg.evaluate(*files, "maptracker-c-60x30", workers=2), expected)


@pytest.mark.parametrize(("data", "name"), CASES)
def test_the_faults_that_the_files_have_are_found(data: str, name: str) -> None:
    found = {finding.code: finding for finding in mg.check(*sides(data, name))}
    assert ("tracks-repeated" in found) == (name in ("poor", "model_b"))
    assert "tracks-shared" in found
    assert found["tracks-jump"].level == ("warning" if name in ("poor", "model_b") else "note")
    assert not {"tracks-one-side", "tracks-incomplete", "tracks-across-scenes", "scenes-order"} & set(found)


@pytest.mark.parametrize("format", ["parquet", "geojson"])
def test_ids_survive_other_formats(tmp_path: Path, format: str) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    expected = mg.evaluate(*sides("demo", "poor"), "maptracker-c-60x30")
    again = []
    for k, side in enumerate(sides("demo", "poor")):
        mg.write(side, tmp_path / f"{k}.{format}", format)
        again.append(mg.read(tmp_path / f"{k}.{format}"))
    assert mg.evaluate(again[0], again[1], "maptracker-c-60x30").classes == expected.classes
