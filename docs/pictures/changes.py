"""The picture of changed maps: lines by their state, and the parts of PLD of predictions and of a copy of the prior."""

import numpy as np
from docs.pictures.drawing import BLUE, GREEN, GREY, INK, ORANGE, PALE, PREDICTION, SKY, TRUTH, VERMILION, Drawing, View

import mapgauge as mg
from mapgauge.features.priors.states import PARTS

COLOURS = dict(zip(PARTS, (SKY, BLUE, GREEN, ORANGE, VERMILION), strict=True))


def _line(height: float) -> list[list[float]]:
    return [[float(x), height + 0.2 * float(np.sin(x / 3))] for x in range(15)]


def draw_changes() -> Drawing:
    """Five dividers, of which one is kept, one moved, one inserted and two are false, and two bars with the parts."""
    truth, prior = {"kept": 0.0, "moved": 3.0, "inserted": 6.0}, {"kept": 0.0, "moved": 3.9, "stale": 9.0}
    predicted = {"kept": 0.3, "moved": 3.3, "inserted": 6.5, "stale": 9.1, "invented": 12.0}
    frames = [mg.MapFrames.of({"a": {"divider": [_line(y) for y in side.values()]}}) for side in (truth, prior)]
    predictions = mg.MapFrames.of({"a": {"divider": [_line(y) for y in predicted.values()]}}).with_confidence(1)
    results = mg.evaluate(predictions, frames[0], mg.protocol("paper-60x30", classes=["divider"]), metrics=["pld"])
    values = mg.changes(results, frames[1]).values()[0]
    drawing = Drawing(
        760,
        330,
        "PLD by what changed since the prior",
        "Lines of a prior, of the truth and of predictions, and the parts of PLD as two bars.",
    )
    view = View(110, 290, 17.0)
    for u, colour, title, width in (
        (110.0, PALE, "prior", 9.0),
        (200.0, TRUTH, "truth", 3.4),
        (290.0, PREDICTION, "prediction", 1.6),
    ):
        drawing.segment((u, 30), (u + 24, 30), colour, width)
        drawing.text(u + 32, 34, title)
    for side, colour, width in ((prior, PALE, 9.0), (truth, TRUTH, 3.4), (predicted, PREDICTION, 1.6)):
        for y in side.values():
            drawing.curve(view(np.array(_line(y))), colour, width)
    for name, y in predicted.items():
        drawing.text(100, float(view(np.array([[0.0, y]]))[0, 1]) + 4, name, 13, COLOURS[name], "end", 700)
    for k, (title, prefix) in enumerate((("prediction", ""), ("copy of the prior", "copy_"))):
        u, base, tall = 470.0 + 150 * k, 290.0, 200.0
        drawing.text(u + 30, base + 20, title, 13, INK, "middle")
        for part in PARTS:
            height = tall * values[f"{prefix}{part}"]
            drawing.box(u, base - height, 60, height, COLOURS[part])
            if height > 8:
                drawing.text(u + 68, base - height / 2 + 4, f"{part} {values[prefix + part]:.2f}", 12, GREY)
            base -= height
        drawing.text(u + 30, base - 8, f"PLD {values[f'{prefix}pld']:.2f}", 13, INK, "middle", 700)
    return drawing
