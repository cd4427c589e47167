"""PLD over the steps of a training, from the results of ``examples/train_polylines.py --study``."""

import json
from pathlib import Path

import numpy as np
from docs.pictures.drawing import BLUE, GREEN, GREY, INK, ORANGE, VERMILION, Axis, Chart, Drawing

RESULTS = Path(__file__).with_name("training.json")
CURVES = {
    "L1": ("L1", INK),
    "SOSPA": ("SOSPA", ORANGE),
    "PLD, with all of the L1": ("PLD, with all of the L1", GREEN),
    "SOSPA and PLD, weight 10": ("SOSPA and PLD, weight 10", VERMILION),
    "SOSPA and PLD": ("SOSPA and PLD", BLUE),
}


def draw_training() -> Drawing:
    """PLD on the validation parts of both worlds. Before the switch, all variants are the same models."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    drawing = Drawing(
        740, 350, "PLD over the steps of a training", "Two charts: the demo world and real roads. Lower is better."
    )
    worlds = (
        ("demo", "demo world", (0.65, 0.95), (0.7, 0.8, 0.9)),
        ("roads", "real roads", (0.9, 0.98), (0.9, 0.94, 0.98)),
    )
    for k, (part, title, (low, high), ticks) in enumerate(worlds):
        left = 62 + 360 * k
        chart = Chart(
            drawing,
            (left, 62, 290, 190),
            Axis("steps", 0, 8000, (0, 2000, 4000, 6000, 8000)),
            Axis(f"PLD, {title}", low, high, ticks),
        )
        switch = chart.at([[4800, low], [4800, high]])
        drawing.segment(tuple(switch[0]), tuple(switch[1]), GREY, 1)
        drawing.text(switch[1][0] - 5, switch[1][1] + 12, "switch", 12, GREY, "end")
        for name, (_, colour) in CURVES.items():
            values = {float(step): float(np.mean(seeds)) for step, seeds in results[part]["curves"][name].items()}
            chart.curve(values, values.__getitem__, colour, 2.0)
    for k, (words, colour) in enumerate(CURVES.values()):
        drawing.text(62 + 225 * (k % 3), 318 + 19 * (k // 3), words, 12.5, colour)
    return drawing
