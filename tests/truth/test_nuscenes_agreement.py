"""Truth of the made-up cities, line by line against what the public converters cut from them."""

from functools import cache

import pytest
from tests.shared_data import DATA, needs_data
from tests.truth.agreement import Cut, agreement, lines_of, read_reference, share

from mapgauge import truth

CLASSES = ("ped_crossing", "divider", "boundary")

FOLDER = DATA / "truth_reference"
CITY = FOLDER / "nuscenes_city"
REGIONS = {"60x30": (60.0, 30.0), "100x50": (100.0, 50.0)}
EVERY = 3  # the references have every third frame

# The least share of same lines. Measured: 100 % of dividers and boundaries by all rules and of crossings by maptr;
# crossings by streammapnet 99.8 % (60x30) and 99.7 % (100x50), by maptracker 99.9 % and 99.9 %.
LEAST = {"streammapnet": (0.99, 0.995, 0.995), "maptr": (0.995,) * 3, "maptracker": (0.99, 0.995, 0.995)}

pytestmark = needs_data("truth_reference")


@cache
def both(rules: str, region: str) -> tuple[Cut, Cut]:
    scenes = (CITY / "scenes.txt").read_text(encoding="utf-8").strip().split(",")
    ours = truth.nuscenes(CITY, scenes=scenes, rules=rules, region=REGIONS[region], every=EVERY)
    return lines_of(ours), read_reference(FOLDER / f"nuscenes_{rules}_{region}.json.gz")


@pytest.mark.parametrize("class_name", CLASSES)
@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("rules", LEAST)
def test_lines_are_those_of_the_public_converter(rules: str, region: str, class_name: str) -> None:
    ours, theirs = both(rules, region)
    least = LEAST[rules][CLASSES.index(class_name)]
    assert share(ours, theirs, class_name) >= least, agreement(ours, theirs, class_name)
