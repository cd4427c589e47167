"""Draws one frame in bird's-eye view, like the qualitative figures of papers.

The forward direction points up, as usual in papers. A region of 60 x 30 m fills a column of a paper, and several
methods fit side by side.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mapgauge.display.colours import colours_of
from mapgauge.errors import InvalidInput
from mapgauge.geometry.cropping import Region, check_region
from mapgauge.plot.panel import (
    CAR,
    Panel,
    Values,
    View,
    draw_panel,
    hollow_points,
    prediction_line,
    truth_line,
)
from mapgauge.plot.style import (
    COLUMN,
    GREY,
    INK,
    NORMAL,
    PAGE,
    SMALL,
    axes_for,
    below,
    columns_of,
    figure_of,
    finished,
    new_figure,
    word_of,
)
from mapgauge.results.assignment import Assignment

NARROWEST, TALLEST = 1.7, 6.1  # inches, of a panel
LAID_OUT = 0.7  # of the size of a caller's axes is left when the legend below them is laid out
LEFT, RIGHT, BETWEEN, BOTTOM, LINE = 0.42, 0.06, 0.1, 0.36, 0.155  # inches around panels, and of a line of text


def frame(
    assignment: Assignment | Sequence[Assignment],
    *,
    side_by_side: bool = False,
    region: Region | None = None,
    title: str | None = None,
    values: Values | Sequence[Values] | None = None,
    names: Sequence[str] | None = None,
    forward: Literal["x", "y"] = "x",
    ax: Axes | None = None,
) -> Figure:
    """Draw truth and predictions of one frame in bird's-eye view, forward upwards.

    Truth is wide and pale. Predictions are thin; their opacity is their confidence. Thin lines join matched points.
    Unmatched points of matched polylines are hollow. Unmatched instances are dashed. The confidence of a prediction is
    written beside it if it is at least 0.1. In an SVG, every instance is an element of its own: ``prediction-7-2`` is
    prediction 7 in panel 2, both counted from 0.

    Args:
        assignment: From ``Results.assignment``; one for each method to draw them in columns.
        side_by_side: Whether truth has a panel of its own, beside those of predictions. Matched pairs are not drawn.
        region: ``(length, width)`` around the ego or ``(x_min, y_min, x_max, y_max)`` to show, in metres; None shows
            everything.
        title: Title above the figure.
        values: Values to write in a corner, such as ``{"pld": 0.71, "ap_chamfer": 0.6}``; one mapping for each
            assignment if there are several.
        names: Names of the methods.
        forward: The axis of the data that points forward: ``"y"`` for unrotated nuScenes files of MapTR.
        ax: Axes of a figure of yours to draw in, for a single panel; None makes a new figure.

    Returns:
        A figure as wide as a column of a paper, or as a page if there are several panels.
    """
    assignments = [assignment] if isinstance(assignment, Assignment) else list(assignment)
    panels = _panels(assignments, side_by_side, values, names)
    if forward not in ("x", "y"):
        raise InvalidInput(f'forward must be "x" or "y", got {forward!r}')
    shown = _extent(assignments) if region is None else check_region(region)
    if ax is not None:
        return _frame_in(axes_for(ax, COLUMN, COLUMN), panels, View(forward, shown, COLUMN), title)
    room = max(COLUMN if len(panels) == 1 else PAGE, LEFT + len(panels) * (NARROWEST + BETWEEN))
    view = View(forward, shown, (room - LEFT - RIGHT + BETWEEN) / len(panels) - BETWEEN)
    if view.height > TALLEST:
        view = view._replace(width=view.width * TALLEST / view.height)

    colours = _colours(panels)
    full = LEFT + len(panels) * (view.width + BETWEEN) - BETWEEN + RIGHT
    width = max(full, COLUMN)  # the legend needs room even if the panels are narrow
    legend = columns_of(_legend(panels, colours), width, 5, by_rows=False)
    bottom = BOTTOM + LINE * len(legend[0]) + 0.05
    top = LINE * any(panel.name for panel in panels) + 1.3 * LINE * (title is not None) + 0.05
    height = bottom + view.height + top
    figure = new_figure(width, height, layout=None)
    for k, panel in enumerate(panels):
        left = (width - full) / 2 + LEFT + k * (view.width + BETWEEN)
        axes = figure.add_axes((left / width, bottom / height, view.width / width, view.height / height))
        draw_panel(axes, view, panel, colours, k)
    if title is not None:
        figure.text(0.5, 1 - 0.04 / height, title, ha="center", va="top", fontsize=NORMAL, color=INK, weight="bold")
    figure.legend(
        handles=list(chain(*legend)),
        loc="lower center",
        bbox_to_anchor=(0.5, 0),
        ncols=len(legend),
        fontsize=SMALL,
        frameon=False,
        handlelength=2.0,
        handletextpad=0.5,
        columnspacing=1.0,
        labelspacing=0.35,
        borderaxespad=0.1,
    )
    return finished(figure)


def _frame_in(ax: Axes, panels: list[Panel], view: View, title: str | None) -> Figure:
    """Draw one panel in the axes of a caller, as large as it fits, with the title and the legend around it."""
    if len(panels) > 1:
        raise InvalidInput(
            f"ax: {len(panels)} panels do not fit into one axes", remedy="Draw each assignment in its own axes"
        )
    figure, place = figure_of(ax), ax.get_position(original=True)
    width, height = figure.get_figwidth() * place.width, figure.get_figheight() * place.height
    share = LAID_OUT * min(width / view.width, height / view.height)
    view = view._replace(width=view.width * share)
    colours = _colours(panels)
    draw_panel(ax, view, panels[0], colours, 0)
    if title is not None:
        ax.set_title(title, fontsize=NORMAL, color=INK, weight="bold")
    below(ax, _legend(panels, colours), 3, own=True)
    return finished(figure, ax)


def _colours(panels: list[Panel]) -> dict[str, str]:
    instances = [line for panel in panels for line in (*panel.assignment.truth, *panel.assignment.predictions)]
    return colours_of(line.class_name for line in instances)


def _panels(
    assignments: list[Assignment],
    side_by_side: bool,
    values: Values | Sequence[Values] | None,
    names: Sequence[str] | None,
) -> list[Panel]:
    """Return one panel per assignment, after a panel for the truth if ``side_by_side``."""
    if not assignments:
        raise InvalidInput("assignment: expected at least one, got none")
    for found in assignments:
        if not isinstance(found, Assignment):
            raise InvalidInput(
                f"assignment: expected an Assignment from Results.assignment(), got {type(found).__name__}"
            )
    tokens = list(dict.fromkeys(found.token for found in assignments))
    if side_by_side and len(tokens) > 1:
        raise InvalidInput(f"assignment: side_by_side needs assignments of one frame, got {', '.join(tokens)}")
    count, alone = len(assignments), len(assignments) == 1
    if names is None and alone:
        names = ["predictions" if side_by_side else ""]
    elif names is None:
        names = tokens if len(tokens) == count else [f"method {k}" for k in range(count)]
    if isinstance(names, str) or len(names) != count:
        raise InvalidInput(f"names must be {count}, one for each assignment, got {names!r}")
    if values is None:
        values = [{}] * count
    elif isinstance(values, Mapping):
        values = [values]
    if len(values) != count:
        raise InvalidInput(f"values must be {count} mappings, one for each assignment, got {len(values)}")
    panels = [
        Panel(name, found, truth=not side_by_side, predictions=True, marks=True, values=corner)
        for name, found, corner in zip(names, assignments, values, strict=True)
    ]
    if side_by_side:  # matches differ between methods, so the truth shows none if there are several
        panels.insert(0, Panel("truth", assignments[0], truth=True, predictions=False, marks=alone, values={}))
    return panels


def _extent(assignments: list[Assignment]) -> tuple[float, float, float, float]:
    """Return the extent of all points and the car, with a margin."""
    lines = [line.points[:, :2] for found in assignments for line in (*found.truth, *found.predictions)]
    points = np.concatenate([*lines, CAR, CAR[:, ::-1]])
    (x_min, y_min), (x_max, y_max) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return x_min - 1, y_min - 1, x_max + 1, y_max + 1


def _legend(panels: list[Panel], colours: dict[str, str]) -> list[Artist]:
    """Return the entries of the legend: classes by colour, then symbols in grey."""
    none = np.empty((0, 2))
    both = [panel for panel in panels if panel.truth and panel.predictions]
    missed = any(len(p.assignment.matches) < len(p.assignment.truth) for p in panels if p.truth and p.marks)
    false = any(len(p.assignment.matches) < len(p.assignment.predictions) for p in panels if p.predictions)
    pairs = any(len(match.pairs) for panel in both for match in panel.assignment.matches)
    car = Line2D([], [], linestyle="none", marker="^", markersize=4, color=GREY, markeredgecolor="none")
    entries = [
        *((word_of(name), Line2D([], [], color=colour, linewidth=3)) for name, colour in colours.items()),
        ("truth", truth_line(none, GREY, 3)),
        ("missed truth", truth_line(none, GREY, 3, alone=True) if missed else None),
        ("prediction (confidence)", prediction_line(none, GREY)),
        ("false prediction", prediction_line(none, GREY, alone=True) if false else None),
        ("matched points", Line2D([], [], color=INK, linewidth=0.5) if pairs else None),
        ("unmatched point", hollow_points(none, GREY, 2.6)),
        ("ego", car),
    ]
    there: list[Artist] = []
    for label, handle in entries:
        if handle is not None:
            handle.set_label(label)
            there.append(handle)
    return there
