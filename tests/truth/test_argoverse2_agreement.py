"""Compares the truth of two logs of Argoverse 2 with what the public converters cut from them."""

from functools import cache

import pytest
from tests.shared_data import DATA, needs_data
from tests.truth.agreement import Cut, lines_of, read_reference, share

from mapgauge.truth import argoverse2

CLASSES = ("ped_crossing", "divider", "boundary")

REGIONS = {"60x30": (60.0, 30.0), "100x50": (100.0, 50.0)}
LEAST = 0.99  # share of lines that are the same


@cache
def both(rules: str, region: str) -> tuple[Cut, Cut]:
    """Return our truth and theirs."""
    theirs = read_reference(DATA / "truth_reference" / f"av2_{rules}_{region}.json.gz")
    ours = argoverse2(DATA / "av2", rules=rules, region=REGIONS[region], tokens=list(theirs))
    return lines_of(ours), theirs


@needs_data("av2", "truth_reference")
@pytest.mark.parametrize("class_name", CLASSES)
@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("rules", ["streammapnet", "maptrv2", "maptracker"])
def test_lines_are_those_of_the_public_converter(rules: str, region: str, class_name: str) -> None:
    ours, theirs = both(rules, region)
    assert share(ours, theirs, class_name) >= LEAST
