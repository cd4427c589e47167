"""`mapgauge diff`, `mapgauge list published` and `mapgauge cite`."""

import json
from decimal import Decimal
from pathlib import Path

from tests.cli.conftest import Run

import mapgauge as mg


def write_other(world: Path, folder: Path) -> Path:
    """Results of the good predictions by another protocol."""
    settings = mg.protocol("paper-60x30", spacing=1.0, cutoffs=[0.5])
    mg.evaluate(world / "good.json", world / "truth.geojson", settings).save(folder / "other.mg")
    return folder / "other.mg"


def test_diff_lists_differences_and_values(call: Run, world: Path, tmp_path: Path) -> None:
    other = write_other(world, tmp_path)
    done = call("diff", "good.mg", other)
    assert done.returncode == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["spacing", "0.5", "1.0"] in lines
    assert ["cutoffs", "1.5", "0.5"] in lines
    assert any(line[:2] == ["pld", "mean"] for line in lines)
    assert "Step by step" not in done.stdout
    same = call("diff", "good.mg", "good.mg,name=again")
    assert same.stdout.startswith("The results have the same settings, inputs and version\n")


def test_explain_prints_numbers_that_add_up(call: Run, world: Path, tmp_path: Path) -> None:
    done = call("diff", "good.mg", write_other(world, tmp_path), "--explain")
    table = done.stdout.partition("Step by step, mean over classes\n")[2].splitlines()
    header, *rows = (line.split() for line in table)
    keys = header[3:]
    assert keys == ["pld", "ap_chamfer", "ap_frechet"]
    columns = [[Decimal(row[-len(keys) + k]) for row in rows[:4]] for k in range(len(keys))]
    for first, *steps, last in columns:
        assert first + sum(steps) == last
    assert [row[0] for row in rows[:4]] == ["good", "sampling", "cutoffs", "other"]


def test_json_has_differences_values_and_steps(call: Run, world: Path, tmp_path: Path) -> None:
    document = json.loads(call("diff", "good.mg", write_other(world, tmp_path), "--explain", "--json").stdout)
    assert document["names"] == ["good", "other"]
    assert [row["name"] for row in document["differences"]] == ["spacing", "cutoffs"]
    walk = document["explanation"]
    for key in ("pld", "ap_chamfer"):
        added = sum(Decimal(str(step["adds"][key])) for step in walk["steps"])
        assert added == Decimal(str(walk["end"][key])) - Decimal(str(walk["begin"][key]))
        value = next(row for row in document["values"] if (row["key"], row["class"]) == (key, "mean"))
        assert (walk["begin"][key], walk["end"][key]) == (round(value["first"], 9), round(value["second"], 9))


def test_diff_takes_two_results_and_says_what_to_do_without_the_evaluated_files(
    call: Run, world: Path, tmp_path: Path
) -> None:
    assert "give two files of results, got 1" in call("diff", "good.mg").stderr
    other = write_other(world, tmp_path)
    (tmp_path / "good.mg").write_bytes((world / "good.mg").read_bytes())
    settings = mg.protocol("paper-60x30", classes=["divider"])
    gone = mg.read(world / "good.json")
    mg.write(gone, tmp_path / "gone.parquet")
    mg.evaluate(tmp_path / "gone.parquet", world / "truth.geojson", settings).save(tmp_path / "gone.mg")
    (tmp_path / "gone.parquet").unlink()
    done = call("diff", "gone.mg", other.name, "--explain", cwd=tmp_path)
    assert done.returncode == 1
    assert "RESULTS,predictions=FILE,truth=FILE" in done.stderr
    moved = call("diff", f"gone.mg,predictions={world / 'good.json'}", other.name, "--explain", cwd=tmp_path)
    assert "classes" in moved.stdout.partition("Step by step")[2]


def test_published_and_cite(call: Run) -> None:
    text = call("list", "published").stdout
    assert "StreamMapNet" in text
    assert text.count("https://") == len(mg.published())
    assert len(json.loads(call("list", "published", "--json").stdout)) == len(mg.published())
    like = call("list", "published", "--like", "good.mg").stdout
    assert "No published value may be compared with these results" in like
    assert "of nuScenes: the tokens are of no data set that is known here" in like
    assert len(like.splitlines()) < len(mg.published()) / 2  # values with the same reasons share a line
    table = like.partition(" may not\n")[2].splitlines()[1:-1]
    assert sum(int(line.split()[0]) for line in table) == len(mg.published())
    assert call("cite", "good.mg").stdout.startswith("% Cited for: PLD, the rules of paper-60x30\n")


def test_a_folder_with_several_results_is_refused_by_name(call: Run, world: Path, tmp_path: Path) -> None:
    for name in ("good.mg", "poor.mg"):
        (tmp_path / name).write_bytes((world / name).read_bytes())
    for arguments in (("cite", tmp_path), ("list", "published", "--like", tmp_path)):
        done = call(*arguments)
        assert done.returncode == 2
        assert "has 2: good.mg, poor.mg" in " ".join(done.stderr.split())
    (tmp_path / "poor.mg").unlink()
    assert call("cite", tmp_path).stdout == call("cite", "good.mg").stdout
