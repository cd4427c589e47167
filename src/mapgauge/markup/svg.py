"""Small SVG drawings for notebooks: lines of a frame, stacked bars, and intervals."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapgauge.markup.html import Html
from mapgauge.typing import Points

WIDTH, TALLEST, MARGIN = 420.0, 420.0, 8.0  # pixels
NEAR = 50.0  # metres
MOST_LINES, MOST_POINTS = 300, 60  # a notebook stores every drawing that it shows


class Stroke(NamedTuple):
    """A polyline of a drawing, in metres."""

    points: Points
    colour: str
    width: float = 1.3
    opacity: float = 1.0
    dashed: bool = False
    closed: bool = False


def is_around_origin(low: Points, high: Points) -> bool:
    """Whether a box ``(x, y)`` lies around the origin, or no farther from it than 50 m and its own size."""
    return bool((np.maximum(low, -high) <= high - low + NEAR).all())


def drawing(strokes: Sequence[Stroke], title: str) -> Html:
    """Return polylines as a drawing, x to the right and y upwards, with a ring at the origin if it is near.

    Only the last strokes are drawn if there are very many, and long ones with fewer points. The title is for screen
    readers and must be plain words of the package, because it is not escaped.
    """
    finite = [stroke for stroke in strokes if len(stroke.points) and np.isfinite(stroke.points[:, :2]).all()]
    kept = finite[-MOST_LINES:]
    if not kept:
        return Html("")
    every = np.concatenate([stroke.points[:, :2] for stroke in kept])
    low, high = every.min(axis=0), every.max(axis=0)
    around = is_around_origin(low, high)
    if around:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    size = np.maximum(high - low, 1.0)
    scale = float(min((WIDTH - 2 * MARGIN) / size[0], (TALLEST - 2 * MARGIN) / size[1]))
    width, height = (size * scale + 2 * MARGIN).tolist()
    origin = _pixels(np.zeros((1, 2)), low, scale, height)[0].tolist()
    lines = [_polyline(stroke, _pixels(_thinned(stroke.points), low, scale, height)) for stroke in kept]
    ring = f'<circle cx="{origin[0]:.1f}" cy="{origin[1]:.1f}" r="3.5" fill="none" stroke="#808080"/>'
    return _svg(width, height, title, [*lines, ring] if around else lines)


def bars(parts: Sequence[tuple[float, str]], length: float = 160.0) -> Html:
    """Return a stacked bar of values with their colours. A value of 1 fills the length in pixels."""
    left, pieces = 0.0, []
    for value, colour in parts:
        pieces.append(f'<rect x="{left:.1f}" y="1" width="{value * length:.1f}" height="10" fill="{colour}"/>')
        left += value * length
    return _svg(length, 12.0, "parts", pieces)


def interval(value: float, low: float, high: float, span: tuple[float, float], length: float = 160.0) -> Html:
    """Return a dot with a line from low to high, on an axis that covers the span. Bounds may be NaN."""
    across = max(span[1] - span[0], 1e-12)
    place = [6 + (length - 12) * (x - span[0]) / across for x in (low, high, value)]
    pieces = [f'<circle cx="{place[2]:.1f}" cy="6" r="3.5" fill="currentColor"/>']
    if np.isfinite(place[:2]).all():
        pieces.append(
            f'<line x1="{place[0]:.1f}" x2="{place[1]:.1f}" y1="6" y2="6" stroke="currentColor" stroke-width="1.5"/>'
        )
    return _svg(length, 12.0, "interval", pieces)


def _pixels(points: Points, low: Points, scale: float, height: float) -> Points:
    """Return metres as pixels. Pixels are counted downwards."""
    moved: Points = (points[:, :2] - low) * scale + MARGIN
    return np.column_stack([moved[:, 0], height - moved[:, 1]])


def _thinned(points: Points) -> Points:
    if len(points) <= MOST_POINTS:
        return points
    return points[np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(np.int64)]


def _polyline(stroke: Stroke, pixels: Points) -> str:
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in pixels.tolist())
    dashes = ' stroke-dasharray="4 3"' if stroke.dashed else ""
    return (
        f'<{"polygon" if stroke.closed else "polyline"} points="{corners}" fill="none" stroke="{stroke.colour}" '
        f'stroke-width="{stroke.width:g}" stroke-opacity="{stroke.opacity:.2f}" stroke-linecap="round"{dashes}/>'
    )


def _svg(width: float, height: float, title: str, pieces: Sequence[str]) -> Html:
    return Html(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}" role="img"><title>{title}</title>{"".join(pieces)}</svg>'
    )
