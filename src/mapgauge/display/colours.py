"""Colours of classes and of the parts of a metric, for figures and the report."""

from itertools import cycle

from mapgauge.markup.colours import CLASS_COLOURS, COLOURS, colours_of
from mapgauge.metrics.metric import Metric

# Far from the colours of classes and from each other, with every kind of colour vision. Most are lighter or darker.
PART_COLOURS = (
    *("#A3DDF2", "#5A2BE0", "#FBDD57", "#33122F", "#A8320A", "#B7C98A", "#6B6B6B"),
    *("#DDFED5", "#651A05", "#000000", "#8C6EFA", "#140A64"),
)


def part_colours(metric: Metric) -> dict[str, str]:
    """Return a colour for each part of a metric, by key."""
    return {value.key: colour for value, colour in zip(metric.with_role("part"), cycle(PART_COLOURS), strict=False)}


__all__ = ["CLASS_COLOURS", "COLOURS", "colours_of", "part_colours"]
