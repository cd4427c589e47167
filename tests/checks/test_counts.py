from dataclasses import replace

import numpy as np
import pytest
from tests.checks.world import codes, none, one

import mapgauge as mg
from mapgauge.checks.instances import PUBLISHED

NUSCENES, ARGOVERSE = PUBLISHED


def val(frames: int, counts: dict[str, int], pattern: str = "{:032x}", size: float = 60.0) -> mg.MapFrames:
    """Return truth with these numbers of frames and instances, each a line through the whole region."""
    total = sum(counts.values())
    line = np.array([[-size / 2, -size / 4], [size / 2, size / 4]])
    return mg.MapFrames(
        tokens=tuple(pattern.format(i) for i in range(frames)),
        classes=tuple(counts),
        frame=np.sort(np.arange(total) % frames),
        label=np.repeat(np.arange(len(counts)), list(counts.values()))[
            np.argsort(np.arange(total) % frames, kind="stable")
        ],
        polylines=mg.Polylines(np.tile(line, (total, 1)), np.arange(0, 2 * total + 1, 2)),
    )


def published(row: int, **changed: int) -> dict[str, int]:
    return {name: counts[0] for name, counts in PUBLISHED[row].instances.items()} | changed


def test_frames_without_instances_are_noted(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    less = truth.keep(truth.frame != 2), predictions.keep(predictions.frame % 2 == 0)
    finding = one("truth-frames-empty", predictions, less[0])
    assert (finding.level, finding.count, finding.examples) == ("note", 1, truth.tokens[2:3])
    finding = one("predictions-frames-empty", less[1], truth)
    assert (finding.level, finding.count) == ("note", 4)
    assert none("truth-frames-empty", predictions, truth)
    assert none("predictions-frames-empty", predictions, truth)


def test_no_predictions_at_all_are_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    nothing = predictions.keep(np.zeros(len(predictions.polylines), bool))
    assert codes(nothing, truth) == {"predictions-empty"}
    assert one("predictions-empty", nothing, truth).level == "warning"


def test_truth_without_any_instance_is_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    nothing = truth.keep(np.zeros(len(truth.polylines), bool))
    assert codes(predictions, nothing) == {"truth-empty"}
    assert one("truth-empty", predictions, nothing).level == "error"


def test_another_number_of_nuscenes_frames_is_noted(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("frames-published", predictions, truth)
    assert finding.level == "note"
    assert "8 frames with tokens as in nuScenes, whose val split has 6019" in finding.message


def test_frames_of_other_data_are_not_counted(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    tokens = tuple(f"frame {i}" for i in range(len(truth)))
    assert none("frames-published", replace(predictions, tokens=tokens), replace(truth, tokens=tokens))


@pytest.mark.parametrize("crossings", [6406, 6922])
def test_published_counts_are_not_mentioned(crossings: int) -> None:
    truth = val(6019, published(0, ped_crossing=crossings))
    found = {finding.code for finding in mg.check(truth.with_confidence(1), truth)}
    assert not found & {"frames-published", "instances-published"}


def test_other_counts_than_the_published_are_noted() -> None:
    truth = val(6019, published(0, ped_crossing=5000))
    finding = one("instances-published", truth.with_confidence(1), truth)
    assert (finding.level, finding.count) == ("note", 5000)
    assert "5000 instances in the truth; nuScenes val has 6406 or 6922" in finding.message


def test_counts_are_compared_by_the_common_name_of_a_class() -> None:
    truth = val(6019, published(0, boundary=7)).rename({"boundary": "contours"})
    assert "class contours: 7 instances" in one("instances-published", truth.with_confidence(1), truth).message


def test_counts_of_another_region_are_not_compared() -> None:
    truth = val(6019, dict.fromkeys(published(0), 50), size=100.0)
    assert none("instances-published", truth.with_confidence(1), truth)


def test_argoverse_counts_are_known() -> None:
    pattern = "3b3570b4-7b0b-3268-a571-b0889dbf40b6_{:018}"
    truth = val(5881, published(1), pattern)
    assert none("instances-published", truth.with_confidence(1), truth)
    truth = val(5881, published(1, divider=9), pattern)
    assert "16541" in one("instances-published", truth.with_confidence(1), truth).message
    truth = val(100, dict.fromkeys(published(1), 100), pattern)
    assert none("frames-published", truth.with_confidence(1), truth)
