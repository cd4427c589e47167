"""Files of figures: by suffix, always the same bytes, text as text; and nothing of the program is touched."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

import mapgauge as mg
from mapgauge import plot

DRAWINGS: dict[str, Callable[[mg.Results], Figure]] = {
    "frame": lambda results: plot.frame(results.assignment(results.tokens[0]), values={"pld": 0.5}, title="one"),
    "side by side": lambda results: plot.frame([results.assignment(results.tokens[0])] * 2, side_by_side=True),
    "parts": plot.parts,
    "cutoffs": plot.cutoffs,
    "precision and recall": lambda results: plot.precision_recall(results, threshold=1),
    "ranges": plot.ranges,
    "histogram": plot.histogram,
}
SUFFIXES = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
CHANGING = {"png": b"Software", "svg": b"dc:date", "pdf": b"CreationDate"}  # the version of matplotlib, or the day


@pytest.mark.parametrize(
    "name", [*DRAWINGS, pytest.param("calibration", marks=pytest.mark.needs_feature("confidence"))]
)
def test_every_figure_has_the_same_bytes_each_time(name: str, good: mg.Results, tmp_path: Path) -> None:
    """Settings of the program stay as they are."""
    before = dict(mpl.rcParams)
    for k in range(2):
        figure = plot.calibration(good, threshold=1) if name == "calibration" else DRAWINGS[name](good)
        plot.save(figure, tmp_path / f"{k}.svg")
    assert dict(mpl.rcParams) == before
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_of_every_format_have_the_same_bytes_each_time(suffix: str, good: mg.Results, tmp_path: Path) -> None:
    contents = []
    for k in range(2):
        plot.save(plot.parts(good), tmp_path / f"{k}.{suffix}")
        contents.append((tmp_path / f"{k}.{suffix}").read_bytes())
    assert contents[0] == contents[1]
    assert contents[0].startswith(SUFFIXES[suffix])
    assert CHANGING[suffix] not in contents[0]


def test_text_stays_text_and_instances_can_be_found(good: mg.Results, tmp_path: Path) -> None:
    figure = DRAWINGS["frame"](good)
    plot.save(figure, tmp_path / "frame.svg")
    tree = ElementTree.parse(tmp_path / "frame.svg")
    words = {"".join(node.itertext()).strip() for node in tree.iter("{http://www.w3.org/2000/svg}text")}
    assert {"x forward (m)", "one", "PLD 0.500", "ped crossing"} <= words
    names = [node.get("id") for node in tree.iter() if node.get("id")]
    assert len(names) == len(set(names))
    predictions = good.assignment(good.tokens[0]).predictions
    assert {f"prediction-{i}-0" for i in range(len(predictions))} <= set(names)
    plot.save(figure, tmp_path / "frame.pdf")
    assert b"/Type42" in (tmp_path / "frame.pdf").read_bytes() or b"/FontFile2" in (tmp_path / "frame.pdf").read_bytes()


def test_threads_draw_the_same_figures(good: mg.Results, tmp_path: Path) -> None:
    def work(k: int) -> bytes:
        file = tmp_path / f"{k}.svg"
        plot.save(plot.frame(good.assignment(good.tokens[k])), file)
        return file.read_bytes()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, range(2))) == [work(0), work(1)]


def test_other_suffixes_are_refused(good: mg.Results, tmp_path: Path) -> None:
    for name in ("figure.gif", "figure"):
        with pytest.raises(mg.InvalidInput, match=f"{name}: expected a name that ends in .png, .svg, .pdf, got "):
            plot.save(plot.parts(good), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_the_suffix_may_be_in_capitals(good: mg.Results, tmp_path: Path) -> None:
    plot.save(plot.parts(good), tmp_path / "PARTS.PNG")
    assert (tmp_path / "PARTS.PNG").read_bytes().startswith(SUFFIXES["png"])


def test_a_file_that_cannot_be_written_is_named(good: mg.Results, tmp_path: Path) -> None:
    with pytest.raises(mg.MapgaugeError, match=r"figure.png: cannot be written"):
        plot.save(plot.parts(good), tmp_path / "nowhere" / "figure.png")


def test_only_figures_can_be_saved(tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match="figure: expected a matplotlib Figure, got str"):
        plot.save("figure", tmp_path / "figure.png")  # type: ignore[arg-type]


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout.strip()


def test_drawing_and_saving_do_without_pyplot(tmp_path: Path) -> None:
    code = f"""
import sys, warnings
warnings.simplefilter("error")
import numpy as np
import mapgauge as mg
from mapgauge import plot
lines = [mg.Instance("divider", np.array([[0.0, 1], [5, 1]]), 0.5)]
for suffix in ("png", "svg", "pdf"):
    drawn = plot.frame(mg.Assignment(token="token", predictions=lines, truth=[], matches=[]))
    plot.save(drawn, {str(tmp_path)!r} + "/frame." + suffix)
print("matplotlib.pyplot" in sys.modules)
"""
    assert run(code) == "False"


def test_a_missing_matplotlib_is_named_with_its_remedy() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
import mapgauge
try:
    import mapgauge.plot
except mapgauge.MissingDependency as error:
    print(error)
"""
    assert run(code) == "drawing figures needs matplotlib. Install it with: pip install 'mapgauge[plot]'"
