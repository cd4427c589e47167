"""Longitude and latitude are found by the values, wherever the map is; lines in metres are not taken for them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.checks.world import codes, none, one, placed
from tests.shared_data import DATA, needs_data

import mapgauge as mg
from mapgauge.checks.context import is_geographic

METRE = 9e-6  # degrees of latitude
PLACES = {
    "Singapore": (103.78, 1.29),
    "Greenwich": (0.0, 51.48),
    "Accra": (-0.19, 5.56),
    "Sao Tome": (6.73, 0.33),
    "Sydney": (151.2, -33.87),
}


def one_line(points: list[list[float]]) -> mg.MapFrames:
    return mg.MapFrames.of({"a": {"divider": [points]}})


@pytest.mark.parametrize("place", PLACES)
def test_degrees_on_both_sides_are_the_only_error(predictions: mg.MapFrames, truth: mg.MapFrames, place: str) -> None:
    there = placed(truth, METRE, PLACES[place])
    for side in (placed(predictions, METRE, PLACES[place]), there.with_confidence(1)):
        finding = one("coordinates-world", side, there, region=(60, 30))
        assert finding.level == "error"
        assert finding.message.startswith("both sides: the coordinates look like longitude and latitude")
        assert not {"region-left", "region-not-covered", "axes-turned"} & codes(side, there, region=(60, 30))


def test_the_remedy_is_to_project_both_sides(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    sides = (placed(side, METRE, PLACES["Sydney"]) for side in (predictions, truth))
    finding = one("coordinates-world", *sides)
    assert "Write PREDICTIONS,project=auto TRUTH,project=auto" in finding.for_shell()
    assert 'Pass project="auto" for the truth' in str(finding)


def test_crossings_alone_and_streets_of_kilometres_are_found(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    for factor, classes in ((METRE, ["ped_crossing"]), (100 * METRE, None)):
        sides = (placed(side, factor, PLACES["Accra"]) for side in (predictions, truth))
        assert one("coordinates-world", *sides, classes=classes).level == "error"


def test_a_drive_in_two_cities_is_found(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    def far(side: mg.MapFrames) -> mg.MapFrames:
        first = np.repeat(side.frame % 2 == 0, np.diff(side.polylines.offsets))[:, None]
        shift = np.where(first, PLACES["Singapore"], (-71.05, 42.36))
        return replace(side, polylines=mg.Polylines(METRE * side.polylines.coords + shift, side.polylines.offsets))

    assert one("coordinates-world", far(predictions), far(truth)).level == "error"


def test_one_line_on_each_side_is_found(truth: mg.MapFrames) -> None:
    street = one_line([[11.57, 48.13], [11.5704, 48.1302]])
    assert one("coordinates-world", street.with_confidence(1), street).level == "error"


def test_one_short_line_in_metres_is_not_taken_for_degrees(predictions: mg.MapFrames) -> None:
    sliver = one_line([[29.99, 12.0], [30.0, 12.0]])  # what a crop leaves of a line
    near = replace(predictions.at([0]), tokens=("a",))
    assert none("coordinates-world", near, sliver)
    assert not is_geographic(sliver)


@pytest.mark.parametrize("factor", [1e-5, 1e-3, 1.0])
def test_small_scenes_around_the_ego_are_not_taken_for_degrees(
    predictions: mg.MapFrames, truth: mg.MapFrames, factor: float
) -> None:
    assert none("coordinates-world", placed(predictions, factor), placed(truth, factor))


def test_short_lines_all_around_the_ego_are_not_taken_for_degrees(
    rng: np.random.Generator, truth: mg.MapFrames
) -> None:
    starts = rng.uniform(-30, 30, (50, 1, 2))
    lines = {token: {"divider": list(starts + rng.normal(0, 0.01, (50, 20, 2)))} for token in truth.tokens}
    untrained = mg.MapFrames.of(lines).with_confidence(0.5)
    assert none("coordinates-world", untrained, truth)


@pytest.mark.needs_feature("network")
def test_an_evaluation_refuses_degrees(predictions: mg.MapFrames, truth: mg.MapFrames, tmp_path: Path) -> None:
    """In memory and streamed, on both sides, or on one if the other was projected; also in a map of one line."""
    x, y = (placed(side, METRE, PLACES["Greenwich"]) for side in (predictions, truth))
    for name, side in (("x.parquet", x), ("y.parquet", y)):
        mg.write(side, tmp_path / name)
    street = one_line([[11.57, 48.13], [11.5704, 48.1302]])
    sure, projected = street.with_confidence(1), street.project("auto")
    for one_side, other in ((x, y), (tmp_path / "x.parquet", tmp_path / "y.parquet"), (sure, street)):
        with pytest.raises(mg.InvalidInput, match="^both sides: .* longitude and latitude"):
            mg.evaluate(one_side, other, metrics=["pld"])
    with pytest.raises(mg.InvalidInput, match="^predictions: the coordinates look like longitude"):
        mg.evaluate(sure, projected, "map")
    with pytest.raises(mg.InvalidInput, match="^truth: the coordinates look like longitude"):
        mg.evaluate(projected.with_confidence(1), street, "map")
    assert mg.evaluate(projected.with_confidence(1), projected, "map").mean["pld"] == 0


@needs_data("own_map")
@pytest.mark.parametrize(("name", "geographic"), [("map_wgs84", True), ("map_metres", False)])
def test_a_map_is_told_by_its_values(name: str, geographic: bool) -> None:
    features = json.loads((DATA / "own_map" / f"{name}.geojson").read_text(encoding="utf-8"))["features"]
    drawn = [one["geometry"] for one in features if one["geometry"]]
    lines = [shape["coordinates"] for shape in drawn if shape["type"] == "LineString"]
    assert is_geographic(mg.MapFrames.of({"map": {"divider": lines}})) is geographic
