"""Colours are distinct, also for readers who do not see all of them."""

from collections.abc import Collection

import numpy as np
import pytest
from numpy.typing import NDArray

from mapgauge.metrics.causes import FAMILIES, family_of
from mapgauge.metrics.table import METRICS, cause_colours, colours_of, family_colours, part_colours

# Matrices on linear RGB for the three kinds of colour blindness (Machado, Oliveira and Fernandes, 2009).
VISION = {
    "all": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "no blue": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]
    ),
}
# From linear RGB to OKLab, where distances are those that are seen (Ottosson, 2020).
CONES = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]])
LAB = np.array([[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])


def seen(colours: tuple[str, ...], vision: str) -> NDArray[np.float64]:
    found: NDArray[np.float64] = 100 * np.cbrt((linear(colours) @ VISION[vision].T).clip(0, 1) @ CONES.T) @ LAB.T
    return found


# From linear RGB to XYZ (sRGB, white D65), from which CIE Lab is made.
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
PAPERS = ("#ffffff", "#14171b")  # --paper in page.css, light and dark


def linear(colours: Collection[str]) -> NDArray[np.float64]:
    values = np.array([[int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)] for colour in colours])
    found: NDArray[np.float64] = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return found


def cie_lab(colours: Collection[str], vision: str) -> NDArray[np.float64]:
    ratio = (linear(colours) @ VISION[vision].T).clip(0, 1) @ XYZ.T / WHITE
    root = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    x, y, z = root.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def hue(colours: Collection[str]) -> NDArray[np.float64]:
    _, a, b = cie_lab(colours, "all").T
    found: NDArray[np.float64] = np.degrees(np.arctan2(b, a))
    return found


def distances(points: NDArray[np.float64]) -> NDArray[np.float64]:
    apart: NDArray[np.float64] = np.linalg.norm(points[:, None] - points[None], axis=2)
    return apart[np.triu_indices(len(points), 1)]


def contrast(colour: str, paper: str) -> float:
    bright, dark = sorted(0.05 + linear([colour, paper]) @ XYZ[1], reverse=True)
    return float(bright / dark)


@pytest.mark.parametrize(("vision", "least"), [("all", 40), ("no red", 29), ("no green", 29), ("no blue", 18)])
def test_families_of_causes_have_colours_that_differ_with_every_kind_of_vision(vision: str, least: float) -> None:
    # A distance of 2 in CIE Lab can just be seen side by side.
    assert distances(cie_lab(family_colours().values(), vision)).min() > least


@pytest.mark.parametrize("paper", PAPERS)
def test_colours_of_families_have_the_contrast_of_graphics_on_both_papers(paper: str) -> None:
    assert min(contrast(colour, paper) for colour in family_colours().values()) >= 3  # WCAG 2.2, 1.4.11


def test_shades_of_a_family_differ_and_are_nearest_to_their_own_family() -> None:
    families = family_colours()
    hues = hue(families.values())
    for cause, colour in cause_colours().items():
        turned = np.abs((hue([colour]) - hues + 180) % 360 - 180)
        assert list(families)[turned.argmin()] == family_of(cause), cause
    for causes in FAMILIES.values():
        shades = [cause_colours()[cause] for cause in causes]
        if len(shades) > 1:
            assert distances(seen(tuple(shades), "all")).min() > 8


@pytest.mark.parametrize("vision", VISION)
def test_parts_of_pld_can_be_distinguished_on_light_and_dark_paper(vision: str) -> None:
    parts = seen(tuple(part_colours(METRICS["pld"]).values()), vision)
    assert distances(parts).min() > 11  # black and white are 100 apart
    papers = seen(PAPERS, vision)
    assert np.linalg.norm(parts[:, None] - papers[None], axis=2).min() > 20


def test_parts_of_pld_have_the_colours_of_the_families_that_they_belong_to() -> None:
    families = family_colours()
    parts = part_colours(METRICS["pld"])
    assert parts["matched_points"] == families["place"]
    assert parts["missed"] == families["missing"]
    assert parts["false"] == families["extra"]
    assert parts["confidence"] == families["confidence"]


def test_parts_of_a_metric_have_different_colours() -> None:
    for metric in METRICS.values():
        colours = part_colours(metric)
        assert len(set(colours.values())) == len(colours)


def test_more_classes_than_well_known_colours_still_differ() -> None:
    names = ["divider", *(f"class-{k}" for k in range(8))]
    assert len(set(colours_of(names).values())) == len(names)
    assert colours_of(["z", "divider", "a"]) == colours_of(["divider", "a", "z"])
