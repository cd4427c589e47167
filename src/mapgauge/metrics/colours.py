"""Colours of the parts of metrics: the five families of causes, shades for causes, and the parts of PLD.

Related ideas share a hue on every page: the family ``place`` and matched points are blue, ``missing`` and missed lines
red, ``extra`` and false lines purple, ``confidence`` and the part of that name amber.
"""

from itertools import cycle

from mapgauge.metrics.causes import CAUSES, FAMILIES, family_of
from mapgauge.metrics.metric import Metric

# Chosen by search: contrast of at least 3 to 1 with the light and the dark paper of pages, and far from each other
# for readers who see no red or no green (tests/plot/test_colours.py).
_FAMILIES = {
    "place": "#2B65E6",
    "missing": "#BE2D33",
    "extra": "#9A4299",
    "confidence": "#C68706",
    "class": "#5FA190",
}
# How much white (or black, if negative) is mixed into the shades of a family, by the number of its causes. The first
# cause has the family's own colour.
_MIXED = {1: (0.0,), 2: (0.0, 0.45), 3: (0.0, 0.45, -0.4), 4: (0.0, 0.3, 0.6, -0.4), 5: (0.0, 0.35, 0.62, -0.3, -0.58)}
# Parts that are no part of PLD, such as links of lanes.
_OTHERS = (_FAMILIES["class"], "#7D8590", "#A9713F", "#3F5F66")


# Of lines in drawings. A missed line has the colour of the family ``missing``. Pieces of predictions that are farther
# from the truth than a third of the cutoff are orange to red: up to two thirds, up to the cutoff, and beyond it.
FOUND = "#98A1AB"
MISSED = _FAMILIES["missing"]
FAR = ("#E07A00", "#D14900", "#C8102E")


def family_colours() -> dict[str, str]:
    """Return the colour of each family of causes.

    >>> list(family_colours())
    ['place', 'missing', 'extra', 'confidence', 'class']
    """
    return {family: _FAMILIES[family] for family in FAMILIES}


def cause_colours() -> dict[str, str]:
    """Return the colour of each cause: a shade of the colour of its family.

    >>> cause_colours()["localisation"] == family_colours()["place"]
    True
    """
    return {cause: _shade(cause) for cause in CAUSES}


def part_colours(metric: Metric) -> dict[str, str]:
    """Return a colour for each part of a metric, by key. Parts of the same name have the same colour in all metrics."""
    by_name = {
        "matched": _FAMILIES["place"],
        "matched_points": _FAMILIES["place"],
        "unmatched_points": _mixed(_FAMILIES["place"], 0.5),
        "confidence": _FAMILIES["confidence"],
        "false": _FAMILIES["extra"],
        **cause_colours(),
    }
    others = cycle(_OTHERS)
    colours = {}
    for value in metric.with_role("part"):
        colours[value.key] = by_name.get(value.part) or next(others)
    return colours


def _shade(cause: str) -> str:
    family = family_of(cause)
    siblings = FAMILIES[family]
    return _mixed(_FAMILIES[family], _MIXED[len(siblings)][siblings.index(cause)])


def _mixed(colour: str, share: float) -> str:
    """Return a colour with a share of white, or of black if the share is negative.

    >>> _mixed("#804000", 0.5), _mixed("#804000", -0.5)
    ('#C0A080', '#402000')
    """
    target = 0
    if share > 0:
        target = 255
    channels = bytes.fromhex(colour.removeprefix("#"))
    mixed = [round(channel + abs(share) * (target - channel)) for channel in channels]
    return "#" + "".join(f"{channel:02X}" for channel in mixed)
