"""Draws what ``mapgauge.splits`` measured: the places of both sets, and the error over the distances."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.features.splits.joint import CLOSE, Joint
from mapgauge.features.splits.overlap import SplitOverlap
from mapgauge.metrics.table import COLOURS, title_of
from mapgauge.results.intervals import Estimate
from mapgauge.typing import Floats
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
    keys = {of.key for of in methods.values()}
    if len(keys) > 1:
        raise InvalidInput(f"the methods must have the same value, got {', '.join(sorted(keys))}")
    cities = []
    if overlap.positions is not None:
        cities = sorted(set(overlap.cities[1]))
    groups = _groups(methods)
    panels = len(cities) + bool(methods) + bool(groups)
    if not panels:
        raise InvalidInput("nothing to draw: the frames have no poses, and no method is given")
    sheet = canvas(look().page * max(panels / 4, 1.0), HEIGHT * look().room, panels, ax=ax)
    handles = []
    of_cities = sheet.axes[: len(cities)]
    of_errors = sheet.axes[len(cities) :]

    if overlap.positions is not None and overlap.place is not None:
        dots = _dots(overlap, overlap.positions, overlap.place)
        for axes, city in zip(of_cities, cities, strict=True):
            _draw_city(axes, dots, city)
        handles += [Line2D([], [], color=one.colour, marker=".", linestyle="", label=one.label) for one in dots]

    for (name, of), colour, marker in zip(methods.items(), cycle(COLOURS[2:]), cycle(MARKERS), strict=False):
        handles.append(Line2D([], [], color=colour, marker=marker, markersize=3, label=name))
        for axes, sliced in zip(of_errors, (of.shape, of.place), strict=False):
            if sliced is not None:
                values = {key: by["mean"][of.key] for key, by in sliced.estimates.items()}
                _draw_errors(axes, values, groups, colour=colour, marker=marker)
    for axes, label in zip(of_errors, ("distance in shape (PLD)", "distance in place"), strict=False):
        dress(axes, label, title_of(*keys))
    if groups:
        of_errors[-1].set_xticks(range(len(groups)), groups)
    sheet.legend(handles, most=5)
    return sheet.finished(title)


class _Dots(NamedTuple):
    """Frames that are drawn as dots of one kind."""

    points: Floats  # (frames, 2): positions in the world, in metres
    cities: NDArray[np.object_]  # (frames,)
    colour: str
    size: float
    label: str


def _groups(methods: Mapping[str, Joint]) -> list[str]:
    """Return the groups of frames by their distance in place."""
    names: set[str] = set()
    for of in methods.values():
        if of.place:
            names.update(of.place.estimates)
    return sorted(names, reverse=True)


def _dots(overlap: SplitOverlap, positions: tuple[Floats, Floats], place: Floats) -> tuple[_Dots, ...]:
    """Return the training frames, the validation frames, and the validation frames close to training frames."""
    training, validation = positions
    cities_of_training, cities_of_validation = (np.array(cities, object) for cities in overlap.cities)
    near = place < CLOSE
    return (
        _Dots(training, cities_of_training, PALE, size=1.0, label="training"),
        _Dots(validation[~near], cities_of_validation[~near], COLOURS[0], size=3.0, label="validation"),
        _Dots(
            validation[near],
            cities_of_validation[near],
            COLOURS[1],
            size=3.0,
            label=f"validation, closer than {CLOSE:g} m",
        ),
    )


def _draw_city(axes: Axes, dots: Sequence[_Dots], city: str) -> None:
    """Draw the frames of one city."""
    for one in dots:
        some = one.points[one.cities == city]
        axes.plot(some[:, 0], some[:, 1], ".", color=one.colour, markersize=one.size)
    plain(axes)
    axes.set_aspect("equal", "datalim")
    axes.set_xlabel(f"x (m){', ' if city else ''}{city}", fontsize=look().normal, color=INK)
    axes.set_ylabel("y (m)", fontsize=look().normal, color=INK)


def _draw_errors(
    axes: Axes, values: Mapping[str, Estimate], groups: Sequence[str], *, colour: str, marker: str
) -> None:
    """Draw the values of one method over the distance, with their intervals. Bins are drawn at their middles."""
    middles = [float(groups.index(key)) if key in groups else _middle(key) for key in values]
    axes.plot(middles, [value.value for value in values.values()], color=colour, marker=marker, markersize=3)
    for middle, value in zip(middles, values.values(), strict=True):
        if np.isfinite(value.low):
            axes.plot([middle] * 2, [value.low, value.high], color=colour, linewidth=0.7, alpha=0.6)


def _middle(name: str) -> float:
    """Return the middle of a bin, whose edges are in its name."""
    low, high = name.split(" to ")
    return (float(low) + float(high)) / 2
