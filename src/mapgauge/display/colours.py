"""Colours of classes and of the parts of a metric, for figures and the report."""

from itertools import cycle

from mapgauge.markup.colours import (
    BLUE,
    CLASS_COLOURS,
    COLOURS,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    colours_of,
)
from mapgauge.metrics.metric import Metric

# For PLD, missed truth has the colour that truth has in the documentation, and false predictions that of predictions.
PART_COLOURS = (SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE, ORANGE)


def part_colours(metric: Metric) -> dict[str, str]:
    """Return a colour for each part of a metric, by key."""
    return {value.key: colour for value, colour in zip(metric.with_role("part"), cycle(PART_COLOURS), strict=False)}


__all__ = ["CLASS_COLOURS", "COLOURS", "colours_of", "part_colours"]
