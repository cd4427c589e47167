"""Runs every command and all Python code of the page about making truth, on synthetic data sets."""

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.commands import run_script
from tests.truth import av2_city, nuscenes_city

import mapgauge as mg

TEXT = (Path(__file__).parents[2] / "docs" / "how-to" / "truth.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", TEXT, re.M | re.S)
    for line in block.splitlines()
    if line.startswith("mapgauge ")
]
PYTHON = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with data sets and predictions, named as on the page."""
    made = tmp_path_factory.mktemp("how-to")
    nuscenes_city.town().write(made / "nuscenes", "v1.0-trainval")
    poses = [av2_city.At(20 + 2 * i, -2) for i in range(9)]
    av2_city.town().write(made / "argoverse2" / "val", poses)
    with pytest.MonkeyPatch.context() as patch:
        small_splits(patch)
        seen = mg.truth.nuscenes(made / "nuscenes")
        mg.write(seen.with_confidence(0.9), made / "submission_vector.json", "streammapnet")
        seen = mg.truth.nuscenes(made / "nuscenes", rules="maptr")
        mg.write(seen.with_confidence(0.9), made / "nuscmap_results.json", "maptr")
        seen = mg.truth.argoverse2(made / "argoverse2", rules="maptrv2", every=4)
        mg.write(seen.with_confidence(0.9), made / "av2map_results.json", "maptr")
        (made / "tokens.txt").write_text("\n".join(seen.tokens), encoding="utf-8")
    return made


def small_splits(patch: pytest.MonkeyPatch) -> None:
    """Replace the splits by the scenes of the synthetic town."""
    scenes = tuple(scene["name"] for scene in nuscenes_city.town().tables["scene"])
    patch.setattr("mapgauge.truth.selection.splits", lambda _: {"val": scenes, "new-val": scenes})


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    small_splits(monkeypatch)


def test_the_commands_run_in_the_order_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(COMMANDS) > 8
    for command in COMMANDS:
        monkeypatch.setattr("sys.argv", shlex.split(command))
        with pytest.raises(SystemExit) as ended:
            run_script()
        assert not ended.value.code, command


def test_the_python_runs_in_the_order_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in PYTHON:
        exec(block, names)
    assert "ped_crossing" in capsys.readouterr().out
    results = mg.evaluate(names["predictions"], names["truth"])
    assert results.mean["ap_chamfer"] == 1


def test_moving_from_lidar_to_vehicle_brings_dividers_together() -> None:
    seen = mg.truth.nuscenes("nuscenes", rules="maptr")
    wanted = mg.truth.nuscenes("nuscenes", rules="streammapnet")
    assert seen.poses is not None
    assert wanted.poses is not None
    moved = seen.transform(np.linalg.inv(wanted.poses) @ seen.poses).with_confidence(1.0)
    results = mg.evaluate(moved.crop((48, 20)), wanted.crop((48, 20)), metrics=["pld"])
    assert results.classes["divider"]["pld"] is not None
    assert results.classes["divider"]["pld"] < 0.01


def test_every_finding_of_truth_is_on_the_page_of_findings() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "findings.md"
    package = Path(mg.__file__).parent / "truth"
    source = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    codes = set(
        re.findall(r'"(?:error|warning|note)",\s*"([a-z-]+)"|\("([a-z]+-[a-z-]+)", (?:repaired|left_out)', source)
    )
    named = {code for pair in codes for code in pair if code}
    assert len(named) >= 7
    assert named <= set(re.findall(r"`([a-z-]+)`", page.read_text(encoding="utf-8")))
