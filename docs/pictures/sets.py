"""Pictures of two sets of polylines: the parts of PLD, the groupings of Loc and Det, and what AP cannot see."""

from typing import NamedTuple

import numpy as np
from docs.pictures.drawing import (
    GREY,
    INK,
    PALE,
    PREDICTION,
    SKY,
    TRUTH,
    VERMILION,
    Drawing,
    Points,
    View,
    normals,
    road_edge,
)
from examples.figure_1 import road, shifted
from examples.table_1 import CASES

import mapgauge as mg
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import part_colours

CUTOFF = 1.5  # metres


class Part(NamedTuple):
    """The name, the label and the colour of one of the five parts of PLD."""

    name: str
    label: str
    colour: str


# The colours are those of figures and reports.
PARTS = tuple(Part(name, name.replace("_", " "), colour) for name, colour in part_colours(PLD).items())


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
    """The place for a text below the middle of a polyline."""
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


def draw_groupings() -> Drawing:
    """Three predictions of one truth, with Loc and Det in both groupings."""
    truth = road_edge((0.0, 0.0), 9.0, 0.5, 0.5)
    cases = {
        "in the wrong place": truth + 0.5 * normals(truth),
        "half as long": truth[: len(truth) // 2],
        "both": truth[: len(truth) // 2] + 0.5 * normals(truth)[: len(truth) // 2],
    }
    drawing = Drawing(
        700,
        330,
        "Two readings of Loc and Det",
        "Three predictions of a truth, their Loc and Det by points and by instances.",
    )
    for u, colour, label in ((330.0, SKY, "Loc"), (390.0, VERMILION, "Det")):
        drawing.box(u, 18, 13, 13, colour)
        drawing.text(u + 19, 29, label, 12.5)
    for row, (name, points) in enumerate(cases.items()):
        top = 50 + 92.0 * row
        result = mg.pld([points], [truth], cutoff=CUTOFF)
        found = mg.sospa_align(points, truth, cutoff=CUTOFF)
        view = View(46, top + 44, 26.0)
        drawing.polyline(view(truth), TRUTH, 2.4, found.unmatched_y.tolist())
        drawing.polyline(view(points), PREDICTION, 2.4, found.unmatched_x.tolist())
        drawing.text(46, top + 8, name, 13.5, INK, weight=700)
        readings = (
            ("by points", result.localisation, result.detection),
            ("by instances", result.localisation_by_instances, result.detection_by_instances),
        )
        for line, (reading, localisation, detection) in enumerate(readings):
            left, v, width = 330.0, top + 16 + 30 * line, 250.0
            drawing.box(left, v, width, 16, PALE)
            drawing.box(left, v, width * localisation, 16, SKY)
            drawing.box(left + width * localisation, v, width * detection, 16, VERMILION)
            drawing.text(left + width + 10, v + 12, reading, 12.5, GREY)
            numbers = ((localisation, left), (detection, left + width * localisation))
            for number, u in numbers:
                if number > 0.08:
                    drawing.text(u + 5, v + 12.5, f"{number:.2f}", 12, INK)
    return drawing


def draw_table_1() -> Drawing:
    """The cases of Table 1 with the points that SOSPA matches, and their scores."""
    drawing = Drawing(700, 610, "Table 1 of the paper", "Six predictions of one truth with PLD, Loc, Det and AP.")
    for k, case in enumerate(CASES):
        column, row = k % 2, k // 2
        left, top = 46 + 340.0 * column, 20 + 198.0 * row
        prediction, truth = np.array(case.prediction, dtype=float), np.array(case.truth, dtype=float)
        found = mg.sospa_align(prediction, truth, cutoff=0.5)
        result = mg.pld([prediction], [truth], cutoff=0.5)
        hits = [int(f(prediction, truth) <= 0.5) for f in (mg.chamfer, mg.frechet)]
        view = View(left + 6, top + 112, 72.0 if prediction[:, 1].max() <= 1 else 34.0)
        x, y = view(prediction), view(truth)
        for i, j in found.pairs:
            drawing.segment(x[i], y[j], GREY, 1.4)
        drawing.polyline(y, TRUTH, 5.5, found.unmatched_y.tolist())
        drawing.polyline(x, PREDICTION, 3.4, found.unmatched_x.tolist())
        drawing.text(left, top + 14, case.name, 13.5, INK, weight=700)
        words = f"PLD {result.normalised:.3f} = {result.localisation:.3f} + {result.detection:.3f}"
        drawing.text(left, top + 146, words, 13.5)
        drawing.text(left, top + 166, f"Chamfer-AP {hits[0]}, Fréchet-AP {hits[1]}", 13.5, GREY)
    return drawing


def draw_figure_1() -> Drawing:
    """A map that is a metre off everywhere and has a scrambled instance, and its scores."""
    truth = road()
    predictions = shifted(truth)
    certain = mg.MapFrames.of({"frame": predictions}).with_confidence(1)
    results = mg.evaluate(certain, mg.MapFrames.of({"frame": truth}), "paper-100x50")
    drawing = Drawing(
        700, 420, "Figure 1 of the paper", "A map shifted by a metre, with one scrambled divider, and its scores."
    )
    view = View(350, 170, 14.4)
    for name, lines in truth.items():
        for line, wrong in zip(lines, predictions[name], strict=True):
            drawing.curve(view(line), TRUTH, 2.6)
            drawing.curve(view(wrong), PREDICTION, 1.4)
    labels = ("Chamfer-mAP", "Fréchet-mAP", "mPLD", "Loc", "Det")
    keys = ("ap_chamfer", "ap_frechet", "pld", "localisation", "detection")
    for k, (label, key) in enumerate(zip(labels, keys, strict=True)):
        drawing.text(46 + 128 * k, 352, label, 13, GREY)
        drawing.text(46 + 128 * k, 377, f"{results.mean[key]:.3f}", 22, INK, weight=700)
    for u, colour, label in ((46.0, TRUTH, "truth"), (126.0, PREDICTION, "predictions, all of confidence 1")):
        drawing.segment((u, 27), (u + 22, 27), colour, 2.4)
        drawing.text(u + 30, 31, label)
    return drawing
