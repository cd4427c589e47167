"""The picture of fragments: a boundary that is predicted whole, in pieces, in part and joined with the next one."""

import numpy as np
from docs.pictures.drawing import GREY, INK, PREDICTION, TRUTH, Drawing, Points, View

import mapgauge as mg


def _line(start: float, stop: float, height: float) -> Points:
    """A gentle curve with a point every 0.5 m."""
    along = np.arange(start, stop + 0.25, 0.5)
    return np.stack([along, height + 0.5 * np.sin(along / 4)], axis=1)


def draw_fragments() -> Drawing:
    """Four predictions of the same truth, with PLD and network PLD of each."""
    whole, shift = _line(0, 16, 0), np.array([0.0, 0.35])
    parts = [_line(0, 7.5, 0), _line(8, 16, 0)]
    cases = [
        ("whole", [whole + shift], [whole]),
        ("in three pieces", [piece + shift for piece in np.array_split(whole, 3)], [whole]),
        ("half missing", [whole[:17] + shift], [whole]),
        ("two lines joined", [whole + shift], parts),
    ]
    rows = [(mg.pld(x, y).normalised, mg.network_pld(x, y, directed=False).normalised) for _, x, y in cases]
    words = "; ".join(f"{case[0]}: PLD {a:.2f}, network PLD {b:.2f}" for case, (a, b) in zip(cases, rows, strict=True))
    drawing = Drawing(700, 400, "Fragments in PLD and in network PLD", f"Four predictions of a boundary. {words}.")
    for u, title in ((560.0, "PLD"), (640.0, "network PLD")):
        drawing.text(u, 34, title, 13, INK, "middle", 700)
    for u, colour, title in ((160.0, TRUTH, "truth"), (250.0, PREDICTION, "prediction")):
        drawing.polyline(np.array([[u, 30.0], [u + 11, 30.0], [u + 22, 30.0]]), colour, 2.6)
        drawing.text(u + 30, 34, title)
    for k, ((name, predictions, truth), values) in enumerate(zip(cases, rows, strict=True)):
        v = 96.0 + 80 * k
        view = View(160, v, 20.0)
        drawing.text(24, v + 4, name, 13, INK)
        for points, colour in (*((y, TRUTH) for y in truth), *((x, PREDICTION) for x in predictions)):
            drawing.polyline(view(points), colour, 2.6)
        for u, value in zip((560.0, 640.0), values, strict=True):
            drawing.text(u, v + 4, f"{value:.2f}", 14, INK, "middle", 700)
        if k:
            drawing.segment((24, v - 40), (676, v - 40), GREY, 0.5)
    return drawing
