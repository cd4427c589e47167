"""The table of ``mapgauge frames`` in terminals of several widths, and tokens as people type them."""

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import Run
from tests.commands import run_script
from tests.widths import columns_of

import mapgauge as mg

if TYPE_CHECKING:
    import subprocess

LOG = "7fab2350-7eaf-3b7e-a39d-6937a4c1bede"
TOKENS = [f"{LOG}_31596625877241294{k}" for k in range(4)]  # as those of Argoverse 2
LINES = {"divider": [[[0, 0], [9, 0]]], "boundary": [[[0, 5], [9, 5]]]}
JAPANESE = ["東京都千代田区丸の内一丁目九番一号の交差点", "東京の橋", "京都の駅", "大阪の道"]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def results(folder: Path, tokens: list[str], scenes: bool = True) -> Path:
    """Results of some frames, in one file."""
    truth = replace(mg.MapFrames.of(dict.fromkeys(tokens, LINES)), scenes=("駅" if scenes else LOG,) * len(tokens))
    file = folder / "results.mg"
    mg.evaluate(truth.with_confidence(0.5), truth).save(file, geometry="original")
    return file


def shown(monkeypatch: pytest.MonkeyPatch, columns: int, *words: object) -> list[str]:
    """The lines that a command prints in a terminal."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "argv", ["mapgauge", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        run_script()
    assert not ended.value.code
    return terminal.getvalue().splitlines()


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
@pytest.mark.parametrize("tokens", [TOKENS, JAPANESE], ids=["argoverse", "japanese"])
def test_there_is_one_table_that_fits_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, tokens: list[str]
) -> None:
    lines = shown(monkeypatch, columns, "frames", results(tmp_path, tokens))
    assert max(map(columns_of, lines)) <= columns
    assert lines[0] == "4 of 4 frames with predictions and truth"
    header = lines[1].split()
    assert header[0] == "pld"
    assert header[-1] == "token"
    assert len({columns_of(line.rpartition("  ")[0]) for line in lines[1:6]}) == 1  # the columns are aligned
    assert [line for line in lines if line.endswith("token")] == [lines[1]]
    if columns != 100:  # Japanese tokens are twice as wide
        assert ("Not shown" in " ".join(lines)) == (columns < 100)


def test_what_is_left_out_is_named_and_what_is_asked_for_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = results(tmp_path, TOKENS, scenes=False)
    lines = shown(monkeypatch, 60, "frames", file)
    assert "detection" in " ".join(lines[6:])
    assert "--csv" in " ".join(lines[6:])
    assert "detection" in shown(monkeypatch, 60, "frames", file, "--sort", "detection")[1]
    assert "missed.divider" in shown(monkeypatch, 60, "frames", file, "--where", "missed.divider < 9")[1]


def test_a_scene_with_which_the_token_begins_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "scene" not in shown(monkeypatch, 200, "frames", results(tmp_path, TOKENS, scenes=False))[1]
    assert "scene" in shown(monkeypatch, 200, "frames", results(tmp_path, TOKENS))[1]


def test_tokens_are_short_in_text_and_whole_in_documents(call: Run, tmp_path: Path) -> None:
    file = results(tmp_path, TOKENS)
    assert "7fab2350…258772412940" in call("frames", file).stdout
    assert LOG not in call("frames", file).stdout
    for option in ("--csv", "--json", "--tokens"):
        assert TOKENS[0] in call("frames", file, option).stdout


def test_tokens_that_would_look_the_same_are_whole(call: Run, tmp_path: Path) -> None:
    alike = ["scene-one-1234567890-000000000001", "scene-one-abcdefghij-000000000001"]
    text = call("frames", results(tmp_path, alike)).stdout
    assert all(token in text for token in alike)


def same(done: "subprocess.CompletedProcess[str]", code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


SHORT = ["7fab2350…258772412941", "7fab2350...41", TOKENS[1]]


@pytest.mark.parametrize("short", SHORT)
def test_a_short_token_is_accepted(call: Run, tmp_path: Path, short: str) -> None:
    file = results(tmp_path, TOKENS)
    assert TOKENS[1] in call("show", file, "--frame", short, "-o", tmp_path / "x.svg").stdout


@pytest.mark.needs_feature("splits")
@pytest.mark.parametrize("short", SHORT)
def test_a_short_token_is_accepted_for_similar_frames(call: Run, tmp_path: Path, short: str) -> None:
    file = results(tmp_path, TOKENS)
    listed = call("frames", file, "--like", short, "--tokens").stdout.split()
    assert set(listed) == {TOKENS[0], TOKENS[2], TOKENS[3]}


def test_a_short_token_that_fits_several_frames_lists_them(call: Run, tmp_path: Path) -> None:
    file = results(tmp_path, TOKENS)
    same(call("show", file, "--frame", "7fab", "-o", tmp_path / "x.svg"), 1, "fits 4 frames", *TOKENS)
    same(call("frames", file, "--like", "7fab…31"), 2, "no frame '7fab…31'", "the first is")
    same(call("frames", file, "--like", "7fab"), 2, "fits 4 frames", *TOKENS)
