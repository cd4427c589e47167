"""Colours that stay apart for colour-blind readers (Okabe and Ito)."""

from collections.abc import Sequence

CLASS_COLOURS = {"ped_crossing": "#0072B2", "divider": "#E69F00", "boundary": "#009E73"}
FURTHER = ("#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#7F7F7F")  # of classes with other names, in turn
PART_COLOURS = {
    "matched_points": "#56B4E9",
    "unmatched_points": "#009E73",
    "confidence": "#F0E442",
    "missed": "#0072B2",
    "false": "#D55E00",
}


def class_colours(names: Sequence[str]) -> list[str]:
    """A colour for each class; the known ones always get theirs.

    >>> class_colours(["divider", "arrow", "boundary"])
    ['#E69F00', '#CC79A7', '#009E73']
    """
    others = [name for name in names if name not in CLASS_COLOURS]
    further = {name: FURTHER[k % len(FURTHER)] for k, name in enumerate(others)}
    return [CLASS_COLOURS.get(name) or further[name] for name in names]
