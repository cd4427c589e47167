"""A figure to draw into: a new one, or axes that the caller gave."""

import io
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import NamedTuple, TypeAlias

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

from mapgauge.errors import InvalidInput
from mapgauge.views.figures.style import INK, look, shortened, width_of

GivenAxes: TypeAlias = Axes | Sequence[Axes] | None

SCREEN = 160  # dots per inch in a notebook
MOST_LINES = 3  # of a title


class Drawing(Figure):
    """A matplotlib figure that shows itself in a notebook. It does not need pyplot."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=SCREEN)
        return buffer.getvalue()


class Canvas(NamedTuple):
    """The figure and the axes to draw into."""

    figure: Figure
    axes: list[Axes]
    own: bool  # whether the figure is new; the size and the other axes of a given one are not changed

    def legend(self, handles: Sequence[Artist], most: int = 4) -> None:
        """Add a legend of at most ``most`` columns: below a new figure, or below the last of the given axes."""
        width, height = self.figure.get_size_inches()
        if not self.own:
            width *= self.axes[-1].get_position().width
        columns = legend_columns(handles, width, most)
        if not self.own:
            list_below(self.axes[-1], columns)
            return
        rows = max(map(len, columns))
        self.figure.set_size_inches(width, height + (rows - 1) * 1.45 * look().small / 72)  # the chart keeps its height
        self.figure.legend(
            handles=list(chain(*columns)),
            loc="outside lower center",
            ncols=len(columns),
            fontsize=look().small,
            frameon=False,
            handlelength=2.2,
            columnspacing=1.2,
            borderaxespad=0.2,
        )

    def finished(self, title: str | None = None) -> Figure:
        """Return the figure with a title: above a new figure, which grows by its lines, or above the first given axes.

        Formulas are turned off, because names can have dollar signs.
        """
        if title and self.own:
            width, height = self.figure.get_size_inches()
            lines = wrapped(title, width)
            self.figure.set_size_inches(width, height + len(lines) * 1.3 * look().normal / 72)
            self.figure.suptitle("\n".join(lines), fontsize=look().normal, color=INK, weight="bold")
        elif title:
            self.axes[0].set_title(title, fontsize=look().normal, color=INK, weight="bold")
        for artist in (self.figure,) if self.own else self.axes:
            for text in artist.findobj(Text):
                text.set_parse_math(False)
        if self.own and look().pen != 1:
            legends = [*self.figure.legends, *(legend for axes in self.axes if (legend := axes.get_legend()))]
            drawn = [artist for axes in self.axes for artist in (*axes.lines, *axes.patches)]
            _thicken([*drawn, *(handle for legend in legends for handle in legend.legend_handles)])
        return self.figure


def list_below(axes: Axes, columns: Sequence[Sequence[Artist]]) -> None:
    """Add a legend below axes and their label, however high the axes are."""
    lower = (10 + 1.3 * (look().small + look().normal)) / 72  # inches: ticks, their labels and the label of the axis
    axes.legend(
        handles=list(chain(*columns)),
        ncols=len(columns),
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=axes.transAxes + ScaledTranslation(0, -lower, axes.figure.dpi_scale_trans),
        borderaxespad=0,
        fontsize=look().small,
        frameon=False,
        labelspacing=0.3,
        handlelength=1.6,
    )


def canvas(
    width: float, height: float, count: int = 1, *, rows: int = 1, ax: GivenAxes = None, share: bool = False
) -> Canvas:
    """Return ``count`` axes in a new figure of ``width`` by ``height`` inches, or as given by ``ax``.

    With ``share``, all axes have the same values upwards.
    """
    if ax is not None:
        return given(ax, count)
    figure = Drawing(figsize=(width, height), layout="constrained", facecolor="white", edgecolor="white")
    axes = figure.subplots(rows, count // rows, sharey=share, squeeze=False).ravel().tolist()
    return Canvas(figure, axes, own=True)


def given(ax: GivenAxes, count: int) -> Canvas:
    """Return axes that the caller gave, after checking their number."""
    axes = [ax] if isinstance(ax, Axes) else list(np.ravel(np.array(ax, dtype=object)))
    for item in axes:
        if not isinstance(item, Axes):
            raise InvalidInput(f"ax: expected matplotlib Axes, got {type(item).__name__}")
    if len(axes) != count:
        raise InvalidInput(f"ax: this figure has {count} panels, got {len(axes)} axes")
    figure = axes[0].get_figure(root=True)
    if figure is None:
        raise InvalidInput("ax: these axes were removed from their figure")
    return Canvas(figure, axes, own=False)


def wrapped(text: str, width: float) -> list[str]:
    """Return the lines of a title that fit into ``width`` inches. The rest of a very long title is shortened."""
    size, room = look().normal, 0.96 * width
    lines: list[str] = []
    rest = " ".join(text.split())
    while rest and len(lines) < MOST_LINES - 1 and width_of(rest, size, "bold") > room:
        fits = next(k for k in range(len(rest) - 1, 0, -1) if k == 1 or width_of(rest[:k], size, "bold") <= room)
        cut = rest.rfind(" ", fits // 2, fits + 1)
        cut = fits if cut < 0 else cut
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*lines, shortened(rest, room, size, "bold")]


def legend_columns(handles: Sequence[Artist], width: float, most: int, *, by_rows: bool = True) -> list[list[Artist]]:
    """Return the columns of a legend: as many as fit into ``width`` inches, and at most ``most``.

    Labels that do not fit even in one column are shortened.
    """
    size = look().small
    symbol = 3.9 * size / 72  # inches, of a symbol with the space around it
    for handle in handles:
        handle.set_label(shortened(str(handle.get_label()), width - 1.3 * symbol, size))
    for count in range(min(most, len(handles)), 0, -1):
        columns = [list(handles[k::count]) for k in range(count)]
        if not by_rows:
            ends = list(accumulate(len(column) for column in columns))
            columns = [list(handles[end - len(column) : end]) for column, end in zip(columns, ends, strict=True)]
        longest = [max(width_of(str(handle.get_label()), size) for handle in column) for column in columns]
        if sum(length + symbol for length in longest) <= width:
            break
    return columns


def _thicken(artists: Sequence[Artist | None]) -> None:
    """Multiply line widths and markers by the pen of the style."""
    for artist in artists:
        if isinstance(artist, Line2D | Patch):
            artist.set_linewidth(artist.get_linewidth() * look().pen)
        if isinstance(artist, Line2D):
            artist.set_markersize(artist.get_markersize() * look().pen)
            artist.set_markeredgewidth(artist.get_markeredgewidth() * look().pen)
