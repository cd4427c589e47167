"""Reads the lane graphs of nuScenes: lanes and lane connectors of the map expansion, with their arcline paths."""

from pathlib import Path
from typing import NamedTuple

import msgspec

from mapgauge.errors import UnreadableFile
from mapgauge.frames.findings import Finding
from mapgauge.truth.datasets import EXAMPLES
from mapgauge.truth.from_nuscenes.maps import FOLDER, VERSION
from mapgauge.truth.from_nuscenes.tables import by_token, read_table, repeated_records
from mapgauge.truth.json_files import read_json
from mapgauge.truth.lane_graphs.arclines import ArclinePath, path_points
from mapgauge.truth.lane_graphs.argoverse2 import left_out_findings
from mapgauge.truth.lane_graphs.graph import RESOLUTION, Lane, LaneGraph

LARGEST_GAP = 0.1  # metres between the end of a path and its stated end


class _Scene(msgspec.Struct):
    name: str
    log_token: str


class _Log(msgspec.Struct):
    token: str
    location: str


class _Lane(msgspec.Struct):
    token: str
    lane_type: str = ""


class _Connections(msgspec.Struct):
    incoming: list[str] = []
    outgoing: list[str] = []


class _Map(msgspec.Struct):
    lane: list[_Lane] | None = None
    lane_connector: list[_Lane] | None = None
    arcline_path_3: dict[str, list[ArclinePath]] | None = None
    connectivity: dict[str, _Connections] | None = None


class _Layers(NamedTuple):
    lane: list[_Lane]
    lane_connector: list[_Lane]
    arcline_path_3: dict[str, list[ArclinePath]]
    connectivity: dict[str, _Connections]


class SceneGraphs:
    """The lane graph of each scene. Each map is read once."""

    def __init__(self, root: Path, version: str) -> None:
        """Read in which city each scene is."""
        location = {log.token: log.location for log in read_table(root / version / "log.json", _Log)}
        scenes = read_table(root / version / "scene.json", _Scene)
        self.root = root
        self.city = {scene.name: location[scene.log_token] for scene in scenes if scene.log_token in location}
        self._graphs: dict[str, LaneGraph] = {}

    def __call__(self, scene: str) -> LaneGraph:
        """Return the lane graph of the map of a scene."""
        city = self.city[scene]
        if city not in self._graphs:
            self._graphs[city] = read_lane_graph(self.root, city)
        return self._graphs[city]


def read_lane_graph(root: Path, location: str) -> LaneGraph:
    """Read the lanes and lane connectors of one city."""
    path = root / FOLDER / f"{location}.json"
    layers = _layers(path)
    lanes, left_out, apart = [], [], []
    repeated: list[str] = []
    known = [by_token(getattr(layers, name), path, name, repeated) for name in ("lane", "lane_connector")]
    for record, connector in ((one, bool(k)) for k in (0, 1) for one in known[k].values()):
        paths = layers.arcline_path_3.get(record.token, [])
        for k, part in enumerate(paths):
            if part.fault():
                raise UnreadableFile(f"{path}: arcline_path_3 {record.token}, path {k}: {part.fault()}")
        points = path_points(paths, RESOLUTION)
        if len(points) < 2:
            left_out.append(record.token)
            continue
        if any(part.gap > LARGEST_GAP for part in paths):
            apart.append(record.token)
        joins = layers.connectivity.get(record.token, _Connections())
        lanes.append(
            Lane(
                record.token,
                points,
                joins.outgoing,
                joins.incoming,
                intersection=connector,
                lane_type=record.lane_type,
            )
        )
    findings = [*repeated_records(location, repeated), *left_out_findings(location, left_out)]
    if apart:
        text = f"{location}: {len(apart)} lanes have a path that ends more than {LARGEST_GAP} m from its stated end"
        findings.append(Finding("warning", "lane-path-ends", text, len(apart), tuple(apart[:EXAMPLES])))
    return LaneGraph.of(lanes, findings)


def _layers(path: Path) -> _Layers:
    """Read the layers of a map that describe lanes, all of which must be there."""
    remedy = f"Download version {VERSION} of the map expansion"
    try:
        content = read_json(path, _Map, "a map expansion of nuScenes")
    except FileNotFoundError as error:
        raise UnreadableFile(
            f"{path}: no such file. It is part of the map expansion of nuScenes", remedy=remedy
        ) from error
    values = {name: getattr(content, name) for name in _Layers._fields}
    lacking = [name for name, value in values.items() if value is None]
    if lacking:
        raise UnreadableFile(f"{path}: layer {', '.join(lacking)} not found; centrelines need it", remedy=remedy)
    return _Layers(**values)
