"""The sample files in both layouts of the field: the same frames, the counts that the public evaluators print.

Skipped where the files are absent: their licence does not let them into the repository.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.io import FORMATS

DATA = Path(__file__).parents[3] / "shared" / "data"
REGIONS = ["60x30", "100x50"]

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the sample files (../shared/data) are not here")


def pairs(region: str) -> dict[str, mg.MapFrames]:
    folder = DATA / f"sample_{region}"
    return {
        "streammapnet": mg.read(folder / "submission_vector.json"),
        "maptr": mg.read(folder / "nuscmap_results.json"),
        "streammapnet-truth": mg.read(folder / f"tmp_gts_av2_{region}.pkl"),
        "maptr-truth": mg.read(folder / "nuscenes_map_anns_val.json"),
    }


def by_class(frames: mg.MapFrames) -> list[list[tuple[str, float | None, bytes]]]:
    """Frame by frame, grouped by class name, in the order of the file within a class, points to the last bit."""
    return [
        sorted(
            [(i.class_name, i.confidence, (i.points + 0.0).tobytes()) for i in frames[token]], key=lambda row: row[0]
        )
        for token in frames.tokens
    ]


@pytest.mark.parametrize("region", REGIONS)
def test_every_file_is_recognised(region: str) -> None:
    for name, frames in pairs(region).items():
        assert frames.format == name
        assert frames.findings == ()


@pytest.mark.parametrize("region", REGIONS)
def test_both_layouts_give_the_same_frames_after_the_change_of_axes(region: str) -> None:
    files = pairs(region)
    for ours, theirs in (("streammapnet", "maptr"), ("streammapnet-truth", "maptr-truth")):
        turned = files[theirs].rotate(-90)
        assert turned.tokens == files[ours].tokens
        assert by_class(turned) == by_class(files[ours])


@pytest.mark.parametrize("region", REGIONS)
def test_counts_are_those_of_the_public_evaluators(region: str) -> None:
    files = pairs(region)
    reference = json.loads((DATA / f"sample_{region}" / "reference.json").read_text())["sospa_public"]["PLD"]
    for name in ("ped_crossing", "divider", "boundary"):
        assert files["streammapnet"].counts[name] == files["maptr"].counts[name] == reference[name]["num_preds"]
        assert (
            files["streammapnet-truth"].counts[name] == files["maptr-truth"].counts[name] == reference[name]["num_gts"]
        )


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("name", [row.name for row in FORMATS.values() if row.write])
def test_the_samples_go_through_every_writer_unchanged(tmp_path: Path, region: str, name: str) -> None:
    for kind, frames in pairs(region).items():
        if kind.endswith("truth") == name.endswith("truth") or name in ("geojson", "parquet"):
            if frames.confidence is None and name == "hdmapnet":
                continue
            mg.write(frames, tmp_path / "file", name)
            again = mg.read(tmp_path / "file")
            assert again.tokens == frames.tokens
            assert by_class(again) == by_class(frames)


def test_predictions_on_nuscenes_mini_load_in_both_schemas() -> None:
    folder = DATA / "nuscenes_mini_predictions"
    streammapnet, maptr = mg.read(folder / "submission_vector.json"), mg.read(folder / "nuscmap_results.json")
    assert (streammapnet.format, maptr.format) == ("streammapnet", "maptr")
    assert streammapnet.tokens == maptr.tokens
    assert len(maptr) == 81
    assert np.diff(maptr.offsets).tolist() == [50] * 81
    names = [frames.classes for frames in (streammapnet, maptr)]
    assert [names[0][k] for k in streammapnet.label] == [names[1][k] for k in maptr.label]
    assert streammapnet.confidence is not None
    assert maptr.confidence is not None
    assert np.array_equal(streammapnet.confidence, maptr.confidence)


def test_poses_take_the_maptr_axes_of_nuscenes_into_those_of_streammapnet() -> None:
    folder = DATA / "nuscenes_mini_predictions"
    streammapnet, maptr = mg.read(folder / "submission_vector.json"), mg.read(folder / "nuscmap_results.json")
    infos = json.loads((folder / "mini_val_poses.json").read_text())["infos"]
    by_token = {info["token"]: info for info in infos}
    poses = [lidar_to_ego(by_token[token]) for token in maptr.tokens]
    moved = maptr.transform(np.array(poses)).polylines.coords
    # The file was made by that motion, with points taken at the height of the LiDAR's origin.
    assert np.abs(moved - streammapnet.polylines.coords).max() < 0.05


def lidar_to_ego(info: dict[str, list[float]]) -> np.ndarray:
    w, x, y, z = info["lidar2ego_rotation_wxyz"]
    pose = np.eye(4)
    pose[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    pose[:3, 3] = info["lidar2ego_translation"]
    return pose
