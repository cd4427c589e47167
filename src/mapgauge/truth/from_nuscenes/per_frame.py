"""Cuts the map of nuScenes frame by frame: the cutter of the rules of public repositories."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mapgauge.frames.findings import Finding
from mapgauge.truth.cutting.crossings import FRAME_MERGES
from mapgauge.truth.cutting.fragments import Fragment, simplify_fragments
from mapgauge.truth.cutting.layers import Layer
from mapgauge.truth.cutting.lines import cut_lines
from mapgauge.truth.cutting.patches import Patches
from mapgauge.truth.cutting.per_frame import cut_boundaries, cut_crossings, cut_lines_apart
from mapgauge.truth.cutting.placed_boxes import PlacedBoxes
from mapgauge.truth.cutting.ring_places import RingPlaces
from mapgauge.truth.datasets import Frame
from mapgauge.truth.rules import Rules


@dataclass(frozen=True, eq=False)
class MapElements:
    """The elements of a map that the rules need, as they are in the file."""

    crossings: Layer  # polygons
    dividers: Layer  # lines
    areas: tuple[Layer, ...]  # polygons; the edge of their union is the boundary
    edges: RingPlaces  # names boundaries
    findings: tuple[Finding, ...] = ()  # about this map; the same map always has the same findings

    def __post_init__(self) -> None:
        """Build the spatial indices before several threads use them."""
        for layer in (self.crossings, self.dividers, *self.areas, self.edges.rings):
            _ = layer.tree
        _ = self.dividers.lines if len(self.dividers) else None

    def cut(
        self, frames: Sequence[Frame], rules: Rules, region: tuple[float, float]
    ) -> Sequence[Sequence[Sequence[Fragment]]]:
        """Return the fragments of each class, in the order of ``CLASSES``, in each frame, with x forward."""
        poses = [frame.pose for frame in frames]
        centres, headings = np.array([pose[:2, 3] for pose in poses]), [frame.heading for frame in frames]
        # The converters cut in the axes of the centre, and turn the result last. The x axis of the LiDAR points right.
        boxes = PlacedBoxes.of(centres, headings, region, "x" if rules.centre == "ego" else "y")
        crossings = cut_crossings(
            self.crossings,
            boxes,
            FRAME_MERGES[rules.crossing_merge],
            clockwise=rules.crossing_clockwise,
            holes=rules.crossing_holes,
            again=rules.crossing_again,
        )
        if rules.split_lines:
            dividers = cut_lines_apart(self.dividers, boxes)
        else:
            dividers = cut_lines(self.dividers, Patches.of(poses, region))
        boundaries = cut_boundaries(self.areas, boxes, self.edges, rules.boundary_grow)
        return [simplify_fragments(fragments, rules.simplify) for fragments in (crossings, dividers, boundaries)]
