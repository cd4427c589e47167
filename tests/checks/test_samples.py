"""Tests the sample files: no findings above notes as they are, and the right finding after each change."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.checks.world import best, codes, none, one, placed
from tests.shared_data import DATA, needs_data

import mapgauge as mg

SIZES = {"60x30": (60.0, 30.0), "100x50": (100.0, 50.0)}

pytestmark = [
    needs_data("sample_60x30", "sample_100x50"),
    pytest.mark.parametrize("region", SIZES),
]


@cache
def pair(region: str, kind: str = "streammapnet") -> tuple[mg.MapFrames, mg.MapFrames]:
    names = {
        "streammapnet": ("submission_vector.json", f"tmp_gts_av2_{region}.pkl"),
        "maptr": ("nuscmap_results.json", "nuscenes_map_anns_val.json"),
    }
    predictions, truth = (mg.read(DATA / f"sample_{region}" / name) for name in names[kind])
    return predictions, truth


@pytest.mark.parametrize("kind", ["streammapnet", "maptr"])
def test_the_right_pair_gives_notes_only(region: str, kind: str) -> None:
    assert codes(*pair(region, kind)) == set()


def test_the_right_pair_in_its_region_gives_notes_only(region: str) -> None:
    assert codes(*pair(region), region=SIZES[region]) == set()


@pytest.mark.parametrize("class_name", ["ped_crossing", "divider", "boundary"])
def test_single_classes_of_the_right_pair_give_notes_only(region: str, class_name: str) -> None:
    assert codes(*pair(region), classes=[class_name]) == set()


def test_single_frames_of_the_right_pair_give_no_error(region: str) -> None:
    predictions, truth = pair(region)
    for i in range(0, len(truth), 4):
        findings = mg.check(predictions.at([predictions.index[truth.tokens[i]]]), truth.at([i]))
        assert all(finding.level != "error" for finding in findings)


def test_maptr_predictions_are_turned_against_streammapnet_truth(region: str) -> None:
    predictions, truth = pair(region, "maptr")[0], pair(region)[1]
    assert codes(predictions, truth) == {"axes-turned"}
    assert "Use predictions.rotate(-90)" in str(one("axes-turned", predictions, truth))
    assert codes(predictions.rotate(-90), truth) == set()


def test_streammapnet_predictions_are_turned_against_maptr_truth(region: str) -> None:
    predictions, truth = pair(region)[0], pair(region, "maptr")[1]
    assert "Use predictions.rotate(90)" in str(one("axes-turned", predictions, truth))


def test_a_file_read_with_the_other_projects_ids_has_exchanged_classes(region: str) -> None:
    path = DATA / f"sample_{region}" / "submission_vector.json"
    predictions = mg.read(path, classes=["divider", "ped_crossing", "boundary"])
    assert codes(predictions, pair(region)[1]) == {"classes-exchanged"}


def test_exchanged_files_are_found(region: str) -> None:
    predictions, truth = pair(region)
    assert codes(truth, predictions) == {"sides-exchanged"}


def test_predictions_of_the_other_region_are_found(region: str) -> None:
    other = next(name for name in SIZES if name != region)
    predictions, truth = pair(other)[0], pair(region)[1]
    met = [token for token in truth.tokens if token in predictions.index]
    assert met
    predictions = predictions.at([predictions.index[token] for token in met])
    truth = truth.at([truth.index[token] for token in met])
    assert codes(predictions, truth) == {"region-differs"}
    assert none("region-differs", predictions.crop((60, 30)), truth.crop((60, 30)))


@pytest.mark.parametrize("factor", [100.0, 1000.0, 1 / 0.3048])
def test_another_unit_is_found(region: str, factor: float) -> None:
    predictions, truth = pair(region)
    assert (
        codes(placed(predictions, factor), truth) == codes(predictions, placed(truth, factor)) == {"coordinates-unit"}
    )


@pytest.mark.parametrize(("factor", "shift"), [(1, 0.5), (2, 0)])
def test_normalised_coordinates_are_found(region: str, factor: float, shift: float) -> None:
    predictions, truth = pair(region)
    odd = placed(predictions, factor / np.array(SIZES[region]), shift)
    assert codes(odd, truth) == {"coordinates-normalised"}


def test_tokens_without_the_log_id_are_found(region: str) -> None:
    predictions, truth = pair(region)
    odd = replace(predictions, tokens=tuple(token.rpartition("_")[2] for token in predictions.tokens))
    assert codes(odd, truth) == {"tokens-disjoint"}
    assert "without the log id" in one("tokens-disjoint", odd, truth).message


def test_results_paired_with_the_tokens_of_other_frames_are_found(region: str) -> None:
    predictions, truth = pair(region)
    moved = replace(predictions, tokens=predictions.tokens[8:] + predictions.tokens[:8])
    assert codes(moved, truth) == {"frames-unrelated"}


@pytest.mark.parametrize("count", [1, 3, 10])
def test_the_best_predictions_of_each_frame_are_sound(region: str, count: int) -> None:
    predictions, truth = pair(region)
    assert codes(best(predictions, count), truth) == set()


@pytest.mark.parametrize("step", [1, -1])
def test_tokens_off_by_one_are_found(region: str, step: int) -> None:
    predictions, truth = pair(region)
    in_order = predictions.at([predictions.index[token] for token in truth.tokens])
    moved = replace(in_order, tokens=in_order.tokens[-step:] + in_order.tokens[:-step])
    assert codes(moved, truth) == {"frames-shifted"}


def test_shuffled_tokens_of_a_third_of_the_frames_are_found(region: str, rng: np.random.Generator) -> None:
    predictions, truth = pair(region)
    frames = np.arange(len(predictions))
    some = rng.choice(frames, len(frames) // 3, replace=False)
    frames[some] = np.roll(some, 1)
    shuffled = replace(predictions.at(frames.tolist()), tokens=predictions.tokens)
    assert codes(shuffled, truth) == {"frames-unrelated"}
