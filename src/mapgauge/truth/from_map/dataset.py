"""A map of one's own with poses, as a data set from which truth is cut."""

from pathlib import Path

import numpy as np
import shapely

from mapgauge.errors import InvalidInput, Remedy, UnreadableFile
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import frames_by_scene
from mapgauge.truth.datasets import Frame, MapLayers, Scene
from mapgauge.truth.lane_graphs import LaneGraph
from mapgauge.truth.rules import TruthRules


class OwnMap:
    """A map and the poses of the frames for which truth is cut."""

    name = "map"

    def __init__(self, path: Path, layers: MapLayers, poses: MapFrames, region: tuple[float, float]) -> None:
        """Check that the poses lie on the map."""
        self.layers = layers
        self.poses = poses
        self.about: dict[str, str] = {"root": str(path.absolute())}
        self.findings: tuple[Finding, ...] = ()
        if poses.poses is None or not len(poses):
            raise UnreadableFile(f"{poses.name}: no poses, expected a pose for each frame")
        shapes = np.concatenate([layer.geometries for layer in (layers.crossings, layers.dividers, layers.boundaries)])
        x_min, y_min, x_max, y_max = shapely.total_bounds(shapes).tolist()
        place = poses.poses[:, :2, 3]
        gap = np.hypot(*np.maximum(np.maximum((x_min, y_min) - place, place - (x_max, y_max)), 0).T)
        off = gap > max(region)
        if off.all():
            raise InvalidInput(
                f"{path}: all poses of {poses.name} lie off the map, at least {gap.min():,.0f} m from it. The map "
                f"reaches from ({x_min:.0f}, {y_min:.0f}) to ({x_max:.0f}, {y_max:.0f}), and the first pose is at "
                f"({place[0, 0]:.0f}, {place[0, 1]:.0f})",
                remedy=Remedy(
                    "Check the projection of the map: project=", "Check the projection of the map: FILE,project="
                ),
            )
        tokens = [poses.tokens[k] for k in np.flatnonzero(off).tolist()]
        text = f"{len(tokens)} of {len(poses)} poses lie off the map"
        self.findings = tuple(findings_about(tokens, "warning", "poses-off-map", text=text))

    def scenes(self) -> list[Scene]:
        """Return the drives, with all their frames in order of time."""
        poses = self.poses
        assert poses.poses is not None
        if poses.timestamps is None:
            stamps = np.arange(len(poses))
        else:
            stamps = poses.timestamps
        steps = [Frame(*step) for step in zip(poses.tokens, stamps.tolist(), poses.poses, strict=True)]
        return [
            Scene(name or "map", tuple(steps[k] for k in rows.tolist()), "map")
            for name, rows in frames_by_scene(poses).items()
        ]

    def cutter(self, scene: Scene, rules: TruthRules) -> MapLayers:
        """Return the layers of the map, which all scenes share."""
        return self.layers

    def lane_graph(self, scene: str) -> LaneGraph:
        """Refuse: these maps have no lanes."""
        raise InvalidInput("a map of your own has no lane graph")
