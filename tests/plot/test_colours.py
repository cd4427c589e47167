"""Colours are distinct, also for readers who do not see all of them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from mapgauge.metrics.table import METRICS, PART_COLOURS, part_colours

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
    values = np.array([[int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)] for colour in colours])
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    found: NDArray[np.float64] = 100 * np.cbrt((linear @ VISION[vision].T).clip(0, 1) @ CONES.T) @ LAB.T
    return found


@pytest.mark.parametrize("vision", VISION)
def test_parts_can_be_told_apart_and_seen_on_light_and_dark_paper(vision: str) -> None:
    parts = seen(PART_COLOURS, vision)
    among = np.linalg.norm(parts[:, None] - parts[None], axis=2)[np.triu_indices(len(parts), 1)]
    assert among.min() > 11  # black and white are 100 apart
    papers = seen(("#ffffff", "#14171b"), vision)  # --paper in page.css
    assert np.linalg.norm(parts[:, None] - papers[None], axis=2).min() > 9


def test_parts_of_a_metric_have_different_colours() -> None:
    for metric in METRICS.values():
        colours = part_colours(metric)
        assert len(set(colours.values())) == len(colours)
