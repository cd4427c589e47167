"""IoU of masks: MapTracker's numbers, and masks that are drawn."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shared_data import DATA, needs_data

import mapgauge as mg
from mapgauge.features.raster.drawing_kernels import draw

PROTOCOL = "maptracker-iou-60x30"
TRUTH = mg.MapFrames.of({"a": {"divider": [[[-40, 1.0], [40, 1.0]]]}, "b": {}})


@needs_data("raster_reference", "sample_60x30", "sample_100x50")
@pytest.mark.parametrize("size", ["60x30", "100x50"])
def test_iou_of_the_masks_in_maptrackers_file(size: str) -> None:
    folder = DATA / "raster_reference"
    truth = mg.read(DATA / f"sample_{size}" / f"tmp_gts_av2_{size}.pkl")
    found = mg.mask_iou(folder / f"maptracker_masks_{size}.json.gz", truth, f"maptracker-iou-{size}")
    reference = json.loads((folder / "reference.json").read_text(encoding="utf-8"))[f"maptracker_iou_{size}"][
        "score>=0.4"
    ]
    assert {**found.classes, "mIoU": found.mean} == pytest.approx(reference["iou"], abs=1e-9)
    for k, name in enumerate(found.class_names):
        assert found.shared[k] == reference["intersection_px"][name]
        assert found.true[k] == reference["truth_px"][name]
        assert found.predicted[k] + found.true[k] - found.shared[k] == reference["union_px"][name]


def written(folder: Path, frames: dict[str, Any]) -> Path:
    path = folder / "submission_vector.json"
    path.write_text(json.dumps({"meta": {}, "results": frames}), encoding="utf-8")
    return path


def test_a_drawn_mask_equals_the_truth(tmp_path: Path) -> None:
    """Row 0 of a mask is the largest y."""
    image = np.zeros((100, 200), np.uint8)
    draw(image, np.array([[-33, 53], [233, 53]]), np.array([0, 2]), np.array([False]), 3, 0)
    mask = (2 * image[::-1]).tolist()
    found = mg.mask_iou(written(tmp_path, {"a": {"semantic_mask": mask, "vectors": []}}), TRUTH, PROTOCOL)
    assert found.classes == {"ped_crossing": None, "divider": 1.0, "boundary": None}
    assert (found.mean, found.frames_missing) == (1.0, 1)
    assert found.to_dict()["pixels"]["divider"] == {"shared": 1000, "predicted": 1000, "true": 1000}
    assert found.table().splitlines()[-1].endswith("1.000")
    assert mg.mask_iou({"a": np.array(mask)[::-1]}, TRUTH, PROTOCOL).mean == 0


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ({"a": {"vectors": []}}, "no frame has a semantic_mask"),
        ({"z": {"semantic_mask": [[0]]}}, r"1 masks are not in the truth \(first: z\)"),
        ({"a": {"semantic_mask": [[0, 1]]}}, r"frame a: expected 100 rows of 200 labels, got an array \(1, 2\)"),
        (
            {"a": {"semantic_mask": [[0], [0, 1]]}},
            "frame a: expected rows of labels of the same length, all of them whole",
        ),
        ({"a": {"semantic_mask": None}}, "frame a: expected rows of labels"),
        (
            {"a": {"semantic_mask": [[4] * 200] * 100}},
            r"expected labels from 0 to 3 \(ped_crossing, divider, boundary\)",
        ),
        ([], "not a submission with masks"),
    ],
)
def test_other_files_are_refused(frames: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(mg.MapgaugeError, match=words):
        mg.mask_iou(written(tmp_path, frames), TRUTH, PROTOCOL)


def test_a_protocol_without_drawing_is_refused() -> None:
    with pytest.raises(mg.InvalidInput, match="the protocol paper-60x30 has no rules for drawing"):
        mg.mask_iou({}, TRUTH, "paper-60x30")


def test_the_truth_is_drawn_by_all_settings_of_the_protocol() -> None:
    """A line of one pixel that becomes squares of five is five rows wide."""
    settings = mg.protocol(PROTOCOL, settings={"raster_iou": {"thickness": 1, "spread": 5}})
    mask = np.zeros((100, 200), int)
    mask[44:49] = 2
    assert mg.mask_iou({"a": mask}, TRUTH, settings).classes["divider"] == 1.0
