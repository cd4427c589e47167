"""Figures of global maps: the map of a scene with the marks of all drawings, and the values over time."""

from typing import NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mapgauge.errors import InvalidInput
from mapgauge.features.global_map.accumulate import sampled
from mapgauge.features.global_map.global_map import SHOWN, GlobalMap
from mapgauge.features.global_map.region import shapely_module
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.colours import FOUND, MISSED
from mapgauge.metrics.table import COLOURS, colours_of
from mapgauge.results.marks import STEPS, far_colour
from mapgauge.typing import Floats, Indices
from mapgauge.views.figures.birdseye import far_handles
from mapgauge.views.figures.style import HEIGHT, MARKERS, PALE, GivenAxes, Style, canvas, dress, look, styled
from mapgauge.words import did_you_mean

_TALL = 1.6  # the height of a map, in heights of other figures
_OVER_TIME = ("network_completeness", "network_correctness", "network_pld")


@styled
def global_map(
    made: GlobalMap,
    *,
    scene: str | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw the map of a scene over the truth, with the marks of all drawings.

    Truth is grey where a line of its class in the map is within the cutoff, and red elsewhere. The map has the colours
    of its classes where it is close to the true line of its class, and is orange to red where it is farther from it.
    If the values over time were computed, they are a second panel.

    Args:
        made: From ``mapgauge.global_map``.
        scene: The scene. If None, the one with the largest network PLD.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into; None makes a new figure.
    """
    if not isinstance(made, GlobalMap):
        raise InvalidInput(f"expected a GlobalMap from mapgauge.global_map(), got {type(made).__name__}")
    if scene is None:
        name = made.results.frames("network_pld", count=1)[0]["token"]
    else:
        name = scene
    if name not in made.regions:
        hint = did_you_mean(name, made.regions)
        raise InvalidInput(f"no scene {name!r}. Available: {', '.join(made.regions)}{hint}")
    panels = 1 + bool(made.shares)
    sheet = canvas(look().page, _TALL * HEIGHT * look().room, panels, ax=ax)
    handles = _draw_map(sheet.axes[0], made, name)
    if made.shares:
        _draw_shares(sheet.axes[1], made)
    sheet.legend(handles)
    return sheet.finished(title)


def _draw_map(axes: Axes, made: GlobalMap, name: str) -> list[Artist]:
    """Draw the map of a scene: the region, the truth, and the predictions. Returns the entries of the legend."""
    data = made.results.data
    assert data is not None
    x, y = (side.at([side.index[name]]) for side in (data[0], data[1]))
    cutoff = made.results.protocol.cutoffs[0]
    for part in shapely_module().get_parts(made.regions[name]):
        axes.fill(*part.exterior.xy, facecolor=PALE, alpha=0.3, linewidth=0)
    true = offsets_of(y, x)
    is_found = true.offset <= cutoff
    _add_lines(axes, true.ends[is_found], FOUND, width=2.4, layer=2)
    _add_lines(axes, true.ends[~is_found], MISSED, width=2.4, layer=2)
    predicted = offsets_of(x, y)
    level = np.minimum(predicted.offset / cutoff * STEPS, STEPS).astype(np.int64)
    by_class = colours_of(x.classes)
    shown = [far_colour(some) or by_class[x.classes[label]] for some, label in zip(level, predicted.label, strict=True)]
    for colour in dict.fromkeys(shown):
        _add_lines(axes, predicted.ends[np.array(shown) == colour], colour, width=1.1, layer=3)
    handles: list[Artist] = [
        Line2D([], [], color=FOUND, linewidth=3, label=f"truth with a prediction of its class within {cutoff:g} m"),
        Line2D([], [], color=MISSED, linewidth=3, label="truth without one"),
        *(
            Line2D([], [], color=by_class[name], label=f"{name}: prediction")
            for name in x.classes
            if by_class[name] in shown
        ),
        *far_handles(cutoff),
    ]
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    dress(axes, "east (m)", "north (m)")
    return handles


def _add_lines(axes: Axes, ends: Floats, colour: str, width: float, layer: int) -> None:
    if len(ends):
        axes.add_collection(LineCollection(list(ends), colors=colour, linewidths=width, zorder=layer, capstyle="round"))


class OffsetPieces(NamedTuple):
    """Short pieces of lines, and how far each is from the other side."""

    ends: Floats  # (pieces, 2, 2)
    offset: Floats  # metres from the middle to the nearest line of the class on the other side; inf without one
    label: Indices  # its class


def offsets_of(side: MapFrames, other: MapFrames) -> OffsetPieces:
    """Return short pieces of the lines of one side, and their distances to those of the other side."""
    shapely = shapely_module()
    pieces = [np.empty((0, 2, 2))]
    values = [np.empty(0)]
    labels = [np.empty(0, np.int64)]
    for label in range(len(other.classes)):
        lines = [shapely.linestrings(other.polylines[k][:, :2]) for k in np.flatnonzero(other.label == label).tolist()]
        whole = shapely.multilinestrings(lines)
        shapely.prepare(whole)
        for k in np.flatnonzero(side.label == label).tolist():
            points = sampled(side.polylines[k][:, :2])
            middle = 0.5 * (points[1:] + points[:-1])
            pieces.append(np.stack([points[:-1], points[1:]], axis=1))
            values.append(np.nan_to_num(shapely.distance(whole, shapely.points(middle)), nan=np.inf))
            labels.append(np.full(len(middle), label))
    return OffsetPieces(np.concatenate(pieces), np.concatenate(values), np.concatenate(labels))


def _draw_shares(axes: Axes, made: GlobalMap) -> None:
    """Draw values after shares of the frames."""
    shares = [100 * share for share in made.shares]
    for key, colour, marker in zip(_OVER_TIME, COLOURS, MARKERS, strict=False):
        values = [results.mean.get(key) for results in made.shares.values()]
        numbers = [np.nan if value is None else value for value in values]
        axes.plot(shares, numbers, color=colour, marker=marker, markersize=3, label=SHOWN[key])
    dress(axes, "share of the frames (%)", "mean over classes")
    axes.set_ylim(0, 1)
    axes.legend(loc="best", frameon=False, fontsize=look().small)
