"""A challenge is played through: the manifest, files that are good, broken and hostile, the board, verification."""

import gzip
import io
import json
import os
import pickle
import re
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.audit import faults_of
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.features.challenge.sandbox import ask
from mapgauge.features.challenge.scoring import write_baselines
from mapgauge.features.challenge.submission import CheckedSubmission, checked
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import part_colours, title_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

FRAMES = 60  # of six scenes


@pytest.fixture(scope="module")
def sides() -> tuple[mg.MapFrames, mg.MapFrames]:
    return mg.demo.demo_world(FRAMES)


@pytest.fixture(scope="module")
def challenge(sides: tuple[mg.MapFrames, mg.MapFrames]) -> mg.Challenge:
    return mg.Challenge.of("Night maps", sides[1], rules="One file a day.")


@pytest.fixture(scope="module")
def played(
    tmp_path_factory: pytest.TempPathFactory, sides: tuple[mg.MapFrames, mg.MapFrames], challenge: mg.Challenge
) -> Path:
    """The folder of a challenge with three submissions, two of which tie."""
    folder = tmp_path_factory.mktemp("challenge")
    predictions, truth = sides
    poor, _ = mg.demo.demo_world(FRAMES, quality="poor")
    challenge.save(folder / "challenge.json")
    mg.write(truth, folder / "truth.geojson")
    mg.write(predictions, folder / "first.json", "streammapnet")
    mg.write(predictions.keep(np.arange(len(predictions.polylines)) % 400 != 7), folder / "tied.geojson")
    mg.write(poor, folder / "poor.geojson")
    write_baselines(challenge, truth, folder, prior=truth)
    for name in ("first.json", "tied.geojson", "poor.geojson"):
        link = "https://example.org/?a=1&b=<2>" if name == "first.json" else ""
        assert mg.score_submission(challenge, folder / name, truth, folder, link=link).document is not None
    return folder


# The manifest


def test_a_manifest_comes_back_and_holds_no_truth(
    played: Path, challenge: mg.Challenge, sides: tuple[mg.MapFrames, mg.MapFrames]
) -> None:
    again = mg.Challenge.load(played / "challenge.json")
    assert again == challenge
    assert again.digest == challenge.digest
    text = (played / "challenge.json").read_text(encoding="utf-8")
    assert all(f"{value!r}" not in text for value in sides[1].polylines.coords[:50].ravel().tolist() if value % 1)
    assert challenge.truth == mg.evaluate(*sides).inputs[1].hash


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mapgauge_challenge": 2}, "expected at most 1"),
        ({"mapgauge_challenge": True}, "not valid"),
        ({"name": "../../etc/cron.d/x"}, "the name of the challenge"),
        ({"name": 3}, "not valid"),
        ({"tokens": []}, "needs the tokens"),
        ({"tokens": ["a", "a"]}, "must be different"),
        ({"tokens": [[]]}, "not valid"),
        ({"limits": {"bytes": 1}}, "limits must be"),
        ({"limits": dict.fromkeys(vars(mg.ChallengeLimits()), 10**30)}, "must be a whole number|not valid"),
        ({"formats": ["/etc/passwd"]}, "unknown format"),
        ({"metrics": ["../x"]}, "unknown metric"),
        ({"protocol": {"name": "x", "evil": 1}}, "protocol is not valid"),
        ({"protocol": {"name": "x", "settings": 3}}, "protocol is not valid"),
        ({"protocol": {}}, "protocol is not valid"),
        ({"truth": "javascript:alert(1)"}, "hexadecimal"),
        ({"long_axis": "z"}, "not valid"),
        ({"more": 1}, "not valid"),
    ],
)
def test_a_damaged_or_hostile_manifest_is_refused_in_words(
    tmp_path: Path, challenge: mg.Challenge, change: dict[str, Any], said: str
) -> None:
    file = tmp_path / "challenge.json"
    file.write_text(json.dumps(challenge.to_dict() | change), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=said) as refused:
        mg.Challenge.load(file)
    assert str(refused.value).startswith(str(file))


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[" * 100_000,
        b'{"a": 1, "a": 2}',
        b"cposix\nsystem\n(S'true'\ntR.",
        b"null",
        b'{"mapgauge_challenge": 1}',
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "challenge.json"
    file.write_bytes(data)
    with pytest.raises(mg.UnreadableFile):
        mg.Challenge.load(file)


def test_another_truth_and_other_scenes_are_refused(
    played: Path, challenge: mg.Challenge, sides: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path
) -> None:
    truth = sides[1]
    moved = truth.rotate(0.001)
    with pytest.raises(mg.InvalidInput, match="not the truth of the challenge"):
        mg.score_submission(challenge, played / "first.json", moved, tmp_path)
    with pytest.raises(mg.InvalidInput, match="the scenes are not those"):
        mg.score_submission(challenge, played / "first.json", replace(truth, scenes=None), tmp_path)
    fewer = replace(challenge, tokens=challenge.tokens[:-5])
    with pytest.raises(mg.InvalidInput, match="its tokens are not those of the truth"):
        mg.score_submission(fewer, played / "first.json", truth, tmp_path)
    assert list(tmp_path.iterdir()) == []


# Checks without truth


def checked_here(challenge: mg.Challenge, file: Path) -> CheckedSubmission:
    """What a check finds in a file that can do no harm, in this process."""
    return checked(challenge, str(file), file.name)[0]


def test_a_check_finds_what_can_be_found_without_truth(
    tmp_path: Path, challenge: mg.Challenge, sides: tuple[mg.MapFrames, mg.MapFrames]
) -> None:
    from mapgauge.features.challenge.submission import _findings

    good = sides[0]
    assert good.confidence is not None

    def found(frames: mg.MapFrames) -> dict[str, str]:
        return {finding.code: finding.level for finding in _findings(challenge, frames)}

    def scaled(factor: float) -> mg.MapFrames:
        lines = good.polylines
        return replace(good, polylines=mg.Polylines(lines.coords * factor, lines.offsets))

    assert "error" not in found(good).values()
    some = list(range(len(good)))
    assert found(good.at(some[:-2]))["tokens-missing"] == "warning"
    assert found(good.at(some[:10]))["tokens-missing"] == "error"
    assert found(good.at(some[: FRAMES // 2]))["tokens-missing"] == "error"  # as evaluate says
    assert found(replace(good, tokens=("other", *good.tokens[1:])))["tokens-unknown"] == "error"
    assert found(good.at([*some, 0]))["tokens-duplicate"] == "error"
    assert found(good.rename({"divider": "lane"}))["class-not-compared"] == "warning"
    assert found(good.rename({"divider": "lane"}))["class-never-predicted"] == "warning"
    assert found(good.rename({"divider": "a", "boundary": "b", "ped_crossing": "c"}))["classes-disjoint"] == "error"
    assert found(replace(good, confidence=None))["confidence-missing"] == "error"
    assert found(replace(good, confidence=good.confidence * 100))["confidence-range"] == "error"
    assert found(scaled(100))["coordinates-unit"] == "error"
    assert found(scaled(1 / 30))["coordinates-normalised"] == "error"
    assert found(good.rotate(90))["axes-turned"] == "warning"
    # The check of the file finds the same, in a process of its own.
    file = tmp_path / "submission.geojson"
    mg.write(good.rotate(90), file)
    alone = mg.check_submission(challenge, file)
    assert alone.findings == checked_here(challenge, file).findings
    assert ("axes-turned", "warning") in [(finding.code, finding.level) for finding in alone.findings]


def test_limits_of_lines_points_bytes_and_formats(
    played: Path, challenge: mg.Challenge, sides: tuple[mg.MapFrames, mg.MapFrames]
) -> None:
    def codes(**limits: int) -> list[str]:
        limited = replace(challenge, limits=mg.ChallengeLimits(**limits))
        found = mg.check_submission(limited, played / "first.json")
        assert not found.is_accepted
        return [finding.code for finding in found.findings if finding.level == "error"]

    assert codes(instances_per_frame=10, points_per_line=3) == ["limit-instances", "limit-points"]
    assert codes(bytes=1000) == ["submission-unreadable"]
    found = checked_here(replace(challenge, formats=("parquet",)), played / "first.json")
    assert "streammapnet is not allowed" in found.findings[0].message


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory need Linux")
def test_a_process_that_takes_too_long_is_ended_with_what_it_started(
    tmp_path: Path, played: Path, challenge: mg.Challenge
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import pathlib, subprocess, sys, time\n"
        "started = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(tmp_path / 'started')!r}).write_text(str(started.pid))\n"
        "time.sleep(600)\n",
        encoding="utf-8",
    )
    hasty = replace(challenge, limits=mg.ChallengeLimits(seconds=3))
    found = ask(hasty, played / "first.json", program=program)
    assert found.problem is not None
    assert found.problem.code == "limit-seconds"
    state = Path("/proc", (tmp_path / "started").read_text(encoding="utf-8"), "stat")
    for _ in range(1000):  # the signal was sent, and takes a moment
        if not state.exists() or ") Z" in state.read_text(encoding="utf-8"):
            return
        time.sleep(0.01)
    pytest.fail("what the process started is still running")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory need Linux")
def test_a_limit_of_memory_ends_the_process(played: Path, challenge: mg.Challenge) -> None:
    slow = replace(challenge, limits=mg.ChallengeLimits(memory_bytes=1 << 26))
    found = mg.check_submission(slow, played / "first.json")
    assert not found.is_accepted
    assert found.findings[0].code in ("limit-memory", "submission-unreadable")


class Program:
    """A pickle of this runs a program."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch executed",)


def assert_refused_in_words(found: CheckedSubmission) -> None:
    assert not found.is_accepted
    assert found.findings[0].code == "submission-unreadable"
    assert "theirs.json" in found.findings[0].message
    assert "Traceback" not in found.findings[0].message


@pytest.mark.parametrize(
    "data",
    [
        b'{"meta": {}, "results": {"a": ' + b"[[]," * 200_000,
        b"PK\x03\x04" + bytes(1000),
        b'{"meta": {}, "results": {"scene-0000-0": {"vectors": [[[0, 0], [9',
        b"",
        b'{"meta": {}, "results": {"scene-0000-0": {"vectors": [[[0, NaN], [9, 0]]], "scores": [1], "labels": [1]}}}',
        b'{"meta": {}, "results": {"a": ' + b"9" * 100_000 + b"}}",
    ],
    ids=["wide", "zip", "cut", "empty", "nan", "huge number"],
)
def test_a_damaged_file_is_refused_in_words(tmp_path: Path, challenge: mg.Challenge, data: bytes) -> None:
    file = tmp_path / "theirs.json"
    file.write_bytes(data)
    assert_refused_in_words(checked_here(challenge, file))


@pytest.mark.parametrize("kind", ["pickle", "bomb", "deep"])
def test_a_hostile_file_is_refused_in_words_and_does_nothing(
    tmp_path: Path, challenge: mg.Challenge, kind: str
) -> None:
    files = {
        "pickle": lambda: pickle.dumps(Program()),
        "bomb": lambda: gzip.compress(b'{"results": ' + b" " * 50_000_000, compresslevel=1),
        "deep": lambda: b'{"meta": {}, "results": ' + b"[" * 1_000_000,
    }
    folder = tmp_path / "theirs"
    folder.mkdir()
    file = folder / "theirs.json"
    file.write_bytes(files[kind]())
    before = sorted(tmp_path.rglob("*"))
    limited = replace(challenge, limits=mg.ChallengeLimits(bytes=10_000_000, seconds=120))
    assert_refused_in_words(mg.check_submission(limited, file))
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("executed").exists()


def test_lines_that_cannot_be_evaluated_are_found_without_truth(
    tmp_path: Path, challenge: mg.Challenge, sides: tuple[mg.MapFrames, mg.MapFrames]
) -> None:
    good, truth = sides
    coords = good.polylines.coords.copy()
    coords[:2] = [[1e200, 1e200], [-1e200, 0.0]]
    mg.write(replace(good, polylines=mg.Polylines(coords, good.polylines.offsets)), tmp_path / "theirs.geojson")
    found = mg.check_submission(challenge, tmp_path / "theirs.geojson")
    assert found.findings[0].code == "submission-not-scored"
    assert found.findings[0].message.startswith("theirs.geojson: frame scene-0000-0, instance 0")
    scored = mg.score_submission(challenge, tmp_path / "theirs.geojson", truth, tmp_path / "night")
    assert scored.document is None
    assert scored.checked.findings[0] == found.findings[0]


def test_results_are_no_submission(
    tmp_path: Path, challenge: mg.Challenge, sides: tuple[mg.MapFrames, mg.MapFrames]
) -> None:
    mg.evaluate(*sides).save(tmp_path / "theirs.mg")
    (finding,) = checked_here(challenge, tmp_path / "theirs.mg").findings
    assert "these are results, expected predictions. Submit the file" in finding.for_shell()


def test_what_to_do_about_a_broken_instance_can_be_done(
    tmp_path: Path, played: Path, challenge: mg.Challenge, call: Run
) -> None:
    document = json.loads((played / "first.json").read_bytes())
    next(iter(document["results"].values()))["scores"][0] = float("nan")
    (tmp_path / "theirs.json").write_text(json.dumps(document), encoding="utf-8")
    (finding,) = checked_here(challenge, tmp_path / "theirs.json").findings
    assert "not a finite number" in finding.message
    for file in ("mended.json", "mended.geojson"):
        done = call(*_command_of(finding.for_shell(), "theirs.json", file), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert checked_here(challenge, tmp_path / file).is_accepted


def _command_of(said: str, file: str, out: str) -> list[str]:
    """The arguments of the command that a finding names."""
    return said.partition("mapgauge ")[2].replace("FILE", file).replace("OUT", out).split()


def test_links_pipes_and_folders_are_no_submissions(tmp_path: Path, challenge: mg.Challenge) -> None:
    (tmp_path / "folder").mkdir()
    names = ["folder", "missing"]
    if os.name == "posix":
        mg.write(mg.demo.demo_world(FRAMES)[0], tmp_path / "theirs.geojson")
        (tmp_path / "link").symlink_to(tmp_path / "theirs.geojson")
        names.append("link")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        names.append("pipe")
    for name in names:
        assert not mg.check_submission(challenge, tmp_path / name).is_accepted


# Scores


def test_a_public_file_names_no_frame_and_agrees_with_an_evaluation(
    played: Path, sides: tuple[mg.MapFrames, mg.MapFrames], challenge: mg.Challenge
) -> None:
    text = (played / "public" / "first.json").read_text(encoding="utf-8")
    assert not any(token in text for token in challenge.tokens)
    assert "scene-00" not in text
    document = json.loads(text)
    results = mg.evaluate(*sides)
    assert document["values"]["mean"] == results.mean
    assert document["values"]["divider"] == results.classes["divider"]
    assert document["digests"]["truth"] == challenge.truth
    assert document["digests"]["manifest"] == challenge.digest
    low, high = document["intervals"]["mean"]["pld"]
    assert low < results.mean["pld"] < high
    assert mg.load_results(played / "private" / "first.mg").mean == results.mean


def test_scenes_are_published_only_if_the_manifest_allows_it(
    tmp_path: Path, played: Path, sides: tuple[mg.MapFrames, mg.MapFrames]
) -> None:
    truth = sides[1]
    assert truth.scenes is not None
    # The last frame is a scene of its own: its value would be that of a frame.
    alone = replace(truth, scenes=(*truth.scenes[:-1], "alone"))
    assert alone.scenes is not None
    allowed = mg.Challenge.of("Open", alone, show_scenes=True)
    scored = mg.score_submission(allowed, played / "first.json", alone, tmp_path)
    assert scored.document is not None
    assert set(scored.document["scenes"]) == set(alone.scenes) - {"alone"}
    first = next(iter(scored.document["scenes"]))
    rows = [k for k, name in enumerate(alone.scenes) if name == first]
    assert scored.document["scenes"][first]["pld"] == mg.evaluate(sides[0], alone).of_frames(rows).mean["pld"]


@pytest.mark.skipif(os.name != "posix", reason="modes of folders")
def test_the_private_folder_is_closed_to_others_and_to_git(played: Path) -> None:
    private = played / "private"
    assert private.stat().st_mode & 0o077 == 0
    assert (private / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_name_belongs_to_the_first_submission_that_has_it(
    played: Path, sides: tuple[mg.MapFrames, mg.MapFrames], challenge: mg.Challenge
) -> None:
    before = (played / "private" / "first.mg").read_bytes()
    with pytest.raises(mg.InvalidInput, match="another submission has the name first"):
        mg.score_submission(challenge, played / "poor.geojson", sides[1], played, name="first")
    assert (played / "private" / "first.mg").read_bytes() == before
    for name in ("../x", "a/b", "", ".", "x" * 100, "a\nb"):
        with pytest.raises(mg.InvalidInput, match="the name of a submission"):
            mg.score_submission(challenge, played / "poor.geojson", sides[1], played, name=name)
    with pytest.raises(mg.InvalidInput, match="a link must begin with"):
        mg.score_submission(challenge, played / "poor.geojson", sides[1], played, link="javascript:alert(1)")


# The board


def test_submissions_that_tie_share_a_rank_and_baselines_have_none(played: Path) -> None:
    board = mg.board(played)
    ranks = [(row.rank, row.name, row.ties) for row in board.rows]
    assert {rank for rank, name, _ in ranks if name in ("first", "tied")} == {1}
    assert (3, "poor", ()) in ranks
    baselines = {row.name: row.values["mean"]["pld"] for row in board.rows if row.is_baseline}
    assert baselines == {"the truth itself": 0.0, "copy of the prior": 0.0, "empty map": 1.0}
    assert all(rank is None for rank, name, _ in ranks if name in baselines)


def test_a_board_is_a_page_without_scripts_that_names_no_frame(
    tmp_path: Path, played: Path, challenge: mg.Challenge
) -> None:
    files = mg.board(played, challenge=replace(challenge)).save(tmp_path / "board.html")
    assert [file.name for file in files] == ["board.html", "board.json", "board.md"]
    page, data, text = (file.read_text(encoding="utf-8") for file in files)
    assert "<script" not in page
    assert 'href="https://example.org/?a=1&amp;b=&lt;2&gt;"' in page
    assert "default-src &#x27;none&#x27;" in page
    for words in (page, data, text):
        assert not any(re.search(rf"\b{token}\b", words) for token in challenge.tokens)
        assert challenge.truth in words
    assert [row["name"] for row in json.loads(data)["rows"]] == [row.name for row in mg.board(played).rows]


def test_a_board_refuses_a_public_file_that_was_changed(tmp_path: Path, played: Path) -> None:
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(played, folder)
    file = folder / "public" / "poor.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    intervals = document["intervals"]["mean"]["pld"]
    for changed in ([0.1, 0.2], "x", [[["deep"]]]):
        document["intervals"]["mean"]["pld"] = changed
        file.write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(mg.InvalidInput, match=r"not what private/poor\.mg says \(intervals\)"):
            mg.board(folder)
    document["intervals"]["mean"]["pld"] = intervals
    document["values"]["mean"]["pld"] = 0.1
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(mg.InvalidInput, match=r"not what private/poor\.mg says \(values\)"):
        mg.board(folder)
    done = mg.verify(file, folder / "poor.geojson", folder / "truth.geojson")
    assert [row.name for row in done.wrong] == ["pld of mean"]


def test_a_board_can_rank_by_any_metric_with_a_direction(
    tmp_path: Path, played: Path, sides: tuple[mg.MapFrames, mg.MapFrames]
) -> None:
    causes = mg.Challenge.of("Causes", sides[1], metrics=["causes"])
    for name in ("first.json", "poor.geojson"):
        assert mg.score_submission(causes, played / name, sides[1], tmp_path).document is not None
    board = mg.board(tmp_path, challenge=causes)
    assert [row.name for row in board.rows] == ["first", "poor"]
    assert len(board.parts) > 10
    page = board.to_html()
    assert all(f">{title_of(key, full=True)}</th>" in page for key in board.parts)


# Verification


def test_verify_agrees_to_the_last_bit(played: Path, challenge: mg.Challenge) -> None:
    truth = played / "truth.geojson"
    for file in ("public/first.json", "private/first.mg"):
        done = mg.verify(played / file, played / "first.json", truth, challenge=challenge)
        assert done.holds, done.wrong
        assert "values of the protocol paper-60x30 agree to the last bit" in done.statement
        other = mg.verify(played / file, played / "poor.geojson", truth)
        assert [row.name for row in other.wrong] == ["predictions"]
        assert "Give the files that were evaluated" in other.statement


def test_verify_sees_one_bit_of_one_value_and_explains_versions(tmp_path: Path, played: Path) -> None:
    document = json.loads((played / "public" / "first.json").read_text(encoding="utf-8"))
    document["values"]["divider"]["pld"] = float(np.nextafter(document["values"]["divider"]["pld"], 1))
    document["mapgauge"] = "0.0.1"
    changed = tmp_path / "first.json"
    changed.write_text(json.dumps(document), encoding="utf-8")
    done = mg.verify(changed, played / "first.json", played / "truth.geojson")
    assert [row.name for row in done.wrong] == ["pld of divider"]
    assert "written by mapgauge 0.0.1" in done.statement
    assert "changelog" in done.statement


def test_verify_sees_changed_pooled_values(tmp_path: Path, played: Path) -> None:
    """They are the first array of a file, which a history reads without the others."""
    with zipfile.ZipFile(played / "private" / "first.mg") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = "summary.npy"
    end = members[name].index(b"{", members[name].index(b"\n"))
    document = json.loads(members[name][end:])
    document["values"]["mean"]["pld"] = 0.1
    stored = io.BytesIO()
    np.save(stored, np.frombuffer(json.dumps(document).encode(), np.uint8))
    with zipfile.ZipFile(tmp_path / "first.mg", "w") as archive:
        for member, data in (members | {name: stored.getvalue()}).items():
            archive.writestr(member, data)
    done = mg.verify(tmp_path / "first.mg", played / "first.json", played / "truth.geojson")
    assert [(row.kind, row.name) for row in done.wrong] == [("pooled values", "values")]


def test_verify_reads_files_as_the_results_say(tmp_path: Path, played: Path, call: Run) -> None:
    """Predictions that were turned when they were evaluated are turned again."""
    turned = mg.read(played / "first.json").rotate(90)
    mg.write(turned, tmp_path / "turned.geojson")
    mg.write(mg.read(played / "truth.geojson"), tmp_path / "truth.geojson")
    results = mg.evaluate(mg.read(tmp_path / "turned.geojson").rotate(-90), tmp_path / "truth.geojson")
    results.save(tmp_path / "results.mg")
    assert mg.verify(tmp_path / "results.mg", tmp_path / "turned.geojson", tmp_path / "truth.geojson").holds
    for given in ("turned.geojson,rotate=-90", "turned.geojson,rotate=auto", "turned.geojson"):
        done = call("verify", "results.mg", "--predictions", given, "--truth", "truth.geojson", cwd=tmp_path)
        assert done.returncode == 0, done.stdout
    done = call(
        "verify", "results.mg", "--predictions", "turned.geojson,rotate=90", "--truth", "truth.geojson", cwd=tmp_path
    )
    assert done.returncode == 1
    assert "other digest of the predictions" in done.stdout


@pytest.mark.parametrize(
    ("row", "version", "said"),
    [
        (("digest", "truth", "", "ab", False), mg.__version__, "has no digest of the truth"),
        (("digest", "truth", "cd", "ab", False), mg.__version__, "Give the files that were evaluated"),
        (("digest", "manifest", "cd", "ab", False), mg.__version__, "Give the manifest that counts"),
        (("value", "pld of mean", 0.1, 0.2, False), mg.__version__, "Do not rely on its values"),
        (
            ("value", "pld of mean", 0.1, 0.2, False),
            "0.0.1",
            "install 0.0.1 to decide whether the version is the reason",
        ),
        (("digest", "truth", "cd", "ab", False), "0.0.1", "It was written by mapgauge 0.0.1"),
    ],
)
def test_verify_says_what_to_do(row: tuple[Any, ...], version: str, said: str) -> None:
    found = mg.Verification(name="a.mg", protocol="paper-60x30", version=version, rows=(mg.Verified(*row),))
    assert said in found.statement


# The command line


def test_a_challenge_is_played_through_with_commands(tmp_path: Path, world: Path, call: Run) -> None:
    manifest = tmp_path / "night" / "challenge.json"
    truth = world / "truth.geojson"
    done = call("challenge", "init", "Night", "--truth", truth, "-o", manifest.parent, "--limit", "seconds=600")
    assert done.returncode == 0, done.stderr
    assert mg.Challenge.load(manifest).limits.seconds == 600
    done = call("challenge", "check", "good.json", "--manifest", manifest, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["is_accepted"]
    (tmp_path / "broken.json").write_bytes((world / "good.json").read_bytes()[:-500])
    done = call("challenge", "check", tmp_path / "broken.json", "--manifest", manifest)
    assert done.returncode == 1
    assert "broken.json would be refused: 1 error" in done.stdout
    common = ("--manifest", manifest, "--truth", truth, "-o", manifest.parent)
    done = call("challenge", "score", tmp_path / "broken.json", *common)
    assert done.returncode == 1
    assert not (manifest.parent / "public" / "broken.json").exists()
    for name in ("good.json", "poor.json"):
        done = call("challenge", "score", name, *common)
        assert done.returncode == 0, done.stderr
    board = tmp_path / "board.html"
    done = call("challenge", "board", manifest.parent, "-o", board, "--json")
    assert [row["name"] for row in json.loads(done.stdout)["rows"][:2]] == ["good", "poor"]
    assert board.exists()
    public = manifest.parent / "public" / "good.json"
    done = call("verify", public, "--predictions", "poor.json", "--truth", truth)
    assert done.returncode == 1
    assert "other digest of the predictions" in done.stdout
    done = call("challenge", "init", "Night", "--truth", truth, "-o", tmp_path / "x", "--limit", "hours=1")
    assert done.returncode == 2


def _moved(frames: mg.MapFrames, matrix: list[list[float]]) -> mg.MapFrames:
    lines = frames.polylines
    return replace(frames, polylines=mg.Polylines(lines.coords @ np.array(matrix, float), lines.offsets))


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a manifest, the truth, a good submission, and several with another kind of mistake each."""
    folder = tmp_path_factory.mktemp("cup")
    good, truth = mg.demo.demo_world(FRAMES)
    mg.Challenge.of("Cup", truth).save(folder / "challenge.json")
    mg.write(truth, folder / "truth.geojson")
    files = {
        "good": good,
        "swapped": _moved(good, [[0, 1], [1, 0]]),
        "turned": good.rotate(90),
        "mirrored": _moved(good, [[1, 0], [0, -1]]),
        "classes": good.rename({"divider": "ped_crossing", "ped_crossing": "divider"}),
        "renamed": good.rename({"divider": "lane", "ped_crossing": "zebra", "boundary": "edge"}),
        "wide": _moved(good, [[1, 0], [0, 1.1]]),
    }
    for name, frames in files.items():
        mg.write(frames, folder / f"{name}.json", "streammapnet" if name != "renamed" else "geojson")
    return folder


def test_a_check_without_truth_names_both_reasons_of_a_turned_region_and_no_angle(cup: Path, call: Run) -> None:
    done = call("challenge", "check", "turned.json", "--manifest", "challenge.json", cwd=cup)
    said = " ".join(done.stdout.split())
    assert "they lie in the region turned by 90 degrees" in said
    assert "Either the axes are turned by 90 or -90 degrees, or x and y are swapped" in said
    assert "rotate=" not in said
    command = _command_of(said, "", "")[:3]
    assert command == ["evaluate", "PREDICTIONS", "TRUTH"]
    for name, kind in (("swapped", "x and y are swapped"), ("turned", "turned by 90 degrees")):
        told = call("evaluate", f"{name}.json", "truth.geojson", cwd=cup)
        assert kind in " ".join(told.stdout.split())
    challenge = mg.Challenge.load(cup / "challenge.json")
    turned, swapped = (checked_here(challenge, cup / f"{name}.json").findings for name in ("turned", "swapped"))
    assert [finding.message for finding in turned] == [finding.message for finding in swapped]


def test_a_command_that_a_check_names_writes_a_file_that_ends_in_json(cup: Path, call: Run, tmp_path: Path) -> None:
    challenge = mg.Challenge.load(cup / "challenge.json")
    found = checked_here(challenge, cup / "renamed.json")
    assert not found.is_accepted
    (said,) = [text for finding in found.findings if "mapgauge convert" in (text := finding.for_shell())]
    command = _command_of(said, "renamed.json", str(tmp_path / "out.json"))
    command = [word.replace("OLD:NEW", "edge:boundary") for word in command]
    done = call(*command, cwd=cup)
    assert done.returncode == 0, done.stderr
    assert checked_here(challenge, tmp_path / "out.json").is_accepted


def test_a_check_says_the_same_of_lines_beyond_the_region_as_an_evaluation(cup: Path, call: Run) -> None:
    found = checked_here(mg.Challenge.load(cup / "challenge.json"), cup / "wide.json").findings
    (own,) = [finding for finding in found if "leave the region" in finding.message]
    told = call("evaluate", "wide.json", "truth.geojson", "--json", "--protocol", "paper-60x30", cwd=cup)
    (finding,) = [each for each in json.loads(told.stdout)["findings"] if each["code"] == "region-left"]
    assert own.count == finding["count"] > 0
    assert own.level == finding["level"]


def test_a_score_has_the_findings_of_an_evaluation_and_errors_have_no_rank(
    cup: Path, call: Run, tmp_path: Path
) -> None:
    common = ("--manifest", "challenge.json", "--truth", "truth.geojson", "-o", tmp_path)
    said = {}
    for name in ("good", "mirrored", "classes"):
        done = call("challenge", "score", f"{name}.json", *common, cwd=cup)
        assert done.returncode == 0, done.stderr
        said[name] = " ".join(done.stdout.split())
        expected = json.loads(call("evaluate", f"{name}.json", "truth.geojson", "--json", cwd=cup).stdout)["findings"]
        kept = json.loads((tmp_path / "public" / f"{name}.json").read_text(encoding="utf-8"))["findings"]
        assert [(each["code"], each["level"]) for each in kept] == [(each["code"], each["level"]) for each in expected]
    assert "error: the predictions are mirrored, y points to the other side" in said["mirrored"]
    assert "error: the truth shows axes-turned: do not trust the values" in said["mirrored"]
    assert "warning: class ids seem to be swapped" in said["classes"]
    assert not any(word in said["good"] for word in ("error:", "warning:"))
    truths = said["mirrored"].partition("error: ")[2] + said["classes"].partition("warning: ")[2]
    assert not any(token in truths for token in mg.Challenge.load(cup / "challenge.json").tokens)
    # The command that the sentence names works where it is printed.
    inspected = re.search(r"mapgauge (inspect \S+\.mg)", said["mirrored"])
    assert inspected is not None
    assert call(*inspected[1].split(), cwd=cup).returncode == 0

    board = tmp_path / "board.html"
    done = call("challenge", "board", tmp_path, "--manifest", "challenge.json", "-o", board, cwd=cup)
    assert done.returncode == 0, done.stderr
    assert "good is first of 2 ranked submissions." in done.stdout
    assert re.search(r"^error +mirrored .* -$", done.stdout, re.MULTILINE)
    assert "mirrored has no rank, because the checks against the truth found axes-turned." in done.stdout
    rows = {row["name"]: row for row in json.loads(board.with_suffix(".json").read_text(encoding="utf-8"))["rows"]}
    assert (rows["mirrored"]["rank"], rows["mirrored"]["errors"]) == (None, ["axes-turned"])
    assert "mirrored" not in rows["good"]["ties"] + rows["classes"]["ties"]
    assert (rows["good"]["rank"], rows["good"]["errors"]) == (1, [])
    assert "| error | mirrored |" in board.with_suffix(".md").read_text(encoding="utf-8")
    page = board.read_text(encoding="utf-8")
    assert '<tr class="error"><td>error</td><td class="name">mirrored</td>' in page

    # Only the submission with an error is left.
    for name in ("good", "classes"):
        (tmp_path / "public" / f"{name}.json").unlink()
        (tmp_path / "private" / f"{name}.mg").unlink()
    done = call("challenge", "board", tmp_path, "--manifest", "challenge.json", "-o", tmp_path / "b.html", cwd=cup)
    assert "No submission has a rank yet." in done.stdout
    assert "draw 6 scenes" in (tmp_path / "b.md").read_text(encoding="utf-8")


def test_a_board_has_the_titles_and_the_colours_of_a_report(played: Path) -> None:
    board = mg.board(played)
    assert "share the first rank" in board.statement
    assert board.statement.endswith("No difference between them is decided.")
    for text in (board.to_html(), board.to_markdown()):
        assert "Chamfer-AP" in text
        assert not any(word in text for word in ("`", "ap_chamfer", " pld", ">pld<"))
    page = board.to_html()
    for key, colour in part_colours(PLD).items():
        if key in board.parts:
            assert f'fill="{colour}"' in page
            assert f">{title_of(key, full=True)}</th>" in page


def test_the_tables_of_a_board_fit_a_page_and_scroll_in_their_own_boxes_on_a_phone(
    window: "Page", tmp_path: Path, played: Path
) -> None:
    page, _, _ = mg.board(played).save(tmp_path / "board.html")
    window.goto(page.as_uri())
    for width in (1300, 390):
        window.set_viewport_size({"width": width, "height": 900})
        assert window.evaluate("document.documentElement.scrollWidth") <= width
        boxes = window.evaluate("[...document.querySelectorAll('.wide')].map((e) => [e.clientWidth, e.scrollWidth])")
        if width == 1300:
            assert all(inside <= outside for outside, inside in boxes)
        else:
            assert any(inside > outside for outside, inside in boxes)
        assert faults_of(window) == []
