"""The tool that writes and checks the stored code of kernels, and the job of the workflow that compares its bytes."""

import subprocess
import sys
from pathlib import Path

import pytest
from tools import stored_kernels

from mapgauge.kernels import _stored

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "tests.yml"


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "tools.stored_kernels", *arguments]
    ended = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8")
    return ended.stdout


def test_the_tool_prints_the_packages_that_the_file_was_written_with() -> None:
    lines = run("--requirements").splitlines()
    names = [line.partition("==")[0] for line in lines]
    assert names == ["numba", "llvmlite", "numpy"]
    assert [f"{name}=={stored_kernels.made_with()[name]}" for name in names] == lines


def test_other_versions_are_an_error_only_if_the_check_is_exact(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stored_kernels, "versions", lambda: {"python": "2.7"})
    assert stored_kernels.check([], exact=False) == ""
    assert "not compared" in capsys.readouterr().err
    assert "not compared" in stored_kernels.check([], exact=True)
    with pytest.raises(SystemExit, match="2.7"):
        stored_kernels.main(["--check", "--exact"])


@pytest.mark.parametrize("is_same", [True, False])
def test_with_the_same_versions_the_bytes_are_compared(monkeypatch: pytest.MonkeyPatch, is_same: bool) -> None:
    content = _stored.FILE.read_bytes()

    def write(path: Path) -> None:
        path.write_bytes(content if is_same else content + b" ")

    monkeypatch.setattr(stored_kernels, "versions", stored_kernels.made_with)
    monkeypatch.setattr(stored_kernels, "write_in_new_process", write)
    for exact in (False, True):
        assert (stored_kernels.check([], exact=exact) == "") == is_same


def test_an_option_that_the_tool_does_not_have_is_refused() -> None:
    for arguments in (["--exact"], ["--check", "--exakt"]):
        with pytest.raises(SystemExit, match="expected --check"):
            stored_kernels.main(arguments)


def test_a_job_installs_the_versions_of_the_file_and_compares_bytes() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    steps = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]["stored"]["steps"]
    (python,) = (step["with"]["python-version"] for step in steps if "setup-python" in step.get("uses", ""))
    assert python == stored_kernels.made_with()["python"]
    commands = [step["run"] for step in steps if "run" in step]
    written = "stored-requirements.txt"
    assert commands[1:] == [
        f"python -m tools.stored_kernels --requirements > {written}",
        f"python -m pip install --requirement {written}",
        "python -m tools.stored_kernels --check --exact",
    ]
