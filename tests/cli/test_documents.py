"""Names from files can do nothing in LaTeX and in spreadsheets."""

import csv
import io
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.cli.latex import escaped as latex
from mapgauge.cli.output import plain

LINE = [[0.0, 0.0], [9.0, 0.0]]
NAMES = ["a\n\\input{/etc/passwd}", "=cmd|' /C calc'!A0", "b\r\n%\x1b[2J", "@SUM(1)", "+1+1", "-2+3", "\t=1", "^^M\\x"]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two results with classes of all names."""
    folder = tmp_path_factory.mktemp("named")
    truth = mg.MapFrames.of({token: {name: [LINE] for name in NAMES} for token in "abcdef"})
    protocol = mg.protocol("paper-60x30", classes=NAMES)
    for name in ("x", "y"):
        mg.evaluate(truth.with_confidence(1), truth, protocol).save(folder / f"{name}.mg")
    return folder


@pytest.mark.parametrize("command", ["compare x.mg y.mg --classes all --latex", "compare x.mg y.mg --latex"])
def test_latex_has_only_lines_of_its_own(call: Run, named: Path, command: str) -> None:
    done = call(*command.split(), cwd=named)
    assert done.returncode == 0
    for line in done.stdout.splitlines():
        assert line.startswith(
            (
                "%",
                "{\\footnotesize",
                "\\begin{tabular}",
                "\\toprule",
                "\\midrule",
                "\\bottomrule",
                "\\end{tabular}",
                "\\cmidrule(lr)",
            )
        ) or (line.endswith(r" \\"))
        assert line.startswith("%") or "\\input" not in line
        assert "\x1b" not in line


def test_a_class_in_the_header_of_a_table_is_escaped(call: Run, tmp_path: Path) -> None:
    truth = mg.MapFrames.of({"a": {NAMES[0]: [LINE], "divider": [LINE]}})
    mg.write(truth.with_confidence(1), tmp_path / "x.parquet")
    mg.write(truth, tmp_path / "y.parquet")
    done = call("evaluate", "x.parquet", "y.parquet", "--classes", NAMES[0], "--latex", "--by", "class", cwd=tmp_path)
    assert done.returncode == 0
    assert r" & \textbackslash{}input\{/etc/passwd\} & " in done.stdout  # the second line of the header
    assert "\n\\input" not in done.stdout


def test_csv_has_no_formulas(call: Run, named: Path) -> None:
    done = call("compare", "x.mg,name==1+1", "y.mg,name=b", "--csv", cwd=named)
    rows = list(csv.DictReader(io.StringIO(done.stdout, newline="")))
    assert {row["name"] for row in rows} == {"'=1+1", "b"}
    found = {row["class"] for row in rows}
    assert not [name for name in found if name.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert {f"'{name}" for name in NAMES if name[0] in "=@+-\t"} < found
    assert all(float(row["value"]) <= 1 for row in rows)


def test_numbers_are_untouched() -> None:
    for value in (-1.5, 0, None, True, "-1.5", "+2", "-inf", "-", "divider", "a=b", ""):
        assert plain(value) is value
    assert plain("\uff1dcmd") == "'\uff1dcmd"
    assert latex("a\nb\x1b") == "a b?"
