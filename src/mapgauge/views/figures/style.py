"""Figures and axes: sizes, colours, legends, and files."""

import io
import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from itertools import accumulate, chain
from pathlib import Path
from threading import RLock
from typing import Any, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.transforms import ScaledTranslation

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.io.files.writing import save as write_bytes
from mapgauge.metrics.table import COLOURS, METRICS, setting_of, title_of, value_named
from mapgauge.results.comparison import method_names
from mapgauge.results.results import Results, check_results

P = ParamSpec("P")
T = TypeVar("T")
Style: TypeAlias = Literal["paper", "slides"]


class Look(NamedTuple):
    """The sizes of a style."""

    column: float  # inches: the width of a figure with one panel
    page: float  # inches: the width of a figure with several panels
    small: float  # points: size of most text
    normal: float  # points: size of titles and axis labels
    room: float  # factor of all other lengths in inches
    pen: float  # factor of line widths and markers


LOOKS: dict[str, Look] = {
    # a column of a paper, and the width of its text
    "paper": Look(column=3.5, page=7.16, small=6.5, normal=7.5, room=1.0, pen=1.0),
    "slides": Look(
        6.4, page=12.6, small=13.5, normal=15.5, room=1.85, pen=1.8
    ),  # half a slide, and a slide; text is larger than in a paper
}
INK = "#222222"
GREY = "#5F5F5F"
PALE = "#D9D9D9"
HEIGHT = 2.4  # inches, of a figure

STYLES = ("-", "--", ":", "-.")  # used with colours, or instead of them
MARKERS = ("o", "s", "^", "D", "v")

COUNTS = {"predictions": "predicted instances", "truth": "true instances"}

_look: ContextVar[Look] = ContextVar("look", default=LOOKS["paper"])


def look() -> Look:
    """Return the sizes of the style that is drawn in."""
    return _look.get()


# Text can be searched and edited. Identifiers inside an SVG do not change between runs.
SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "mapgauge", "pdf.fonttype": 42}

# matplotlib brings the first family. The others have the scripts that it lacks, on Linux, macOS and Windows.
_FAMILIES = (
    "DejaVu Sans",
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK TC", "Noto Sans CJK KR", "Noto Sans SC", "Noto Sans JP"),
    *("Source Han Sans SC", "Source Han Sans", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback"),
    *("PingFang SC", "Hiragino Sans", "Hiragino Sans GB", "Heiti SC", "Apple SD Gothic Neo", "Arial Unicode MS"),
    *("Microsoft YaHei", "SimHei", "Yu Gothic", "Meiryo", "MS Gothic", "Malgun Gothic", "NanumGothic"),
    *("Noto Sans Arabic", "Noto Naskh Arabic", "Noto Sans Hebrew", "Geeza Pro", "Segoe UI", "Tahoma"),
    *("Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Telugu", "Noto Sans Thai"),
    *("Noto Sans Georgian", "Noto Sans Armenian", "Noto Sans Ethiopic", "Lohit Devanagari", "Kohinoor Devanagari"),
    *("Nirmala UI", "Leelawadee UI", "Thonburi", "Noto Sans", "FreeSans", "Unifont"),
)


@lru_cache(maxsize=1)
def families() -> tuple[str, ...]:
    """Return the families of typefaces, in the order in which a letter is looked for in them: those that are there."""
    there = {entry.name for entry in fontManager.ttflist}
    return tuple(family for family in _FAMILIES if family in there)


_one_at_a_time = RLock()  # settings of matplotlib are global


@contextmanager
def own_settings() -> Iterator[None]:
    """Draw with the default settings of matplotlib and with ours.

    matplotlib reads ``matplotlibrc`` in the current folder, which may come with data of others. With ``text.usetex``,
    it would pass names from the data to LaTeX, which can read and write files.
    """
    with _one_at_a_time, mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS | {"font.family": list(families())})
        yield


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Let a function draw in the style that its keyword ``style`` names, with settings of our own."""

    @wraps(draw)
    def drawn(*args: P.args, **keywords: P.kwargs) -> T:
        style = keywords.get("style", "paper")
        if style not in LOOKS:
            raise InvalidInput(f"style must be one of {', '.join(LOOKS)}, got {style!r}")
        before = _look.set(LOOKS[str(style)])
        try:
            with own_settings():
                return draw(*args, **keywords)
        finally:
            _look.reset(before)

    return drawn


@lru_cache(maxsize=4096)
def width_of(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a line of text in inches."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a character that the typeface lacks; matplotlib says so when it draws it
        width, _, _ = text_to_path.get_text_width_height_descent(
            text.replace("\n", " "), FontProperties(family=list(families()), size=size, weight=weight), ismath=False
        )
    return float(width) / 72


def shortened(text: str, width: float, size: float, weight: str = "normal") -> str:
    """Return a text that fits into ``width`` inches. The middle of a longer text is left out.

    >>> shortened("a_long_name_of_a_run", 0.7, 7.0), shortened("short", 0.7, 7.0)
    ('a_long…a_run', 'short')
    """
    if width_of(text, size, weight) <= width:
        return text
    kept = range(2, max(len(text), 2) + 1)  # letters
    shorter = [f"{text[: (count + 1) // 2]}…{text[len(text) - count // 2 :]}" for count in kept]
    too_wide = (k for k, line in enumerate(shorter) if width_of(line, size, weight) > width)
    return shorter[max(next(too_wide, len(shorter)) - 1, 0)]


def word_of(key: str, methods: Iterable[Results] = ()) -> str:
    """Return the label of a key of results in a figure.

    With methods, it names the setting of the value, such as the cutoff of PLD, as ``title_of`` does.

    >>> word_of("ap_chamfer@0.5"), word_of("matched_points"), word_of("hits:ap_chamfer@0.5")
    ('Chamfer-AP@0.5', 'matched points', 'hits of Chamfer-AP@0.5')
    """
    value = value_named(key)
    label = COUNTS.get(key) or title_of(key, full=value is not None and value[1].role == "part")
    settings = dict.fromkeys(setting_of(key, method.protocol) for method in methods)
    return label + (" (different settings)" if len(settings) > 1 else "".join(settings))


def several(results: Results | Sequence[Results], names: Sequence[str] | None) -> dict[str, Results]:
    """Return results by the name of their method."""
    if isinstance(results, Results):
        methods = [results]
    else:
        methods = list(results)
    for k, method in enumerate(methods):
        check_results(method, f"results {k}")
    if not methods:
        raise InvalidInput("results: expected at least one, got none")
    return dict(zip(legend_names(methods, names), methods, strict=True))


def legend_names(methods: list[Results], names: Sequence[str] | None) -> list[str]:
    """Return the names of methods. Matplotlib omits labels with a leading underscore, so those get a space in front."""
    return [f" {name}" if name.startswith("_") else name for name in method_names(methods, names)]


def need(metric: str, methods: Iterable[tuple[str, Results]]) -> None:
    """Refuse results that lack a metric, or that have no value of it because its classes are empty."""
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
        if method.mean[METRICS[metric].main.key] is None:
            raise InvalidInput(f"{name}: these results have no value of {metric}: no class of it has any instance")


def round_step(least: float) -> float:
    """Return the smallest of ..., 0.5, 1, 2, 5, 10, ... that is not below a number.

    >>> round_step(8.5), round_step(0.012)
    (10.0, 0.02)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


def plain(axes: Axes) -> None:
    """Set thin spines on two sides, and small ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set(linewidth=0.6 * look().pen, color=INK)
    pen = look().pen
    axes.tick_params(labelsize=look().small, width=0.6 * pen, length=2.5 * pen, color=INK, labelcolor=INK)
    axes.set_facecolor("white")


def grid(axes: Axes, axis: str) -> None:
    """Draw pale grid lines for one axis, behind everything else."""
    axes.set_axisbelow(True)
    lines = axes.xaxis if axis == "x" else axes.yaxis
    lines.grid(visible=True, color=PALE, linewidth=0.4 * look().pen, linestyle="-", alpha=1)


def dress(axes: Axes, across: str, up: str) -> None:
    """Set the labels of a chart, with a grid for the values upwards."""
    plain(axes)
    grid(axes, "y")
    axes.set_xlabel(across, fontsize=look().normal, color=INK)
    axes.set_ylabel(up, fontsize=look().normal, color=INK)


# Removes dates and program versions, which would change the bytes.
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
RESOLUTION = 300  # dots per inch
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # characters that XML 1.0 does not admit


def suffix_of(file: Path) -> str:
    """Return the suffix of a file for a figure. The format of the suffix must be one that can be written."""
    suffix = file.suffix.lower()
    if suffix not in METADATA:
        raise InvalidInput(f"{file}: expected a name that ends in {', '.join(METADATA)}, got {suffix or 'no suffix'}")
    return suffix


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file.

    Args:
        figure: From a function of ``mapgauge.plot``.
        path: The file to write. Its suffix selects the format: png (300 dots per inch), svg or pdf.
    """
    if not isinstance(figure, Figure):
        raise InvalidInput(f"figure: expected a matplotlib Figure, got {type(figure).__name__}")
    file = Path(path)
    suffix = suffix_of(file)
    buffer = io.BytesIO()
    with own_settings():
        figure.savefig(buffer, format=suffix[1:], dpi=RESOLUTION, metadata=METADATA[suffix])
    content = buffer.getvalue()
    if suffix == ".svg":  # matplotlib writes names from the data as they are
        content = _NOT_XML.sub("\ufffd", content.decode("utf-8", "replace")).encode()
    write_bytes(file, content)


GivenAxes: TypeAlias = Axes | Sequence[Axes] | None

SCREEN = 160  # dots per inch in a notebook
MOST_LINES = 3  # of a title


class Drawing(Figure):
    """A matplotlib figure that shows itself in a notebook. It does not need pyplot."""

    def draw(self, renderer: Any) -> None:
        """Draw it with settings of our own. Text of axes is made only now."""
        with own_settings():
            super().draw(renderer)

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
        spaces: dict[str, float] = {"handlelength": 2.2, "columnspacing": 1.2, "borderaxespad": 0.2}
        add_legend(self.figure, columns, loc="outside lower center", **spaces)

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
    place = axes.transAxes + ScaledTranslation(0, -lower, axes.figure.dpi_scale_trans)
    spaces: dict[str, float] = {"borderaxespad": 0, "labelspacing": 0.3, "handlelength": 1.6}
    add_legend(axes, columns, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=place, **spaces)


def add_legend(where: Figure | Axes, columns: Sequence[Sequence[Artist]], **settings: Any) -> None:
    """Add a legend with some columns, in small text and without a frame."""
    handles = list(chain(*columns))
    where.legend(handles=handles, ncols=len(columns), fontsize=look().small, frameon=False, **settings)


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
    if isinstance(ax, Axes):
        axes = [ax]
    else:
        axes = list(np.ravel(np.array(ax, dtype=object)))
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
    size = look().normal
    room = 0.96 * width
    lines: list[str] = []
    rest = " ".join(text.split())
    while rest and len(lines) < MOST_LINES - 1 and width_of(rest, size, "bold") > room:
        fits = next(k for k in range(len(rest) - 1, 0, -1) if k == 1 or width_of(rest[:k], size, "bold") <= room)
        cut = rest.rfind(" ", fits // 2, fits + 1)
        if cut < 0:  # a token: its parts stay whole
            cut = 1 + max(rest.rfind(mark, fits // 2, fits) for mark in "_-/") or fits
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*lines, shortened(rest, room, size, weight="bold")]


def legend_columns(handles: Sequence[Artist], width: float, most: int, *, by_rows: bool = True) -> list[list[Artist]]:
    """Return the columns of a legend: as many as fit into ``width`` inches, and at most ``most``.

    Labels that do not fit even in one column are shortened.
    """
    size = look().small
    symbol = 4.3 * size / 72  # inches, of a symbol with the space around it
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


class End(NamedTuple):
    """The end of a curve, and what is written there."""

    x: float
    y: float
    text: str
    colour: str


def write_ends(axes: Axes, ends: Sequence[End], height: float) -> None:
    """Write a value at the right of axes for the end of each curve, in the colour of the curve, with a thin line to it.

    The values do not overlap. ``height`` is that of the axes in inches, about.
    """
    size = look().small
    step = 1.25 * size / 72 / height  # a line of text, in heights of the axes
    low, high = axes.get_ylim()
    ordered = sorted(ends, key=lambda end: end.y)
    places: list[float] = []
    for end in ordered:
        wanted = (end.y - low) / (high - low)
        places.append(max(wanted, places[-1] + step) if places else max(wanted, 0.0))
    above = 1.0
    for k in range(len(places) - 1, -1, -1):  # those that are pushed out above go down again
        places[k] = min(places[k], above)
        above = places[k] - step
    for end, place in zip(ordered, places, strict=True):
        words: dict[str, Any] = {"fontsize": size, "color": end.colour, "va": "center", "annotation_clip": False}
        if math.isfinite(end.x):
            thin = {"arrowstyle": "-", "color": end.colour, "linewidth": 0.4 * look().pen, "alpha": 0.6}
            words["arrowprops"] = thin | {"shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}
        at = (end.x if math.isfinite(end.x) else axes.get_xlim()[1], end.y)
        axes.annotate(end.text, at, (1.03, place), textcoords="axes fraction", **words)


DISTINCT = len(COLOURS)  # colours that differ clearly; a legend has so many classes, or one less and all the others
SEVERAL = 3  # from so many methods on, methods have the colours, and classes or values have panels


def method_looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the colour of each method in all figures. The line style changes when colours begin again.

    >>> [look["color"] for look in method_looks(["A", "B"]).values()]
    ['#0072B2', '#D55E00']
    """
    return {
        name: {"color": COLOURS[k % DISTINCT], "linestyle": STYLES[k // DISTINCT % len(STYLES)]}
        for k, name in enumerate(names)
    }


def most_frequent(classes: Sequence[str], methods: Iterable[Results], most: int) -> list[str]:
    """Return at most so many classes, in their order: those with the most true instances."""
    if len(classes) <= most:
        return list(classes)
    count = dict.fromkeys(classes, 0)
    for method in methods:
        for label, name in enumerate(method.class_names):
            if name in count:
                count[name] += int(method.scores.true[:, label].sum())
    kept = set(sorted(classes, key=lambda name: -count[name])[:most])
    return [name for name in classes if name in kept]


def fewer_classes(drawn: int, there: int) -> str:
    """Say which classes are drawn."""
    return f"{drawn} of {there} classes: those with the most true instances"


def note(text: str) -> Line2D:
    """Return an entry of a legend without a symbol."""
    return Line2D([], [], linestyle="none", label=text)


def _thicken(artists: Sequence[Artist | None]) -> None:
    """Multiply line widths and markers by the pen of the style."""
    for artist in artists:
        if isinstance(artist, Line2D | Patch):
            artist.set_linewidth(artist.get_linewidth() * look().pen)
        if isinstance(artist, Line2D):
            artist.set_markersize(artist.get_markersize() * look().pen)
            artist.set_markeredgewidth(artist.get_markeredgewidth() * look().pen)
