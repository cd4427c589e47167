"""What ``docs/stability.md`` calls stable is what it was when ``tests/contract.txt`` was written."""

import re
from pathlib import Path

import pytest
from tools import contract

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "stability.md").read_text("utf-8")
LINES = contract.FILE.read_text("utf-8").splitlines()
# Rows of the page, and what the lines about them begin with. Numbers and files are held by other tests.
ROWS = {
    "numbers": set[str](),
    "protocols": {"protocol"},
    "files": {"format", "column"},
    "commands": {"command", "value", "key", "csv", "exit"},
    "options": {"option", "option of a file", "extra"},
    "public names": {"name", "class", "member", "in order", "by name", "default"},
    "types of plug-ins": {"class", "member", "in order", "by name", "default"},
    "codes": {"finding"},
}


@pytest.mark.whole
def test_nothing_that_is_stable_is_gone_or_different() -> None:
    assert contract.broken() == [], contract.__doc__


def test_the_file_has_what_the_page_calls_stable_and_nothing_else() -> None:
    assert re.findall(r"^\| \*\*([\w -]+)\*\*", PAGE, re.M) == list(ROWS)
    kinds = {line.partition(": ")[0] for line in LINES}
    assert kinds == set().union(*ROWS.values())
    assert sorted(set(LINES)) == LINES


@pytest.mark.parametrize(
    "line",
    [
        "option: mapgauge evaluate --cutoff -c METRES,... = None",
        "command: mapgauge evaluate PREDICTIONS TRUTH",
        "in order: evaluate(predictions, truth, protocol)",
        "in order: Results.save(path)",
        "default: sospa cutoff = 1.5",
        "default: plugin.Feature needs = ()",
        "member: Results.mean",
        "member: plugin.Feature.metrics",
        "protocol: paper-60x30 cutoffs = (1.5,)",
        "protocol: streammapnet-60x30 ap_chamfer.thresholds = (0.5, 1.0, 1.5)",
        "value: pld pld",
        "key: evaluate digest",
        "key: evaluate answer.methods[]",
        "key: splits propose balance",
        "key: doctor kernels",
        "csv: compare minus",
        "exit: 3 = condition of compare",
        "finding: axes-turned",
        "format: streammapnet",
        "option of a file: rotate",
        "extra: plot",
    ],
)
def test_the_file_has_a_line_for_each_kind_of_promise(line: str) -> None:
    assert line in LINES


def test_the_page_of_commands_has_the_exit_codes_of_the_contract() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    table = page.partition("| code | meaning |")[2].partition("\n\n")[0]
    stated = [int(code) for row in table.splitlines()[2:] for code in re.findall(r"\d+", row.split("|")[1])]
    assert stated == list(contract.EXITS.values())


def test_what_is_gone_or_different_is_found(tmp_path: Path) -> None:
    gone = ["default: sospa cutoff = 1.25", "finding: axes-twisted", "option: mapgauge evaluate --cutof METRES = None"]
    stated = tmp_path / "contract.txt"
    stated.write_text("\n".join(["finding: axes-turned", *gone]), "utf-8")
    assert contract.broken(stated) == gone


def test_nothing_is_said_of_modules_whose_packages_are_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = tmp_path / "contract.txt"
    stated.write_text("class: torch.PldCriterion\nclass: plugin.Nothing\n", "utf-8")
    imported = contract.imported
    monkeypatch.setattr(contract, "imported", lambda name: None if name == "torch" else imported(name))
    assert contract.broken(stated) == ["class: plugin.Nothing"]
    with pytest.raises(SystemExit, match=r"mapgauge\.\w+ cannot be imported"):
        contract.main([], stated)


@pytest.mark.whole
def test_what_is_new_is_listed_before_a_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in contract.MODULES:
        if contract.imported(name) is None:
            pytest.skip(f"mapgauge.{name} needs a package that is not installed")
    stated = tmp_path / "contract.txt"
    contract.main([], stated)
    assert contract.main(["--check"], stated) == 0
    text = stated.read_text("utf-8")
    stated.write_text(text.replace("finding: axes-turned\n", "").replace("extra: plot\n", "extra: plots\n"), "utf-8")
    assert contract.main(["--check"], stated) == 1
    printed = ["no longer true: extra: plots", "new: extra: plot", "new: finding: axes-turned"]
    assert capsys.readouterr().out.splitlines() == printed
