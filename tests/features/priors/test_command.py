"""``mapgauge changes`` prints PLD by what changed since a prior."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.features.priors.test_labels import TRUTH, labelled

import mapgauge as mg


def dividers(*heights: float) -> mg.MapFrames:
    return mg.MapFrames.of({"a": {"divider": [[[0.0, y], [10.0, y]] for y in heights]}}, classes=["divider"])


def test_the_command_prints_the_values_of_the_function(call: Run, tmp_path: Path) -> None:
    truth, prior = dividers(0, 3, 6), dividers(0, 3.9, 9)
    for name, frames in (("copier", prior.with_confidence(1)), ("truth", truth), ("prior", prior)):
        mg.write(frames, tmp_path / f"{name}.geojson")
    files = [tmp_path / f"{name}.geojson" for name in ("copier", "truth", "prior")]
    done = call("changes", files[0], files[1], "--prior", files[2], "--json")
    document = json.loads(done.stdout)
    assert document["values"][-1]["gain"] == 0
    assert document["confusion"]["deleted"] == {"kept": 1, "moved": 0, "inserted": 0, "deleted": 0, "nothing": 0}
    rows = call("changes", files[0], files[1], "--prior", files[2], "--csv").stdout.splitlines()
    assert rows[0].startswith("name,class,pld,kept,moved,inserted,stale,invented,copy_pld")
    text = call("changes", files[0], files[1], "--prior", files[2]).stdout
    assert "copier: the prior of 1 of 1 frames is changed. 0 are called so" in text
    assert "PLD by change (cutoff 1.5 m, equal pieces of about 0.5 m)" in text
    assert "at most 0.25, as that of parallel lines 0.21 m apart" in text
    assert "neither the direction of a line nor the first point of a closed one has an effect" in text
    wrong = call("changes", files[0], files[1], "--prior", files[2], "--same", "3")
    assert wrong.returncode == 2
    assert "must be from 0 to 1, got 3" in wrong.stderr


def test_the_command_reads_labels_and_evaluates_some_lines(call: Run, tmp_path: Path) -> None:
    truth, predictions = labelled(TRUTH), labelled(TRUTH, 1.0)
    prior = truth.keep(np.array(["geometry" not in text for text in truth.change.tolist()]))  # type: ignore[union-attr]
    files = [tmp_path / f"{name}.parquet" for name in ("predictions", "truth", "prior")]
    for frames, file in zip((predictions, truth, prior), files, strict=True):
        mg.write(frames, file)
    both = [files[0], files[1], "--prior", files[2]]
    assert "mAPC mean ↑" in call("changes", *both).stdout
    assert json.loads(call("changes", *both, "--json").stdout)["labels"]["mapc"] == {"divider": 1.0, "mean": 1.0}
    only = json.loads(call("changes", *both, "--only", "inserted", "--json").stdout)
    assert (only["classes"]["divider"]["truth"], only["classes"]["divider"]["predictions"]) == (2, 2)
    assert only["mean"]["pld"] == 0
    assert "Only inserted lines of the truth count" in call("changes", *both, "--only", "inserted").stdout
    for arguments, words in (
        (["changes", *both, "--only", "deleted"], "must be kept or moved or inserted"),
        (["changes", *both, "--only", "kept", "--floor", "0.1"], "--floor: has no effect with --only"),
        (["evaluate", *both, "--only", "inserted"], "It is an option of changes"),
        (["evaluate", *both, "--csv"], "needs one protocol, and no --csv or --latex"),
        (["evaluate", *both, "-p", "paper-60x30,maptr"], "needs one protocol, and no --csv or --latex"),
        (["evaluate", *both, "-p", "maptr"], "the protocol has no cutoff. Give one with -c 1.5"),
        (["evaluate", *both, "--work", tmp_path / "work"], "without options after the names, --tokens and --prior"),
    ):
        failed = call(*arguments)
        assert failed.returncode == 2
        assert words in failed.stderr.replace("'", "")


def test_evaluate_with_a_prior_adds_the_tables_of_changes(call: Run, tmp_path: Path) -> None:
    """Parquet on both sides is read as a whole."""
    truth, prior = dividers(0, 3, 6), dividers(0, 3.9, 9)
    files = [tmp_path / f"{name}.parquet" for name in ("copier", "truth", "prior")]
    for frames, file in zip((prior.with_confidence(1), truth, prior), files, strict=True):
        mg.write(frames, file)
    both = [files[0], files[1], "--prior", files[2]]
    text = call("evaluate", *both, "--tables").stdout
    assert text.index("PLD, lower is better") < text.index("PLD by change") < text.index("Changes of the prior")
    document = json.loads(call("evaluate", *both, "--json").stdout)
    of_changes = json.loads(call("changes", *both, "--json").stdout)
    assert {**document["changes"], "name": ""} == {**of_changes, "name": ""}
    assert document["mean"]["pld"] == pytest.approx(of_changes["values"][-1]["pld"], abs=1e-12)
    missing = call("evaluate", files[0], files[1], "--prior", tmp_path / "none.parquet")
    assert missing.returncode != 0
    assert "none.parquet" in missing.stderr


def test_a_prior_without_lines_is_a_warning(call: Run, tmp_path: Path) -> None:
    truth = dividers(0, 3)
    files = [tmp_path / f"{name}.parquet" for name in ("predictions", "truth", "prior")]
    for frames, file in zip((truth.with_confidence(1), truth, dividers()), files, strict=True):
        mg.write(frames, file)
    for options in ([], ["--only", "inserted"], ["--json"]):
        done = call("changes", files[0], files[1], "--prior", files[2], *options)
        assert "warning: " in done.stderr
        assert "none of its 0 lines in the frames and classes of the truth" in done.stderr


OSM_NODES = ((1, 0.0, 2.0), (2, 40.0, 2.0), (3, 0.0, -3.0), (4, 40.0, -3.0))


def osm_map(path: Path) -> Path:
    """A map of Lanelet2 in longitude and latitude, around 49 N, 8.4 E; a metre is the same in both directions."""
    pyproj = pytest.importorskip("pyproj")
    back = pyproj.Transformer.from_crs("+proj=ortho +ellps=WGS84 +lat_0=49 +lon_0=8.4", "EPSG:4326", always_xy=True)
    places = {k: back.transform(x, y) for k, x, y in OSM_NODES}
    nodes = "".join(f'<node id="{k}" lon="{lon!r}" lat="{lat!r}"/>' for k, (lon, lat) in places.items())
    ways = "".join(
        f'<way id="{k}"><nd ref="{first}"/><nd ref="{last}"/><tag k="type" v="{kind}"/></way>'
        for k, first, last, kind in ((11, 1, 2, "line_thin"), (12, 3, 4, "curbstone"))
    )
    path.write_text(f"<osm>{nodes}{ways}</osm>", encoding="utf-8")
    return path


def test_a_prior_may_be_a_map_with_options(call: Run, tmp_path: Path) -> None:
    path = osm_map(tmp_path / "map.osm")
    poses = tmp_path / "poses.json"
    pose = {"token": "a", "translation": [20, 0, 0], "rotation": [1, 0, 0, 0]}
    poses.write_text(json.dumps([pose]), encoding="utf-8")
    truth = mg.truth.own_map(path, poses, project="local:49:8.4")
    mg.write(truth, tmp_path / "truth.parquet")
    mg.write(truth.with_confidence(1), tmp_path / "p.parquet")
    files = (tmp_path / "p.parquet", tmp_path / "truth.parquet")
    done = call("changes", *files, "--prior", f"{path},project=local:49:8.4", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["values"][-1]["copy_pld"] == pytest.approx(0, abs=1e-6)
    # Without an origin the remedy is the one that helps.
    for options in ("", ",project=auto"):
        wrong = call("changes", *files, "--prior", f"{path}{options}")
        assert wrong.returncode == 1
        assert "Write FILE,project=utm:LAT:LON with the origin of the poses" in wrong.stderr
    # Frames with the tokens of the truth stay frames, whatever their options.
    renamed = call("changes", *files, "--prior", f"{tmp_path / 'truth.parquet'},rename=boundary:kerb", "--json")
    assert renamed.returncode == 0, renamed.stderr
