"""The card of a report: the first screen as one picture."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.image
import pytest

import mapgauge as mg
from mapgauge.report import write_report

SIZE = (1200, 630)  # pixels


def test_a_png_has_the_size_of_a_card(methods: list[mg.Results], tmp_path: Path) -> None:
    inks = []
    for count in (1, 2):
        card = tmp_path / f"{count}.png"
        write_report(methods[:count], tmp_path / "page.html", names=["good", "poor"][:count], card=card)
        picture = matplotlib.image.imread(card)
        assert picture.shape[1::-1] == SIZE
        inks.append(float((picture[..., :3].min(axis=2) < 0.9).mean()))
    assert min(inks) > 0.03  # texts and charts, not an empty sheet
    assert (tmp_path / "1.png").read_bytes() != (tmp_path / "2.png").read_bytes()


@pytest.mark.parametrize("count", [1, 2])
def test_an_svg_has_the_shape_of_a_card_and_the_names(methods: list[mg.Results], tmp_path: Path, count: int) -> None:
    write_report(methods[:count], tmp_path / "page.html", names=["good", "poor"][:count], card=tmp_path / "card.svg")
    root = ElementTree.parse(tmp_path / "card.svg").getroot()
    width, height = (float(value) for value in root.attrib["viewBox"].split()[2:])
    assert width / height == pytest.approx(SIZE[0] / SIZE[1])
    texts = " ".join("".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text"))
    assert ", ".join(["good", "poor"][:count]) in texts
    assert f"{methods[0].mean['pld']:.3f}" in texts
    assert "boundary" in texts


def test_a_card_without_matplotlib_is_refused_in_one_line(methods: list[mg.Results], tmp_path: Path) -> None:
    methods[0].save(tmp_path / "good.mg")
    start = "import sys; sys.modules['matplotlib'] = None; from mapgauge.cli import main; main()"
    words = ["report", "good.mg", "-o", "page.html", "--card", "card.png"]
    ran = subprocess.run(
        [sys.executable, "-c", start, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode != 0
    said = [line for line in (ran.stdout + ran.stderr).splitlines() if line]
    assert len(said) == 1, said
    assert "pip install 'mapgauge[plot]'" in said[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.mg"]
