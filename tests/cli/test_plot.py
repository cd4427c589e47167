"""``plot`` draws every figure from files of results."""

import inspect
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge import plot
from mapgauge.cli.plot import figures

FIGURES = figures()


@pytest.fixture(scope="module")
def ringed(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return results of two methods with rings and two cutoffs."""
    folder = tmp_path_factory.mktemp("ringed")
    for name in ("good", "poor"):
        settings = mg.protocol("paper-60x30", cutoffs=(0.5, 1.5))
        results = mg.evaluate(world / f"{name}.json", world / "truth.geojson", settings, ranges=(0, 15, 30))
        results.save(folder / f"{name}.mg")
    return folder


def test_every_chart_of_python_can_be_drawn() -> None:
    # `show` draws a frame or a scene, and other commands draw the rest with --figure.
    others = ("frame", "global_map", "lags", "save", "scene", "splits")
    charts = {name for name in plot.__all__ if name not in others}
    assert {function for function, _, _ in FIGURES.values()} == charts
    for function, _, row in FIGURES.values():
        taken = set(inspect.signature(getattr(plot, function)).parameters)
        assert {"names", "title", "style", "ax", *row.options} <= taken


@pytest.mark.parametrize("figure", [name for name in FIGURES if name not in ("strip", "confidence")])
def test_a_figure_is_drawn_for_two_methods(call: Run, ringed: Path, tmp_path: Path, figure: str) -> None:
    target = tmp_path / "figure.svg"
    options = ["--title", "Both methods", "--style", "slides"]
    done = call("plot", figure, "good.mg,name=first", "poor.mg,name=second", "-o", target, *options, cwd=ringed)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == f"mapgauge: figure in {target}\n"
    words = target.read_text(encoding="utf-8")
    assert all(word in words for word in ("first", "second", "Both methods"))


def test_the_options_of_a_figure_reach_it(call: Run, ringed: Path, tmp_path: Path) -> None:
    target = tmp_path / "figure.svg"
    assert call("plot", "histogram", "good.mg", "-o", target, "--value", "missed", cwd=ringed).returncode == 0
    assert "missed (1.5 m) of a frame" in target.read_text(encoding="utf-8")
    chosen = ["--metric", "ap_frechet", "--threshold", "2"]
    assert call("plot", "pr", "good.mg", "-o", target, *chosen, cwd=ringed).returncode == 0
    assert "Fréchet-AP@2.0 m" in target.read_text(encoding="utf-8")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["pie", "good.mg", "-o", "x.png"],
            2,
            "one of parts, causes, pr, histogram, ranges, cutoffs, calibration, confidence, strip",
        ),
        (["parts", "good.mg", "-o", "x.png", "--value", "pld"], 2, "no effect on the figure parts, only on histogram"),
        (["parts", "good.mg", "-o", "x.gif"], 1, "x.gif: expected a name that ends in .png, .svg, .pdf"),
        (["parts", "good.mg", "-o", "good.mg"], 1, "good.mg"),
        (["pr", "good.mg", "-o", "x.png", "--threshold", "7"], 1, "ap_chamfer has no threshold 7.0"),
        (["strip", "good.mg", "-o", "x.png"], 1, "track_pld not found in these results"),
        (["parts", "good.mg", "-o", "x.png", "--scene", "a"], 2, "no effect on the figure parts, only on strip"),
        (["ranges", "good.mg", "-o", "x.png"], 1, "have no ranges. Evaluate with --ranges 0,10,20,30"),
        (["parts", "good.mg", "-o", "x.png", "--style", "poster"], 2, "must be paper or slides, got 'poster'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: Run, arguments: list[str], code: int, message: str) -> None:
    done = call("plot", *arguments)
    assert done.returncode == code, done.stderr
    assert message in " ".join(done.stderr.split())


def test_letters_that_no_font_has_are_named_in_one_line(run: Run, world: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    named = tmp_path / "𒀀𒀁.mg"  # cuneiform, of which no family of the figures has letters
    named.write_bytes((world / "good.mg").read_bytes())
    done = run("plot", "parts", named, "poor.mg", "-o", tmp_path / "parts.png", PYTHONWARNINGS="error")
    assert done.returncode == 0, done.stderr
    assert "mapgauge: warning: no font of this machine has 𒀀𒀁. They are boxes in the figure\n" in done.stderr
    assert "UserWarning" not in done.stderr
