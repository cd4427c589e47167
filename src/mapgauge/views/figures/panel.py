"""Draws one panel of a bird's-eye view: lines, marks, links between lanes, the car, and numbers.

Colour is never the only difference: truth is wide, missed truth is hatched, predictions are thin, and false predictions
are dashed. ``docs/explanation/what-the-drawings-show.md`` explains the marks.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, PathPatch, Polygon
from matplotlib.path import Path
from numpy.typing import NDArray

from mapgauge.frames.instances import Instance
from mapgauge.frames.links import LINK_STATES, FrameLink
from mapgauge.markup import number, stroke_width
from mapgauge.metrics.colours import FOUND, MISSED
from mapgauge.results.assignment import Assignment, Match
from mapgauge.results.marks import far_colour, levels_of, runs_of
from mapgauge.typing import Floats, Points
from mapgauge.views.figures.style import GREY, INK, PALE, look, plain, round_step, shortened, width_of, word_of

SHARES = (0.5, 0.35, 0.65, 0.2, 0.8, 0.08, 0.92, 0.0, 1.0)  # of the length of a line; the middle comes first
GAP = 1.2  # points between a line and its number
DISTANCES = (1, 2, 4, 7)  # from a line, as multiples of the smallest distance

INSIDE = 2.5  # metres: an arrow begins so far before the end of a lane, and ends so far behind the start of the next
RED = "#C8102E"
# Right links are thin and grey, half links, to a lane without a match, pale, missing links dashed.
LINK_LOOKS: dict[str, dict[str, Any]] = {
    "right": {"color": GREY, "linewidth": 0.6, "alpha": 0.8},
    "half": {"color": RED, "linewidth": 0.8, "alpha": 0.4},
    "missing": {"color": INK, "linewidth": 1.0, "linestyle": (0, (2, 1.5))},
    "false": {"color": RED, "linewidth": 1.1},
}


class Box(NamedTuple):
    """A rectangle of text, in points."""

    x: float  # of its centre
    y: float
    width: float
    height: float


def place_beside(
    lines: Sequence[Points], size: tuple[float, float], ink: Points, weight: Floats, panel: Box, taken: Sequence[Box]
) -> list[Box]:
    """Return a box for each line, beside it and where it covers the least.

    Boxes are placed one after the other, so the first lines get the best places. A line outside the panel has its box
    at the nearest place inside. Boxes should not cover the points ``ink``, of which each has a weight, nor boxes that
    are ``taken``. All lengths are in points of the page.
    """
    boxes = np.array(taken, np.float64).reshape(-1, 4)
    room = np.array([panel.width - size[0], panel.height - size[1]]) / 2 - 1
    centre = np.array([panel.x, panel.y])
    placed = []
    for line in lines:
        near = np.abs(line - centre) <= np.array([panel.width, panel.height]) / 2
        inside = line[near.all(axis=1)]
        wanted = _centres_beside(inside if len(inside) else line, size)
        spots = np.clip(wanted, centre - room, centre + room)
        cost = 0.02 * np.arange(len(spots)) + 0.2 * np.abs(spots - wanted).sum(axis=1)
        cost += (np.abs(ink[None] - spots[:, None]) < np.array(size) / 2 + 0.5).all(axis=2) @ weight
        apart = np.abs(boxes[None, :, :2] - spots[:, None])
        overlap = np.maximum((boxes[None, :, 2:] + size) / 2 - apart, 0).prod(axis=2).sum(axis=1)
        cost += 100 * overlap / (size[0] * size[1])
        x, y = spots[np.argmin(cost)].tolist()
        best = Box(x, y, *size)
        boxes = np.vstack([boxes, best])
        placed.append(best)
    return placed


def _centres_beside(line: Points, size: tuple[float, float]) -> Points:
    """Return centres of boxes on both sides of a line, the nearest first."""
    at = np.array(list(dict.fromkeys(round(share * (len(line) - 1)) for share in SHARES)))
    step = line[np.minimum(at + 1, len(line) - 1)] - line[np.maximum(at - 1, 0)]
    length = np.hypot(*step.T)[:, None]
    along = np.divide(step, length, out=np.tile([1.0, 0.0], (len(at), 1)), where=length > 0)
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1)
    reach = (np.abs(normal) * np.array(size) / 2).sum(axis=1, keepdims=True) + GAP
    offsets = [sign * times * reach * normal for times in DISTANCES for sign in (1, -1)]
    return np.concatenate([line[at] + offset for offset in offsets])


Values: TypeAlias = Mapping[str, float | None]

NUMBERED = 0.1  # the confidence of a prediction is written beside it from this value on
LEGIBLE = 8  # pixels of a metre from which matched and unmatched points are drawn
THIN = 0.6  # points, of the thinnest prediction
EGO = np.array([[2.2, 0.0], [-1.6, 1.0], [-0.9, 0.0], [-1.6, -1.0]])  # an arrow: metres forward and to the left


class View(NamedTuple):
    """Converts metres to points of the page."""

    forward: str  # the axis that points up: "x" or "y"
    region: tuple[float, float, float, float]  # metres: x_min, y_min, x_max, y_max
    width: float  # inches, of a panel
    confidence: float = 0.0  # predictions with a lower confidence are not drawn
    ego: bool = True  # whether the lines are around the ego, which is drawn

    @property
    def limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Coordinates at the left and the right, and at the bottom and the top."""
        x_min, y_min, x_max, y_max = self.region
        if self.forward == "x":
            return ((y_max, y_min), (x_min, x_max))
        return ((x_min, x_max), (y_min, y_max))

    @property
    def scale(self) -> float:
        """Points of the page per metre."""
        (left, right), _ = self.limits
        return 72 * self.width / abs(right - left)

    @property
    def height(self) -> float:
        """Height of a panel, in inches."""
        _, (bottom, top) = self.limits
        return (top - bottom) * self.scale / 72

    @property
    def box(self) -> Box:
        """The panel, in points of the page."""
        return Box(36 * self.width, 36 * self.height, 72 * self.width, height=72 * self.height)

    def drawn(self, points: Points) -> Points:
        """Return points in metres across and up, as in the axes."""
        if self.forward == "x":
            return points[:, 1::-1]
        return points[:, :2]

    def on_page(self, points: Points) -> Points:
        """Return points in points of the page, across and up from the lower left corner."""
        (left, _), (bottom, _) = self.limits
        sense = np.array([-1.0 if self.forward == "x" else 1.0, 1.0])
        page: Points = (self.drawn(points) - np.array([left, bottom])) * sense * self.scale
        return page

    def in_metres(self, x: float, y: float) -> tuple[float, float]:
        """Convert points of the page to metres across and up."""
        (left, _), (bottom, _) = self.limits
        return left + (-x if self.forward == "x" else x) / self.scale, bottom + y / self.scale


class Paint(NamedTuple):
    """The colours of the instances of an assignment."""

    predictions: Sequence[str]
    truth: Sequence[str]

    @classmethod
    def by_class(cls, assignment: Assignment, colours: Mapping[str, str]) -> "Paint":
        """Return the colour of the class of each instance."""
        return cls(
            *([colours[line.class_name] for line in lines] for lines in (assignment.predictions, assignment.truth))
        )


class Panel(NamedTuple):
    """What one panel shows of an assignment."""

    name: str
    assignment: Assignment
    truth: bool
    predictions: bool
    marks: bool  # whether matches are drawn
    values: Values
    paint: Paint
    detail: bool = True  # whether matched pairs, unmatched points and confidences are drawn
    errors: bool = True  # whether truth is grey, and predictions are coloured by their distance to it

    def found_by_hidden(self, view: View) -> set[int]:
        """Return the true instances whose predictions are not drawn, because their confidence is too low."""
        predictions = self.assignment.predictions
        return {m.truth for m in self.assignment.matches if sure(predictions[m.prediction]) < view.confidence}

    @property
    def in_errors(self) -> bool:
        """Whether the panel shows errors: only of what was compared."""
        return self.errors and self.marks


def draw_panel(axes: Axes, view: View, panel: Panel, place: int, *, left: bool, bottom: bool = True) -> None:
    """Draw the panel number ``place`` and its axes, with labels on the ``left`` and at the ``bottom``."""
    _set_axes(axes, view, panel, left=left, bottom=bottom)
    assignment = panel.assignment
    paint = panel.paint
    matched = ({match.prediction for match in assignment.matches}, {match.truth for match in assignment.matches})
    for line in assignment.ignored:
        if panel.truth if line.confidence is None else panel.predictions and sure(line) >= view.confidence:
            axes.add_line(ignored_line(view.drawn(line.points)))
    if panel.truth:
        width = float(np.clip(0.5 * view.scale, 2.0, 4.0))
        for j, line in enumerate(assignment.truth):
            alone = panel.marks and j not in matched[1]
            at = view.drawn(_joined(line.points, assignment.truth_closed, j))
            name = f"truth-{j}-{place}"
            if panel.in_errors and alone:
                for drawn in missed_line(at, width, name=name):
                    axes.add_line(drawn)
            elif panel.in_errors:
                axes.add_line(found_line(at, width, faint=j in panel.found_by_hidden(view), name=name))
            else:
                axes.add_line(truth_line(at, paint.truth[j], width, alone=alone, name=name))
    for match in pairs_drawn(panel, view):
        x = assignment.predictions[match.prediction]
        y = assignment.truth[match.truth]
        ends = np.stack([view.drawn(x.points[match.pairs[:, 0]]), view.drawn(y.points[match.pairs[:, 1]])], axis=1)
        axes.add_patch(pairs_of_points(ends, name=f"pairs-{match.prediction}-{place}"))
    if panel.predictions:
        levels = levels_of(assignment)
        for i in np.argsort([sure(line) for line in assignment.predictions], kind="stable").tolist():
            line = assignment.predictions[i]
            alone = panel.marks and i not in matched[0]
            if sure(line) < view.confidence:
                continue
            name = f"prediction-{i}-{place}"
            width = THIN * stroke_width(line.confidence)
            if not panel.in_errors:
                at = view.drawn(_joined(line.points, assignment.predictions_closed, i))
                axes.add_line(prediction_line(at, paint.predictions[i], alone=alone, width=width, name=name))
                continue
            closed = i < len(assignment.predictions_closed) and assignment.predictions_closed[i]
            for k, run in enumerate(runs_of(line.points, levels[i], closed=closed)):
                colour = far_colour(run.level) or paint.predictions[i]
                part = name if k == 0 else f"{name}-{k}"
                axes.add_line(prediction_line(view.drawn(run.points), colour, alone=alone, width=width, name=part))
    size = float(np.clip(0.35 * view.scale, 1.4, 2.6))
    for points, colour, name in unmatched_points(panel, view):
        axes.add_line(hollow_points(view.drawn(points), colour, size, name=f"{name}-{place}"))
    draw_links(axes, view, panel, place=place)
    if view.ego:
        if view.forward == "x":
            car = EGO
        else:
            car = EGO[:, ::-1] * (-1, 1)
        axes.add_patch(Polygon(view.drawn(car), facecolor=GREY, edgecolor="white", linewidth=0.5, zorder=6))
    if panel.predictions and panel.detail:
        _write(axes, view, panel)


def _set_axes(axes: Axes, view: View, panel: Panel, *, left: bool, bottom: bool) -> None:
    plain(axes)
    axes.spines[:].set(visible=True, linewidth=0.6 * look().pen, color=GREY)
    across, up = view.limits
    axes.set(xlim=across, ylim=up, aspect="equal")
    axes.grid(visible=True, color=PALE, linewidth=0.3 * look().pen, linestyle="-", alpha=1)
    axes.set_axisbelow(True)
    longest = max(abs(across[1] - across[0]), up[1] - up[0])
    tick = round_step(longest / (7 if panel.detail else 5))
    for axis, (low, high) in ((axes.xaxis, sorted(across)), (axes.yaxis, up)):
        if not view.ego:
            axis.set_major_formatter("{x:.9g}")  # with all digits, without a common offset
        axis.set_ticks([tick * k for k in range(int(np.ceil(low / tick)), int(high // tick) + 1)])
    words: dict[str, Any] = {"fontsize": look().small, "color": INK}
    if view.forward == "x":
        side = "y to the left"
    else:
        side = "x to the right"
    if bottom:
        axes.set_xlabel(f"{side if panel.detail and view.ego else side[0]} (m)", **words, labelpad=1)
    if left:
        axes.set_ylabel(f"{view.forward}{' forward' * view.ego} (m)", **words, labelpad=0)
    axes.tick_params(labelleft=left, labelbottom=bottom)
    above = value_lines(panel.values, view.width)
    if above:
        offset: dict[str, Any] = {"xytext": (0, 3), "textcoords": "offset points", "linespacing": 1.25}
        offset |= words | {"ha": "center", "va": "bottom"}
        axes.annotate("\n".join(above), (0.5, 1), xycoords="axes fraction", annotation_clip=False, **offset)
    if panel.name:
        name = shortened(panel.name, view.width, look().normal)
        pad = 3 + (1.45 * len(above) + 0.2 * bool(above)) * look().small
        axes.set_title(name, fontsize=look().normal, color=INK, pad=pad)


def value_lines(values: Values, width: float) -> list[str]:
    """Return names and values as lines of text that fit into ``width`` inches.

    >>> value_lines({"pld": 0.7123, "ap_chamfer": 0.6, "ap_frechet": None}, 1.7)
    ['PLD 0.712   Chamfer-AP 0.600', 'Fréchet-AP -']
    """
    lines: list[str] = []
    for key, value in values.items():
        words = f"{word_of(key)} {number(value)}"
        if lines and width_of(f"{lines[-1]}   {words}", look().small) <= width:
            lines[-1] += f"   {words}"
        else:
            lines.append(words)
    return lines


def _joined(points: Points, closed: Sequence[bool], place: int) -> Points:
    """Return the points to draw. Assignments leave out the closing point of closed lines; it is added here."""
    if place < len(closed) and closed[place]:
        return np.concatenate([points, points[:1]])
    return points


def sure(line: Instance) -> float:
    """Return the confidence of an instance; 1 for truth."""
    if line.confidence is None:
        return 1.0
    return line.confidence


def found_line(points: Points, width: float, *, faint: bool = False, name: str | None = None) -> Line2D:
    """Return a wide grey line for truth that a prediction is matched with, paler if the prediction is not drawn."""
    return Line2D(
        *points.T, color=PALE if faint else FOUND, linewidth=width, gid=name, solid_capstyle="round", zorder=2
    )


def missed_line(points: Points, width: float, name: str | None = None) -> list[Line2D]:
    """Return a line with a red outline and hatches across it, for truth that was missed."""
    outline = Line2D(*points.T, color=MISSED, linewidth=width + 1.2, gid=name, solid_capstyle="butt", zorder=2.1)
    inner = Line2D(*points.T, color="white", linewidth=width - 0.4, solid_capstyle="butt", zorder=2.2)
    dashes: Any = (0, (0.8 / width, 1.8 / width))  # in widths of the line
    hatch = Line2D(*points.T, color=MISSED, linewidth=width, linestyle=dashes, dash_capstyle="butt", zorder=2.3)
    return [outline, inner, hatch]


def truth_line(points: Points, colour: str, width: float, *, alone: bool = False, name: str | None = None) -> Line2D:
    """Return a wide pale line, dashed if it was missed. It is opaque, because crossing lines would show through."""
    red, green, blue = (0.42 * channel + 0.58 for channel in to_rgb(colour))
    look_of: dict[str, Any] = {"linestyle": (0, (1.2, 0.6)) if alone else "-", "solid_capstyle": "round", "zorder": 2}
    return Line2D(*points.T, color=(red, green, blue), linewidth=width, gid=name, **look_of)


def ignored_line(points: Points) -> Line2D:
    """Return a dotted line for what counts neither as right nor as wrong."""
    return Line2D(*points.T, color=GREY, alpha=0.7, linewidth=1.1, linestyle=(0, (0.8, 2.4)), zorder=1.5)


def prediction_line(
    points: Points, colour: str, *, alone: bool = False, width: float = 1.2, name: str | None = None
) -> Line2D:
    """Return a thin line, dashed if the prediction is false. The dashes do not depend on the width."""
    dashes = (0, (3.6 / width, 2.0 / width))
    look_of: dict[str, Any] = {"linewidth": width, "linestyle": dashes if alone else "-", "zorder": 4}
    return Line2D(*points.T, color=colour, gid=name, **look_of)


class MissedHandle(Line2D):
    """The symbol of missed truth in a legend."""

    def __init__(self) -> None:
        """Make a symbol without points."""
        super().__init__([], [], color=MISSED, linewidth=3.2, linestyle=(0, (0.25, 0.6)), dash_capstyle="butt")


def ego_handle() -> Line2D:
    """Return the symbol of the ego in a legend."""
    shape = Path(EGO[:, ::-1] * (-1, 1))
    return Line2D([], [], linestyle="none", marker=shape, markersize=6, color=GREY, markeredgecolor="none")


def hollow_points(points: Points, colour: str, size: float, *, name: str | None = None) -> Line2D:
    """Return hollow markers for unmatched points."""
    look_of: dict[str, Any] = {"marker": "o", "markersize": size, "markerfacecolor": "white", "markeredgewidth": 0.6}
    return Line2D(*points.T, linestyle="none", markeredgecolor=colour, zorder=5, gid=name, **look_of)


def pairs_of_points(ends: NDArray[np.float64], *, name: str) -> PathPatch:
    """Return thin lines ``(n, 2, 2)`` between points as one path, because thousands of paths make a large SVG."""
    codes = np.tile(np.array([Path.MOVETO, Path.LINETO], np.uint8), len(ends))
    path = Path(ends.reshape(-1, 2), codes)
    return PathPatch(path, fill=False, edgecolor=INK, linewidth=0.35, alpha=0.6, zorder=3, gid=name)


def is_legible(panel: Panel, view: View) -> bool:
    """Whether a panel shows points: a metre is large enough."""
    return panel.detail and view.scale * 96 / 72 >= LEGIBLE


def pairs_drawn(panel: Panel, view: View) -> list[Match]:
    """Return the matches whose pairs of points a panel shows."""
    if not panel.truth or not panel.predictions or not is_legible(panel, view):
        return []
    predictions = panel.assignment.predictions
    return [match for match in panel.assignment.matches if sure(predictions[match.prediction]) >= view.confidence]


def unmatched_points(panel: Panel, view: View) -> list[tuple[Points, str, str]]:
    """Return the unmatched points of each matched polyline that a panel shows, their colour and their name."""
    if not panel.marks or not is_legible(panel, view):
        return []
    assignment = panel.assignment
    paint = panel.paint
    edge = GREY if panel.in_errors else None
    found = []
    for match in assignment.matches:
        x = match.prediction
        y = match.truth
        for shown, side, index, line, colour, partners in (
            (panel.truth, "truth", y, assignment.truth[y], edge or paint.truth[y], match.pairs[:, 1]),
            (panel.predictions, "prediction", x, assignment.predictions[x], paint.predictions[x], match.pairs[:, 0]),
        ):
            if not shown or sure(line) < view.confidence:
                continue
            alone = np.setdiff1d(np.arange(len(line.points)), partners)
            if len(alone):
                found.append((line.points[alone], colour, f"unmatched-{side}-{index}"))
    return found


def arrow_ends(frame: Assignment, link: FrameLink) -> tuple[Points, Points]:
    """Return where the arrow of a link begins and ends, in metres."""
    if link.predicted:
        lines = frame.predictions
    else:
        lines = frame.truth
    before = lines[link.source].points[::-1, :2]
    after = lines[link.target].points[:, :2]
    return inside(before), inside(after)


def inside(points: Points) -> Points:
    """Return the point ``INSIDE`` metres behind the start of a line, or its middle if the line is short.

    >>> inside(np.array([[0.0, 0.0], [8.0, 0.0]])).tolist(), inside(np.array([[0.0, 0.0], [3.0, 0.0]])).tolist()
    ([2.5, 0.0], [1.5, 0.0])
    """
    walked = np.concatenate([[0.0], np.sqrt(np.square(np.diff(points, axis=0)).sum(axis=1)).cumsum()])
    at = min(INSIDE, walked[-1] / 2)
    return np.array([np.interp(at, walked, points[:, k]) for k in (0, 1)])


def draw_links(axes: Axes, view: View, panel: Panel, place: int) -> None:
    """Draw the links of a panel as arrows from the end of a lane to the start of the next one."""
    assignment = panel.assignment
    for link in assignment.links:
        if link.predicted:
            lines = assignment.predictions
        else:
            lines = assignment.truth
        if not (panel.predictions if link.predicted else panel.truth):
            continue
        if link.predicted and min(sure(lines[link.source]), sure(lines[link.target])) < view.confidence:
            continue
        begin, end = view.drawn(np.stack(arrow_ends(assignment, link)))
        if link.predicted:
            side = "prediction"
        else:
            side = "truth"
        if link.state != "right":
            zorder = 7
        else:
            zorder = 5
        axes.add_patch(
            FancyArrowPatch(
                tuple(begin),
                tuple(end),
                arrowstyle="-|>,head_length=2.2,head_width=1.2",
                connectionstyle="arc3,rad=0.15",
                mutation_scale=1.6,
                shrinkA=0,
                shrinkB=0,
                zorder=zorder,
                gid=f"link-{link.state}-{side}-{link.source}-{link.target}-{place}",
                **LINK_LOOKS[link.state],
            )
        )


def link_handles(panels: Sequence[Panel]) -> list[tuple[str, Line2D]]:
    """Return the entries of the legend for the links of some panels."""
    states = {
        link.state
        for panel in panels
        for link in panel.assignment.links
        if (panel.predictions if link.predicted else panel.truth)
    }
    return [(f"{state} link", Line2D([], [], **LINK_LOOKS[state])) for state in LINK_STATES if state in states]


def _write(axes: Axes, view: View, panel: Panel) -> None:
    """Write confidences beside predictions, unless all are 1, as in a map drawn by hand."""
    if all(sure(line) == 1 for line in panel.assignment.predictions):
        return
    ink, weight = _ink(view, panel)
    x, y = view.on_page(np.zeros((1, 2)))[0].tolist()
    taken = [Box(x, y, 2.5 * view.scale, height=4.5 * view.scale)]  # the car
    low = np.array(view.region[:2])
    high = np.array(view.region[2:])
    painted = zip(panel.assignment.predictions, panel.paint.predictions, strict=True)
    numbered = [
        (line, colour)
        for line, colour in sorted(painted, key=lambda painted_line: sure(painted_line[0]), reverse=True)
        if line.confidence is not None
        and line.confidence >= max(NUMBERED, view.confidence)
        and ((line.points[:, :2] >= low) & (line.points[:, :2] <= high)).all(axis=1).any()
    ]
    size = look().small * (0.85 if view.scale > 6 else 0.77)
    lines = [view.on_page(line.points) for line, _ in numbered]
    boxes = place_beside(lines, (2.3 * size, 0.85 * size), ink, weight=weight, panel=view.box, taken=taken)
    for (line, colour), box in zip(numbered, boxes, strict=True):
        axes.text(
            *view.in_metres(box.x, box.y),
            f"{line.confidence:.2f}",
            ha="center",
            va="center_baseline",
            fontsize=size,
            color=colour,
            bbox={"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.6},
            zorder=9,
        )


def _ink(view: View, panel: Panel) -> tuple[Points, NDArray[np.float64]]:
    """Return the points of all lines of a panel, and how visible they are."""
    lines = [(line, 0.5) for line in panel.assignment.truth if panel.truth]
    if panel.predictions:
        drawn = panel.assignment.predictions
    else:
        drawn = []
    lines += [(line, sure(line)) for line in drawn if sure(line) >= view.confidence]
    points = [view.on_page(line.points) for line, _ in lines]
    weights = [np.full(len(line.points), weight) for line, weight in lines]
    return np.concatenate([np.empty((0, 2)), *points]), np.concatenate([np.empty(0), *weights])
