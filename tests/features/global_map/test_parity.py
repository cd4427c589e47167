"""GAP and mGAP of the reference maps, as the public evaluator prints them."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.shared_data import DATA, needs_data

import mapgauge as mg
from mapgauge.features.global_map.accumulate import accumulate
from mapgauge.truth.poses import read_poses

FOLDER = DATA / "global_reference"
CITIES = ("mia-47894_gt.json", "pit-47896_gt.json")
FILES = ("good_60x30", "fragments_60x30", "built_a_60x30", "built_b_60x30", "fragments_100x50")
LOGS = ("3b3570b4-7b0b-3268-a571-b0889dbf40b6", "7fab2350-7eaf-3b7e-a39d-6937a4c1bede")
CLASSES = {"ped": "ped_crossing", "lane": "divider", "road": "boundary"}
pytestmark = needs_data("global_reference")


def reference(name: str) -> dict[str, object]:
    made: dict[str, object] = json.loads((FOLDER / "reference.json").read_text(encoding="utf-8"))["maps"][
        f"{name}_maps.json"
    ]
    return made


@cache
def scored(name: str) -> mg.GlobalMap:
    region = (60.0, 30.0) if "60x30" in name else (100.0, 50.0)
    return mg.global_map(FOLDER / f"{name}_maps.json", FOLDER / "av2_all_gt.json", region=region)


@pytest.mark.parametrize("name", FILES)
def test_gap_is_that_of_the_public_evaluator(name: str) -> None:
    made, expected = scored(name), reference(name)
    assert made.gap is not None
    assert made.gap.value == pytest.approx(expected["mGAP"], abs=1e-6)
    for theirs, ours in CLASSES.items():
        row = expected[theirs]
        assert isinstance(row, dict)
        assert made.gap.lines[ours][1:] == (row["num_gts"], row["num_preds"])
        for threshold in made.gap.thresholds:
            assert made.gap.classes[ours][f"GAP@{threshold}"] == pytest.approx(row[f"AP@{threshold}"], abs=1e-6)


def test_a_file_for_each_city_gives_the_same_values() -> None:
    whole = scored("good_60x30")
    cities = mg.global_map(FOLDER / "good_60x30_maps.json", [FOLDER / name for name in CITIES])
    assert whole.gap == cities.gap
    assert whole.results.mean == cities.results.mean


def test_maps_that_were_converted_have_the_same_values(tmp_path: Path) -> None:
    predictions = FOLDER / "good_60x30_maps.json"
    mg.write(mg.read(predictions), tmp_path / "good.parquet")
    made = mg.global_map(tmp_path / "good.parquet", FOLDER / "av2_all_gt.json", poses=predictions)
    assert made.gap is not None
    assert made.gap.value == pytest.approx(reference("good_60x30")["mGAP"], abs=1e-6)


@needs_data("av2")
def test_the_whole_truth_of_argoverse_2_is_that_of_globalmapnet() -> None:
    city = mg.truth.argoverse2(DATA / "av2", scenes=LOGS, whole=True)
    own = mg.read(FOLDER / "av2_all_gt.json")
    given = own.at([own.tokens.index(log) for log in LOGS]).with_confidence(1)
    path = read_poses(FOLDER / "good_60x30_maps.json")
    poses = path.at([k for k, scene in enumerate(path.scenes or ()) if scene in LOGS])
    values = {key: value or 0.0 for key, value in mg.global_map(given, city, poses=poses).results.mean.items()}
    assert values["network_completeness"] > 0.99
    assert values["network_correctness"] > 0.99
    assert values["network_median_across"] < 0.02


def test_the_closed_region_makes_fewer_pieces_of_the_truth() -> None:
    made = scored("good_60x30")
    assert made.gap is not None
    lines, parts, _ = made.gap.lines["boundary"]
    assert (lines, parts) == (12, 32)
    assert sum(row["truth"] for row in made.results.frames(class_name="boundary")) == 26


def test_a_line_far_away_is_dropped_with_a_finding() -> None:
    made = scored("fragments_60x30")
    (finding,) = [finding for finding in made.findings if finding.code == "outside-region"]
    assert finding.message.startswith("36 m of predictions (1 whole lines) and 2")


def test_truth_from_frames_is_the_truth_of_the_city() -> None:
    """The rules of the two differ in places, but the lengths agree."""
    truth = mg.read(FOLDER / "frames" / "truth_60x30.parquet")
    made = mg.global_map(truth.with_confidence(1), FOLDER / "av2_all_gt.json", rule="median")
    values = {key: value or 0.0 for key, value in made.results.mean.items()}
    assert values["network_completeness"] > 0.98
    assert values["network_correctness"] > 0.95
    assert values["network_median_across"] < 0.02


def test_the_median_of_tracks_is_better_than_one_observation_of_each() -> None:
    frames = mg.read(FOLDER / "frames" / "model_a_pos_predictions.pkl.gz").filter(0.4)
    frames = frames.at([k for k, scene in enumerate(frames.scenes or ()) if scene == LOGS[0]])
    values = {
        rule: mg.global_map(frames, FOLDER / "av2_all_gt.json", rule=rule).results.mean["network_pld"] or 0.0
        for rule in ("last", "longest", "median")
    }
    assert values["median"] < values["longest"] < values["last"]


def test_a_map_of_another_city_is_an_error_finding(tmp_path: Path) -> None:
    document = json.loads((FOLDER / "pit-47896_gt.json").read_text(encoding="utf-8"))
    for element in document["map_elements"]:
        element["coords"] = (np.array(element["coords"]) + 50_000).tolist()
    (tmp_path / "city.json").write_text(json.dumps(document), encoding="utf-8")
    made = mg.global_map(FOLDER / "good_60x30_maps.json", tmp_path / "city.json")
    assert [finding.level for finding in made.findings if finding.code == "other-city"] == ["error"]


@pytest.mark.parametrize("name", ["a", "b"])
def test_the_rule_of_globalmapnet_builds_the_maps_of_the_public_builder(name: str) -> None:
    frames = mg.read(FOLDER / "frames" / f"model_{name}_pos_predictions.pkl.gz")
    built = mg.read(FOLDER / f"built_{name}_60x30_maps.json")
    for scene in built.tokens:
        own = frames.at([k for k, other in enumerate(frames.scenes or ()) if other == scene])
        assert own.poses is not None
        lines = accumulate("globalmapnet", own, own.poses, (-30.0, -15.0, 30.0, 15.0))
        expected = {(each.points.shape, round(each.confidence or 0, 6)): each.points for each in built[scene]}
        found = {(line.points.shape, round(line.confidence, 6)): line.points for line in lines}
        assert len(lines) == len(built[scene])
        assert found.keys() == expected.keys()
        assert all(np.abs(found[key] - expected[key]).max() < 1e-4 for key in expected)


@pytest.mark.parametrize(("name", "given"), [("a", False), ("b", True)])
def test_maps_of_this_rule_have_the_gap_of_the_maps_of_the_public_builder(name: str, given: bool) -> None:
    frames, built = FOLDER / "frames" / f"model_{name}_pos_predictions.pkl.gz", f"built_{name}_60x30"
    # Poses of the frames that are fused, or of all frames.
    poses = FOLDER / f"{built}_maps.json" if given else None
    made = mg.global_map(frames, FOLDER / "av2_all_gt.json", rule="globalmapnet", poses=poses)
    assert made.gap is not None
    assert made.gap.value == pytest.approx(reference(built)["mGAP"], abs=1e-9)
