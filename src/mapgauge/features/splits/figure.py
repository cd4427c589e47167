"""Draws what ``mapgauge.splits`` measured: the places of both sets, and the error over the distances."""

from collections.abc import Mapping
from itertools import cycle

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mapgauge.errors import InvalidInput
from mapgauge.features.splits.joint import CLOSE, Joint
from mapgauge.features.splits.overlap import SplitOverlap
from mapgauge.metrics.table import COLOURS, title_of
from mapgauge.views.figures.style import (
    HEIGHT,
    INK,
    MARKERS,
    PALE,
    GivenAxes,
    Style,
    canvas,
    dress,
    look,
    plain,
    styled,
)


@styled
def splits(
    overlap: SplitOverlap,
    joint: Mapping[str, Joint] | None = None,
    *,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw where validation frames are close to training frames, and the error of methods over both distances.

    Args:
        overlap: From ``mapgauge.splits``.
        joint: From ``SplitOverlap.joint``, by the name of the method. The panels of errors need it.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into, one for each panel; None makes a new figure.
    """
    methods = dict(joint or {})
    if overlap.positions is not None:
        cities = sorted(set(overlap.cities[1]))
    else:
        cities = []
    keys = {of.key for of in methods.values()}
    if len(keys) > 1:
        raise InvalidInput(f"the methods must have the same value, got {', '.join(sorted(keys))}")
    groups = sorted({name for of in methods.values() if of.place for name in of.place.estimates}, reverse=True)
    panels = len(cities) + bool(methods) + bool(groups)
    if not panels:
        raise InvalidInput("nothing to draw: the frames have no poses, and no method is given")
    sheet = canvas(look().page * max(panels / 4, 1.0), HEIGHT * look().room, panels, ax=ax)
    axes = list(sheet.axes)
    handles = []
    if overlap.positions is not None and overlap.place is not None:
        near = overlap.place < CLOSE
        sides = [
            (overlap.positions[k], np.array(overlap.cities[k], object), shown, colour, size, label)
            for k, shown, colour, size, label in (
                (0, np.ones(len(overlap.positions[0]), np.bool_), PALE, 1.0, "training"),
                (1, ~near, COLOURS[0], 3.0, "validation"),
                (1, near, COLOURS[1], 3.0, f"validation, closer than {CLOSE:g} m"),
            )
        ]
        for city in cities:
            at = axes.pop(0)
            for points, cities_of_points, shown, colour, size, _ in sides:
                some = points[shown & (cities_of_points == city)]
                at.plot(some[:, 0], some[:, 1], ".", color=colour, markersize=size)
            plain(at)
            at.set_aspect("equal", "datalim")
            at.set_xlabel(f"x (m){', ' if city else ''}{city}", fontsize=look().normal, color=INK)
            at.set_ylabel("y (m)", fontsize=look().normal, color=INK)
        handles += [Line2D([], [], color=side[3], marker=".", linestyle="", label=side[5]) for side in sides]
    for (name, of), colour, marker in zip(methods.items(), cycle(COLOURS[2:]), cycle(MARKERS), strict=False):
        handles.append(Line2D([], [], color=colour, marker=marker, markersize=3, label=name))
        for panel, sliced in zip(axes, (of.shape, of.place), strict=False):
            if sliced is None:
                values = {}
            else:
                values = {key: by["mean"][of.key] for key, by in sliced.estimates.items()}
            middles = [float(groups.index(key)) if key in groups else _middle(key) for key in values]
            heights = [value.value for value in values.values()]
            panel.plot(middles, heights, color=colour, marker=marker, markersize=3)
            for middle, value in zip(middles, values.values(), strict=True):
                if np.isfinite(value.low):
                    panel.plot([middle] * 2, [value.low, value.high], color=colour, linewidth=0.7, alpha=0.6)
    for panel, label in zip(axes, ("distance in shape (PLD)", "distance in place"), strict=False):
        dress(panel, label, title_of(*keys))
    if groups:
        axes[-1].set_xticks(range(len(groups)), groups)
    sheet.legend(handles, 5)
    return sheet.finished(title)


def _middle(name: str) -> float:
    """Return the middle of a bin, whose edges are in its name."""
    low, high = name.split(" to ")
    return (float(low) + float(high)) / 2
