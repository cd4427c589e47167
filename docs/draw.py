"""Draw the pictures of the documentation as SVG: ``python docs/draw.py`` writes them into ``docs/images/``.

Every pair, mark and number in them is computed by mapgauge. Nothing is needed beyond numpy and mapgauge.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import mapgauge as mg

Points = NDArray[np.float64]

IMAGES = Path(__file__).parent / "images"
CUTOFF = 1.5  # metres
TIMES = "\N{MULTIPLICATION SIGN}"

# Okabe and Ito's palette: distinct with every kind of colour vision.
SKY, GREEN, YELLOW, BLUE, VERMILION = "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00"
TRUTH, PREDICTION = BLUE, VERMILION
INK, GREY, PALE = "#222222", "#5F5F5F", "#E4E4E4"


class Part(NamedTuple):
    """How one of the five parts of PLD is shown."""

    name: str
    label: str
    colour: str


# What is missed has the colour of truth, what is false the colour of predictions.
PARTS = (
    Part("matched_points", "matched points", SKY),
    Part("unmatched_points", "unmatched points", GREEN),
    Part("confidence", "confidence", YELLOW),
    Part("missed", "missed", TRUTH),
    Part("false", "false", PREDICTION),
)


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

    def polyline(
        self, points: Points, colour: str, radius: float, unmatched: Sequence[int] = (), opacity: float = 1.0
    ) -> None:
        """A polyline with its points as dots, the unmatched ones hollow."""
        corners = " ".join(f"{u:.1f},{v:.1f}" for u, v in points)
        self.items.append(f'<g opacity="{opacity:g}">')
        self.items.append(
            f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="2.4" stroke-linejoin="round"/>'
        )
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
        path.write_text("\n".join([*self.items, "</svg>", ""]), encoding="utf-8")


class View(NamedTuple):
    """From metres to pixels, the vertical axis turned upwards."""

    left: float  # pixels, where the first coordinate is 0
    bottom: float  # pixels, where the second coordinate is 0
    scale: float  # pixels per metre

    def __call__(self, points: Points) -> Points:
        """Points in pixels."""
        pixels: Points = np.array([self.left, self.bottom]) + points * np.array([self.scale, -self.scale])
        return pixels


def road_edge(start: tuple[float, float], length: float, bend: float, spacing: float) -> Points:
    """Points at equal spacing on a gentle curve over this many metres."""
    u = np.linspace(0.0, length, 400)
    return mg.resample(np.stack([start[0] + u, start[1] + bend * np.sin(u / 4.2)], axis=1), spacing=spacing)


def normals(points: Points) -> Points:
    """Unit vectors to the left of the walk along the points."""
    step = np.gradient(points, axis=0)
    left = np.stack([-step[:, 1], step[:, 0]], axis=1)
    turned: Points = left / np.linalg.norm(left, axis=1, keepdims=True)
    return turned


def draw_alignment() -> Drawing:
    """One truth and one prediction that drifts away, has an outlier and goes on for too long."""
    truth = road_edge((0.0, 0.0), 16.0, 1.4, 1.0)
    beyond = road_edge((0.12, 0.0), 18.4, 1.4, 1.0)
    drift = 0.36 + 0.64 * np.sin(np.linspace(0.0, 2.2, len(beyond))) ** 4
    drift[5] = 2.4  # the outlier
    prediction = beyond + drift[:, None] * normals(beyond)
    found = mg.sospa_align(prediction, truth, cutoff=CUTOFF)

    drawing = Drawing(
        700,
        372,
        "SOSPA as an alignment of two polylines",
        f"{len(found.pairs)} pairs of points are matched in order; {len(found.unmatched_x)} points of the prediction "
        f"and {len(found.unmatched_y)} of the truth stay unmatched. SOSPA {found.value:.2f} m, "
        f"normalised {found.normalised:.2f}.",
    )
    view = View(46, 180, 32.0)
    x, y = view(prediction), view(truth)
    for i, j in found.pairs:
        drawing.segment(x[i], y[j], GREY, 1.4)
    drawing.polyline(y, TRUTH, 4, found.unmatched_y.tolist())
    drawing.polyline(x, PREDICTION, 4, found.unmatched_x.tolist())
    drawing.text(x[5, 0] + 14, x[5, 1] + 5, "outlier", 13, PREDICTION)
    drawing.text(x[-1, 0] + 5, x[-1, 1] + 24, "overshoot", 13, PREDICTION, "end")
    _legend_of_alignment(drawing, view)
    _bar_of_alignment(drawing, found, len(prediction) + len(truth))
    numbers = (
        ("SOSPA", f"{found.value:.2f} m"),
        ("normalised SOSPA", f"{found.normalised:.2f}"),
        ("Chamfer distance", f"{mg.chamfer(prediction, truth):.2f} m"),
    )
    for k, (label, number) in enumerate(numbers):
        drawing.text(46 + 215 * k, 329, label, 13, GREY)
        drawing.text(46 + 215 * k, 354, number, 22, INK, weight=700)
    return drawing


def _legend_of_alignment(drawing: Drawing, view: View) -> None:
    v = 27.0
    for u, colour, label in ((46.0, TRUTH, "truth"), (126.0, PREDICTION, "prediction")):
        drawing.polyline(np.array([[u, v], [u + 11, v], [u + 22, v]]), colour, 3)
        drawing.text(u + 30, v + 4, label)
    drawing.segment((240, v), (262, v), GREY, 1.4)
    drawing.text(270, v + 4, "matched pair")
    drawing.dot((381, v), 4, INK, hollow=True)
    drawing.text(393, v + 4, "unmatched point")
    start, end = 536.0, 536 + view.scale * CUTOFF
    drawing.segment((start, v), (end, v), INK, 2)
    for u in (start, end):
        drawing.segment((u, v - 4), (u, v + 4), INK, 2)
    drawing.text(end + 9, v + 4, f"c = {CUTOFF:g} m")


def _bar_of_alignment(drawing: Drawing, found: mg.Alignment, points: int) -> None:
    """What SOSPA is made of, on a bar as long as the SOSPA of polylines of which nothing is matched."""
    left, top, width, height = 46.0, 264.0, 608.0, 18.0
    nothing = CUTOFF / 2 * points
    gaps = found.value - found.matched_points
    split, end = (left + width / nothing * metres for metres in (found.matched_points, found.value))
    drawing.box(left, top, width, height, PALE)
    drawing.box(left, top, split - left, height, SKY)
    drawing.box(split, top, end - split, height, GREEN)
    unmatched = len(found.unmatched_x) + len(found.unmatched_y)
    drawing.text(left, top - 8, f"{len(found.pairs)} distances: {found.matched_points:.2f} m", 12.5)
    drawing.text(split, top - 8, f"{unmatched} {TIMES} c/2: {gaps:.2f} m", 12.5)
    drawing.text(left + width, top - 8, f"nothing matched: {nothing:.2f} m", 12.5, GREY, "end")


def draw_parts() -> Drawing:
    """Three truths, four predictions, and the five parts of their PLD."""
    truth = [
        road_edge((0.0, 4.6), 10.8, 0.7, 0.5),
        road_edge((0.0, 1.7), 10.8, 0.7, 0.5),
        road_edge((13.4, 1.7), 4.8, 0.5, 0.5),
    ]
    good, short, twin = truth[0], truth[1][:15], truth[0][6:18]
    predictions = [
        good + 0.3 * normals(good),
        short + 0.55 * normals(short),
        twin - 0.6 * normals(twin),
        road_edge((13.4, 4.6), 4.8, 0.5, 0.5),
    ]
    confidence = [0.9, 0.7, 0.3, 0.6]
    result = mg.pld(predictions, truth, confidence=confidence, cutoff=CUTOFF)
    assigned = [] if result.assignment is None else result.assignment.tolist()
    # Only points inside assigned pairs are matched or not; instances that are left over count as a whole.
    lonely_x: dict[int, list[int]] = {}
    lonely_y: dict[int, list[int]] = {}
    for i, j in assigned:
        found = mg.sospa_align(predictions[i], truth[j], cutoff=CUTOFF, closed="auto", directed=False)
        lonely_x[i], lonely_y[j] = found.unmatched_x.tolist(), found.unmatched_y.tolist()

    drawing = Drawing(
        700,
        412,
        "The five parts of PLD",
        f"Three truths and four predictions. Normalised PLD {result.normalised:.3f}: "
        + ", ".join(f"{part.label} {value:.3f}" for part, value in zip(PARTS, result.normalised_parts, strict=True)),
    )
    view = View(46, 236, 32.0)
    for j, points in enumerate(truth):
        pixels = view(points)
        drawing.polyline(pixels, TRUTH, 2.6, lonely_y.get(j, ()))
        if j not in lonely_y:
            drawing.text(*_below(pixels, 24), "missed", 13, TRUTH, "middle", 700)
    for i, points in enumerate(predictions):
        pixels = view(points)
        drawing.polyline(pixels, PREDICTION, 2.6, lonely_x.get(i, ()), confidence[i])
        drawing.text(pixels[-1, 0] + 9, pixels[-1, 1] + 5, f"{confidence[i]:g}", 13, PREDICTION)
        if i not in lonely_x:
            drawing.text(*_below(pixels, 24), "false", 13, PREDICTION, "middle", 700)
    _legend_of_parts(drawing)
    _bar_of_parts(drawing, result)
    return drawing


def _below(pixels: Points, gap: float) -> tuple[float, float]:
    """Where to write below the middle of a polyline."""
    middle = pixels[len(pixels) // 2]
    return float(middle[0]), float(middle[1]) + gap


def _legend_of_parts(drawing: Drawing) -> None:
    v = 27.0
    for u, colour, label in ((46.0, TRUTH, "truth"), (126.0, PREDICTION, "prediction, as opaque as confident")):
        drawing.polyline(np.array([[u, v], [u + 11, v], [u + 22, v]]), colour, 2.6)
        drawing.text(u + 30, v + 4, label)
    drawing.dot((421, v), 2.6, INK, hollow=True)
    drawing.text(431, v + 4, "unmatched point")


def _bar_of_parts(drawing: Drawing, result: mg.PldResult) -> None:
    left, top, width, height = 46.0, 270.0, 608.0, 20.0
    drawing.text(left, top - 10, f"normalised PLD {result.normalised:.3f}", 14, INK, weight=700)
    drawing.text(left + width, top - 10, "1", 12.5, GREY, "end")
    drawing.box(left, top, width, height, PALE)
    ends = left + width * np.cumsum([0.0, *result.normalised_parts])
    for k, part in enumerate(PARTS):
        drawing.box(ends[k], top, ends[k + 1] - ends[k], height, part.colour)
    groupings = (
        ("by points", ends[1], result.localisation, result.detection),
        ("by instances", ends[2], result.localisation_by_instances, result.detection_by_instances),
    )
    for row, (name, split, localisation, detection) in enumerate(groupings):
        v = top + height + 10 + 26 * row
        for a, b, words in ((left, split, f"Loc {localisation:.3f}"), (split, ends[5], f"Det {detection:.3f}")):
            drawing.segment((a + 2, v), (b - 2, v), GREY, 1.4)
            drawing.text((a + b) / 2, v + 14, words, 12, INK, "middle")
        drawing.text(left + width, v + 7, name, 12.5, GREY, "end")
    columns = (0, 133, 280, 393, 487)  # wide enough for the labels
    for column, part, value in zip(columns, PARTS, result.normalised_parts, strict=True):
        u, v = left + column, 376.0
        drawing.box(u, v - 11, 13, 13, part.colour)
        drawing.text(u + 19, v, part.label, 12.5)
        drawing.text(u + 19, v + 19, f"{value:.3f}", 13, INK, weight=700)


if __name__ == "__main__":
    draw_alignment().save(IMAGES / "alignment.svg")
    draw_parts().save(IMAGES / "parts.svg")
