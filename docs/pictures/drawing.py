"""The building blocks of the pictures: SVG elements, the mapping from metres to pixels, and line charts."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import mapgauge as mg

Points = NDArray[np.float64]

TIMES = "\N{MULTIPLICATION SIGN}"

# Okabe and Ito's palette: distinct with every kind of colour vision.
SKY, GREEN, YELLOW, BLUE, VERMILION = "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00"
ORANGE = "#E69F00"
TRUTH, PREDICTION = BLUE, VERMILION
INK, GREY, PALE = "#222222", "#5F5F5F", "#E4E4E4"


class Drawing:
    """SVG elements on a white card, drawn in the order of the calls."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        """Start a card of this size in pixels; title and description are for screen readers."""
        self.items = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" font-family="sans-serif">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f'<rect width="{width}" height="{height}" rx="12" fill="#FFFFFF"/>',
        ]

    def segment(self, a: Sequence[float], b: Sequence[float], colour: str, width: float) -> None:
        """A straight segment from a to b, in pixels."""
        self.items.append(
            f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" stroke="{colour}" '
            f'stroke-width="{width:g}" stroke-linecap="round"/>'
        )

    def dot(self, at: Sequence[float], radius: float, colour: str, *, hollow: bool = False) -> None:
        """A disc, or a somewhat larger circle."""
        size, fill = (1.35 * radius, "#FFFFFF") if hollow else (radius, colour)
        self.items.append(
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{size:g}" fill="{fill}" stroke="{colour}" '
            f'stroke-width="{radius / 2 if hollow else 0:g}"/>'
        )

    def curve(self, points: Points, colour: str, width: float = 2.4) -> None:
        """A line through these points, in pixels."""
        corners = " ".join(f"{u:.1f},{v:.1f}" for u, v in points)
        self.items.append(
            f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
            'stroke-linejoin="round"/>'
        )

    def polyline(
        self, points: Points, colour: str, radius: float, unmatched: Sequence[int] = (), opacity: float = 1.0
    ) -> None:
        """A polyline with its points as dots, the unmatched ones hollow."""
        self.items.append(f'<g opacity="{opacity:g}">')
        self.curve(points, colour)
        for k, point in enumerate(points):
            self.dot(point, radius, colour, hollow=k in unmatched)
        self.items.append("</g>")

    def box(self, u: float, v: float, width: float, height: float, fill: str) -> None:
        """A rectangle with its upper left corner at u, v."""
        self.items.append(
            f'<rect x="{u:.1f}" y="{v:.1f}" width="{width:.1f}" height="{height:g}" fill="{fill}" '
            'stroke="#FFFFFF" stroke-width="1"/>'
        )

    def text(
        self,
        u: float,
        v: float,
        words: str,
        size: float = 13,
        colour: str = INK,
        anchor: str = "start",
        weight: int = 400,
    ) -> None:
        """A line of text whose baseline starts, is centred or ends at u, v."""
        self.items.append(
            f'<text x="{u:.1f}" y="{v:.1f}" font-size="{size:g}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(words)}</text>'
        )

    def save(self, path: Path) -> None:
        """Write the file."""
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(self), encoding="utf-8")

    def __str__(self) -> str:
        return "\n".join([*self.items, "</svg>", ""])


class View(NamedTuple):
    """The mapping from metres to pixels, with the vertical axis upwards."""

    left: float  # pixels, where the first coordinate is 0
    bottom: float  # pixels, where the second coordinate is 0
    scale: float  # pixels per metre

    def __call__(self, points: Points) -> Points:
        """Points in pixels."""
        pixels: Points = np.array([self.left, self.bottom]) + points * np.array([self.scale, -self.scale])
        return pixels


class Axis(NamedTuple):
    """An axis: its label, its range and its ticks."""

    label: str
    low: float
    high: float
    ticks: Sequence[float]


class Chart:
    """A box with two axes and curves."""

    def __init__(self, drawing: Drawing, box: tuple[float, float, float, float], x: Axis, y: Axis) -> None:
        """Draw the axes around a box of (left, top, width, height) in pixels."""
        self.drawing, self.box, self.x, self.y = drawing, box, x, y
        left, top, width, height = box
        for value in y.ticks:
            (_, v), _ = self.at([[x.low, value]] * 2)
            drawing.segment((left, v), (left + width, v), PALE, 1)
            drawing.text(left - 8, v + 4, f"{value:g}", 12, GREY, "end")
        for value in x.ticks:
            (u, _), _ = self.at([[value, y.low]] * 2)
            drawing.segment((u, top + height), (u, top + height + 4), GREY, 1)
            drawing.text(u, top + height + 18, f"{value:g}", 12, GREY, "middle")
        drawing.segment((left, top + height), (left + width, top + height), GREY, 1)
        drawing.text(left + width / 2, top + height + 37, x.label, 12.5, INK, "middle")
        drawing.text(left - 26, top - 14, y.label, 12.5)

    def at(self, values: Points | Sequence[Sequence[float]]) -> Points:
        """The pixels of (x, y) values."""
        left, top, width, height = self.box
        u = left + width * (np.asarray(values)[:, 0] - self.x.low) / (self.x.high - self.x.low)
        v = top + height * (self.y.high - np.asarray(values)[:, 1]) / (self.y.high - self.y.low)
        return np.stack([u, v], axis=1)

    def curve(self, x: Iterable[float], value: Callable[[float], float], colour: str, width: float = 2.4) -> Points:
        """Draw the values of a function, and return their pixels."""
        pixels = self.at([(at, value(at)) for at in x])
        self.drawing.curve(pixels, colour, width)
        return pixels


def road_edge(start: tuple[float, float], length: float, bend: float, spacing: float) -> Points:
    """Points at equal spacing on a gentle curve over this many metres."""
    u = np.linspace(0.0, length, 400)
    return mg.resample(np.stack([start[0] + u, start[1] + bend * np.sin(u / 4.2)], axis=1), spacing=spacing)


def normals(points: Points) -> Points:
    """Unit vectors to the left of the direction of travel along the points."""
    step = np.gradient(points, axis=0)
    left = np.stack([-step[:, 1], step[:, 0]], axis=1)
    turned: Points = left / np.linalg.norm(left, axis=1, keepdims=True)
    return turned
