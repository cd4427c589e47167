"""Pictures of two polylines, compared by SOSPA, Chamfer and Fréchet distance."""

import numpy as np
from docs.pictures.drawing import (
    GREEN,
    GREY,
    INK,
    PALE,
    PREDICTION,
    SKY,
    TIMES,
    TRUTH,
    Drawing,
    Points,
    View,
    normals,
    road_edge,
)

import mapgauge as mg

CUTOFF = 1.5  # metres


def drifting() -> tuple[Points, Points]:
    """A prediction that drifts away, has an outlier and is too long, and its truth."""
    truth = road_edge((0.0, 0.0), 16.0, 1.4, 1.0)
    beyond = road_edge((0.12, 0.0), 18.4, 1.4, 1.0)
    drift = 0.36 + 0.64 * np.sin(np.linspace(0.0, 2.2, len(beyond))) ** 4
    drift[5] = 2.4  # the outlier
    return beyond + drift[:, None] * normals(beyond), truth


def draw_alignment() -> Drawing:
    """The points that SOSPA matches, and their cost."""
    prediction, truth = drifting()
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
    """The terms of SOSPA, on a bar whose length is the SOSPA if nothing is matched."""
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


def draw_cutoffs() -> Drawing:
    """The same two polylines at three cutoffs."""
    prediction, truth = drifting()
    drawing = Drawing(
        700, 470, "What the cutoff does", "The same prediction and truth, aligned at cutoffs of 0.5, 1 and 2.5 m."
    )
    for row, cutoff in enumerate((0.5, 1.0, 2.5)):
        found = mg.sospa_align(prediction, truth, cutoff=cutoff)
        top = 150.0 * row
        view = View(46, top + 120, 20.0)
        x, y = view(prediction), view(truth)
        for i, j in found.pairs:
            drawing.segment(x[i], y[j], GREY, 1.4)
        drawing.polyline(y, TRUTH, 3, found.unmatched_y.tolist())
        drawing.polyline(x, PREDICTION, 3, found.unmatched_x.tolist())
        drawing.text(46, top + 38, f"cutoff {cutoff:g} m", 14, INK, weight=700)
        start, end = 150.0, 150 + view.scale * cutoff
        for u in (start, end):
            drawing.segment((u, top + 29), (u, top + 37), INK, 2)
        drawing.segment((start, top + 33), (end, top + 33), INK, 2)
        numbers = (
            f"{len(found.pairs)} pairs, {len(found.unmatched_x) + len(found.unmatched_y)} points unmatched",
            f"SOSPA {found.value:.2f} m",
            f"normalised {found.normalised:.2f}",
        )
        for line, words in enumerate(numbers):
            drawing.text(470, top + 86 + 21 * line, words, 13.5, INK, weight=700 if line == 2 else 400)
    return drawing


def draw_cyclic() -> Drawing:
    """A crossing and the same crossing drawn from another corner, compared as open and as closed lines."""
    outline = np.array([[0.0, 0.0], [5.0, 0.6], [4.6, 3.4], [-0.4, 2.8], [0.0, 0.0]])
    truth = mg.resample(outline, spacing=0.7)[:-1]
    prediction = np.roll(truth, -len(truth) // 2, axis=0) + np.array([0.3, 0.25])
    drawing = Drawing(
        700, 300, "Cyclic SOSPA", "A crossing, and a prediction of it whose first point is at the other end."
    )
    for column, closed in enumerate((False, True)):
        found = mg.sospa_align(prediction, truth, cutoff=CUTOFF, closed=closed)
        view = View(60 + 340.0 * column, 205, 46.0)
        x, y = view(prediction), view(truth)
        for i, j in found.pairs:
            drawing.segment(x[i], y[j], GREY, 1.4)
        sides = ((y, TRUTH, found.unmatched_y, (-18, 14)), (x, PREDICTION, found.unmatched_x, (7, -8)))
        for points, colour, lonely, (right, down) in sides:
            drawing.curve(np.concatenate([points, points[:1]]) if closed else points, colour)
            for k, point in enumerate(points):
                drawing.dot(point, 3.4, colour, hollow=k in lonely)
            drawing.text(points[0, 0] + right, points[0, 1] + down, "1", 13, colour, weight=700)
        left = 46 + 340.0 * column
        drawing.text(left, 32, "cyclic: any first point" if closed else "open: first points count", 14, INK, weight=700)
        drawing.text(left, 258, f"{len(found.pairs)} of {len(truth)} points matched", 13.5)
        drawing.text(left, 279, f"normalised SOSPA {found.normalised:.2f}", 13.5, INK, weight=700)
    return drawing


def draw_chamfer_and_frechet() -> Drawing:
    """The points that determine each of three distances between the same two polylines."""
    truth = road_edge((0.0, 0.0), 9.5, 2.4, 1.0)
    prediction = road_edge((0.1, 0.0), 9.5, 2.4, 1.0) + np.array([0.0, 0.5])
    prediction[[3, 6]] = prediction[[6, 3]]  # two points in the wrong order
    apart = np.linalg.norm(prediction[:, None] - truth, axis=2)
    found = mg.sospa_align(prediction, truth, cutoff=CUTOFF)
    worst = mg.frechet(prediction, truth)
    drawing = Drawing(
        700, 500, "Three distances", "Chamfer, Fréchet distance and SOSPA between a truth and a scrambled prediction."
    )
    rows = (
        ("Chamfer", f"{mg.chamfer(prediction, truth):.2f} m", "each point to the nearest of the other side"),
        ("Fréchet", f"{worst:.2f} m", "the longest leash of the best walk along both"),
        ("SOSPA", f"{found.normalised:.2f} normalised", "the cheapest pairs in order, and what is left over"),
    )
    for row, (name, number, words) in enumerate(rows):
        view = View(46, 130 + 160.0 * row, 38.0)
        x, y = view(prediction), view(truth)
        if name == "Chamfer":
            joined = {(i, int(apart[i].argmin())) for i in range(len(x))}
            joined |= {(int(apart[:, j].argmin()), j) for j in range(len(y))}
        elif name == "Fréchet":
            joined = {(int(i), int(j)) for i, j in np.argwhere(np.isclose(apart, worst))}
        else:
            joined = {(int(i), int(j)) for i, j in found.pairs}
        lonely: tuple[list[int], list[int]] = ([], [])
        if name == "SOSPA":
            lonely = (found.unmatched_x.tolist(), found.unmatched_y.tolist())
        drawing.polyline(y, TRUTH, 3.4, lonely[1])
        drawing.polyline(x, PREDICTION, 3.4, lonely[0])
        for i, j in sorted(joined):
            drawing.segment(x[i], y[j], INK if name == "Fréchet" else GREY, 2.4 if name == "Fréchet" else 1.4)
        drawing.text(470, 66 + 160 * row, name, 14, INK, weight=700)
        drawing.text(470, 88 + 160 * row, number, 14)
        for line, part in enumerate(_folded(words)):
            drawing.text(470, 108 + 160 * row + 17 * line, part, 12.5, GREY)
    return drawing


def _folded(words: str, width: int = 30) -> list[str]:
    """A text in lines of at most this many letters."""
    lines = [""]
    for word in words.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
