"""What a data set provides for cutting truth: scenes, their frames, and the layers of their maps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.truth.cutting.fragments import Fragment, cut_lines, cut_polygons, simplify_fragments
from mapgauge.truth.cutting.shapes import Layer, Patches
from mapgauge.truth.lane_graphs import LaneGraph
from mapgauge.truth.rules import TruthRules
from mapgauge.words import counted

Classes: TypeAlias = Sequence[Sequence[Sequence[Fragment]]]  # of each class of ``CLASSES`` and each frame


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
        _ = [layer.lines for layer in (self.dividers, self.boundaries) if len(layer)], self.crossings.tree

    def cut(self, frames: Sequence[Frame], rules: TruthRules, region: tuple[float, float]) -> Classes:
        """Return the fragments of each class, in the order of ``CLASSES``, in each frame, with x forward."""
        patches = Patches.of([frame.pose for frame in frames], region)
        crossings = cut_polygons(self.crossings, patches, rules)
        dividers = cut_lines(self.dividers, patches, shortest=rules.shortest)
        boundaries = cut_lines(self.boundaries, patches, grow=rules.boundary_grow, shortest=rules.shortest)
        return [simplify_fragments(fragments, rules.simplify) for fragments in (crossings, dividers, boundaries)]


class Cutter(Protocol):
    """Cuts the elements of one map at the regions of frames. A set of rules chooses the cutter."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """About this map; the same map always has the same findings."""

    def cut(self, frames: Sequence[Frame], rules: TruthRules, region: tuple[float, float]) -> Classes:
        """Return the fragments of each class, in the order of ``CLASSES``, in each frame, with x forward."""


class Dataset(Protocol):
    """A data set from which truth can be cut."""

    name: str  # as in ``RULES``
    about: dict[str, str]  # root and version; stored with finished scenes to recognise them
    findings: tuple[Finding, ...]  # about the scenes and frames, complete after ``scenes`` was called

    def scenes(self) -> Sequence[Scene]:
        """Return the scenes to cut, in order, with the selected frames."""

    def cutter(self, scene: Scene, rules: TruthRules) -> Cutter:
        """Return what cuts the map of a scene. Several threads may call this at the same time."""

    def lane_graph(self, scene: str) -> LaneGraph:
        """Return the lane graph of the map of a scene, given its name. ``scenes`` must have been called."""


def map_findings(
    map_name: str, *, skipped: Sequence[str] = (), repaired: Sequence[str], left_out: Sequence[str]
) -> tuple[Finding, ...]:
    """Return the findings about elements of a map that were skipped, repaired or left out, given their ids."""
    invalid = "invalid polygons (they cross or touch themselves) were"
    skipping = f"{map_name}: {len(skipped)} {invalid} left out, as in the public converters"
    repairing = f"{map_name}: {len(repaired)} {invalid} repaired"
    leaving = f"{map_name}: {counted(len(left_out), 'element')} with too few points for a line or a polygon left out"
    remedy = Remedy('Pass rules="mapgauge" to repair them', "Pass --rules mapgauge to repair them")
    return (
        *findings_about(skipped, "note", "polygons-skipped", text=skipping, remedy=remedy),
        *findings_about(repaired, "note", "polygons-repaired", text=repairing),
        *findings_about(left_out, "note", "elements-left-out", text=leaving),
    )
