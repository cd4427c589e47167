"""How figures look: colours, sizes and words, in one place.

Sizes are set on every artist, not in matplotlib's settings, which all threads of a program share. What is not set here,
such as the typeface, is what the user's settings say.
"""

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mapgauge.compare import _names as names_of
from mapgauge.errors import InvalidInput
from mapgauge.metrics.pld import Parts
from mapgauge.results import Results

COLUMN, PAGE = 3.5, 7.16  # inches: one column of a paper, and the width of its text
SMALL, NORMAL = 6.5, 7.5  # points
INK, GREY, PALE = "#222222", "#5F5F5F", "#D9D9D9"

# Okabe and Ito's palette: distinct with every kind of colour vision.
SKY, GREEN, YELLOW, BLUE, VERMILION = "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00"
PURPLE, ORANGE = "#CC79A7", "#E69F00"
# What the palette lacks, from Tol's muted scheme, which has the same aim. Yellow is too pale for lines.
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#882255", "#332288", "#999933", "#44AA99")
STYLES = ("-", "--", ":", "-.")  # with colours, or in place of them
MARKERS = ("o", "s", "^", "D", "v")

CLASS_COLOURS = {"ped_crossing": BLUE, "divider": VERMILION, "boundary": GREEN, "centerline": PURPLE}
# What is missed has the colour that truth has in the documentation, what is false that of predictions.
PART_COLOURS = dict(zip(Parts._fields, (SKY, GREEN, YELLOW, BLUE, VERMILION), strict=True))

WORDS = {
    "pld": "PLD",
    "localisation": "Loc",
    "detection": "Det",
    "ap_chamfer": "Chamfer-AP",
    "ap_frechet": "Fréchet-AP",
    "ap_sospa": "SOSPA-AP",
}


def word_of(key: str) -> str:
    """How a key of results is written in a figure.

    >>> word_of("ap_chamfer@0.5"), word_of("matched_points")
    ('Chamfer-AP@0.5', 'matched points')
    """
    name, at, rest = key.partition("@")
    return WORDS.get(name, name.replace("_", " ")) + at + rest


def colours_of(class_names: Iterable[str]) -> dict[str, str]:
    """A colour for each class. Well-known classes always have the same; the others share what is left, by name."""
    names = dict.fromkeys(class_names)
    found = {name: CLASS_COLOURS[name] for name in names if name in CLASS_COLOURS}
    left = [colour for colour in COLOURS if colour not in found.values()]
    others = sorted(name for name in names if name not in found)
    return found | {name: left[k % len(left)] for k, name in enumerate(others)}


def several(results: Results | Sequence[Results], names: Sequence[str] | None) -> dict[str, Results]:
    """Results by the name of their method."""
    methods = [results] if isinstance(results, Results) else list(results)
    for k, method in enumerate(methods):
        if not isinstance(method, Results):
            raise InvalidInput(f"results {k}: expected what evaluate() gives, got {type(method).__name__}")
    if not methods:
        raise InvalidInput("no results to draw")
    return dict(zip(names_of(methods, names), methods, strict=True))


def need_pld(methods: Mapping[str, Results]) -> None:
    """Refuse results without PLD."""
    for name, method in methods.items():
        if "pld" not in method.metrics:
            raise InvalidInput(
                f"{name}: these results have no PLD, only {', '.join(method.metrics)}. "
                'Evaluate with a protocol that has cutoffs, such as "paper-60x30"'
            )


def new_figure(width: float, height: float) -> Figure:
    """An empty white figure of this size in inches, which arranges what is put into it."""
    return Figure(figsize=(width, height), layout="constrained", facecolor="white", edgecolor="white")


def plain(axes: Axes) -> None:
    """Thin spines on two sides, small ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set(linewidth=0.6, color=INK)
    axes.tick_params(labelsize=SMALL, width=0.6, length=2.5, color=INK, labelcolor=INK)
    axes.set_facecolor("white")


def grid(axes: Axes, axis: str) -> None:
    """Pale lines behind everything, along one axis."""
    axes.set_axisbelow(True)
    (axes.xaxis if axis == "x" else axes.yaxis).grid(visible=True, color=PALE, linewidth=0.4, linestyle="-", alpha=1)


def below(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """A legend below everything else."""
    figure.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=min(columns, len(handles)),
        fontsize=SMALL,
        frameon=False,
        handlelength=2.2,
        columnspacing=1.2,
        borderaxespad=0.2,
    )
