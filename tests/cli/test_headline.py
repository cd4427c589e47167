"""The cutoff of the values that tables and figures show, and the names of protocols whose settings were changed."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.protocols import PROTOCOLS, full_name

CHANGED = "paper-60x30, spacing 0.25 m, cutoff 0.5 m"


@pytest.fixture(scope="module")
def changed(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results of both detectors at another cutoff and spacing."""
    folder = tmp_path_factory.mktemp("changed")
    for name in ("good", "poor"):
        settings = mg.protocol("paper-60x30", cutoffs=[0.5], spacing=0.25)
        results = mg.evaluate(world / f"{name}.json", world / "truth.geojson", settings, ranges=(0, 10, 30))
        results.save(folder / f"{name}.mg")
    return folder


def test_the_recipe_for_a_paper_shows_the_cutoff_of_the_protocol_and_keeps_the_order(
    call: Run, world: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    methods = ("good.json,name=Zed", "poor.json,name=Abe", "truth.geojson")
    options = ("--ranges", "0,10,20,30", "--cutoff", "0.5,1.0,1.5")
    done = call("evaluate", *methods, *options, "-o", tmp_path / "runs")
    assert "PLD (1.5 m)" in done.stdout
    assert call("paper", tmp_path / "runs", "-o", tmp_path / "paper", "--samples", "9").returncode == 0
    good, poor = (mg.load_results(world / f"{name}.mg").mean["pld"] for name in ("good", "poor"))
    table = (tmp_path / "paper" / "table.tex").read_text(encoding="utf-8")
    assert r"& (1.5 m) $\downarrow$ &" in table
    first, second = table.split("\\midrule\n")[1].splitlines()[:2]
    assert first.startswith(rf"Zed & $\mathbf{{{good:.3f}}}$")
    assert second.startswith(rf"Abe & ${poor:.3f}$")
    assert "Abe minus Zed" in call("compare", tmp_path / "runs", "--samples", "9").stdout


def test_later_results_follow_those_in_the_folder(call: Run, tmp_path: Path) -> None:
    for good, poor in ("ba", "dc", "ab"):
        files = (f"good.json,name={good}", f"poor.json,name={poor}", "truth.geojson")
        command = ("evaluate", *files, "--metrics", "pld")
        assert call(*command, "-q", "-o", tmp_path).returncode == 0
    found = json.loads(call("compare", tmp_path, "--json", "--samples", "9").stdout)
    assert found["names"] == ["d", "c", "a", "b"]
    (tmp_path / ".mapgauge-order").write_text("[1, {", encoding="utf-8")
    assert json.loads(call("compare", tmp_path, "--json", "--samples", "9").stdout)["names"] == ["a", "b", "c", "d"]


@pytest.mark.whole
@pytest.mark.parametrize(
    "command",
    [
        *(
            "evaluate OPTIONS",
            "evaluate OPTIONS --csv",
            "evaluate OPTIONS --latex",
            "evaluate OPTIONS -p paper-60x30,maptr",
        ),
        *("compare RESULTS", "compare RESULTS --csv", "compare RESULTS --json", "compare RESULTS --latex"),
        *(
            "inspect RESULTS",
            "why RESULTS",
            "why RESULTS --csv",
            "why RESULTS --json",
            "paper RESULTS",
            "report RESULTS",
        ),
    ],
)
def test_a_protocol_with_changed_settings_is_never_called_by_its_bare_name(
    call: Run, changed: Path, tmp_path: Path, command: str
) -> None:
    options = "good.json poor.json truth.geojson --cutoff 0.5 --set spacing=0.25 --metrics pld"
    results = f"{changed / 'good.mg'} {changed / 'poor.mg'}"
    words = command.replace("OPTIONS", options).replace("RESULTS", results).split()
    written = {"paper": tmp_path / "paper", "report": tmp_path / "page.html"}.get(words[0])
    done = call(*words, *([] if written is None else ["-o", written]))
    assert done.returncode == 0, done.stderr
    texts = [done.stdout]
    if written is not None:
        files = [written] if written.is_file() else [*written.glob("*.t*"), *written.glob("*.csv")]
        texts = [file.read_text(encoding="utf-8") for file in files]
    for written_text in texts:
        text = " ".join(written_text.split())  # the terminal wraps lines
        assert CHANGED in text
        stated = re.sub(r"<th[^>]*>name</th><td>paper-60x30</td>", "", text)  # the list of all settings in the report
        assert not re.findall(r"(?:paper-60x30|maptr)(?!, (?:spacing|count))", stated)
    if "--" not in command or "latex" in command:  # titles of tables
        assert "PLD (0.5 m)" in done.stdout + "".join(texts) or r"(0.5 m) $\downarrow$" in "".join(texts)


def test_frames_and_figures_name_the_cutoff(call: Run, world: Path, changed: Path, tmp_path: Path) -> None:
    plot = pytest.importorskip("mapgauge.plot")
    results = mg.load_results(changed / "good.mg")
    assert plot.parts(results).axes[0].get_xlabel() == "PLD (0.5 m)"
    assert plot.ranges(results).axes[0].get_ylabel() == "PLD (0.5 m)"
    assert plot.histogram(results, value="detection").axes[0].get_xlabel() == "Det (0.5 m) of a frame"
    assert "(0.5 m)" not in plot.histogram(results, value="truth").axes[0].get_xlabel()
    mixed = [results, mg.load_results(world / "good.mg")]
    assert plot.parts(mixed, names=["a", "b"]).axes[0].get_xlabel() == "PLD (different settings)"
    shown = call("show", changed / "good.mg", "-o", tmp_path / "frame.svg")
    assert "pld (0.5 m) " in shown.stdout


@pytest.mark.needs_feature("confidence")
def test_figures_of_confidence_name_the_cutoff(changed: Path) -> None:
    plot = pytest.importorskip("mapgauge.plot")
    results = mg.load_results(changed / "good.mg")
    assert plot.confidence(results.with_data()).axes[0].get_ylabel() == "PLD (0.5 m)"


def test_python_shows_the_cutoff_and_the_changes(changed: Path) -> None:
    results = [mg.load_results(changed / f"{name}.mg") for name in ("good", "poor")]
    assert repr(results[0]).startswith(f"<Results {CHANGED}: ")
    assert "pld (0.5 m)" in results[0].table()
    comparison = mg.compare(results, samples=9)
    assert "pld (0.5 m)" in comparison.table()
    assert repr(comparison).startswith("<Comparison pld (0.5 m) ")
    assert "Protocol paper-60x30 with these settings" in results[0].protocol._repr_html_()
    for shown in (results[0], comparison, mg.causes(results[0].with_data())):
        page = shown._repr_html_()
        assert CHANGED in page
        assert "PLD (0.5 m)" in page


def test_results_of_earlier_versions_keep_their_first_cutoff_and_name_it(world: Path, tmp_path: Path) -> None:
    settings = replace(mg.protocol("paper-60x30"), cutoffs=(0.5, 1.5))  # as a file of another program may have them
    mg.evaluate(world / "good.json", world / "truth.geojson", settings).save(tmp_path / "old.mg")
    old = mg.load_results(tmp_path / "old.mg")
    assert old.protocol == settings
    assert old.mean["pld"] == old.mean["pld@0.5"]
    assert "pld (0.5 m)" in old.table()


@pytest.mark.whole
def test_a_full_name_lists_every_changed_setting() -> None:
    assert [full_name(one) for one in PROTOCOLS.values()] == list(PROTOCOLS)
    assert full_name(mg.protocol("openlanev2-v1.1-near")) == "openlanev2-v1.1-near"
    changes = {"crop": True, "closed": False, "region": (30, 30), "order": 2, "classes": ["divider"]}
    changes |= {"settings": {"ap_chamfer": None}}
    assert full_name(mg.protocol("paper-60x30", **changes)) == (
        "paper-60x30, classes divider, region 30x30 m, cropped, closed off, order 2, no chamfer"
    )
    many = mg.protocol("maptr", settings={"ap_chamfer": {"thresholds": (0.1, 0.2, 0.3, 0.4, 0.5), "buffers": None}})
    assert full_name(many) == "maptr, 5 values of chamfer, no buffers"
    assert full_name(mg.protocol("paper-60x30", cutoffs=[0.5], name="ours")) == "ours"
    assert mg.protocol("mas-60x30", settings={"mas": {"intervals": (1, 2, 3)}}).settings["mas"].intervals == (2, 1, 3)
    assert mg.protocol("paper-60x30", cutoffs=(2.0, 1.0)).cutoffs == (2.0, 1.0)
