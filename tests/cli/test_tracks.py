"""The command line reads ids of tracks and speaks of them."""

import json

import pytest
from tests.cli.conftest import Run
from tests.shared_data import PARITY


def test_inspect_speaks_of_tracks(call: Run) -> None:
    done = call("inspect", PARITY / "pos_predictions_poor.pkl")
    assert "123 tracks" in done.stdout
    assert (
        "3 instances have the track of another instance of their class in the same frame" in done.stderr + done.stdout
    )
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
