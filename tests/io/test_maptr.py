"""MapTR's results and truth: what is read, what is refused and where the message points."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.io.faults import change

import mapgauge as mg

Document = dict[str, Any]


def instance(points: list[list[float]], name: str, number: int, confidence: float | None) -> Document:
    given = {"pts": points, "pts_num": len(points), "cls_name": name, "type": number}
    return given if confidence is None else given | {"confidence_level": confidence}


def results() -> Document:
    vectors = [
        instance([[0.5, 1], [2, 3.25], [4, 5]], "divider", 0, 0.9),
        instance([[-1, -2], [-3, -4]], "ped_crossing", 1, 0.25),
    ]
    return {
        "meta": {"use_lidar": False},
        "results": [{"sample_token": "t0", "vectors": vectors}, {"sample_token": "t1", "vectors": []}],
    }


def truth() -> Document:
    return {
        "GTs": [
            {"sample_token": "t0", "vectors": [instance([[0, 0], [9, 0.5]], "boundary", 2, None)]},
            {"sample_token": "t1", "vectors": []},
        ]
    }


def save(document: object, path: Path) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_results_become_frames(tmp_path: Path) -> None:
    frames = mg.read(save(results(), tmp_path / "nuscmap_results.json"))
    assert frames.format == "maptr"
    assert frames.classes == ("divider", "ped_crossing", "boundary")
    first, second = frames["t0"]
    assert (first.class_name, first.confidence) == ("divider", 0.9)
    assert first.points.tolist() == [[0.5, 1], [2, 3.25], [4, 5]]
    assert (second.class_name, second.confidence) == ("ped_crossing", 0.25)
    assert frames["t1"] == []


def test_truth_becomes_frames(tmp_path: Path) -> None:
    frames = mg.read(save(truth(), tmp_path / "nuscenes_map_anns_val.json"))
    assert frames.format == "maptr-truth"
    assert frames.confidence is None
    assert frames.counts == {"divider": 0, "ped_crossing": 0, "boundary": 1}


def test_centerline_is_a_class_only_where_it_occurs(tmp_path: Path) -> None:
    document = truth()
    document["GTs"][1]["vectors"].append(instance([[0, 0], [1, 0]], "centerline", 3, None))
    assert mg.read(save(document, tmp_path / "gt.json")).counts["centerline"] == 1


def test_the_name_says_the_class_not_the_number(tmp_path: Path) -> None:
    document = results()
    for vector in document["results"][0]["vectors"]:
        vector["type"] = 2 - vector["type"]
    frames = mg.read(save(document, tmp_path / "r.json"))
    assert [instance.class_name for instance in frames["t0"]] == ["divider", "ped_crossing"]


def test_the_number_says_the_class_where_there_is_no_name(tmp_path: Path) -> None:
    document = results()
    del document["results"][0]["vectors"][1]["cls_name"]
    assert mg.read(save(document, tmp_path / "r.json"))["t0"][1].class_name == "ped_crossing"


def test_a_table_of_the_caller_wins_over_names(tmp_path: Path) -> None:
    frames = mg.read(save(results(), tmp_path / "r.json"), classes=["x", "y"])
    assert [instance.class_name for instance in frames["t0"]] == ["x", "y"]


def test_one_number_for_two_names_is_warned_about(tmp_path: Path) -> None:
    document = results()
    document["results"][0]["vectors"][1]["type"] = 0
    frames = mg.read(save(document, tmp_path / "r.json"))
    assert [(finding.level, finding.code) for finding in frames.findings] == [("warning", "class-ids")]
    assert "divider 0, ped_crossing 0" in frames.findings[0].message


@pytest.mark.parametrize("thorough", [False, True])
def test_a_wrong_number_of_points_is_warned_about(tmp_path: Path, thorough: bool) -> None:
    document = results()
    document["results"][0]["vectors"][1]["pts_num"] = 20
    if thorough:
        document["results"][0]["vectors"][0]["type"] = 0.0
    (finding,) = mg.read(save(document, tmp_path / "r.json")).findings
    assert (finding.level, finding.code, finding.count) == ("warning", "points-number", 1)
    assert "$.results[0].vectors[1]" in finding.examples[0]


def test_a_token_that_occurs_twice_stays_two_frames(tmp_path: Path) -> None:
    document = results()
    document["results"][1]["sample_token"] = "t0"
    assert mg.read(save(document, tmp_path / "r.json")).tokens == ("t0", "t0")


def test_the_fast_and_the_thorough_way_agree(tmp_path: Path, rng: np.random.Generator) -> None:
    document = results()
    names = ["divider", "ped_crossing", "boundary"]
    document["results"].append(
        {
            "sample_token": "t2",
            "vectors": [
                instance(rng.normal(0, 30, (20, 2)).tolist(), names[k], int(k), float(rng.random()))
                for k in rng.integers(0, 3, 40)
            ],
        }
    )
    fast = mg.read(save(document, tmp_path / "fast.json"))
    document["results"][0]["vectors"][0]["type"] = 0.0  # a number that is no integer on paper: the thorough way
    thorough = mg.read(save(document, tmp_path / "thorough.json"))
    assert np.array_equal(fast.polylines.coords, thorough.polylines.coords)
    assert np.array_equal(fast.polylines.offsets, thorough.polylines.offsets)
    assert np.array_equal(fast.label, thorough.label)
    assert fast.confidence is not None
    assert thorough.confidence is not None
    assert np.array_equal(fast.confidence, thorough.confidence)


V1 = ["results", 0, "vectors", 1]
FAULTS = {
    "results an object": (
        change(["results"], {"t0": {}}),
        "results is an object, as in StreamMapNet's files, expected a list of frames",
    ),
    "results a text": (change(["results"], "none"), "results is not a list"),
    "no results": (change(["results"], ...), "no key .results. at the top"),
    "frame a list": (change(["results", 1], []), r"results\[1\] is not an object with sample_token"),
    "no token": (change(["results", 1, "sample_token"], ...), r"results\[1\] is not an object with sample_token"),
    "token a number": (change(["results", 1, "sample_token"], 5), r"results\[1\].sample_token is 5, expected a text"),
    "token empty": (change(["results", 1, "sample_token"], ""), r"results\[1\].sample_token is '', expected a text"),
    "vectors an object": (change(["results", 0, "vectors"], {}), r"results\[0\].vectors is not a list"),
    "instance a list": (change(V1, [1]), r"results\[0\].vectors\[1\] is not an object with pts"),
    "no points": (change([*V1, "pts"], ...), r"vectors\[1\] is not an object with pts"),
    "no confidence": (change([*V1, "confidence_level"], ...), r"vectors\[1\] has no confidence_level"),
    "text confidence": (change([*V1, "confidence_level"], "high"), r"vectors\[1\].confidence_level is 'high'"),
    "name a number": (change([*V1, "cls_name"], 3), r"vectors\[1\].cls_name is not a text"),
    "no class": (change(V1, {"pts": [[0, 0], [1, 1]], "confidence_level": 1}), r"vectors\[1\].type: label is None"),
    "flat": (change([*V1, "pts"], [0, 0, 1, 1]), r"vectors\[1\].pts is a flat list of numbers"),
    "text coordinate": (change([*V1, "pts", 0, 1], "2"), r"vectors\[1\].pts\[0\]\[1\] is '2', expected a number"),
    "mixed": (
        change([*V1, "pts"], [[0, 0, 0], [1, 1, 1]]),
        r"vectors\[1\].pts: points have 3 coordinates, those before",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_refused_with_its_place(tmp_path: Path, fault: str) -> None:
    apply, message = FAULTS[fault]
    document = results()
    apply(document)
    with pytest.raises(mg.UnreadableFile, match=message):
        mg.read(save(document, tmp_path / "r.json"), "maptr")


DEGENERATE = {
    "one point": (change([*V1, "pts"], [[1, 2]]), "fewer than 2 points"),
    "no points": (change([*V1, "pts"], []), "fewer than 2 points"),
    "null": (change([*V1, "pts", 0, 0], None), "coordinate that is not a finite number"),
    "NaN": (change([*V1, "pts", 0, 0], math.nan), "coordinate that is not a finite number"),
    "NaN confidence": (change([*V1, "confidence_level"], math.nan), "confidence that is not a finite number"),
}


@pytest.mark.parametrize("what", DEGENERATE)
def test_a_degenerate_instance_is_refused_or_dropped_and_counted(tmp_path: Path, what: str) -> None:
    apply, message = DEGENERATE[what]
    document = results()
    apply(document)
    path = save(document, tmp_path / "r.json")
    with pytest.raises(mg.UnreadableFile, match=rf"results\[0\].vectors\[1\].pts \(token t0\) has .*{message}"):
        mg.read(path)
    frames = mg.read(path, degenerate="drop")
    assert frames.counts == {"divider": 1, "ped_crossing": 0, "boundary": 0}
    assert frames.findings[0].count == 1
