"""``--by``, tables of tags and several lists of tokens."""

import csv
import io
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg


@pytest.fixture
def tags(tmp_path: Path) -> Path:
    file = tmp_path / "tags.csv"
    file.write_text("scene,city\nscene-0000,boston\nscene-0001,miami\n", encoding="utf-8")
    return file


def test_evaluate_prints_the_values_of_slices(call: Run, world: Path, tags: Path) -> None:
    words = ["evaluate", "poor.json", f"truth.geojson,tags={tags}", "--by", "city"]
    done = call(*words)
    assert done.returncode == 0, done.stderr
    assert "means over classes by city" in done.stdout
    assert "too few for intervals and differences: boston has 1, miami has 1" in done.stdout
    whole = mg.load_results(world / "poor.mg")
    expected = {scene: part.mean["pld"] for scene, part in whole.by("scene").items()}
    document = json.loads(call(*words, "--json").stdout)["slices"]
    assert {row["name"]: row["mean"]["pld"] for row in document["slices"]} == {
        "boston": expected["scene-0000"],
        "miami": expected["scene-0001"],
    }
    rows = list(csv.DictReader(io.StringIO(call(*words, "--csv").stdout)))
    (miami,) = [row for row in rows if row["slice"] == "miami" and row["class"] == "mean"]
    assert float(miami["pld"]) == expected["scene-0001"]
    assert rows[0]["slice"] == ""
    page = tags.with_suffix(".html")
    assert call(*words, "--report", page).returncode == 0
    assert "Values by city" in page.read_text(encoding="utf-8")


def test_lists_of_tokens_are_slices(call: Run, world: Path, tmp_path: Path) -> None:
    tokens = mg.load_results(world / "poor.mg").tokens
    (tmp_path / "near.txt").write_text("\n".join(tokens[:7]), encoding="utf-8")
    (tmp_path / "other.txt").write_text("\n".join(tokens[5:12]), encoding="utf-8")
    lists = ["--tokens", tmp_path / "near.txt", "--tokens", f"{tmp_path / 'other.txt'},name=far"]
    done = call("evaluate", "poor.json", "truth.geojson", *lists, "--metrics", "pld")
    assert done.returncode == 0, done.stderr
    assert "truth.geojson: 12 frames" in done.stdout
    assert "too few for intervals and differences: near has 1, far has 2" in done.stdout


def test_other_commands_look_at_slices(call: Run, tags: Path, tmp_path: Path) -> None:
    done = call("compare", f"good.mg,tags={tags}", "poor.mg", "--by", "city")
    assert done.returncode == 0, done.stderr
    assert "boston: 10 frames" in done.stdout
    assert "warning: there is only one scene, so there are no intervals and no verdicts" in done.stdout
    assert "with no intervals (one scene)" in done.stdout
    document = json.loads(call("compare", f"good.mg,tags={tags}", "poor.mg", "--by", "city", "--json").stdout)
    assert list(document["slices"]) == ["boston", "miami"]
    assert call("compare", f"good.mg,tags={tags}", "poor.mg", "--by", "city", "--csv").stdout.startswith("slice,name,")
    done = call("why", f"good.mg,tags={tags}", "--by", "city")
    assert done.returncode == 0, done.stderr
    assert "PLD of miami by cause" in done.stdout
    assert len(json.loads(call("why", "good.mg", "poor.mg", "--by", "scene", "--json").stdout)) == 4
    done = call("frames", f"poor.mg,tags={tags}", "--by", "city", "--worst", 1, "--tokens")
    assert [token[:10] for token in done.stdout.split()] == ["scene-0000", "scene-0001"]
    assert "boston: 1 of 10 frames" in call("frames", f"poor.mg,tags={tags}", "--by", "city", "--worst", 1).stdout
    done = call("frames", f"poor.mg,tags={tags}", "--where", "city = 'miami'", "--json")
    assert {row["city"] for row in json.loads(done.stdout)["frames"]} == {"miami"}
    page = tmp_path / "x.html"
    done = call("report", f"poor.mg,tags={tags}", "--by", "city", "--frames", "city = 'miami'", "-o", page)
    assert done.returncode == 0, done.stderr
    assert "Values by city" in page.read_text(encoding="utf-8")
    done = call("show", f"poor.mg,tags={tags}", "--frame", "worst:2 where city = 'miami'", "-o", tmp_path / "x.png")
    assert done.stdout.count("scene-0001-") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("evaluate poor.json truth.geojson --by town", "must be one of scene, got 'town'. Tags come from a table"),
        ("evaluate poor.json truth.geojson --by scene --latex", "--latex has no other subsets"),
        ("compare good.mg poor.mg --by scene --latex", "has no effect with --fail-if and --latex"),
        ("frames good.mg --by pld", "must be one of scene, got 'pld'"),
    ],
)
def test_a_wrong_column_is_a_usage_error(call: Run, words: str, message: str) -> None:
    done = call(*words.split())
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
