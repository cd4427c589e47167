"""Figures of maps over time: the flicker over the lag, and the tracks of a scene."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle, groupby, zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput
from mapgauge.features.tracks.consistency import FLICKER, MEAN, PART_TITLES, Consistency
from mapgauge.features.tracks.strips import ABSENT, ALONE, Strip, StripRow, scene_values, strips_of
from mapgauge.features.tracks.track_pld import TRACK_PLD
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import COLOURS, colours_of, part_colours
from mapgauge.results.results import Results
from mapgauge.results.scene_order import scene_frames
from mapgauge.views.figures.style import (
    GREY,
    HEIGHT,
    INK,
    MARKERS,
    PALE,
    GivenAxes,
    Style,
    canvas,
    dress,
    look,
    need,
    plain,
    round_step,
    several,
    shortened,
    styled,
    width_of,
    word_of,
)
from mapgauge.words import did_you_mean

_APART = 0.06  # between lines, as a share of the distance between two lags


@styled
def lags(
    consistency: Consistency | Sequence[Consistency],
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw the flicker over the lag, with intervals.

    A single method has two panels: the flicker of its classes, and the parts of the mean over classes. Several methods
    have one panel with the means over classes.

    Args:
        consistency: From ``mapgauge.consistency``; one for each method.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into; None makes a new figure.
    """
    if isinstance(consistency, Consistency):
        methods = [consistency]
    else:
        methods = list(consistency)
    called = _called(methods, names)
    if len(methods) > 1:
        return _lags_of_methods(methods, called, title=title, ax=ax)
    return _lags_of_classes(methods[0], title=title, ax=ax)


def _called(methods: Sequence[Consistency], names: Sequence[str] | None) -> list[str]:
    """Return a name for each method. Refuse what is not a result of ``consistency``, and names for other methods."""
    for k, method in enumerate(methods):
        if not isinstance(method, Consistency):
            raise InvalidInput(
                f"consistency {k}: expected a Consistency from mapgauge.consistency(), got {type(method).__name__}"
            )
    if not methods:
        raise InvalidInput("consistency: expected at least one, got none")
    called = names
    if called is None:
        called = [Path(method.name).stem or f"method {k}" for k, method in enumerate(methods)]
    if len(called) != len(methods) or isinstance(called, str):
        raise InvalidInput(f"names must be {len(methods)} strings, got {names!r}")
    # Matplotlib omits labels with a leading underscore.
    return [f" {name}" if name.startswith("_") else name for name in called]


def _lags_of_methods(
    methods: Sequence[Consistency], names: Sequence[str], *, title: str | None, ax: GivenAxes
) -> Figure:
    """Draw the mean over classes of each method."""
    sheet = canvas(look().column, HEIGHT * look().room, count=1, ax=ax)
    (axes,) = sheet.axes
    shown = _shown_lags(methods)
    handles = []
    looks = zip(cycle(COLOURS), cycle(MARKERS), strict=False)
    for k, (name, method, (colour, marker)) in enumerate(zip(names, methods, looks, strict=False)):
        places = _places(shown, k, len(methods))
        line = _draw_line(axes, method, MEAN, places=places, colour=colour, marker=marker)
        if line is not None:
            line.set_label(name)
            handles.append(line)
    _dress_lags(axes, shown, "flicker, mean over classes")
    axes.set_ylim(bottom=0)
    sheet.legend(handles, most=5)
    return sheet.finished(title)


def _lags_of_classes(method: Consistency, *, title: str | None, ax: GivenAxes) -> Figure:
    """Draw the classes of one method with their mean, and the parts of the mean beside it."""
    sheet = canvas(look().page, HEIGHT * look().room, count=2, ax=ax)
    flicker, parts = sheet.axes
    shown = _shown_lags([method])
    handles: list[Line2D | Patch] = []
    colours = colours_of(method.class_names) | {MEAN: INK}
    rows = (*method.class_names, MEAN)
    for k, (row, marker) in enumerate(zip(rows, cycle(MARKERS), strict=False)):
        places = _places(shown, k, len(rows))
        line = _draw_line(flicker, method, row, places=places, colour=colours[row], marker=marker)
        if line is not None:
            line.set_label(word_of(row))
            handles.append(line)
    _dress_lags(flicker, shown, "flicker")
    flicker.set_ylim(bottom=0)
    handles += _draw_parts(parts, method, shown)
    _dress_lags(parts, shown, "parts, mean over classes")
    sheet.legend(handles, most=5)
    return sheet.finished(title)


def _shown_lags(methods: Sequence[Consistency]) -> list[int]:
    """Return the lags at which a method has values, in their order."""
    return sorted({lag for method in methods for lag in method.lags if method.estimates[lag]})


def _places(shown: Sequence[int], k: int, lines: int) -> dict[int, float]:
    """Return the place of each lag for the line ``k``. The lines lie side by side around the middle of the lag."""
    aside = _APART * (k - (lines - 1) / 2)
    return {lag: i + aside for i, lag in enumerate(shown)}


def _dress_lags(axes: Axes, shown: Sequence[int], value: str) -> None:
    """Label a panel over the lag."""
    dress(axes, "lag (frames)", value)
    axes.set_xticks(np.arange(len(shown)), list(map(str, shown)))


def _draw_parts(axes: Axes, method: Consistency, shown: Sequence[int]) -> list[Patch]:
    """Draw the parts of the mean over classes as a bar for each lag. Return what the legend says of them."""
    colours = part_colours(PLD)
    handles = []
    bottom = np.zeros(len(shown))
    for key, words in PART_TITLES.items():
        heights = np.array([method.estimates[lag][MEAN][key].value for lag in shown])
        axes.bar(np.arange(len(shown)), heights, 0.6, bottom, color=colours[key])
        handles.append(Patch(facecolor=colours[key], label=words))
        bottom += heights
    return handles


def _draw_line(
    axes: Axes, method: Consistency, row: str, places: Mapping[int, float], colour: str, marker: str
) -> Line2D | None:
    """Draw the flicker of a class or of the mean over classes, with its intervals.

    ``places`` has the place of each lag. Lines are drawn side by side, so that their intervals do not hide each other.
    """
    lags = [lag for lag in method.lags if row in method.estimates[lag]]
    if not lags:
        return None
    at = [places[lag] for lag in lags]
    estimates = [method.estimates[lag][row][FLICKER] for lag in lags]
    for place, value in zip(at, estimates, strict=True):
        if np.isfinite(value.low):
            axes.plot([place, place], [value.low, value.high], color=colour, linewidth=0.7, alpha=0.6)
    width = 1.1
    if colour == INK:
        width = 1.6
    heights = [value.value for value in estimates]
    (line,) = axes.plot(at, heights, color=colour, marker=marker, markersize=3, linewidth=width)
    return line


TRUE_TRACKS = 60  # rows of true tracks in a figure
FALSE_TRACKS = 5  # rows of predicted tracks that are false most of the time, of each class
# In inches.
ROW = 0.135
MARGIN = 0.75  # above and below all rows
LABELS = 1.0  # for the names of tracks
BAR = 0.72  # height of a bar, in rows


class FigureLine(NamedTuple):
    """A line of the figure: a heading, or a track of each method."""

    label: str
    strips: tuple[Strip, ...] = ()  # of each method; none for a heading
    rows: tuple[StripRow | None, ...] = ()  # of each method; None if a method does not have it
    predicted: bool = False  # whether the tracks are predicted ones


@styled
def strip(
    results: Results | Sequence[Results],
    *,
    scene: str | None = None,
    classes: Sequence[str] | None = None,
    false: int = FALSE_TRACKS,
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw the tracks of one scene over time, with a panel for each method.

    Each true track has a row with a bar in its frames. A bar has the colour of the predicted track that T-PLD
    assigns to it. Hatched frames are missed. A triangle marks the frame in which another predicted
    track takes over. Below are the predicted tracks that are false in most of their frames. At most 60 true tracks are
    drawn: those with the most switches and missed frames.

    Args:
        results: Results with T-PLD and their data; one for each method.
        scene: Name of the scene. If None, the scene with the highest T-PLD of the first method.
        classes: Names of the classes to draw. If None, all.
        false: Largest number of predicted tracks of a class that are false in most of their frames.
        names: Names of the methods; None uses the file names.
        title: Title above the figure. If None, the scene.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into, one for each method; None makes a new figure.
    """
    methods = several(results, names)
    need(TRACK_PLD.name, methods.items())
    false = check_whole("false", false, least=0)
    first = next(iter(methods.values()))
    if isinstance(classes, str):
        raise InvalidInput(f"classes must be a list of names, got {classes!r}")
    chosen = list(first.class_names if classes is None else classes)
    unknown = [name for name in chosen if name not in first.class_names]
    if unknown:
        hint = did_you_mean(unknown[0], first.class_names)
        raise InvalidInput(f"no class {unknown[0]!r}. Available: {', '.join(first.class_names)}{hint}")
    if scene is None:
        scene = next(iter(scene_values(first)))
    tokens = {name: [method.tokens[k] for k in scene_frames(method, scene)] for name, method in methods.items()}
    for name, own in tokens.items():
        if own != next(iter(tokens.values())):
            raise InvalidInput(f"{name}: the scene {scene} has other frames than that of the first results")
    lines = _lines([strips_of(method, scene, false=false) for method in methods.values()], chosen)
    if not lines:
        raise InvalidInput(f"scene {scene}: no tracks of {', '.join(chosen)}")
    count = len(methods)
    if count > 1:
        width = look().page
    else:
        width = 0.75 * look().page
    sheet = canvas(width, (MARGIN + ROW * len(lines)) * look().room, count, ax=ax, share=True)
    frames = len(next(line.strips[0].frames for line in lines if line.strips))
    cell = (width - LABELS * look().room) / count / frames  # inches
    for m, (name, axes) in enumerate(zip(methods, sheet.axes, strict=True)):
        _set_axes(axes, lines, frames, left=m == 0)
        for y, line in enumerate(lines):
            row = None
            if line.rows:
                row = line.rows[m]
            if row is not None:
                _draw_row(axes, line.strips[m], row, y=y, cell=cell, predicted=line.predicted)
        if count > 1:
            axes.set_title(shortened(name, cell * frames, look().normal), fontsize=look().normal, color=INK)
    sheet.legend(_legend(lines), most=4)
    return sheet.finished(scene if title is None else title)


def _lines(methods: Sequence[Sequence[Strip]], classes: Sequence[str]) -> list[FigureLine]:
    """Return the lines of all classes: a heading, the worst true tracks, a heading, and the false tracks."""
    by_class = [{strip.class_name: strip for strip in strips} for strips in methods]
    names = [name for name in classes if all(name in strips for strips in by_class)]
    trouble: Counter[tuple[str, str]] = Counter()  # switches and missed frames by class and true track
    for strip in (strips[name] for name in names for strips in by_class):
        for row in strip.truth:
            trouble[strip.class_name, row.track] += len(row.switches) + int(np.count_nonzero(row.cells == ALONE))
    kept = {track for track, _ in trouble.most_common(TRUE_TRACKS)}
    lines = []
    for name in names:
        strips = tuple(of_method[name] for of_method in by_class)
        true = [{row.track: row for row in strip.truth} for strip in strips]
        rows = [track for track in true[0] if (name, track) in kept]
        some = ""
        if len(rows) != len(true[0]):
            some = f" ({len(rows)} of {len(true[0])})"
        lines.append(FigureLine(f"{name}{some}"))
        lines += [FigureLine(track, strips, tuple(each.get(track) for each in true)) for track in rows]
        most = max(len(strip.false) for strip in strips)
        if not most:
            continue
        if len(strips) > 1:
            # False tracks of several methods have nothing in common but their rank, so they have no names.
            lines.append(FigureLine("false"))
            names_of_false = [""] * most
        else:
            lines.append(FigureLine(f"false ({most} of {strips[0].false_count})"))
            names_of_false = [row.track for row in strips[0].false]
        ranked = zip_longest(*(strip.false for strip in strips))
        for label, of in zip(names_of_false, ranked, strict=True):
            lines.append(FigureLine(label, strips, of, predicted=True))
    return lines


def _set_axes(axes: Axes, lines: Sequence[FigureLine], frames: int, *, left: bool) -> None:
    """Set the axes: frames across, and the names of tracks upwards."""
    plain(axes)
    axes.spines["left"].set_visible(False)
    axes.set(xlim=(0.5, frames + 0.5), ylim=(len(lines) - 0.4, -0.6))
    axes.set_xlabel("frame", fontsize=look().normal, color=INK)
    step = max(1, int(round_step(frames / 10)))
    if step > 1:
        axes.set_xticks([1, *range(step, frames + 1, step)])
    else:
        axes.set_xticks(range(1, frames + 1))
    if not left:
        axes.tick_params(left=False, labelleft=False)
        return
    room = 0.95 * LABELS * look().room
    weights = [_weight(line) for line in lines]
    labels = [
        shortened(brief(line.label), room, look().small, weight=weight)
        for line, weight in zip(lines, weights, strict=True)
    ]
    axes.set_yticks(range(len(lines)), labels)
    axes.tick_params(axis="y", length=0)
    for text, weight in zip(axes.get_yticklabels(), weights, strict=True):
        text.set_fontweight(weight)


def _weight(line: FigureLine) -> Literal["normal", "bold"]:
    """Return the weight of the name of a line. A line without tracks is a heading."""
    if line.rows:
        return "normal"
    return "bold"


def brief(name: str) -> str:
    r"""Return a name on one line, without what comes before its last slash.

    >>> brief("scene-0000/divider-3"), brief("3/"), brief("a\nb")
    ('divider-3', '3/', 'a b')
    """
    return " ".join(name[name.rfind("/", 0, len(name) - 1) + 1 :].split())


def _draw_row(axes: Axes, strip: Strip, row: StripRow, y: int, cell: float, *, predicted: bool) -> None:
    """Draw the bars and the switches of one track. ``cell`` is the width of a frame in inches."""
    size = 0.8 * look().small
    for number, run in groupby(enumerate(row.cells.tolist(), 1), key=lambda cell_of_frame: cell_of_frame[1]):
        at = [frame for frame, _ in run]
        if number == ABSENT:
            continue
        given: dict[str, Any] = {"edgecolor": GREY, "linewidth": 0.4}
        if number >= 0:
            given = {"facecolor": strip.colours[number], "edgecolor": "none"}
        elif predicted:
            given["facecolor"] = PALE
        else:
            given |= {"facecolor": "white", "hatch": "/////"}
        axes.barh(y, len(at), BAR, at[0] - 0.5, **given)
        text = ""
        if number >= 0 and not predicted:
            text = brief(strip.names[number])
        if text and width_of(text, size) < 0.92 * len(at) * cell:
            light = np.dot((0.299, 0.587, 0.114), to_rgb(strip.colours[number])) > 0.55
            ink = "white"
            if light:
                ink = "black"
            axes.text(at[0] - 0.42, y, text, fontsize=size, color=ink, va="center_baseline", clip_on=True)
    if predicted:
        return
    for switch in row.switches:
        x = switch.frame + 0.5
        axes.plot([x, x], [y - 0.5, y + 0.5], color=INK, linewidth=0.8)
        axes.plot([x], [y - 0.5], color=INK, marker="v", markersize=3.2, clip_on=False)


def _legend(lines: Sequence[FigureLine]) -> list[Artist]:
    """Return the entries of the legend."""
    true = [row for line in lines if not line.predicted for row in line.rows if row is not None]
    entries: list[Artist] = [Patch(facecolor=COLOURS[0], label="matched; colour: predicted track")]
    if any((row.cells == ALONE).any() for row in true):
        entries.append(Patch(facecolor="white", edgecolor=GREY, linewidth=0.4, hatch="/////", label="missed"))
    if any(line.predicted for line in lines):
        entries.append(Patch(facecolor=PALE, edgecolor=GREY, linewidth=0.4, label="false"))
    if any(row.switches for row in true):
        entries.append(Line2D([], [], color=INK, marker="v", markersize=3.2, linewidth=0, label="taken over"))
    return entries


def strip_needs_data(results: Sequence[Results], options: Mapping[str, object]) -> bool:
    """Whether the figure ``strip`` needs the evaluated files. It refuses results without T-PLD before."""
    return all(TRACK_PLD.name in method.metrics for method in results)
