"""The colours of classes and of the parts of PLD, in figures and in the report alike."""

from collections.abc import Iterable

from mapgauge.metrics.pld import Parts

# Okabe and Ito's palette: distinct with every kind of colour vision.
SKY, GREEN, YELLOW, BLUE, VERMILION = "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00"
PURPLE, ORANGE = "#CC79A7", "#E69F00"
# What the palette lacks, from Tol's muted scheme, which has the same aim. Yellow is too pale for lines.
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#882255", "#332288", "#999933", "#44AA99")

CLASS_COLOURS = {"ped_crossing": BLUE, "divider": VERMILION, "boundary": GREEN, "centerline": PURPLE}
# What is missed has the colour that truth has in the documentation, what is false that of predictions.
PART_COLOURS = dict(zip(Parts._fields, (SKY, GREEN, YELLOW, BLUE, VERMILION), strict=True))


def colours_of(class_names: Iterable[str]) -> dict[str, str]:
    """A colour for each class. Well-known classes always have the same; the others share what is left, by name.

    >>> colours_of(["divider", "arrow", "boundary"])
    {'divider': '#D55E00', 'boundary': '#009E73', 'arrow': '#0072B2'}
    """
    names = dict.fromkeys(class_names)
    found = {name: CLASS_COLOURS[name] for name in names if name in CLASS_COLOURS}
    left = [colour for colour in COLOURS if colour not in found.values()]
    others = sorted(name for name in names if name not in found)
    return found | {name: left[k % len(left)] for k, name in enumerate(others)}
