"""Frames from above: one frame, and the frames of a scene as small panels."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, pairwise
from typing import Any, TypeAlias

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mapgauge.arguments import check_confidence, check_forward, check_whole
from mapgauge.errors import InvalidInput
from mapgauge.frames.instances import Instance
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region, check_region
from mapgauge.markup import is_around_origin
from mapgauge.metrics.colours import FAR
from mapgauge.metrics.table import COLOURS, colours_of
from mapgauge.results.assignment import Assignment
from mapgauge.results.marks import NEAR, STEPS
from mapgauge.results.results import Results
from mapgauge.results.scene_order import scene_frames, seconds_of, timestamps_of
from mapgauge.typing import Forward
from mapgauge.views.figures.panel import (
    EGO,
    MissedHandle,
    Paint,
    Panel,
    Values,
    View,
    draw_panel,
    ego_handle,
    found_line,
    hollow_points,
    ignored_line,
    link_handles,
    pairs_drawn,
    prediction_line,
    sure,
    truth_line,
    unmatched_points,
    value_lines,
)
from mapgauge.views.figures.style import (
    DISTINCT,
    GREY,
    INK,
    Canvas,
    Drawing,
    GivenAxes,
    Style,
    add_legend,
    given,
    legend_columns,
    look,
    shortened,
    styled,
    word_of,
    wrapped,
)
from mapgauge.words import counted

# Inches, of a panel.
NARROWEST = 1.7
TALLEST = 6.1
# Inches around panels, and of a line of text.
LEFT = 0.42
RIGHT = 0.06
BETWEEN = 0.1
BOTTOM = 0.36
LINE = 0.155
LONGER = 0.25  # inches; coordinates of a map have more digits


@styled
def frame(
    assignment: Assignment | Sequence[Assignment],
    *,
    side_by_side: bool = False,
    region: Region | None = None,
    title: str | None = None,
    values: Values | Sequence[Values] | None = None,
    names: Sequence[str] | None = None,
    forward: Forward | None = None,
    confidence: float = 0.0,
    columns: int | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw truth and predictions of one frame in bird's-eye view, forward upwards.

    Truth that was found is wide and grey. Missed truth has a red outline and hatches. Predictions are thin, and the
    wider the higher their confidence. They have the colour of their class. Where they are farther from the truth than a
    third of the cutoff, they are orange to red. False predictions are dashed. Found means matched by the assignment of
    PLD within the cutoff. Thin lines join matched points, and unmatched points of matched polylines are hollow, if a
    metre has at least 8 pixels. The confidence of a prediction is written beside it if it is at least 0.1, unless all
    are 1.
    If the protocol has a link cost, arrows are links between lanes: right links are grey, false links red, missing
    links dashed, and links to a lane without a match pale.

    In an SVG, every instance is an element of its own: ``prediction-7-2`` is prediction 7 in panel 2, both counted
    from 0.

    Args:
        assignment: From ``Results.assignment``; one for each method to draw them in columns.
        side_by_side: Whether truth has a panel of its own, beside the predictions. Matched pairs are not drawn.
        region: ``(length, width)`` around the ego or ``(x_min, y_min, x_max, y_max)`` to show, in metres. The length
            lies forward. None shows everything, and so does a region around the ego without lines. Without one, the
            car is drawn only if the lines are around it: a map in world coordinates has none.
        title: Title above the figure.
        values: Values to write above a panel, such as ``{"pld": 0.71, "ap_chamfer": 0.6}``; one mapping for each
            assignment if there are several.
        names: Names of the methods.
        forward: The axis of the data that points forward: ``"y"`` for unrotated nuScenes files of MapTR. If None, the
            axis that the data know, otherwise x.
        confidence: Predictions with a lower confidence are not drawn. Matches and values do not change.
        columns: Number of panels side by side, for a sheet of many frames. If None, all are.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into, one for each panel, without a legend; None makes a new figure.

    Returns:
        A figure as wide as a column of a paper, or as a page if there are several panels.
    """
    if isinstance(assignment, Assignment):
        assignments = [assignment]
    else:
        assignments = list(assignment)
    instances = [line for shown in _checked(assignments) for line in (*shown.truth, *shown.predictions)]
    colours = colours_of(line.class_name for line in instances)
    panels = _panels(assignments, colours, side_by_side, values=values, names=names)
    least = float(check_confidence("confidence", [confidence], count=1, of="figure")[0])
    view = view_of(assignments, least, region, forward=forward)
    if columns is None:
        across = len(panels)
    else:
        across = check_whole("columns", columns, least=1)
    places = [divmod(k, across) for k in range(len(panels))]
    sheet, view = sheet_of(
        panels, places, view, handles=lambda sized: legend_of(panels, colours, sized), title=title, ax=ax
    )
    for k, (axes, panel) in enumerate(zip(sheet.axes, panels, strict=True)):
        draw_panel(axes, view, panel, place=k, left=k % across == 0, bottom=k + across >= len(panels))
    return sheet.finished(None if ax is None else title)


def sheet_of(
    panels: Sequence[Panel],
    places: Sequence[tuple[int, int]],
    view: View,
    handles: Callable[[View], list[Artist]],
    title: str | None,
    ax: GivenAxes,
    *,
    narrowest: float = NARROWEST,
    margin: float = LEFT,
) -> tuple[Canvas, View]:
    """Return the given axes, or a new figure with a legend and a title, and the view with the width of a panel.

    ``places`` are the row and the column of each panel. ``handles`` returns the entries of the legend for a view with
    the width of a panel, because some marks are drawn only if they are legible. ``narrowest`` is the smallest width of
    a panel and ``margin`` the room on the left, both in inches.
    """
    if ax is not None:
        sheet = given(ax, len(panels))
        box = sheet.axes[0].get_window_extent()
        return sheet, view._replace(width=min(box.width, box.height * view.width / view.height) / sheet.figure.dpi)
    if not view.ego:
        margin += LONGER
    left, right, between, line = (length * look().room for length in (margin, RIGHT, BETWEEN, LINE))
    rows, columns = (max(place) + 1 for place in zip(*places, strict=True))
    room = max(look().column if columns == 1 else look().page, left + columns * (narrowest * look().room + between))
    view = view._replace(width=(room - left - right + between) / columns - between)
    if view.height > TALLEST * look().room:
        view = view._replace(width=view.width * TALLEST * look().room / view.height)
    full = left + columns * (view.width + between) - between + right
    width = max(full, look().column)  # the legend needs room even if the panels are narrow
    legend = legend_columns(handles(view), width, most=5, by_rows=False)
    bottom = BOTTOM * look().room + line * len(legend[0]) + 0.05
    if title:
        titles = wrapped(title, width)
    else:
        titles = []
    above = max(len(value_lines(panel.values, view.width)) for panel in panels) + any(panel.name for panel in panels)
    top = 1.05 * line * above + 1.1 * line * len(titles) + 0.05 * look().room
    step = view.height + 1.05 * line * above + between
    height = bottom + view.height + top + (rows - 1) * step
    figure = Drawing(figsize=(width, height), facecolor="white", edgecolor="white")
    corners = [
        ((width - full) / 2 + left + column * (view.width + between), bottom + (rows - 1 - row) * step)
        for row, column in places
    ]
    axes = [figure.add_axes((x / width, y / height, view.width / width, view.height / height)) for x, y in corners]
    if titles:
        look_of: dict[str, Any] = {"fontsize": look().normal, "color": INK, "weight": "bold"}
        figure.text(0.5, 1 - 0.04 / height, "\n".join(titles), ha="center", va="top", **look_of)
    spaces: dict[str, float] = {"handlelength": 2.0, "handletextpad": 0.5, "columnspacing": 1.0}
    spaces |= {"labelspacing": 0.35, "borderaxespad": 0.1}
    add_legend(figure, legend, loc="lower center", bbox_to_anchor=(0.5, 0), **spaces)
    return Canvas(figure, axes, own=True), view


def _checked(assignments: list[Assignment]) -> list[Assignment]:
    """Return assignments, after checking that they are such."""
    if not assignments:
        raise InvalidInput("assignment: expected at least one, got none")
    for item in assignments:
        if not isinstance(item, Assignment):
            raise InvalidInput(
                f"assignment: expected an Assignment from Results.assignment(), got {type(item).__name__}"
            )
    return assignments


def _panels(
    assignments: list[Assignment],
    colours: Mapping[str, str],
    side_by_side: bool,
    values: Values | Sequence[Values] | None,
    names: Sequence[str] | None,
) -> list[Panel]:
    """Return one panel per assignment, after a panel for the truth if ``side_by_side``."""
    tokens = list(dict.fromkeys(assignment.token for assignment in assignments))
    if side_by_side and len(tokens) > 1:
        raise InvalidInput(f"assignment: side_by_side needs assignments of one frame, got {', '.join(tokens)}")
    count = len(assignments)
    alone = len(assignments) == 1
    if names is None and alone:
        names = ["predictions" if side_by_side else ""]
    elif names is None:
        if len(tokens) == count:
            names = tokens
        else:
            names = [f"method {k}" for k in range(count)]
    if isinstance(names, str) or len(names) != count:
        raise InvalidInput(f"names must be {count}, one for each assignment, got {names!r}")
    if values is None:
        values = [{}] * count
    elif isinstance(values, Mapping):
        values = [values]
    if len(values) != count:
        raise InvalidInput(f"values must be {count} mappings, one for each assignment, got {len(values)}")
    panels = [
        Panel(
            name,
            assignment,
            truth=not side_by_side,
            predictions=True,
            marks=True,
            values=corner,
            paint=Paint.by_class(assignment, colours),
        )
        for name, assignment, corner in zip(names, assignments, values, strict=True)
    ]
    if side_by_side:  # matches differ between methods, so the truth shows none if there are several
        paint = panels[0].paint
        truth = Panel("truth", assignments[0], truth=True, predictions=False, marks=alone, values={}, paint=paint)
        panels.insert(0, truth)
    return panels


def view_of(assignments: list[Assignment], least: float, region: Region | None, forward: Forward | None) -> View:
    """Return the view of a region, or of everything if there is none or if no line is around the ego. Its width is 1.

    If neither the caller nor the data name the axis that points forward, it is x for lines around the ego, and y for a
    map, so that north is up.
    """
    forward = check_forward(forward) or assignments[0].forward
    lines = []
    for assignment in assignments:
        certain = [line for line in assignment.predictions if sure(line) >= least]
        lines += [line.points[:, :2] for line in (*assignment.truth, *certain) if len(line.points)]
    low = np.array([line.min(axis=0) for line in lines])
    high = np.array([line.max(axis=0) for line in lines])
    if region is not None:
        bounds = check_region(region, forward or "x")
        if not lines or len(region) == 4 or ((low <= bounds[2:]) & (high >= bounds[:2])).all(axis=1).any():
            return View(forward or "x", bounds, width=1.0, confidence=least)
    if lines:
        low = low.min(axis=0)
        high = high.max(axis=0)
    around = not lines or (assignments[0].ego and is_around_origin(low, high))
    if around:
        points = np.concatenate([*lines, EGO, EGO[:, ::-1]])
        low = points.min(axis=0)
        high = points.max(axis=0)
        margin = 1.0
        usual: Forward = "x"
    else:
        margin = 0.05 * float((high - low).max()) or 1.0
        usual = "y"
    x_min, y_min = (low - margin).tolist()
    x_max, y_max = (high + margin).tolist()
    return View(forward or usual, (x_min, y_min, x_max, y_max), width=1.0, confidence=least, ego=around)


def legend_of(panels: Sequence[Panel], colours: dict[str, str], view: View) -> list[Artist]:
    """Return the entries of the legend: classes by colour, then symbols in grey."""
    with_truth = [panel for panel in panels if panel.truth]
    with_predictions = [panel for panel in panels if panel.predictions]
    entries: list[Entry] = [
        *_class_entries(colours),
        *_truth_entries(with_truth, view),
        *_prediction_entries(with_predictions, view),
    ]
    if any(panel.assignment.ignored for panel in panels):
        entries.append(("ignored", ignored_line(_NONE)))
    if any(len(match.pairs) for panel in panels for match in pairs_drawn(panel, view)):
        entries.append(("matched points", Line2D([], [], color=INK, linewidth=0.5)))
    if any(unmatched_points(panel, view) for panel in panels):
        entries.append(("unmatched point", hollow_points(_NONE, GREY, 2.6)))
    entries += link_handles(panels)
    if view.ego:
        entries.append(("ego", ego_handle()))
    boxes_of_truth = panels[0].assignment.boxes[1]  # all panels show the same truth
    boxes = boxes_of_truth + sum(panel.assignment.boxes[0] for panel in with_predictions)
    if boxes:
        entries.append((f"{boxes} boxes in the image are not drawn", Line2D([], [], linestyle="none")))
    handles: list[Artist] = []
    for label, handle in entries:
        handle.set_label(label)
        handles.append(handle)
    return handles


_NONE = np.empty((0, 2))
Entry: TypeAlias = tuple[str, Any]  # a label, and lines drawn above each other or one line


def _class_entries(colours: Mapping[str, str]) -> list[Entry]:
    """Return the classes by colour. If there are more classes than colours, a number stands for the others."""
    shown = list(colours.items())
    if len(shown) <= DISTINCT:
        more = 0
    else:
        shown = shown[: DISTINCT - 1]
        more = len(colours) - len(shown)
    entries: list[Entry] = [(word_of(name), Line2D([], [], color=colour, linewidth=3)) for name, colour in shown]
    if more:
        entries.append((f"{more} more classes, in the same colours", Line2D([], [], linestyle="none")))
    return entries


def _truth_entries(panels: Sequence[Panel], view: View) -> list[Entry]:
    """Return what the legend says of truth."""
    entries: list[Entry] = []
    errors = [panel for panel in panels if panel.in_errors]
    cutoffs = dict.fromkeys(panel.assignment.cutoff for panel in errors if panel.assignment.cutoff is not None)
    within = "".join(f" within {cutoff:g} m" for cutoff in list(cutoffs)[:1] if len(cutoffs) == 1)
    if any(panel.assignment.matches for panel in errors):
        entries.append((f"truth matched by PLD{within}", found_line(_NONE, width=3)))
    if any(panel.found_by_hidden(view) for panel in errors):
        entries.append((f"matched below {view.confidence:g}", found_line(_NONE, width=3, faint=True)))
    if any(len(panel.assignment.matches) < len(panel.assignment.truth) for panel in errors):
        entries.append(("missed truth", MissedHandle()))
    others = [panel for panel in panels if not panel.in_errors]
    if others:
        entries.append(("truth", truth_line(_NONE, GREY, width=3)))
    if any(panel.marks and len(panel.assignment.matches) < len(panel.assignment.truth) for panel in others):
        entries.append(("missed truth", truth_line(_NONE, GREY, width=3, alone=True)))
    return entries


def _prediction_entries(panels: Sequence[Panel], view: View) -> list[Entry]:
    """Return what the legend says of predictions."""
    if not panels:
        return []
    entries: list[Entry] = [("prediction (width: confidence)", prediction_line(_NONE, GREY))]
    hidden = sum(sure(line) < view.confidence for panel in panels for line in panel.assignment.predictions)
    if hidden:
        entries.append((f"{counted(hidden, 'is', 'are')} hidden, below {view.confidence:g}", Line2D([], [], ls="none")))
    cutoffs = [panel.assignment.cutoff for panel in panels if panel.in_errors]
    cutoff = cutoffs[0] if cutoffs else None
    if cutoff is not None and set(cutoffs) == {cutoff}:
        entries += [(str(handle.get_label()), handle) for handle in far_handles(cutoff)]
    if any(panel.marks and len(panel.assignment.matches) < len(panel.assignment.predictions) for panel in panels):
        entries.append(("false prediction", prediction_line(_NONE, GREY, alone=True)))
    return entries


def far_handles(cutoff: float) -> list[Line2D]:
    """Return the symbols in a legend of pieces of predictions that are far from the truth."""
    bounds = [cutoff * (NEAR + k * (STEPS - NEAR) / (len(FAR) - 1)) / STEPS for k in range(len(FAR))]
    texts = [f"off by {low:.3g} to {high:.3g} m" for low, high in pairwise(bounds)]
    texts.append(f"off by over {cutoff:g} m")
    handles = []
    for text, colour in zip(texts, FAR, strict=True):
        handle = prediction_line(_NONE, colour)
        handle.set_label(text)
        handles.append(handle)
    return handles


PANELS = 12
COLUMNS = 6
NARROWEST_PANEL = 0.9  # inches, of a panel
Given: TypeAlias = Results | MapFrames
Key: TypeAlias = tuple[str, str]  # class and track


@styled
def scene(
    results: Given | Sequence[Given],
    scene: str,
    *,
    count: int = PANELS,
    region: Region | None = None,
    title: str | None = None,
    names: Sequence[str] | None = None,
    forward: Forward | None = None,
    confidence: float = 0.0,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw frames of one scene as small panels in the order of time, all with the same axes.

    Lines are drawn as in ``frame``, without matched pairs, unmatched points and confidences. If the predictions have
    tracks, a predicted track has the same colour in all panels, and a true track has the colour of the predicted track
    that matches it most often. So a line that changes its colour beside the same truth has changed its track. If only
    the truth has tracks, a true track has the same colour in all panels, and so have its matches. Lines that are never
    matched are grey. Without tracks, lines have the colour of their class.

    Args:
        results: Results with their data, or ``MapFrames`` to draw them alone; several for a row of each method.
        scene: Name of the scene.
        count: Largest number of frames. If the scene has more, they are evenly spread over it.
        region: ``(length, width)`` around the ego or ``(x_min, y_min, x_max, y_max)`` to show, in metres. The length
            lies forward. None shows everything, and so does a region around the ego without lines.
        title: Title above the figure.
        names: Names of the methods.
        forward: The axis of the data that points forward. If None, the axis that the data know, otherwise x.
        confidence: Predictions with a lower confidence are not drawn.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into, one for each panel, without a legend; None makes a new figure.
    """
    if isinstance(results, Results | MapFrames):
        methods = [results]
    else:
        methods = list(results)
    called = _checked_scene(methods, names)
    count = check_whole("count", count, least=1)
    least = float(check_confidence("confidence", [confidence], count=1, of="figure")[0])
    frames = scene_frames(methods[0], scene)
    chosen = np.unique(np.linspace(0, len(frames) - 1, min(count, len(frames))).round().astype(int)).tolist()
    seconds = seconds_of(timestamps_of(methods[0], frames))
    if seconds is None:
        titles = [f"frame {k + 1}" for k in chosen]
    else:
        titles = [f"{seconds[k]:.1f} s" for k in chosen]
    tokens = [methods[0].tokens[frames[k]] for k in chosen]
    drawn = [[_assignment(method, token) for token in tokens] for method in methods]
    flat = [frame for row in drawn for frame in row]
    view = view_of(flat, least, region, forward=forward)
    colours = colours_of(line.class_name for frame in flat for line in (*frame.truth, *frame.predictions))
    columns = -(-len(chosen) // -(-len(chosen) // COLUMNS))  # the rows have the same length if possible
    panels = []
    places = []
    tracked = False
    for m, row in enumerate(drawn):
        paints = paints_of(row)
        tracked |= paints is not None
        matched = isinstance(methods[m], Results)
        for k, (name, frame) in enumerate(zip(titles, row, strict=True)):
            if paints is None:
                paint = Paint.by_class(frame, colours)
            else:
                paint = paints[k]
            shown: dict[str, Any] = {
                "truth": matched or bool(frame.truth),
                "predictions": matched or bool(frame.predictions),
                "marks": matched,
                "detail": False,
                "errors": paints is None,
            }
            panels.append(Panel(name, frame, values={}, paint=paint, **shown))
            places.append((k // columns * len(methods) + m, k % columns))

    def handles(sized: View) -> list[Artist]:
        if tracked:
            return [*legend_of(panels, {}, sized), Line2D([], [], linestyle="none", label="colour: track")]
        return legend_of(panels, colours, sized)

    margin = LEFT + (LINE if len(methods) > 1 else 0)
    sheet, view = sheet_of(
        panels, places, view, handles=handles, title=title, ax=ax, narrowest=NARROWEST_PANEL, margin=margin
    )
    for k, (axes, panel, (r, c)) in enumerate(zip(sheet.axes, panels, places, strict=True)):
        draw_panel(axes, view, panel, place=k, left=c == 0, bottom=(r + 1, c) not in places)
        if c == 0 and len(methods) > 1:
            name = shortened(called[r % len(methods)], view.height, look().normal)
            axes.set_ylabel(f"{name}\n{axes.get_ylabel()}", fontsize=look().small, color=INK, labelpad=0)
    return sheet.finished(None if ax is None else title)


def _checked_scene(methods: list[Given], names: Sequence[str] | None) -> list[str]:
    """Return the names of methods, after checking both."""
    if not methods:
        raise InvalidInput("results: expected at least one, got none")
    for k, method in enumerate(methods):
        if not isinstance(method, Results | MapFrames):
            raise InvalidInput(f"results {k}: expected Results or MapFrames, got {type(method).__name__}")
    if names is None:
        return [f"method {k}" for k in range(len(methods))]
    if isinstance(names, str) or len(names) != len(methods):
        raise InvalidInput(f"names must be {len(methods)}, one for each method, got {names!r}")
    return list(names)


def _assignment(method: Given, token: str) -> Assignment:
    """Return the assignment of a frame. ``MapFrames`` are drawn alone: as predictions if they have confidences."""
    if isinstance(method, Results):
        return method.assignment(token)
    if token not in method:
        raise InvalidInput(f"{method.name or 'frames'}: no frame {token!r}, which is in the scene of the first method")
    lines = method[token]
    if method.confidence is None:
        return Assignment(token=token, predictions=[], truth=lines, matches=[], forward=method.forward)
    return Assignment(token=token, predictions=lines, truth=[], matches=[], forward=method.forward)


def paints_of(frames: Sequence[Assignment]) -> list[Paint] | None:
    """Return the colours of tracks, the same in all frames; None if there are no tracks."""
    predicted = any(line.track for frame in frames for line in frame.predictions)
    true = any(line.track for frame in frames for line in frame.truth)
    if not predicted and not true:
        return None
    pairs = [
        (frame.predictions[match.prediction], frame.truth[match.truth]) for frame in frames for match in frame.matches
    ]
    alone = not any(frame.matches for frame in frames)
    lines = [line for frame in frames for line in (*frame.predictions, *frame.truth)]
    if alone:
        keyed = lines
    else:
        keyed = [x if predicted else y for x, y in pairs]
    colour = dict(zip(dict.fromkeys(map(_key, keyed)), cycle(COLOURS), strict=False))
    owners: dict[Key, Counter[Key]] = {}
    for x, y in pairs:
        owners.setdefault(_key(y), Counter())[_key(x)] += 1
    if predicted and not alone:
        of_truth = {key: colour[counts.most_common(1)[0][0]] for key, counts in owners.items()}
        return [Paint(_coloured(frame.predictions, colour), _coloured(frame.truth, of_truth)) for frame in frames]
    paints = []
    for frame in frames:
        partner = {match.prediction: _key(frame.truth[match.truth]) for match in frame.matches}
        of_predictions = [
            colour.get(partner.get(i, _key(line) if alone else ("", "")), GREY)
            for i, line in enumerate(frame.predictions)
        ]
        paints.append(Paint(of_predictions, _coloured(frame.truth, colour)))
    return paints


def _key(line: Instance) -> Key:
    return line.class_name, line.track or ""


def _coloured(lines: Sequence[Instance], colours: dict[Key, str]) -> list[str]:
    """Return the colours of instances. Those without a track, or without a match, are grey."""
    return [colours.get(_key(line), GREY) if line.track else GREY for line in lines]
