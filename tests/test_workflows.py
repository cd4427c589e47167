"""The workflows of the repository: actions are pinned, and jobs run what is there."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PINNED = re.compile(r"uses: (?:\./\S+|[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)")


def steps(path: Path) -> list[dict[str, Any]]:
    """The steps of all jobs of a workflow."""
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    return [step for job in jobs for step in job.get("steps", [])]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_hash_and_names_its_version(path: Path) -> None:
    lines = [line.strip().removeprefix("- ") for line in path.read_text("utf-8").splitlines() if "uses:" in line]
    assert lines
    assert [line for line in lines if not PINNED.fullmatch(line)] == []


def test_an_action_has_the_same_hash_everywhere() -> None:
    found = {re.split("[@ ]", line)[0]: set[str]() for path in FILES for line in uses(path)}
    for path in FILES:
        for line in uses(path):
            found[re.split("[@ ]", line)[0]].add(line)
    assert {name: lines for name, lines in found.items() if len(lines) > 1} == {}


def uses(path: Path) -> list[str]:
    return re.findall(r"uses: ([\w/-]+@.+)", path.read_text("utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_commands_of_jobs_name_what_exists(path: Path) -> None:
    for step in steps(path):
        for line in step.get("run", "").splitlines():
            words = shlex.split(line)
            for name in [word for word in words if word.startswith(("tests/", "packaging/", ".ci/"))]:
                assert (ROOT / name).exists(), line
            if words[:1] == ["make"]:
                assert re.search(rf"^{words[1]}:", MAKEFILE, re.M), line
            if "-m" in words and words[words.index("-m") + 1].startswith("tools."):
                assert (ROOT / f"{words[words.index('-m') + 1].replace('.', '/')}.py").exists(), line


def test_a_release_does_not_read_a_cache_that_other_runs_have_written() -> None:
    assert "cache:" not in (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")


def test_a_system_stops_a_release_if_the_package_names_it() -> None:
    """Jobs of other systems are there, so that the package can name them one day."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    claimed = {name for name in classifiers if name.startswith("Operating System")}
    assert claimed == {"Operating System :: POSIX :: Linux"}
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))["jobs"]
    assert set(jobs["systems"]["strategy"]["matrix"]["system"]) == {"macos-latest", "windows-latest"}
    assert jobs["systems"]["continue-on-error"] is True
    others = [job for name, job in jobs.items() if name != "systems"]
    assert all(job["runs-on"] == "ubuntu-latest" and "continue-on-error" not in job for job in others)
