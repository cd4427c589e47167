"""``mapgauge history``: text, JSON, CSV, and the page, and what it says of files that it leaves out."""

import csv
import io
import json
import shutil
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run, caller
from tests.features.history.conftest import day


@pytest.fixture
def here(stepped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``mapgauge`` in a folder with the folder of nights."""
    (tmp_path / "nights").symlink_to(stepped)
    return caller(tmp_path, monkeypatch, capsys)


def test_the_text_opens_with_the_answer_and_lists_the_changes(here: Run) -> None:
    done = here("history", "nights")
    assert done.returncode == 0
    assert done.stdout.startswith("boundary got worse by 0.0")
    assert "on 3 Nov 2026" in done.stdout.splitlines()[0]
    assert "Changes, the newest first" in done.stdout
    assert done.stderr == ""


def test_files_that_are_left_out_for_one_reason_are_one_warning(here: Run, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.mg").write_text("text", encoding="utf-8")
    done = here("history", "nights", "a.mg", "b.mg", "c.mg")
    (line,) = done.stderr.splitlines()
    assert "a.mg, b.mg, c.mg are left out: not a file of results: it is no archive" in line


def test_json_and_csv_have_what_python_has(here: Run, stepped: Path) -> None:
    document = json.loads(here("history", "nights", "--json").stdout)
    assert document["statements"][0]["about"] == "worse"
    rows = list(csv.DictReader(io.StringIO(here("history", "nights", "--csv").stdout)))
    assert len(rows) == 120
    assert {row["metadata:commit"] for row in rows} == {"1b3c", "4f2a"}
    curve = next(one for one in document["curves"] if (one["class"], one["key"]) == ("boundary", "pld"))
    of_boundary = [row for row in rows if row["class"] == "boundary"]
    assert [float(row["pld"]) for row in of_boundary] == curve["values"]


def test_only_what_got_worse_is_listed(here: Run) -> None:
    document = json.loads(here("history", "nights", "--only-worse", "--json").stdout)
    assert document["events"]
    assert all(event["worse"] for event in document["events"])


def test_files_that_are_left_out_are_named_on_stderr(here: Run, stepped: Path, tmp_path: Path) -> None:
    (tmp_path / "x.mg").write_bytes(b"PK\3\4")
    (tmp_path / "\x1b[31m.mg").write_text("text", encoding="utf-8")
    done = here("history", "nights", "x.mg", "\x1b[31m.mg")
    assert done.returncode == 0
    assert "x.mg, ?[31m.mg are left out: not a file of results" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="names of files have no control characters there")
def test_names_of_files_in_tables_send_nothing_to_the_terminal(here: Run, tmp_path: Path, stepped: Path) -> None:
    (tmp_path / "own").mkdir()
    for night in range(30):
        name = f"{day(night)}.mg"
        shutil.copy(stepped / name, tmp_path / "own" / name)
        shutil.copy(stepped / name, tmp_path / "own" / f"\x1b[31m\n{name}")
    done = here("history", "own")
    assert "3 Nov 2026 00:00 (" in done.stdout.split("Changes, the newest first")[1]
    assert "\x1b" not in done.stdout + done.stderr


def test_the_page_is_written_and_may_lie_beside_the_nights(here: Run, stepped: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    shutil.copytree(stepped, folder)
    done = here("history", "own", "-o", "own/history.html", "--title", "Night <watch>", "--quiet")
    assert done.returncode == 0
    page = (folder / "history.html").read_text(encoding="utf-8")
    assert "<title>Night &lt;watch&gt;</title>" in page
    assert done.stdout.splitlines()[0] in page
    assert here("history", "own", "-o", "own/history.html").returncode == 0


def test_tags_of_scenes_group_the_changes(here: Run, tmp_path: Path) -> None:
    rows = [f"scene-000{k},{'yes' if k < 3 else 'no'}" for k in range(6)]
    (tmp_path / "tags.csv").write_text("\n".join(["scene,night", *rows]), encoding="utf-8")
    done = here("history", "nights", "--tags", "tags.csv", "--by", "night")
    assert "This holds for each night: night +0.0" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nights", "-o", "history.pdf"], 2, "expected a name that ends in .html"),
        (["nights", "--by", "city"], 2, "names a column of --tags"),
        (["nights", "--protocol", "theirs"], 1, "no file of results has the protocol 'theirs'"),
        (["nothing"], 1, "no such file"),
        (["nights", "--json", "--csv"], 2, ""),
        ([f"nights/{day(0)}.mg", "-o", f"nights/{day(0)}.html", "--tags", "nights"], 1, ""),
    ],
)
def test_wrong_use_is_an_error_with_words(here: Run, words: list[str], code: int, message: str) -> None:
    done = here("history", *words)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
