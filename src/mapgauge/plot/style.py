"""The style of figures: sizes, colours, labels and legends.

Sizes are set on every artist, not in matplotlib's settings, because all threads of a program share those. Everything
else, such as the typeface, follows the user's settings.
"""

import io
import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.metrics.table import title_of, value_named
from mapgauge.results.comparison import method_names
from mapgauge.results.results import Results

COLUMN, PAGE = 3.5, 7.16  # inches: one column of a paper, and the width of its text
SMALL, NORMAL = 6.5, 7.5  # points
INK, GREY, PALE = "#222222", "#5F5F5F", "#D9D9D9"

SHOWN = 110  # pixels per inch in a notebook

STYLES = ("-", "--", ":", "-.")  # used with colours, or instead of them
MARKERS = ("o", "s", "^", "D", "v")

COUNTS = {"predictions": "predicted instances", "truth": "true instances"}


def word_of(key: str) -> str:
    """Return the label of a key of results in a figure.

    >>> word_of("ap_chamfer@0.5"), word_of("matched_points"), word_of("hits:ap_chamfer@0.5")
    ('Chamfer-AP@0.5', 'matched points', 'hits of Chamfer-AP@0.5')
    """
    found = value_named(key)
    return COUNTS.get(key) or title_of(key, full=found is not None and found[1].role == "part")


def several(results: Results | Sequence[Results], names: Sequence[str] | None) -> dict[str, Results]:
    """Return results by the name of their method."""
    methods = [results] if isinstance(results, Results) else list(results)
    for k, method in enumerate(methods):
        if not isinstance(method, Results):
            raise InvalidInput(f"results {k}: expected Results from evaluate(), got {type(method).__name__}")
    if not methods:
        raise InvalidInput("results: expected at least one, got none")
    return dict(zip(legend_names(methods, names), methods, strict=True))


def legend_names(methods: list[Results], names: Sequence[str] | None) -> list[str]:
    """Return the names of methods. Matplotlib omits labels with a leading underscore, so those get a space in front."""
    return [f" {name}" if name.startswith("_") else name for name in method_names(methods, names)]


def need(metric: str, methods: Iterable[tuple[str, Results]]) -> None:
    """Refuse results that lack a metric, or that have no value because they are empty."""
    for name, method in methods:
        if metric not in method.metrics:
            raise InvalidInput(
                f"{name}: {metric} not found in these results; available: {', '.join(method.metrics)}",
                remedy=Remedy(
                    f'Evaluate with metrics=["{metric}"] and a protocol that has settings for it',
                    f"Evaluate with --metrics {metric} and a protocol that has settings for it",
                ),
            )
        if len(method.without_value) == len(method.class_names):
            raise InvalidInput(f"{name}: these results have neither predictions nor truth")


def round_step(least: float) -> float:
    """Return the smallest of ..., 0.5, 1, 2, 5, 10, ... that is not below a number.

    >>> round_step(8.5), round_step(0.012)
    (10.0, 0.02)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


class NotebookFigure(Figure):
    """A figure that shows itself in a notebook. Other figures do so only after pyplot has set up the notebook."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the picture with two pixels per point of the screen, and its size on the screen."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=2 * SHOWN)
        width, height = (round(inches * SHOWN) for inches in self.get_size_inches().tolist())
        return buffer.getvalue(), {"width": width, "height": height}


def new_figure(width: float, height: float, **settings: Any) -> Figure:
    """Return an empty white figure of a size in inches, with constrained layout unless ``settings`` say otherwise."""
    settings = {"layout": "constrained", "facecolor": "white", "edgecolor": "white"} | settings
    return NotebookFigure(figsize=(width, height), **settings)


def axes_for(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes to draw in: those of the caller, or those of a new figure of a size in inches."""
    if ax is None:
        return new_figure(width, height).add_subplot()
    if not isinstance(ax, Axes):
        raise InvalidInput(
            f"ax must be the axes of a matplotlib figure, got {type(ax).__name__}",
            remedy="Pass one of the axes of plt.subplots(), or None",
        )
    return ax


def figure_of(axes: Axes) -> Figure:
    """Return the figure that axes are in, also if they are in a part of it."""
    figure: Any = axes.figure
    while not isinstance(figure, Figure):
        figure = figure.figure
    return figure


def finished(figure: Figure, ax: Axes | None = None) -> Figure:
    """Turn off formulas in all text of a figure, or of the axes of a caller: names can contain dollar signs."""
    for text in (figure if ax is None else ax).findobj(Text):
        text.set_parse_math(False)
    return figure


def plain(axes: Axes) -> None:
    """Set thin spines on two sides, and small ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set(linewidth=0.6, color=INK)
    axes.tick_params(labelsize=SMALL, width=0.6, length=2.5, color=INK, labelcolor=INK)
    axes.set_facecolor("white")


def grid(axes: Axes, axis: str) -> None:
    """Draw pale grid lines for one axis, behind everything else."""
    axes.set_axisbelow(True)
    (axes.xaxis if axis == "x" else axes.yaxis).grid(visible=True, color=PALE, linewidth=0.4, linestyle="-", alpha=1)


def columns_of(handles: Sequence[Artist], width: float, most: int, *, by_rows: bool = True) -> list[list[Artist]]:
    """Return the columns of a legend: as many as fit into ``width`` inches, and at most ``most``."""
    for count in range(min(most, len(handles)), 0, -1):
        columns = [list(handles[k::count]) for k in range(count)]
        if not by_rows:
            ends = list(accumulate(len(column) for column in columns))
            columns = [list(handles[end - len(column) : end]) for column, end in zip(columns, ends, strict=True)]
        longest = [max(len(str(handle.get_label())) for handle in column) for column in columns]
        if sum(0.53 * length + 3.8 for length in longest) * SMALL <= 72 * width:
            break
    return columns


def below(axes: Axes, handles: Sequence[Artist], most: int = 4, *, own: bool) -> None:
    """Add a legend of at most ``most`` columns below everything else, or below the axes of a caller (``own``)."""
    figure = figure_of(axes)
    width = figure.get_figwidth() * (axes.get_position(original=True).width if own else 1)
    columns = columns_of(handles, width, most)
    look: dict[str, Any] = {
        "handles": list(chain(*columns)),
        "ncols": len(columns),
        "fontsize": SMALL,
        "frameon": False,
        "handlelength": 2.2,
        "columnspacing": 1.2,
    }
    if own:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), **look)
    else:
        figure.legend(loc="outside lower center", borderaxespad=0.2, **look)
