"""The scripts of the recipes for Codabench, EvalAI and GitHub Actions run, without these services."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mapgauge as mg

RECIPES = Path(__file__).parents[3] / "examples" / "challenge"


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a manifest, the truth, and a good and a broken submission."""
    folder = tmp_path_factory.mktemp("night")
    predictions, truth = mg.demo.demo_world(10)
    mg.Challenge.of("Night", truth).save(folder / "challenge.json")
    mg.write(truth, folder / "truth.geojson")
    (folder / "submissions").mkdir()
    mg.write(predictions, folder / "submissions" / "good.json", "streammapnet")
    text = (folder / "submissions" / "good.json").read_bytes()
    (folder / "submissions" / "broken.json").write_bytes(text[:-300])
    return folder


def value_of(night: Path) -> float | None:
    return mg.evaluate(night / "submissions" / "good.json", night / "truth.geojson").mean["pld"]


def test_codabench(night: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score = runpy.run_path(str(RECIPES / "codabench.py"))["main"]
    given = tmp_path / "input"
    (given / "ref").mkdir(parents=True)
    (given / "res").mkdir()
    shutil.copy(night / "challenge.json", given / "ref")
    shutil.copy(night / "truth.geojson", given / "ref")
    shutil.copy(night / "submissions" / "good.json", given / "res" / "theirs.json")
    assert score(given, tmp_path / "output") == 0
    scores = json.loads((tmp_path / "output" / "scores.json").read_text(encoding="utf-8"))
    assert scores["pld"] == value_of(night)
    assert all(isinstance(value, float) for value in scores.values())
    shutil.copy(night / "submissions" / "broken.json", given / "res" / "theirs.json")
    assert score(given, tmp_path / "other") == 1
    assert "not JSON" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_evalai(night: Path) -> None:
    evaluate = runpy.run_path(str(RECIPES / "evalai.py"))["evaluate"]
    truth = str(night / "truth.geojson")
    said = evaluate(truth, str(night / "submissions" / "good.json"), "dev", manifest=night / "challenge.json")
    assert said["result"][0]["dev"]["pld"] == value_of(night)
    assert not any(token in said["submission_result"] for token in mg.read(night / "truth.geojson").tokens)
    with pytest.raises(ValueError, match="not JSON"):
        evaluate(truth, str(night / "submissions" / "broken.json"), "dev", manifest=night / "challenge.json")


def steps_of(name: str) -> list[dict[str, Any]]:
    """The steps of the only job of a workflow."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    workflow = yaml.safe_load((RECIPES / "github" / name).read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    assert workflow["permissions"] == {"contents": "read"}
    return list(job["steps"])


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_the_workflow_that_checks_a_pull_request(night: Path, tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    shutil.copy(night / "challenge.json", tmp_path / "main")
    shutil.copytree(night / "submissions", tmp_path / "theirs" / "submissions")
    command = next(step["run"] for step in steps_of("check.yml") if "run" in step)
    real = command.replace("mapgauge challenge", f'"{sys.executable}" -m mapgauge challenge')
    words = ["bash", "-e", "-c", real]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    assert "broken.json would be refused" in done.stdout
    assert "good.json can be scored" in done.stdout
    accepting = ["bash", "-e", "-c", command.replace("mapgauge challenge", "true")]
    assert subprocess.run(accepting, cwd=tmp_path, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_the_workflow_that_scores(night: Path, tmp_path: Path) -> None:
    command = next(step["run"] for step in steps_of("score.yml") if "run" in step)
    (tmp_path / "night").mkdir()
    shutil.copy(night / "challenge.json", tmp_path / "night")
    shutil.copy(RECIPES / "score_folder.py", tmp_path)
    shutil.copytree(night / "submissions", tmp_path / "submissions")
    (tmp_path / "submissions" / ".gitkeep").write_bytes(b"")
    (tmp_path / "submissions" / "\x1b]0;title\x07.json").write_bytes(b"{}")
    words = ["bash", "-e", "-c", command.replace("python ", f'"{sys.executable}" ')]
    environment = os.environ | {"TRUTH": str(night / "truth.geojson")}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 1  # two files were refused
    assert "\x1b" not in done.stdout + done.stderr
    assert "gitkeep" not in done.stderr
    begin, *_, end = done.stdout.splitlines()
    assert begin == f"::stop-commands::{end.strip(':')}"
    assert "good is first of 1 submission." in done.stdout
    assert (tmp_path / "night" / "board.md").exists()
    # What the workflow uploads has nothing private.
    paths = steps_of("score.yml")[-1]["with"]["path"].split()
    assert paths == ["night/board.*", "night/challenge.json", "night/public/"]


def test_the_container_starts_a_command_that_exists() -> None:
    text = (RECIPES / "Containerfile").read_text(encoding="utf-8")
    assert 'ENTRYPOINT ["mapgauge"]' in text
    assert "USER scorer" in text
    assert "--network none" in text
    assert "codabench.py" in (RECIPES / "codabench-metadata.yaml").read_text(encoding="utf-8")
