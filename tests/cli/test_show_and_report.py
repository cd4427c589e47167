"""``show`` and ``report``."""

import re
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg

BEGINS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def test_show_accepts_the_beginning_of_a_token_and_its_ends(call: Run, tmp_path: Path) -> None:
    for files, frames in (
        (("good.mg",), ("scene-0001-4", "scene-0001…4")),
        (("good.json", "truth.geojson"), ("scene-0...01-4",)),
    ):
        for frame in frames:
            assert call("show", *files, "--frame", frame, "-o", tmp_path / "x.svg").stdout.startswith("scene-0001-4, ")
        done = call("show", *files, "--frame", "scene-0001", "-o", tmp_path / "x.svg")
        assert done.returncode == 1
        assert "'scene-0001' fits 10 frames: scene-0001-0, scene-0001-1, " in done.stderr
        assert done.stderr.endswith("and 5 more. Give more letters of the token\n")


@pytest.mark.parametrize(("rank", "suffix", "place"), [("best", "png", -1), ("median", "pdf", 10)])
def test_a_frame_is_drawn_by_its_rank(
    call: Run, world: Path, tmp_path: Path, rank: str, suffix: str, place: int
) -> None:
    figure = tmp_path / f"figure.{suffix}"
    done = call("show", "good.json", "truth.geojson", "--frame", rank, "-o", figure)
    assert done.returncode == 0, done.stderr
    row = mg.load_results(world / "good.mg").frames()[place]
    assert done.stdout.startswith(f"{row['token']}, good: pld ")
    assert done.stderr.startswith(f"mapgauge: figure in {figure}\n")
    assert figure.read_bytes().startswith(BEGINS[suffix])


def test_a_frame_is_drawn_by_its_token_for_several_methods(call: Run, world: Path, tmp_path: Path) -> None:
    token = mg.load_results(world / "good.mg").tokens[7]
    figure = tmp_path / "figure.svg"
    done = call("show", "good.json", "poor.json", "truth.geojson", "--frame", token, "-o", figure, "--side-by-side")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^(\S+), (\w+): pld", done.stdout, re.M) == [(token, "good"), (token, "poor")]
    assert token in figure.read_text(encoding="utf-8")


def test_faint_predictions_and_the_title_can_be_chosen(call: Run, tmp_path: Path) -> None:
    figure = tmp_path / "figure.svg"
    chosen = ["--confidence", "0.3", "--title", "A frame", "--style", "slides"]
    done = call("show", "good.json", "truth.geojson", "-o", figure, *chosen)
    assert done.returncode == 0, done.stderr
    assert "hidden, below 0.3" in figure.read_text(encoding="utf-8")
    assert "A frame" in figure.read_text(encoding="utf-8")
    plain = call("show", "good.json", "truth.geojson", "-o", tmp_path / "plain.svg")
    assert plain.stdout == done.stdout
    wrong = call("show", "good.json", "truth.geojson", "-o", figure, "--confidence", "2")
    assert wrong.returncode == 2
    assert "must be from 0 to 1, got 2" in wrong.stderr


def test_the_faintest_predictions_are_not_drawn_and_it_is_said_how_to_draw_them(
    call: Run, world: Path, tmp_path: Path
) -> None:
    """The least confidence is that of all frames, also if one frame of files is drawn."""
    figure = tmp_path / "figure.svg"
    token = mg.load_results(world / "good.mg").tokens[7]
    words = []
    for given in (["good.mg", "--frame", token], ["good.json", "truth.geojson", "--frame", token], ["good.mg"]):
        done = call("show", *given, "-o", figure)
        assert done.returncode == 0, done.stderr
        assert re.search(r"\d+ (is|are) hidden, below 0\.\d+", figure.read_text(encoding="utf-8"))
        words.append(done.stderr.splitlines()[-1])
    assert re.fullmatch(
        r"mapgauge: predictions with a confidence below 0\.\d+ are not drawn; --confidence 0 draws all", words[0]
    )
    assert len(set(words)) == 1
    everything = call("show", "good.mg", "-o", figure, "--confidence", "0")
    assert "not drawn" not in everything.stderr
    assert "hidden" not in figure.read_text(encoding="utf-8")


def test_a_report_draws_the_recorded_files(call: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = call("report", "good.mg", "poor.mg", "-o", page, "--title", "Two methods", "--frames", "5")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"mapgauge: report in {page}\n"
    assert "Two methods" in page.read_text(encoding="utf-8")


def test_a_report_without_its_files_says_so(call: Run, world: Path, tmp_path: Path) -> None:
    for name in ("good.json", "truth.geojson"):
        (tmp_path / name).write_bytes((world / name).read_bytes())
    evaluated = call("evaluate", "good.json", "truth.geojson", "-o", "results.mg", "--metrics", "pld", cwd=tmp_path)
    assert evaluated.returncode == 0
    (tmp_path / "good.json").rename(tmp_path / "moved.json")
    done = call("report", "results.mg", "-o", "page.html", cwd=tmp_path)
    assert done.returncode == 0
    assert "frames are not drawn: good.json: no such file" in done.stderr
    assert "RESULTS,predictions=FILE,truth=FILE" in done.stderr
    given = call("report", "results.mg,predictions=moved.json", "-o", "drawn.html", cwd=tmp_path)
    assert given.stderr == "mapgauge: report in drawn.html\n"
    assert (tmp_path / "drawn.html").stat().st_size > (tmp_path / "page.html").stat().st_size
    other = call("report", f"results.mg,predictions={world / 'poor.json'}", "-o", "x.html", cwd=tmp_path)
    assert other.returncode == 1
    assert "these are not the predictions that were evaluated" in other.stderr
