"""Charts of how settings, confidences and frames change a number."""

from collections.abc import Callable

import numpy as np
from docs.pictures.drawing import BLUE, GREEN, INK, ORANGE, SKY, VERMILION, Axis, Chart, Drawing

import mapgauge as mg

CUTOFF = 1.5  # metres


def draw_prices() -> Drawing:
    """The cost of a pair of points over its distance, for several cutoffs and orders."""
    drawing = Drawing(700, 300, "What cutoff and order do to the price of a pair of points", "Two charts.")
    x = np.linspace(0, 3, 61).tolist()
    left = Chart(
        drawing,
        (66, 62, 250, 170),
        Axis("distance of the two points, m", 0, 3, (0, 1, 2, 3)),
        Axis("price, m: order 1", 0, 3, (0, 1, 2, 3)),
    )
    for cutoff, colour in ((0.5, VERMILION), (1.5, BLUE), (2.5, GREEN)):

        def price(distance: float, cutoff: float = cutoff) -> float:
            return mg.sospa([[0, 0]], [[0, distance]], cutoff=cutoff)  # of two single points, matched or not

        end = left.curve(x, price, colour)[-1]
        drawing.text(end[0], end[1] - 7, f"c = {cutoff:g} m", 12.5, colour, "end")
    right = Chart(
        drawing,
        (420, 62, 250, 170),
        Axis("distance of the two points, m", 0, 2, (0, 0.5, 1, 1.5, 2)),
        Axis("share of the full price: c = 1.5 m", 0, 1, (0, 0.5, 1)),
    )
    for k, (order, colour) in enumerate(((1, BLUE), (2, ORANGE), (4, VERMILION))):

        def share(distance: float, p: int = order) -> float:
            return (mg.sospa([[0, 0]], [[0, distance]], cutoff=CUTOFF, order=p) / CUTOFF) ** p

        right.curve(np.linspace(0, 2, 101).tolist(), share, colour)
        drawing.text(432, 92 + 19 * k, f"order {order}", 12.5, colour)
    return drawing


def draw_offsets() -> Drawing:
    """AP and PLD over the offset of an otherwise perfect map."""
    truth = mg.MapFrames.of({"a": {"divider": [[[-20, y], [20, y]] for y in (-4, 0, 4)]}})
    settings = mg.protocol("paper-60x30", classes=["divider"])
    offsets = np.linspace(0, 1.8, 181)
    rows = []
    for offset in offsets.tolist():
        moved = mg.MapFrames.of({"a": {"divider": [[[-20, y + offset], [20, y + offset]] for y in (-4, 0, 4)]}})
        rows.append(mg.evaluate(moved.with_confidence(1), truth, settings).mean)
    drawing = Drawing(
        700, 320, "AP and PLD over an offset", "A perfect map, moved sideways: AP falls in steps, PLD rises."
    )
    chart = Chart(
        drawing,
        (66, 62, 430, 190),
        Axis("all lines moved sideways by, m", 0, 1.8, (0, 0.5, 1, 1.5)),
        Axis("value", 0, 1, (0, 0.5, 1)),
    )
    curves = (("Chamfer-AP", "ap_chamfer", BLUE), ("Fréchet-AP", "ap_frechet", GREEN), ("PLD", "pld", VERMILION))
    for k, (label, key, colour) in enumerate(curves):
        values = dict(zip(offsets.tolist(), (row[key] or 0.0 for row in rows), strict=True))
        chart.curve(offsets.tolist(), values.__getitem__, colour, 3 if key == "pld" else 2)
        drawing.segment((530, 100 + 26 * k), (552, 100 + 26 * k), colour, 3)
        drawing.text(560, 104 + 26 * k, label, 13)
    return drawing


def draw_switches() -> Drawing:
    """T-PLD of one line in 30 frames over the switch cost, for several ways to give ids."""
    line = np.array([[float(x), 0.0] for x in range(5)])
    cases: tuple[tuple[str, Callable[[int], str], str], ...] = (
        ("a new id in every frame", str, VERMILION),
        ("a new id every five frames", lambda k: str(k // 5), ORANGE),
        ("another id in one frame", lambda k: "b" if k == 15 else "a", GREEN),
        ("one switch, at any frame", lambda k: "a" if k < 15 else "b", BLUE),
        ("one id", lambda k: "a", INK),
    )
    drawing = Drawing(
        700,
        320,
        "T-PLD over the switch cost",
        "One line in 30 frames: T-PLD rises with the switch cost, up to a limit.",
    )
    chart = Chart(
        drawing,
        (66, 62, 380, 190),
        Axis("switch cost", 0, 1.5, (0, 0.5, 1, 1.5)),
        Axis("normalised T-PLD", 0, 1, (0, 0.5, 1)),
    )
    for k, (label, name, colour) in enumerate(cases):

        def value(cost: float, name: Callable[[int], str] = name) -> float:
            predictions = [{name(frame): line + np.array([0.0, CUTOFF / 19])} for frame in range(30)]
            sure = [dict.fromkeys(frame, 0.9) for frame in predictions]
            return mg.track_pld(predictions, [{"line": line}] * 30, confidence=sure, switch_cost=cost).normalised

        chart.curve(np.linspace(0, 1.5, 31).tolist(), value, colour)
        drawing.segment((470, 90 + 26 * k), (492, 90 + 26 * k), colour, 3)
        drawing.text(500, 94 + 26 * k, label, 13)
    return drawing


def draw_confidence() -> Drawing:
    """PLD of a frame over the confidence of one prediction: a false alarm, a near match and a far match."""
    lane = mg.resample([[0, 0], [20, 0]], spacing=0.5)
    others = [lane + np.array([0, 4 * k]) for k in (1, 2, 3)]
    drawing = Drawing(700, 320, "PLD over a confidence", "PLD over the confidence of a false alarm and of matches.")
    chart = Chart(
        drawing,
        (66, 62, 400, 190),
        Axis("confidence of one prediction", 0, 1, (0, 0.25, 0.5, 0.75, 1)),
        Axis("normalised PLD of the frame", 0, 0.4, (0, 0.1, 0.2, 0.3, 0.4)),
    )
    cases = (
        ("false alarm", [*others], 40.0, VERMILION),
        ("match, 0.1 m off", [*others, lane], 0.1, BLUE),
        ("match, 0.5 m off", [*others, lane], 0.5, SKY),
        ("match, 1 m off", [*others, lane], 1.0, ORANGE),
    )
    for label, truth, offset, colour in cases:
        predictions = [*others, lane - np.array([0, offset])]

        def value(
            r: float, truth: list[mg.typing.Points] = truth, predictions: list[mg.typing.Points] = predictions
        ) -> float:
            return mg.pld(predictions, truth, confidence=[0.9, 0.9, 0.9, r]).normalised

        end = chart.curve(np.linspace(0, 1, 51).tolist(), value, colour)[-1]
        drawing.text(end[0] + 10, end[1] + 4, label, 12.5, colour if colour != SKY else INK)
    return drawing


# Lines in a frame, how far off they are predicted in metres (None: not at all), and false alarms of confidence 0.3.
FRAMES = ((10, 0.1, 0), (8, 0.2, 0), (8, 0.1, 1), (2, 0.6, 0), (1, None, 0), (1, None, 0), (0, None, 1), (0, None, 0))


def draw_frames() -> Drawing:
    """Frames as bars. The height is the PLD, and the width is the weight in the pooled value."""
    results = []
    for lines, offset, false in FRAMES:
        truth = [mg.resample([[0, 4 * k], [20, 4 * k]], spacing=0.5) for k in range(lines)]
        found = [] if offset is None else [line + np.array([0, offset]) for line in truth]
        alarms = [mg.resample([[0, 90], [20, 90]], spacing=0.5)] * false
        results.append(mg.pld([*found, *alarms], truth, confidence=[0.9] * len(found) + [0.3] * false))
    pooled, mean = sum(results[1:], results[0]).normalised, float(np.mean([frame.normalised for frame in results]))
    weights = np.array([frame.mass + frame.value for frame in results])
    edges = np.concatenate([[0], np.cumsum(weights) / weights.sum()])
    drawing = Drawing(
        700,
        310,
        "Pooled PLD and the mean over frames",
        f"Eight frames; pooled {pooled:.3f}, mean over frames {mean:.3f}.",
    )
    chart = Chart(
        drawing,
        (66, 62, 440, 180),
        Axis("frames, as wide as their mass plus their PLD", 0, 1, ()),
        Axis("normalised PLD", 0, 1, (0, 0.5, 1)),
    )
    for k, frame in enumerate(results):
        (a, top), (b, bottom) = chart.at([[edges[k], frame.normalised], [edges[k + 1], 0]])
        drawing.box(a, top, b - a, round(bottom - top, 1), SKY)
    for value, label, colour in ((pooled, "pooled", BLUE), (mean, "mean over frames", VERMILION)):
        (a, v), (b, _) = chart.at([[0, value], [1, value]])
        drawing.segment((a, v), (b, v), colour, 2)
        drawing.text(b + 10, v + 4, f"{label} {value:.3f}", 12.5, colour)
    return drawing
