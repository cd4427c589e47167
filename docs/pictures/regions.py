"""The picture of the region of a drive round a bend: with teeth, and closed."""

import numpy as np
import shapely
from docs.pictures.drawing import GREEN, GREY, INK, PALE, VERMILION, Drawing, Points, View

from mapgauge.features.global_map.region import cut, region_of
from mapgauge.geometry.polylines import Polylines

RADIUS, STEP, BESIDE = 60.0, 5.0, 20.0  # metres: of the bend, between poses, and of the boundary beside the path


def bend() -> tuple[Points, Points]:
    """Return poses round a bend, ``(poses, 4, 4)``, and a boundary beside it."""
    angle = np.arange(0, np.pi, STEP / RADIUS)
    poses = np.tile(np.eye(4), (len(angle), 1, 1))
    poses[:, 0, 0] = poses[:, 1, 1] = -np.sin(angle)
    poses[:, 1, 0], poses[:, 0, 1] = np.cos(angle), -np.cos(angle)
    poses[:, 0, 3], poses[:, 1, 3] = RADIUS * np.cos(angle), RADIUS * np.sin(angle)
    around = np.linspace(0, np.pi, 400)
    return poses, (RADIUS + BESIDE) * np.stack([np.cos(around), np.sin(around)], axis=1)


def draw_regions() -> Drawing:
    """The pieces of a boundary in the union of the boxes, and in the closed region."""
    poses, boundary = bend()
    box = (-30.0, -15.0, 30.0, 15.0)
    open_region, closed = region_of(poses, box, 0.0), region_of(poses, box)
    parts = shapely.get_parts(shapely.intersection(open_region, shapely.linestrings(boundary)))
    cases = [
        (f"union of the boxes: {len(parts)} pieces", open_region, [shapely.get_coordinates(part) for part in parts]),
        ("closed region", closed, list(cut(Polylines.of([boundary]), closed).polylines)),
    ]
    cases[1] = (f"closed region: {len(cases[1][2])} piece", closed, cases[1][2])
    words = "; ".join(case[0] for case in cases)
    drawing = Drawing(700, 250, "A boundary beside a bend", f"The boundary beside a bend falls into pieces. {words}.")
    for k, (title, region, pieces) in enumerate(cases):
        view = View(180.0 + 340 * k, 210.0, 1.75)
        edge = view(shapely.get_coordinates(region.exterior))
        drawing.curve(edge, GREY, 0.8)
        for n, piece in enumerate(pieces):
            drawing.curve(view(piece), (VERMILION, GREEN)[n % 2], 3.0)
        drawing.curve(view(poses[:, :2, 3]), PALE, 2.0)
        drawing.text(180.0 + 340 * k, 30, title, 13, INK, "middle", 700)
    return drawing
