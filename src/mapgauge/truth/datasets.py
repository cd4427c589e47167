"""What a data set provides for cutting truth: scenes, their frames, and the layers of their maps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding
from mapgauge.truth.cutting.crossings import FRAME_MERGES
from mapgauge.truth.cutting.fragments import Fragment, simplify_fragments
from mapgauge.truth.cutting.layers import Layer
from mapgauge.truth.cutting.lines import cut_lines
from mapgauge.truth.cutting.patches import Patches
from mapgauge.truth.cutting.polygons import cut_polygons
from mapgauge.truth.rules import Rules

EXAMPLES = 3  # names that a finding or an error lists


class Frame(NamedTuple):
    """One time step of a scene."""

    token: str
    timestamp: int  # in the unit of the data set
    pose: NDArray[np.float64]  # (4, 4), of the centre of the region, x forward; to the coordinates of the map
    heading: float = math.nan  # of the x axis of the vehicle or LiDAR, degrees, rounded as in a public converter


class Scene(NamedTuple):
    """A drive through a map."""

    name: str
    frames: tuple[Frame, ...]  # in order of time
    map: str  # name of the map; a data set has one map for many scenes, or one for each scene


@dataclass(frozen=True, eq=False)
class MapLayers:
    """The layers of a map that the rules need, prepared once: the cutter of rules that look at whole maps."""

    crossings: Layer  # polygons
    dividers: Layer  # lines
    boundaries: Layer  # closed lines with the road on their right
    findings: tuple[Finding, ...] = ()  # about this map; the same map always has the same findings

    def __post_init__(self) -> None:
        """Build the spatial indices before several threads use them."""
        for layer in (self.dividers, self.boundaries):
            _ = layer.lines if len(layer) else None
        _ = self.crossings.tree

    def cut(
        self, frames: Sequence[Frame], rules: Rules, region: tuple[float, float]
    ) -> Sequence[Sequence[Sequence[Fragment]]]:
        """Return the fragments of each class, in the order of ``CLASSES``, in each frame, with x forward."""
        patches = Patches.of([frame.pose for frame in frames], region)
        crossings = cut_polygons(
            self.crossings,
            patches,
            merge=FRAME_MERGES[rules.crossing_merge],
            clockwise=rules.crossing_clockwise,
            holes=rules.crossing_holes,
            open_at=rules.crossing_cut,
        )
        dividers = cut_lines(self.dividers, patches)
        boundaries = cut_lines(self.boundaries, patches, grow=rules.boundary_grow)
        return [simplify_fragments(fragments, rules.simplify) for fragments in (crossings, dividers, boundaries)]


class Cutter(Protocol):
    """Cuts the elements of one map at the regions of frames. A set of rules chooses the cutter."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """About this map; the same map always has the same findings."""

    def cut(
        self, frames: Sequence[Frame], rules: Rules, region: tuple[float, float]
    ) -> Sequence[Sequence[Sequence[Fragment]]]:
        """Return the fragments of each class, in the order of ``CLASSES``, in each frame, with x forward."""


class Dataset(Protocol):
    """A data set from which truth can be cut."""

    name: str  # as in ``RULES``
    about: dict[str, str]  # root and version; stored with finished scenes to recognise them
    findings: tuple[Finding, ...]  # about the scenes and frames, complete after ``scenes`` was called

    def scenes(self) -> Sequence[Scene]:
        """Return the scenes to cut, in order, with the selected frames."""

    def cutter(self, scene: Scene, rules: Rules) -> Cutter:
        """Return what cuts the map of a scene. Several threads may call this at the same time."""


def skipped_polygons(map_name: str, ids: Sequence[str]) -> list[Finding]:
    """Return the finding about invalid polygons that were left out, given their ids."""
    text = (
        f"{map_name}: {len(ids)} invalid polygons (they cross or touch themselves) were left out, as in the public "
        "converters"
    )
    remedy = Remedy('Pass rules="mapgauge" to repair them', "Pass --rules mapgauge to repair them")
    return [Finding("note", "polygons-skipped", text, len(ids), tuple(ids[:EXAMPLES]), remedy)] if ids else []


def map_findings(map_name: str, repaired: Sequence[str], left_out: Sequence[str]) -> list[Finding]:
    """Return the findings about map elements that were repaired or left out, given their ids."""
    return [
        Finding("note", code, f"{map_name}: {len(ids)} {text}", len(ids), tuple(ids[:EXAMPLES]))
        for code, ids, text in (
            ("polygons-repaired", repaired, "invalid polygons (they cross or touch themselves) were repaired"),
            ("elements-left-out", left_out, "elements with too few points for a line or a polygon were left out"),
        )
        if ids
    ]
