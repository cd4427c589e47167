"""Files inside folders that mapgauge reads must be plain files, and fit into memory.

A link to ``/dev/null`` stands for all devices and pipes: reading it ends at once, also where it is not refused.
"""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import caller
from tests.truth.nuscenes_city import MINI, PLACE, town

import mapgauge as mg
from mapgauge.cli.paper import MARK
from mapgauge.demo import demo_world
from mapgauge.io.files import source

pytestmark = pytest.mark.skipif(not Path("/dev/null").exists(), reason="this system has no such device")
DEVICE = "this is a device, expected a file"


def replace(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/null")


def test_a_work_folder_has_plain_files(tmp_path: Path) -> None:
    for name, side in zip(("x", "y"), demo_world(3), strict=True):
        mg.write(side, tmp_path / f"{name}.parquet")
    work = tmp_path / "work"
    mg.evaluate(tmp_path / "x.parquet", tmp_path / "y.parquet", work=work)
    for file in (work / "findings.json", next(work.glob("chunks-*/*.npz"))):
        kept = file.read_bytes()
        replace(file)
        with pytest.raises(mg.UnreadableFile, match=f"{file.name}: {DEVICE}. Delete it and resume the evaluation"):
            mg.load_results(work)
        file.unlink()
        file.write_bytes(kept)
    mg.load_results(work)


@pytest.mark.parametrize(
    "table", [f"{MINI}/scene.json", f"{MINI}/sample_data.json", f"{MINI}/ego_pose.json", f"maps/expansion/{PLACE}.json"]
)
def test_a_data_set_has_plain_files(tmp_path: Path, table: str) -> None:
    root = town().write(tmp_path / "nuscenes")
    replace(root / table)
    with pytest.raises(mg.UnreadableFile, match=f"{Path(table).name}: {DEVICE}"):
        mg.truth.nuscenes(root, version=MINI, split="mini-val")


def test_tokens_are_in_a_plain_file(tmp_path: Path) -> None:
    root = town().write(tmp_path / "nuscenes")
    with pytest.raises(mg.UnreadableFile, match=f"/dev/null: {DEVICE}"):
        mg.truth.nuscenes(root, version=MINI, tokens="/dev/null")


def test_the_mark_of_a_folder_is_a_small_plain_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    mg.evaluate(*demo_world(3)).save(tmp_path / "r.mg")
    (tmp_path / "out").mkdir()
    mark = tmp_path / "out" / MARK
    for make, message in (
        (lambda: mark.symlink_to("/dev/null"), DEVICE),
        (
            lambda: mark.write_text("table.tex " * 10_000, encoding="utf-8"),
            "the file has 100000 bytes, expected at most 65536",
        ),
    ):
        make()
        done = caller(tmp_path, monkeypatch, capsys)("paper", "r.mg", "-o", "out")
        assert done.returncode == 1
        assert done.stderr == f"mapgauge: out/{MARK}: {message}. Pass another folder, or an empty one, with --output\n"
        mark.unlink()


def test_a_file_that_does_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large.json").write_text(json.dumps({"results": "x" * 1000}), encoding="utf-8")
    monkeypatch.setattr(source, "memory", lambda: 1000)
    with pytest.raises(mg.UnreadableFile, match=r"1015 bytes, more than .*memory"):
        mg.read(tmp_path / "large.json")
