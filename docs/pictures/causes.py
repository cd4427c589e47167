"""A picture of the causes of PLD: one small scene for each, whose cause is computed."""

import numpy as np
from docs.pictures.drawing import GREY, INK, PALE, PREDICTION, TRUTH, Drawing

import mapgauge as mg
from mapgauge.metrics.causes import CAUSES, label_of
from mapgauge.views.pictograms import SCENES

ACROSS, WIDTH, HEIGHT, SCALE = 3, 280, 118, 15.0


def largest_cause(name: str) -> str:
    """Return the largest cause of a scene."""
    true, dividers, boundaries = SCENES[name]
    lines = {"divider": [points for points, _ in dividers], "boundary": [points for points, _ in boundaries]}
    sure = {"divider": [r for _, r in dividers], "boundary": [r for _, r in boundaries]}
    classes = ("divider", "boundary")
    predictions = mg.MapFrames.of({"a": lines}, confidence={"a": sure}, classes=classes)
    truth = mg.MapFrames.of({"a": {"divider": true}}, classes=classes)
    found = mg.causes(mg.evaluate(predictions, truth, mg.protocol("paper-60x30", classes=classes), metrics=["pld"]))
    return max(found.mean, key=lambda cause: found.mean[cause])


def draw_causes() -> Drawing:
    """One card for each cause: truth in blue below, predictions in vermilion above it."""
    rows = -(-len(CAUSES) // ACROSS)
    drawing = Drawing(
        *(24 + ACROSS * WIDTH, 64 + rows * HEIGHT),
        "The causes of PLD",
        f"{len(CAUSES)} small scenes. Each has true lines and predictions, and shows one cause of PLD.",
    )
    drawing.text(
        24,
        34,
        "wide: truth; thin: predictions, with their confidence if it is not 1; thin and black: of another class",
        13.5,
        GREY,
    )
    for k, name in enumerate(CAUSES):
        if largest_cause(name) != name:
            raise ValueError(f"the scene of {name} has another cause")
        left, top = 24 + (k % ACROSS) * WIDTH, 52 + (k // ACROSS) * HEIGHT
        drawing.box(left, top, WIDTH - 24, HEIGHT - 14, PALE)
        drawing.text(left + 12, top + 22, label_of(name), 14, INK, weight=700)
        origin = np.array([left + 22.0, top + 74.0])
        true, dividers, boundaries = SCENES[name]
        for points in true:
            drawing.curve(origin + np.array(points) * [SCALE, -SCALE], TRUTH, 7)
        for colour, found in ((PREDICTION, dividers), (INK, boundaries)):
            for points, sure in found:
                line = origin + np.array(points) * [SCALE, -SCALE]
                drawing.curve(line, colour, 2.4)
                for at in line[[0, -1]]:
                    drawing.dot(at, 3.4, colour)
                if sure < 1:
                    drawing.text(line[-1][0] - 18, line[-1][1] - 9, f"{sure:g}", 12, colour)
    return drawing
