"""The colours of the page: those of the figures, distinct with every kind of colour vision (Okabe and Ito)."""

from collections.abc import Sequence

from mapgauge.metrics.pld import Parts

SKY, GREEN, YELLOW, BLUE, VERMILION = "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00"
PURPLE, ORANGE = "#CC79A7", "#E69F00"
# What the palette lacks, from Tol's muted scheme. Yellow is too pale for lines.
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#882255", "#332288", "#999933", "#44AA99")
CLASS_COLOURS = {"ped_crossing": BLUE, "divider": VERMILION, "boundary": GREEN, "centerline": PURPLE}
PART_COLOURS = dict(zip(Parts._fields, (SKY, GREEN, YELLOW, BLUE, VERMILION), strict=True))


def class_colours(names: Sequence[str]) -> list[str]:
    """A colour for each class. Well-known classes always have the same; the others share what is left, by name.

    >>> class_colours(["divider", "arrow", "boundary"])
    ['#D55E00', '#0072B2', '#009E73']
    """
    known = {name: CLASS_COLOURS[name] for name in names if name in CLASS_COLOURS}
    left = [colour for colour in COLOURS if colour not in known.values()]
    others = sorted(name for name in names if name not in known)
    found = known | {name: left[k % len(left)] for k, name in enumerate(others)}
    return [found[name] for name in names]
