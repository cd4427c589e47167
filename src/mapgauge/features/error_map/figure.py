"""Draws error maps: the road network, coloured by the share of the frames in which it was not found."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from mapgauge.arguments import check_whole
from mapgauge.features.error_map.around import CELL, LEVELS, around_ego
from mapgauge.features.error_map.error_map import ErrorMap, error_map, has_poses
from mapgauge.features.error_map.places import ErrorPlace, Kind, worst_places
from mapgauge.metrics.colours import family_colours
from mapgauge.results.results import Results
from mapgauge.typing import Floats, Indices
from mapgauge.views.figures.style import (
    GREY,
    HEIGHT,
    INK,
    GivenAxes,
    Style,
    canvas,
    look,
    round_step,
    several,
    shortened,
    styled,
)
from mapgauge.views.tiles import MARGIN, Areas, Tiles, areas_of, packed

_Numbered: TypeAlias = list[tuple[int, ErrorPlace]]
FOUND = "#B9BEC6"  # a piece that every frame found: grey, as truth that is found in other drawings
_MIDDLE = "#EE9B3E"
_AREAS = 12  # areas of a figure, unless another number is given
_NUMBERED = 5  # worst places with a number, as many as ``mapgauge errors`` lists
_LABELS = 0.2  # inches around an area, for its coordinates
_APART = 0.45  # inches, at least, between two coordinates of an axis
_BADGE = 13.0  # points, at least, between the middles of two numbers
_ASPECT = 1.6  # width over height of a single panel
_STRIP = 4.0  # of one of several panels, which are one below the other
_FINE = 400.0  # metres: a sheet that is wider shows means over cells in place of pieces
_CELLS = 200  # across such a sheet


def colours(*, difference: bool = False) -> LinearSegmentedColormap:
    """Return the colours of shares: grey to red; for differences, from -1 to 1, blue to grey to red."""
    family = family_colours()
    if difference:
        return LinearSegmentedColormap.from_list("differences", [family["place"], FOUND, family["missing"]])
    return LinearSegmentedColormap.from_list("shares", [FOUND, _MIDDLE, family["missing"]])


@styled
def errors(
    made: ErrorMap | Results | Sequence[Results],
    *,
    names: Sequence[str] | None = None,
    confidence: float | None = None,
    areas: int = _AREAS,
    worst: int = _NUMBERED,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw where on the map methods fail: the road, coloured by the share of the frames that did not find it.

    Each method has a panel, and each method after the first also one with its difference to the first. Connected areas
    are packed as tiles, so distances between areas mean nothing. Each area has its coordinates in the world, in metres,
    if it is large enough on the page. The worst places have the numbers that they have in ``ErrorMap.worst``; in a
    difference, black are those that the method loses, and blue those that it gains. Results without poses are drawn
    around the vehicle, in cells of 2 metres.

    Args:
        made: From ``mapgauge.error_map``, or results with their data.
        names: Names of the methods, for results.
        confidence: The least confidence of a prediction that finds something. If None, that of the map.
        areas: Largest number of areas. Those with the worst places and the longest road not found are drawn.
        worst: Number of worst places with a number.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into, one for each panel; None makes a new figure.
    """
    check_whole("areas", areas, least=1)
    check_whole("worst", worst, least=0)
    if not isinstance(made, ErrorMap):
        methods = several(made, names)
        if not all(has_poses(method) for method in methods.values()):
            return _draw_around(methods, confidence or 0.0, title=title, ax=ax)
        made = error_map(list(methods.values()), names=list(methods))
    if confidence is not None:
        made = made.at(confidence)
    panels = _panels(made)
    found = areas_of(made.pieces.x, made.pieces.y, made.pieces.length)
    places = {panel: _numbered(made, *panel, count=worst) for panel in panels}
    chosen = _chosen(made, found, areas, places=places)
    if len(panels) == 1:
        width = look().column * 1.6
        aspect = _ASPECT
    else:
        width = look().page
        aspect = _STRIP
    tiles = _tiles_with_room(found.bounds[chosen], aspect, width)
    sheet = canvas(width, _height(tiles, width, len(panels)), len(panels), rows=len(panels), ax=ax)
    for axes, (name, kind) in zip(sheet.axes, panels, strict=True):
        _draw_map(axes, made, name, kind=kind, found=found, chosen=chosen, tiles=tiles)
    _draw_bar(sheet.axes, made, panels)
    if len(chosen) < len(found.bounds):
        _note_areas(sheet.axes[0], f"{len(chosen)} of {len(found.bounds)} areas are drawn")
    figure = sheet.finished(title)
    # What follows depends on where things lie on the page.
    figure.draw_without_rendering()
    for axes, panel in zip(sheet.axes, panels, strict=True):
        for k, area in enumerate(chosen.tolist()):
            _draw_coordinates(axes, found.bounds[area], float(tiles.left[k]), bottom=float(tiles.bottom[k]))
        _draw_numbers(axes, places[panel], found, chosen=chosen, tiles=tiles)
    return figure


def _panels(made: ErrorMap) -> list[tuple[str, Kind]]:
    """Return the method and the kind of each panel: each method, and its difference to the first one."""
    panels: list[tuple[str, Kind]] = []
    for k, name in enumerate(made.names):
        panels.append((name, "missed"))
        if k:
            panels.append((name, "difference"))
    return panels


def _tiles_with_room(bounds: Floats, aspect: float, width: float) -> Tiles:
    """Return areas as tiles on a page of some width, with room for coordinates around each of them.

    How many metres this is depends on the scale, which depends on the room. Two steps are close enough.
    """
    tiles = packed(bounds, aspect)
    for _ in range(2):
        metres = _LABELS * look().room * tiles.width / width
        tiles = packed(bounds, aspect, max(MARGIN, metres))
    return tiles


def _height(tiles: Tiles, width: float, panels: int) -> float:
    """Return the height of the figure. Each panel has a heading and a scale, and the bars of colours are below."""
    room = (0.3 + _LABELS / 2) * look().room
    height = (width * tiles.height / tiles.width + room) * panels + 0.6 * look().room
    return min(height, 1.4 * look().page)


def _note_areas(axes: Axes, words: str) -> None:
    """Write into the lower right corner of a panel how many areas are drawn."""
    axes.text(1.0, 0.0, words, transform=axes.transAxes, ha="right", va="bottom", fontsize=look().small, color=GREY)


def _numbered(made: ErrorMap, name: str, kind: Kind, count: int) -> _Numbered:
    """Return the places of a panel with their numbers: those of the tables of ``mapgauge errors``."""
    places = list(enumerate(worst_places(made, name, kind=kind, count=count), start=1))
    if kind == "difference":
        places += enumerate(worst_places(made, name, kind="gained", count=count), start=1)
    return places


def _values(made: ErrorMap, name: str, kind: Kind) -> Floats:
    """Return the value of each piece that a panel shows."""
    shares = made.shares(made.index(name))
    if kind == "difference":
        return shares - made.shares(0)
    return shares


def _smoothed(made: ErrorMap, values: Floats, size: float) -> Floats:
    """Return the mean over the pieces of each cell of a grid, by length, for each piece.

    In a drawing of a large map, many pieces fall into one dot, and the last one drawn would hide the others.
    """
    x = np.floor(made.pieces.x / size).astype(np.int64)
    y = np.floor(made.pieces.y / size).astype(np.int64)
    x -= x.min(initial=0)
    y -= y.min(initial=0)
    _, cell = np.unique(x * (int(y.max(initial=0)) + 1) + y, return_inverse=True)
    cell = cell.reshape(-1)
    weight = made.pieces.length * made.seen
    mean: Floats = (np.bincount(cell, weight * values) / np.bincount(cell, weight))[cell]
    return mean


def _chosen(made: ErrorMap, found: Areas, most: int, places: dict[tuple[str, Kind], _Numbered]) -> Indices:
    """Return the areas to draw: those with the worst places, by their numbers, then those that lost most road."""
    lost = np.zeros(len(found.bounds))
    for name, kind in places:
        if kind == "missed":
            lost += np.bincount(found.area, made.pieces.length * _values(made, name, kind), len(lost))
    numbered = sorted(chain(*places.values()), key=lambda pair: pair[0])
    first = [int(found.area[place.pieces[0]]) for _, place in numbered]
    order = list(dict.fromkeys([*first, *np.argsort(-lost, kind="stable").tolist()]))
    return np.array(sorted(order[:most]), np.int64)


def _draw_map(axes: Axes, made: ErrorMap, name: str, kind: Kind, found: Areas, chosen: Indices, tiles: Tiles) -> None:
    """Draw the pieces of some areas, those that were missed most on top, and the numbers of the worst places."""
    values = _values(made, name, kind)
    fine = tiles.width <= _FINE
    if not fine:
        values = _smoothed(made, values, size=tiles.width / _CELLS)
    tile = np.full(len(found.bounds), -1)
    tile[chosen] = np.arange(len(chosen))
    shown = np.flatnonzero(tile[found.area] >= 0)
    # Those that were missed most are drawn last.
    shown = shown[np.argsort(np.abs(values[shown]), kind="stable")]
    of_tile = tile[found.area[shown]]
    pieces = made.pieces
    x = pieces.x[shown] + tiles.left[of_tile]
    y = pieces.y[shown] + tiles.bottom[of_tile]
    half = np.stack([pieces.half_x[shown], pieces.half_y[shown]], axis=1)
    middle = np.stack([x, y], axis=1)
    segments = np.stack([middle - half, middle + half], axis=1)
    drawn = LineCollection(
        list(segments),
        array=values[shown],
        cmap=colours(difference=kind == "difference"),
        linewidths=(0.5 + (1.1 if fine else 0.5) * np.abs(values[shown])) * look().pen,
        capstyle="butt",
        rasterized=len(shown) > 20_000,
    )
    if kind == "difference":
        drawn.set_clim(-1, 1)
    else:
        drawn.set_clim(0, 1)
    axes.add_collection(drawn)
    axes.set_xlim(0, tiles.width)
    figure: Any = axes.get_figure(root=True)
    width = figure.get_size_inches()[0]
    below = _LABELS / 2 * look().room * tiles.width / width  # the scale is below the coordinates of the areas
    axes.set_ylim(-below, tiles.height)
    axes.set_aspect("equal")
    axes.set_axis_off()
    _draw_scale(axes, tiles.width, -below)
    heading = f"{name} minus {made.names[0]}" if kind == "difference" else name
    axes.set_title(shortened(heading, 0.45 * width, look().normal), fontsize=look().normal, color=INK)


def _draw_coordinates(axes: Axes, bounds: Floats, left: float, bottom: float) -> None:
    """Draw coordinates in the world below an area and to its left, if there is room on the page."""
    x_min, y_min, x_max, y_max = bounds.tolist()
    figure: Any = axes.get_figure(root=True)
    inch = figure.dpi / abs(axes.transData.transform((1, 0)) - axes.transData.transform((0, 0)))[0]  # in metres
    if min(x_max - x_min, y_max - y_min) < _APART * inch / 3 or max(x_max - x_min, y_max - y_min) < _APART * inch:
        return
    step = round_step(_APART * look().room * inch)
    gap = 0.03 * inch
    tick = 0.04 * inch
    line: dict[str, Any] = {"color": GREY, "linewidth": 0.5, "clip_on": False}
    words: dict[str, Any] = {"color": GREY, "fontsize": 0.85 * look().small, "in_layout": False}
    low = y_min + bottom - gap
    side = x_min + left - gap
    axes.plot([x_min + left, x_max + left], [low, low], **line)
    axes.plot([side, side], [y_min + bottom, y_max + bottom], **line)
    for x in _round_values(x_min, x_max, step):
        axes.plot([x + left, x + left], [low, low - tick], **line)
        axes.text(x + left, low - 1.5 * tick, f"{x:.0f}", ha="center", va="top", **words)
    for y in _round_values(y_min, y_max, step):
        axes.plot([side, side - tick], [y + bottom, y + bottom], **line)
        axes.text(side - 1.5 * tick, y + bottom, f"{y:.0f}", ha="right", va="center", rotation=90, **words)


def _round_values(low: float, high: float, step: float) -> list[float]:
    """Return the multiples of a step in a range, or its middle in whole metres if there are none.

    >>> _round_values(12.0, 47.0, 20.0), _round_values(12.0, 17.0, 20.0)
    ([20.0, 40.0], [14.0])
    """
    first = int(np.ceil(low / step))
    last = int(np.floor(high / step))
    if last < first:
        return [float(np.rint((low + high) / 2))]
    return [step * k for k in range(first, last + 1)]


def _draw_numbers(axes: Axes, places: _Numbered, found: Areas, chosen: Indices, tiles: Tiles) -> None:
    """Draw the numbers of places beside them, apart from each other, with a line to the place."""
    figure: Any = axes.get_figure(root=True)
    points = 72 / figure.dpi
    tile = np.full(len(found.bounds), -1)
    tile[chosen] = np.arange(len(chosen))
    taken: list[Floats] = []
    for number, place in places:
        k = tile[found.area[place.pieces[0]]]
        if k < 0:
            continue
        at = (place.x + tiles.left[k], place.y + tiles.bottom[k])
        on_page = axes.transData.transform(at) * points
        offset = _free(on_page, taken)
        taken.append(on_page + offset)
        axes.annotate(
            str(number),
            at,
            xytext=tuple(offset.tolist()),
            textcoords="offset points",
            fontsize=look().small,
            color="white",
            weight="bold",
            ha="center",
            va="center",
            bbox={
                "boxstyle": "circle,pad=0.2",
                "facecolor": family_colours()["place"] if place.kind == "gained" else INK,
                "edgecolor": "white",
                "linewidth": 0.5,
            },
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0},
            gid=f"place-{place.kind}-{number}",
        ).set_in_layout(False)


def _free(at: Floats, taken: Sequence[Floats]) -> Floats:
    """Return where a number lies beside its place, in points: the nearest offset that is apart from others."""
    least = _BADGE * look().pen
    offsets = [
        ring * least * np.array([np.cos(angle), np.sin(angle)])
        for ring in (1, 2, 3, 4)
        for angle in np.pi * (0.25 + np.arange(8) / 4)
    ]
    for offset in offsets:
        if all(np.hypot(*(at + offset - other)) >= least for other in taken):
            return offset
    return offsets[0]


def _draw_scale(axes: Axes, width: float, y: float) -> None:
    """Draw a line of a round length, with the length."""
    length = round_step(width / 12)
    axes.plot([0, length], [y, y], color=INK, linewidth=1.2 * look().pen, clip_on=False)
    axes.annotate(
        f"{length:g} m",
        (length, y),
        xytext=(3, 0),
        textcoords="offset points",
        fontsize=look().small,
        color=INK,
        va="center",
    )


def _draw_bar(axes: Sequence[Axes], made: ErrorMap, panels: Sequence[tuple[str, Kind]]) -> None:
    """Draw the bars of the colours: one for shares, and one for differences if there are some."""
    figure: Any = axes[0].get_figure(root=True)
    for difference in (False, True):
        some = [one for one, (_, kind) in zip(axes, panels, strict=True) if (kind == "difference") == difference]
        if not some:
            continue
        scale = Normalize(-1 if difference else 0, 1)
        bar = figure.colorbar(
            ScalarMappable(scale, colours(difference=difference)),
            ax=some,
            location="bottom",
            shrink=0.5,
            pad=0.02,
            aspect=40,
        )
        label = _label_of_difference(made) if difference else _label(made)
        bar.set_label(label, fontsize=look().small, color=INK)
        bar.ax.tick_params(labelsize=look().small, width=0.5, length=2)
        bar.outline.set_visible(False)


def _label_of_difference(made: ErrorMap) -> str:
    """Return what the colours of a difference mean, and the numbers."""
    first = shortened(made.names[0], 0.2 * look().page, look().small)
    return (
        f"difference of the shares (red: finds less than {first}, blue: finds more)\n"
        "numbers: the places that it loses most (black) and gains most (blue)"
    )


def _label(made: ErrorMap) -> str:
    counted = f"confidence ≥ {made.confidence:g}, within {made.cutoff:g} m"
    return f"share of the frames, not found ({counted})\nnumbers: the worst places"


def _draw_around(methods: dict[str, Results], confidence: float, title: str | None, ax: GivenAxes) -> Figure:
    """Draw the area around the vehicle for each method."""
    level = int(np.searchsorted(LEVELS, confidence, side="right")) - 1
    width = look().column if len(methods) == 1 else look().page
    sheet = canvas(width, 0.9 * HEIGHT * look().room, len(methods), ax=ax)
    image = None
    for axes, (name, method) in zip(sheet.axes, methods.items(), strict=True):
        made = around_ego(method)
        share = made.share(level)
        columns, rows = share.shape
        extent = (made.left, made.left + CELL * columns, made.bottom, made.bottom + CELL * rows)
        image = axes.imshow(
            share.T, origin="lower", extent=extent, cmap=colours(), vmin=0, vmax=1, interpolation="nearest"
        )
        axes.plot([2.4, -2.4, -1.6, -2.4, 2.4], [0, 1.1, 0, -1.1, 0], color=INK, linewidth=0.8 * look().pen)
        axes.set_title(name, fontsize=look().normal, color=INK)
        axes.tick_params(labelsize=look().small, width=0.5, length=2)
        axes.set_xlabel("ahead (m)", fontsize=look().normal, color=INK)
    sheet.axes[0].set_ylabel("to the left (m)", fontsize=look().normal, color=INK)
    figure: Any = sheet.figure
    bar = figure.colorbar(image, ax=sheet.axes, shrink=0.7, pad=0.02)
    bar.set_label(f"share of the length, not found\n(confidence ≥ {LEVELS[level]:g})", fontsize=look().small, color=INK)
    bar.ax.tick_params(labelsize=look().small, width=0.5, length=2)
    return sheet.finished(title)


def needs_data(methods: Sequence[Results], options: dict[str, Any]) -> bool:
    """Return that the figure always needs the evaluated files."""
    return True
