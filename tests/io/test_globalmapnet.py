"""GlobalMapNet's maps: one frame for each map, in world coordinates."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.shared_data import DATA, needs_data

import mapgauge as mg

LINE = [[5100.0, 2300.5], [5110.0, 2301.0]]


def element(category: str = "lane", **details: Any) -> dict[str, Any]:
    return {"category": category, "coords": LINE} | ({"details": details} if details else {})


def a_map(*elements: dict[str, Any], **about: str) -> dict[str, Any]:
    return {"meta_info": about, "poses": [[5100.0, 2300.0, 91.5]], "map_elements": list(elements)}


def read(document: Any, folder: Path, name: str = "file.json") -> mg.MapFrames:
    (folder / name).write_text(json.dumps(document), encoding="utf-8")
    return mg.read(folder / name)


def test_a_file_of_predictions_has_a_frame_for_each_scene(tmp_path: Path) -> None:
    first = a_map(element(score=0.5), element("road", score=0.75), scene_name="s0", location="pit")
    frames = read({"model_s0": first, "model_s1": a_map(scene_name="s1")}, tmp_path)
    assert (frames.format, frames.tokens, frames.scenes) == ("globalmapnet", ("s0", "s1"), ("s0", "s1"))
    assert frames.counts == {"ped_crossing": 0, "divider": 1, "boundary": 1}
    assert frames["s0"][0].points.tolist() == LINE
    assert frames.confidence is not None
    assert frames.confidence.tolist() == [0.5, 0.75]


def test_a_single_map_is_named_after_its_scene_or_city_or_file(tmp_path: Path) -> None:
    truth = a_map(element("ped", score=1.0, global_id="NUSCBSRB00000226"), location="boston-seaport")
    frames = read(truth, tmp_path)
    assert (frames.tokens, frames.confidence) == (("boston-seaport",), None)
    assert read(a_map(element()), tmp_path, "drawn.json").tokens == ("drawn",)


def test_an_element_without_a_score_is_certain_and_reported(tmp_path: Path) -> None:
    frames = read(a_map(element(score=0.5), element(), scene_name="s"), tmp_path)
    assert frames.confidence is not None
    assert frames.confidence.tolist() == [0.5, 1.0]
    assert [finding.code for finding in frames.findings] == ["scores-missing"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"a": a_map(element()), "b": 3}, r'\$\["b"\] is not a map'),
        (a_map(element("kerb")), r"\$.map_elements\[0\].category is 'kerb', expected one of ped"),
        (a_map({"category": "road"}), r"\$.map_elements\[0\] is not an object"),
        ({"a": a_map(scene_name="s"), "b": a_map(scene_name="s")}, "another map has the name s"),
        (a_map(element(score="high")), r"\$.map_elements\[0\].details.score"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, document: Any, message: str) -> None:
    with pytest.raises(mg.UnreadableFile, match=message):
        read(document, tmp_path)


@needs_data("global_reference")
def test_the_reference_files_are_read() -> None:
    truth = mg.read(DATA / "global_reference" / "av2_all_gt.json")
    frames = mg.read(DATA / "global_reference" / "fragments_60x30_maps.json")
    assert truth.confidence is None
    assert set(frames.tokens) == set(truth.tokens)
    assert frames.counts == {"ped_crossing": 39, "divider": 125, "boundary": 94}
