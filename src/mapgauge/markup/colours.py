"""Colours of classes, the same in figures, reports and notebooks."""

from collections.abc import Iterable

# Okabe and Ito's palette: distinct with every kind of colour vision.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
# The last four come from Tol's muted scheme, which has the same aim. Yellow is left out: it is too pale for lines.
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#882255", "#332288", "#999933", "#44AA99")

CLASS_COLOURS = {"ped_crossing": BLUE, "divider": VERMILION, "boundary": GREEN, "centerline": PURPLE}


def colours_of(class_names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each class. Well-known classes have fixed colours; others get the rest in order of name.

    >>> colours_of(["divider", "arrow", "boundary"])
    {'divider': '#D55E00', 'boundary': '#009E73', 'arrow': '#0072B2'}
    """
    names = dict.fromkeys(class_names)
    found = {name: CLASS_COLOURS[name] for name in names if name in CLASS_COLOURS}
    left = [colour for colour in COLOURS if colour not in found.values()]
    others = sorted(name for name in names if name not in found)
    return found | {name: left[k % len(left)] for k, name in enumerate(others)}
