"""Figures of global maps: the map of a scene over the truth, coloured by offset, and the values over time."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from mapgauge.errors import InvalidInput
from mapgauge.features.global_map.accumulate import sampled
from mapgauge.features.global_map.global_map import SHOWN, GlobalMap
from mapgauge.features.global_map.region import shapely_module
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.table import COLOURS
from mapgauge.typing import Floats, Points
from mapgauge.views.figures.style import GREY, HEIGHT, MARKERS, PALE, GivenAxes, Style, canvas, dress, look, styled
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
    """Draw the map of a scene over the truth, coloured by the distance to the true line of its class.

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
    _draw_map(sheet.axes[0], made, name)
    if made.shares:
        _draw_shares(sheet.axes[1], made)
    return sheet.finished(title)


def _draw_map(axes: Axes, made: GlobalMap, name: str) -> None:
    """Draw the map of a scene: the region, the truth, and the predictions."""
    data = made.results.data
    assert data is not None
    x, y = (side.at([side.index[name]]) for side in (data[0], data[1]))
    cutoff = made.results.protocol.cutoffs[0]
    for part in shapely_module().get_parts(made.regions[name]):
        axes.fill(*part.exterior.xy, facecolor=PALE, alpha=0.3, linewidth=0)
    for line in y.polylines:
        axes.plot(*line[:, :2].T, color=GREY, linewidth=2.2, alpha=0.5, solid_capstyle="round")
    segments, values = offsets_of(x, y)
    drawn = LineCollection(list(segments), array=np.minimum(values, cutoff), cmap="plasma", linewidths=1.0)
    drawn.set_clim(0, cutoff)
    axes.add_collection(drawn)
    bar = axes.figure.colorbar(drawn, ax=axes, shrink=0.7, pad=0.02)
    bar.set_label(f"distance to the truth (m), at most {cutoff:g}", fontsize=look().normal)
    bar.ax.tick_params(labelsize=look().small)
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    dress(axes, "east (m)", "north (m)")


def offsets_of(predictions: MapFrames, truth: MapFrames) -> tuple[Points, Floats]:
    """Return short pieces of the predictions ``(pieces, 2, 2)``, and their distances to the truth of their class."""
    shapely = shapely_module()
    pieces = [np.empty((0, 2, 2))]
    values = [np.empty(0)]
    for label in range(len(truth.classes)):
        lines = [shapely.linestrings(truth.polylines[k][:, :2]) for k in np.flatnonzero(truth.label == label).tolist()]
        whole = shapely.multilinestrings(lines)
        shapely.prepare(whole)
        for k in np.flatnonzero(predictions.label == label).tolist():
            points = sampled(predictions.polylines[k][:, :2])
            middle = 0.5 * (points[1:] + points[:-1])
            pieces.append(np.stack([points[:-1], points[1:]], axis=1))
            values.append(np.nan_to_num(shapely.distance(whole, shapely.points(middle)), nan=np.inf))
    return np.concatenate(pieces), np.concatenate(values)


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
