"""Draws the frames of a scene as small panels in the order of time."""

from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from typing import TypeAlias

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mapgauge.arguments import check_confidence, check_whole
from mapgauge.errors import InvalidInput
from mapgauge.frames.instances import Instance
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region
from mapgauge.metrics.table import COLOURS, colours_of
from mapgauge.results.assignment import Assignment
from mapgauge.results.results import Results
from mapgauge.results.scene_order import scene_frames, seconds_of, timestamps_of
from mapgauge.typing import Forward
from mapgauge.views.figures.birdseye import LEFT, LINE, legend_of, new_sheet, view_of, width_in
from mapgauge.views.figures.canvas import GivenAxes, given
from mapgauge.views.figures.panel import Paint, Panel, draw_panel
from mapgauge.views.figures.style import GREY, INK, Style, look, shortened, styled

PANELS = 12
COLUMNS = 6
NARROWEST = 0.9  # inches, of a panel
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

    Lines are those of ``frame``, without matched pairs, unmatched points and confidences. If the predictions have
    tracks, a predicted track has the same colour in all panels, and a true track that of the predicted track that
    matches it most often. So a line that changes its colour beside the same truth has changed its track. If only the
    truth has tracks, a true track has the same colour in all panels, and so have its matches. What is never matched is
    grey. Without tracks, the colour is that of the class.

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
    methods = [results] if isinstance(results, Results | MapFrames) else list(results)
    called = _checked(methods, names)
    count = check_whole("count", count, 1)
    least = float(check_confidence("confidence", [confidence], 1, "figure")[0])
    frames = scene_frames(methods[0], scene)
    chosen = np.unique(np.linspace(0, len(frames) - 1, min(count, len(frames))).round().astype(int)).tolist()
    seconds = seconds_of(timestamps_of(methods[0], frames))
    titles = [f"frame {k + 1}" if seconds is None else f"{seconds[k]:.1f} s" for k in chosen]
    tokens = [methods[0].tokens[frames[k]] for k in chosen]
    drawn = [[_assignment(method, token) for token in tokens] for method in methods]
    flat = [frame for row in drawn for frame in row]
    view = view_of(flat, least, region, forward)
    colours = colours_of(line.class_name for frame in flat for line in (*frame.truth, *frame.predictions))
    columns = -(-len(chosen) // -(-len(chosen) // COLUMNS))  # the rows have the same length if possible
    panels, places = [], []
    tracked = False
    for m, row in enumerate(drawn):
        paints = paints_of(row)
        tracked |= paints is not None
        matched = isinstance(methods[m], Results)
        for k, (name, frame) in enumerate(zip(titles, row, strict=True)):
            paint = Paint.by_class(frame, colours) if paints is None else paints[k]
            sides = {"truth": matched or bool(frame.truth), "predictions": matched or bool(frame.predictions)}
            panels.append(Panel(name, frame, **sides, marks=matched, values={}, paint=paint, detail=False))
            places.append((k // columns * len(methods) + m, k % columns))
    if ax is None:
        handles = legend_of(panels, {} if tracked else colours, view)
        handles += [Line2D([], [], linestyle="none", label="colour: track")] if tracked else []
        margin = LEFT + (LINE if len(methods) > 1 else 0)
        sheet, view = new_sheet(panels, places, view, handles, title, narrowest=NARROWEST, margin=margin)
    else:
        sheet = given(ax, len(panels))
        view = view._replace(width=width_in(sheet, view))
    for k, (axes, panel, (r, c)) in enumerate(zip(sheet.axes, panels, places, strict=True)):
        draw_panel(axes, view, panel, k, left=c == 0, bottom=(r + 1, c) not in places)
        if c == 0 and len(methods) > 1:
            name = shortened(called[r % len(methods)], view.height, look().normal)
            axes.set_ylabel(f"{name}\n{axes.get_ylabel()}", fontsize=look().small, color=INK, labelpad=0)
    return sheet.finished(None if ax is None else title)


def _checked(methods: list[Given], names: Sequence[str] | None) -> list[str]:
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
    lines, none = method[token], list[Instance]()
    predicted = method.confidence is not None
    return Assignment(token, lines if predicted else none, none if predicted else lines, [], forward=method.forward)


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
    keyed = lines if alone else [x if predicted else y for x, y in pairs]
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
