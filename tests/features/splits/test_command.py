"""``mapgauge splits``: overlap, new splits and thinner sets."""

import json
from dataclasses import replace
from pathlib import Path

from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.demo import demo_world


def test_the_commands(call: Run, tmp_path: Path) -> None:
    train, (predictions, val) = demo_world(50, seed=1, predictions=0)[1], demo_world(50, seed=2, predictions=9)
    train = replace(train, tokens=tuple(f"train-{token}" for token in train.tokens), poses=val.poses)
    mg.write(train, tmp_path / "train.geojson")
    mg.write(val, tmp_path / "val.geojson")
    mg.write(predictions, tmp_path / "predictions.geojson")
    mg.evaluate(tmp_path / "predictions.geojson", tmp_path / "val.geojson", "maptr").save(tmp_path / "maptr.mg")
    mg.evaluate(predictions, val, metrics=["pld"]).save(tmp_path / "results.mg")
    files = [tmp_path / "train.geojson", tmp_path / "val.geojson", tmp_path / "results.mg"]
    done = call("splits", *files, "--figure", tmp_path / "figure.png")
    assert done.returncode == 0, done.stderr
    assert "of the validation frames lie within 5 m of a training frame" in done.stdout
    assert "O_geom of pld" in done.stdout
    assert "cities are not known" in done.stderr
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    document, again = (
        json.loads(call("splits", *files, "--json", "--search", tmp_path / "search.npz").stdout) for _ in range(2)
    )
    assert again == document  # from the file of the search
    assert document["summary"]["pairs"] == 2500
    assert len(document["frames"]) == 50
    assert document["summary"]["close"] == 1.0
    assert document["methods"]["results"]["o_loc"] is None
    assert "bounds saved" in call("splits", *files[:2]).stdout
    similar = call("frames", tmp_path / "maptr.mg", "--like", val.tokens[3], "--tokens", "--worst", "1").stdout
    assert similar.split() == mg.neighbours(val, tokens=[val.tokens[3]]).partners
    done = call("splits", "propose", files[0], "-o", tmp_path / "new", "--shares", "a=0.5,b=0.5")
    assert done.returncode == 0, done.stderr
    lists = [(tmp_path / "new" / f"{name}.txt").read_text(encoding="utf-8").split() for name in ("a", "b")]
    assert set(lists[0]) | set(lists[1]) <= set(train.tokens)
    done = call("splits", "thin", files[0], "-o", tmp_path / "kept.txt", "--radius", "0.9", "--json")
    document = json.loads(done.stdout)
    kept = (tmp_path / "kept.txt").read_text(encoding="utf-8").split()
    assert sorted([*kept, *document["left_out"]]) == sorted(train.tokens)
    assert set(document["left_out"].values()) < set(kept)
    assert document["kept"]["frames"] == len(kept)
    assert document["duplicates"][-1]["pld"] <= 0.9
    for arguments, message in (
        (("absent.json", files[1]), "no such file"),
        (("propos", files[0]), "Did you mean 'propose'?"),
        (("propose", files[0], "-o", files[2]), "the folder cannot be created"),
        (("propose", files[0], "-o", tmp_path, "--shares", "../a=0.5,b=0.5"), "expected NAME=SHARE"),
        (("thin", files[0], "-o", tmp_path / "k.txt", "-p", "maptr"), "similar frames need a protocol with PLD"),
    ):
        assert message in call("splits", *arguments).stderr
    for option, message in (
        (("propose", "--shares", "a=0.5,b=0.6"), "add up to 1, got a=0.5, b=0.6"),
        (("propose", "--cell", "0"), "must be a positive length in metres"),
        (("propose", "--cell", "50", "--apart", "60"), "less than a square (--cell), 50 m, got 60"),
        (("thin", "--radius", "7"), "must be from 0 to 1, got 7"),
    ):
        refused = call("splits", *option, "absent.geojson", "-o", tmp_path / "x")
        assert refused.returncode == 2, "found before a file is opened"
        assert message in refused.stderr
