"""The command line reads ids of tracks and speaks of them."""

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.io import test_openlanev2 as openlane
from tests.shared_data import PARITY


def test_inspect_speaks_of_tracks(call: Run) -> None:
    done = call("inspect", PARITY / "pos_predictions_poor.pkl")
    assert "123 tracks" in done.stdout
    assert "3 instances have the track of another instance of the class in the same frame" in done.stderr + done.stdout
    document = json.loads(call("inspect", PARITY / "pos_predictions_poor.pkl", "--json").stdout)
    assert {"tracks-repeated", "tracks-jump"} <= {finding["code"] for finding in document["findings"]}


def test_the_shell_reads_truth_with_its_ids(call: Run) -> None:
    truth = f"{PARITY / 'tmp_gts_demo_60x30.pkl'},tracks=demo_gt_tracks.pkl"
    files = (PARITY / "pos_predictions_good.pkl", truth)
    done = call("evaluate", *files, "--protocol", "maptracker-c-60x30", "--json")
    assert json.loads(done.stdout)["mean"]["c_map"] == pytest.approx(0.506774, abs=1e-6)
    lost = call("evaluate", PARITY / "pos_predictions_good.pkl", f"{truth}x", "--protocol", "maptracker-c-60x30")
    assert lost.returncode != 0
    assert "demo_gt_tracks.pklx: no such file" in lost.stderr
    done = call("inspect", PARITY / "demo_gt_tracks.pkl")
    assert "tracks=demo_gt_tracks.pkl" in done.stderr


def test_ids_are_found_in_another_folder_and_from_another_folder(call: Run, tmp_path: Path) -> None:
    (tmp_path / "ids").mkdir()
    (tmp_path / "elsewhere").mkdir()
    for file, place in (
        ("demo_gt_tracks.pkl", "ids/x.pkl"),
        ("tmp_gts_demo_60x30.pkl", "truth.pkl"),
        ("pos_predictions_good.pkl", "good.pkl"),
    ):
        shutil.copy(PARITY / file, tmp_path / place)
    ids = tmp_path / "ids" / "x.pkl"
    for k, tracks in enumerate(("ids/x.pkl", str(ids))):
        options = ("--metrics", "track_pld", "--set", "track_pld.switch_cost=0.5", "-o", f"{k}.mg")
        done = call("evaluate", "good.pkl", f"truth.pkl,tracks={tracks}", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    for k in range(2):
        drawn = call("plot", "strip", f"../{k}.mg", "-o", "strip.png", cwd=tmp_path / "elsewhere")
        assert drawn.returncode == 0, drawn.stderr


def test_openlane_has_ids_in_the_truth_and_gets_ids_for_predictions(call: Run, tmp_path: Path) -> None:
    """The vehicle drives 10 m between the frames, so lines of the world move back by 10 m."""

    def lanes(frame: int, shift: float, **more: Any) -> dict[str, Any]:
        found = openlane.lanes(**more) | {"traffic_element": [], "topology_lcte": np.zeros((2, 0), np.int8)}
        for lane, aside in zip(found["lane_centerline"], (0.0, 4.0), strict=True):
            lane["points"] = np.add(openlane.LINE, (-10 * frame, aside + shift, 0))
        return found

    files = tmp_path / "result.pkl", tmp_path / "data_dict_val.pkl"
    documents: tuple[Any, Any] = (
        openlane.results(*(lanes(k, 0.1, confidence=0.9) for k in range(2))),
        openlane.truth(*(lanes(k, 0.0) for k in range(2))),
    )
    for path, document in zip(files, documents, strict=True):
        path.write_bytes(pickle.dumps(document))
    assert "2 tracks" in call("inspect", files[1]).stdout
    tracked = tmp_path / "tracked.parquet"
    assert "4 with ids of 2 tracks" in call("track", files[0], "--poses", files[1], "-o", tracked).stdout
    options = ("--classes", "centerline", "--set", "track_pld.switch_cost=0.5", "--metrics", "pld,track_pld", "--json")
    mean = json.loads(call("evaluate", tracked, files[1], *options).stdout)["mean"]
    assert (mean["switch_count"], mean["inconsistency"]) == (0, 0)
    assert mean["track_pld"] == mean["pld"] < 0.4
    refused = call("evaluate", files[0], files[1], *options)
    assert "track_pld needs tracks" in refused.stderr
