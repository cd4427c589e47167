"""The picture of raster scores: IoU over the distance of two lines."""

import numpy as np
from docs.pictures.drawing import BLUE, GREEN, INK, ORANGE, SKY, VERMILION, Axis, Chart, Drawing

import mapgauge as mg

RULES = (
    ("mapvr-60x30", "MapVR: 5 pixels of 0.125 m", VERMILION),
    ("hdmapnet-60x30", "HDMapNet: 7 pixels of 0.15 m", BLUE),
    ("maptracker-iou-60x30", "MapTracker, 60 x 30 m: 5 pixels of 0.3 m", GREEN),
    ("maptracker-iou-100x50", "MapTracker, 100 x 50 m: 5 pixels of 0.5 m", ORANGE),
    ("pmapnet-120x60", "P-MapNet, 120 x 60 m: 7 pixels of 0.3 m", SKY),
)
PLACES = 40  # lines that lie at different places between two pixels


def _frames(offset: float) -> mg.MapFrames:
    """Frames with one straight divider across the whole region, each at another place."""
    heights = offset + np.linspace(1, 2, PLACES, endpoint=False)
    return mg.MapFrames.of({f"{k}": {"divider": [[[-200, y], [200, y]]]} for k, y in enumerate(heights)})


def draw_rasters() -> Drawing:
    """IoU of a divider that is moved sideways, by the drawing rules of five evaluators."""
    drawing = Drawing(
        700, 330, "IoU over the distance of two lines", "Five curves that fall from 1 to 0: wider lines fall later."
    )
    chart = Chart(
        drawing,
        (66, 62, 330, 200),
        Axis("distance of prediction and truth, m", 0, 2.5, (0, 0.5, 1, 1.5, 2, 2.5)),
        Axis("IoU", 0, 1, (0, 0.25, 0.5, 0.75, 1)),
    )
    truth = _frames(0.0)
    for k, (name, title, colour) in enumerate(RULES):
        protocol = mg.protocol(name, classes=["divider"])
        key = "raster_frame_iou" if name.startswith("mapvr") else "raster_iou"

        def iou(distance: float, protocol: mg.Protocol = protocol, key: str = key) -> float:
            moved = _frames(distance).with_confidence(1)
            return mg.evaluate(moved, truth, protocol, metrics=[key]).mean[key] or 0.0

        chart.curve(np.linspace(0, 2.5, 26).tolist(), iou, colour)
        drawing.box(414, 84 + 26 * k, 14, 4, colour)
        drawing.text(436, 91 + 26 * k, title, 12.5, INK)
    drawing.text(436, 91 + 26 * len(RULES) + 12, "mean over places between two pixels", 12.5)
    return drawing
