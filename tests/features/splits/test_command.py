"""``mapgauge splits``: overlap, new splits and thinner sets."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.demo import demo_world


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with training and validation frames on the same road, and two results. No test writes there."""
    folder = tmp_path_factory.mktemp("splits")
    train = demo_world(50, seed=1, predictions=0)[1]
    predictions, val = demo_world(50, seed=2, predictions=9)
    train = replace(train, tokens=tuple(f"train-{token}" for token in train.tokens), poses=val.poses)
    mg.write(train, folder / "train.geojson")
    mg.write(val, folder / "val.geojson")
    mg.write(predictions, folder / "predictions.geojson")
    mg.evaluate(folder / "predictions.geojson", folder / "val.geojson", "maptr").save(folder / "maptr.mg")
    mg.evaluate(predictions, val, metrics=["pld"]).save(folder / "results.mg")
    return folder


def test_two_splits_are_compared_with_the_error_of_a_method(call: Run, splits: Path, tmp_path: Path) -> None:
    files = [splits / "train.geojson", splits / "val.geojson", splits / "results.mg"]
    done = call("splits", *files, "--figure", tmp_path / "figure.png")
    assert done.returncode == 0, done.stderr
    assert "of the validation frames lie within 5 m of a training frame" in done.stdout
    assert "O_geom of pld" in done.stdout
    assert "cities are not known" in done.stderr
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_a_search_is_saved_and_used_again(call: Run, splits: Path, tmp_path: Path) -> None:
    files = [splits / "train.geojson", splits / "val.geojson", splits / "results.mg"]
    search = tmp_path / "search.npz"
    first, again = (call("splits", *files, "--json", "--search", search).stdout for _ in range(2))
    assert again == first
    document = json.loads(first)
    assert document["summary"]["pairs"] == 2500
    assert document["summary"]["close"] == 1.0
    assert len(document["frames"]) == 50
    assert document["methods"]["results"]["o_loc"] is None


def test_without_results_the_bounds_that_saved_work_are_said(call: Run, splits: Path) -> None:
    assert "bounds saved" in call("splits", splits / "train.geojson", splits / "val.geojson").stdout


def test_frames_like_one_are_its_neighbours(call: Run, splits: Path) -> None:
    val = mg.read(splits / "val.geojson")
    done = call("frames", splits / "maptr.mg", "--like", val.tokens[3], "--tokens", "--worst", "1")
    assert done.stdout.split() == mg.neighbours(val, tokens=[val.tokens[3]]).partners


def test_a_proposed_split_is_lists_of_tokens(call: Run, splits: Path, tmp_path: Path) -> None:
    done = call("splits", "propose", splits / "train.geojson", "-o", tmp_path, "--shares", "a=0.5,b=0.5")
    assert done.returncode == 0, done.stderr
    proposed = [(tmp_path / f"{name}.txt").read_text(encoding="utf-8").split() for name in ("a", "b")]
    assert set(proposed[0]) | set(proposed[1]) <= set(mg.read(splits / "train.geojson").tokens)


def test_a_thinner_set_has_every_frame_or_one_like_it(call: Run, splits: Path, tmp_path: Path) -> None:
    train = splits / "train.geojson"
    done = call("splits", "thin", train, "-o", tmp_path / "kept.txt", "--radius", "0.9", "--json")
    document = json.loads(done.stdout)
    kept = (tmp_path / "kept.txt").read_text(encoding="utf-8").split()
    assert sorted([*kept, *document["left_out"]]) == sorted(mg.read(train).tokens)
    assert set(document["left_out"].values()) < set(kept)
    assert document["kept"]["frames"] == len(kept)
    assert document["duplicates"][-1]["pld"] <= 0.9


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("absent.json {0}/val.geojson", "no such file"),
        ("propos {0}/train.geojson", "Did you mean 'propose'?"),
        ("propose {0}/train.geojson -o {0}/results.mg", "the folder cannot be created"),
        ("propose {0}/train.geojson -o {1} --shares ../a=0.5,b=0.5", "expected NAME=SHARE"),
        ("thin {0}/train.geojson -o {1}/k.txt -p maptr", "similar frames need a protocol with PLD"),
    ],
)
def test_what_cannot_be_split_is_refused(call: Run, splits: Path, tmp_path: Path, arguments: str, word: str) -> None:
    done = call("splits", *arguments.format(splits, tmp_path).split())
    assert done.returncode != 0
    assert word in done.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("propose --shares a=0.5,b=0.6", "add up to 1, got a=0.5, b=0.6"),
        ("propose --cell 0", "must be a positive length in metres"),
        ("propose --cell 50 --apart 60", "less than a square (--cell), 50 m, got 60"),
        ("thin --radius 7", "must be from 0 to 1, got 7"),
    ],
)
def test_wrong_options_are_found_before_a_file_is_opened(call: Run, tmp_path: Path, arguments: str, word: str) -> None:
    refused = call("splits", *arguments.split(), "absent.geojson", "-o", tmp_path / "x")
    assert refused.returncode == 2
    assert word in refused.stderr
