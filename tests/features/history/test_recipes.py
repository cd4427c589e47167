"""The workflows of GitHub Actions in ``examples/history`` run, with bash as the stand-in of the service."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.features.history.conftest import evaluated

import mapgauge as mg

RECIPES = Path(__file__).parents[3] / "examples" / "history"
SHA = "4f2a1b3c" * 5

pytestmark = [
    pytest.mark.skipif(not shutil.which("bash") or not shutil.which("git"), reason="needs bash and git"),
    pytest.mark.skipif(sys.platform == "win32", reason="the runners of the recipes have POSIX paths"),
]


@pytest.fixture
def job(tmp_path: Path, sides: tuple[mg.MapFrames, mg.MapFrames]) -> Path:
    """A runner: truth, nights, a baseline, a checkout with a model that is worse, and the commands it calls."""
    pytest.importorskip("matplotlib", reason="the card needs matplotlib")
    predictions, truth = sides = (sides[0].at(range(0, 60, 3)), sides[1].at(range(0, 60, 3)))  # of six scenes
    mg.write(truth, tmp_path / "truth.geojson")
    (tmp_path / "nights").mkdir()
    for night in range(3):
        results = evaluated(sides, {}, {"date": f"2026-11-0{night + 1}", "commit": "1b3c"})
        results.save(tmp_path / "nights" / f"2026-11-0{night + 1}.mg")
    mg.evaluate(predictions, truth).save(tmp_path / "baseline.mg")
    work = tmp_path / "work"
    work.mkdir()
    mg.write(predictions.with_confidence(0.2), tmp_path / "worse.json", "streammapnet")
    mg.write(predictions, tmp_path / "same.json", "streammapnet")
    command(work / "predict.sh", f'cp "{tmp_path}/$MODEL.json" "$1"')
    (tmp_path / "bin").mkdir()
    command(tmp_path / "bin" / "mapgauge", f'exec "{sys.executable}" -m mapgauge "$@"')
    command(tmp_path / "bin" / "gh", f'echo "$@" > "{tmp_path}/gh.txt"; cp "$5" "{tmp_path}/comment.md"')
    return tmp_path


def command(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def run_workflow(name: str, job: Path, model: str) -> dict[str, tuple[int, str]]:
    """Run the steps of a workflow in order: after a failure, only those with ``if: always()``. Actions are left out."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    workflow = yaml.safe_load((RECIPES / name).read_text(encoding="utf-8"))
    (described,) = workflow["jobs"].values()
    values: dict[str, str] = {
        key: str(job / Path(value).name) for key, value in described["env"].items() if value.startswith("/srv/maps")
    }
    temporary = job / "temp"
    temporary.mkdir(exist_ok=True)
    environment = os.environ | values
    environment |= {"PATH": f"{job / 'bin'}:{os.environ['PATH']}", "MODEL": model, "GITHUB_SHA": SHA, "NUMBER": "7"}
    environment |= {"GITHUB_REPOSITORY": "us/maps", "RUNNER_TEMP": str(temporary)}
    environment |= {"GITHUB_ENV": str(job / "env.txt"), "GITHUB_STEP_SUMMARY": str(job / "summary.md")}
    environment.pop("SOURCE_DATE_EPOCH", None)
    done: dict[str, tuple[int, str]] = {}
    failed = False
    for step in steps_with_commands(described):
        if failed and step.get("if") != "always()":
            continue
        if (job / "env.txt").exists():
            lines = (job / "env.txt").read_text(encoding="utf-8").splitlines()
            environment |= dict(line.split("=", 1) for line in lines)
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        ended = subprocess.run(
            words, cwd=job / "work", env=environment, capture_output=True, text=True, encoding="utf-8", check=False
        )
        done[step["name"]] = (ended.returncode, ended.stdout + ended.stderr)
        failed |= ended.returncode != 0
    return done


def steps_with_commands(described: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for step in described["steps"] if "run" in step]


def test_a_night_is_scored_gated_and_put_into_the_history(job: Path) -> None:
    (job / "baseline.mg").unlink()  # then the first night becomes the baseline
    done = run_workflow("nightly.yml", job, "same")
    assert (job / "baseline.mg").exists()
    assert {name: code for name, (code, _) in done.items()} == dict.fromkeys(done, 0), done
    nights = mg.history(job / "nights").nights
    assert len(nights) == 4
    assert nights[-1].metadata == {"commit": "4f2a1b3c"}
    assert nights[-1].name in nights[-1].date  # the file has the name of the day
    for name in ("history.html", "report.html", "card.png"):
        assert (job / "work" / name).stat().st_size > 1000
    assert "4 nights are too few to look for steps" in (job / "summary.md").read_text(encoding="utf-8")


def test_a_bad_night_fails_the_gate_and_is_in_the_history(job: Path) -> None:
    done = run_workflow("nightly.yml", job, "worse")
    assert {name: code for name, (code, _) in done.items()} == {"Predict": 0, "Evaluate": 0, "Gate": 3, "History": 0}
    assert "gate:" in done["Gate"][1]
    assert len(mg.history(job / "nights").nights) == 4
    assert (job / "work" / "history.html").exists()


def git(job: Path, *words: str) -> str:
    settings = ["-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "init.defaultBranch=main"]
    return subprocess.run(
        ["git", *settings, *words], cwd=job / "work", capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout


def test_a_pull_request_shows_its_card_and_its_history(job: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(job / "origin.git")], check=True)
    git(job, "init", "-q")
    git(job, "remote", "add", "origin", str(job / "origin.git"))
    git(job, "add", "predict.sh")
    git(job, "commit", "-qm", "The model")
    done = run_workflow("pull-request.yml", job, "worse")
    expected = ["Predict", "Evaluate", "History and card", "Put the card on a branch", "Comment", "Gate"]
    assert list(done) == expected, done
    assert [code for code, _ in done.values()] == [0, 0, 0, 0, 0, 3], done
    assert git(job, "ls-tree", "-r", "--name-only", "origin/cards").split() == [f"7/{SHA}.png"]
    comment = (job / "comment.md").read_text(encoding="utf-8")
    assert f"https://github.com/us/maps/raw/cards/7/{SHA}.png" in comment
    assert "Last night" in comment
    assert len(list((job / "nights").iterdir())) == 3  # a pull request is no night
