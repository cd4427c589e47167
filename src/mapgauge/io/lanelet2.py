"""Lanelet2's maps, which are OSM XML: ways are lines, and lanelets are relations of two ways.

Types of ways and subtypes of lanelets that mean a class are read. All others are counted and left out. Truth is cut
from the same elements.
"""

import io
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias
from xml.etree import ElementTree

from mapgauge.frames.findings import left_out_of
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.synonyms import SYNONYMS, usual_class
from mapgauge.geometry.projections import GEOGRAPHIC, PROJECT
from mapgauge.io._format import Format, ReadOptions
from mapgauge.io._geojson_objects import read_rows
from mapgauge.io.files.source import Content

_HEAD = 4096  # bytes that are searched for the first element
_BEFORE = b"\xef\xbb\xbf \t\r\n"  # a byte order mark and blanks
_Places: TypeAlias = dict[str, tuple[float, float]]
ClassOf: TypeAlias = Callable[[str], str | None]


class _OsmElement(NamedTuple):
    """A way, whose members are nodes, or a relation, whose members have roles."""

    tags: dict[str, str]
    members: list[str]
    roles: list[str]


class _OsmDocument(NamedTuple):
    nodes: _Places  # longitude, latitude
    local: _Places  # metres, as in Autoware's maps
    ways: dict[str, _OsmElement]
    relations: dict[str, _OsmElement]


class MapElement(NamedTuple):
    """An element of a map: a line, an area, or something without a known class."""

    name: str
    kind: str  # what the map calls it
    geometry: dict[str, Any] | None  # of GeoJSON


def is_xml(data: bytes) -> bool:
    """Whether a file is XML."""
    return data[:_HEAD].lstrip(_BEFORE).startswith(b"<")


def read_elements(content: Content, class_of: ClassOf, *, geographic: bool) -> tuple[list[MapElement], str | None]:
    """Return the elements of a map, and their reference system: None if the coordinates are metres.

    ``class_of`` gives the class of a type of ways and of a subtype of lanelets and areas. Nodes have their local
    coordinates, unless ``geographic`` asks for longitude and latitude.
    """
    document = _parse(content)
    used = {node for way in document.ways.values() for node in way.members}
    if unknown := used - document.nodes.keys():
        raise content.error(f"a way refers to the node {min(unknown)}, which is not in the file")
    lacking = used - document.local.keys()
    has_local = not geographic and len(lacking) < len(used)
    if has_local and lacking:
        raise content.error(f"{len(lacking)} of {len(used)} nodes have no local_x and local_y, expected all or none")
    if has_local:
        places = document.local
    else:
        places = document.nodes
    if nowhere := [node for node in used if not all(map(math.isfinite, places[node]))]:
        raise content.error(f"node {min(nowhere)}: a coordinate is not a finite number")
    elements = _ways(document.ways, class_of, places)
    for name, relation in document.relations.items():
        kind = relation.tags.get("type", "relation")
        subtype = relation.tags.get("subtype", "")
        if kind.lower() in ("lanelet", "multipolygon") and class_of(subtype):
            elements.append(MapElement(name, subtype, _area(relation, document.ways, places)))
        else:
            elements.append(MapElement(name, f"{kind} {subtype}".strip(), geometry=None))
    return elements, None if has_local else GEOGRAPHIC


def _parse(content: Content) -> _OsmDocument:
    document = _OsmDocument({}, {}, {}, relations={})
    seen: set[tuple[str, str]] = set()
    try:
        for _, node in ElementTree.iterparse(io.BytesIO(content.data)):
            is_deleted = node.get("action") == "delete" or node.get("visible") == "false"
            if node.tag not in ("node", "way", "relation") or is_deleted:
                continue
            name = node.get("id", "")
            tags = {tag.get("k", ""): tag.get("v", "") for tag in node.iter("tag")}
            if not name:
                raise content.error(f"a {node.tag} has no id")
            if (node.tag, name) in seen:
                raise content.error(f"two elements are the {node.tag} {name}, expected one of each id")
            seen.add((node.tag, name))
            if node.tag == "node":
                # Autoware leaves both empty where a node has local coordinates.
                document.nodes[name] = float(node.get("lon") or "nan"), float(node.get("lat") or "nan")
                if "local_x" in tags and "local_y" in tags:
                    document.local[name] = float(tags["local_x"]), float(tags["local_y"])
            else:
                members = list(node.iter("nd" if node.tag == "way" else "member"))
                refs, roles = ([each.get(key, "") for each in members] for key in ("ref", "role"))
                if node.tag == "way":
                    elements = document.ways
                else:
                    elements = document.relations
                elements[name] = _OsmElement(tags, refs, roles)
            node.clear()
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # LookupError: an unknown encoding
        raise content.error(f"not a Lanelet2 map: {error}") from error
    return document


def _ways(ways: Mapping[str, _OsmElement], class_of: ClassOf, places: _Places) -> list[MapElement]:
    """Return all ways. Ways of a class are joined where exactly two of them meet."""
    types = {name: way.tags.get("type", "way without a type") for name, way in ways.items()}
    by_class: dict[str, dict[str, list[str]]] = {}
    for name, way in ways.items():
        class_name = class_of(types[name])
        if class_name and len(way.members) > 1:
            is_open_area = way.tags.get("area") == "yes" and way.members[0] != way.members[-1]
            if is_open_area:
                nodes = [*way.members, way.members[0]]
            else:
                nodes = way.members
            by_class.setdefault(class_name, {})[name] = nodes
    joined = {name: line for own in by_class.values() for name, line in _joined(own).items()}
    continued = {name for own in by_class.values() for name in own if name not in joined}
    elements = []
    for name, kind in types.items():
        if name in continued:
            continue
        geometry = None
        if name in joined:
            geometry = {"type": "LineString", "coordinates": [list(places[node]) for node in joined[name]]}
        elements.append(MapElement(name, kind, geometry))
    return elements


def _joined(ways: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Join ways at nodes where exactly two of them end. A line has the name and the direction of its first way."""
    ends: dict[str, list[str]] = {}
    for name, nodes in ways.items():
        if nodes[0] == nodes[-1]:
            continue
        for node in (nodes[0], nodes[-1]):
            ends.setdefault(node, []).append(name)
    taken: set[str] = set()
    lines = {}
    for name, way in ways.items():
        if name in taken:
            continue
        taken.add(name)
        line = list(way)
        for _ in range(2):  # onwards from the end, then from the start
            while line[0] != line[-1] and len(ends[line[-1]]) == 2:
                other = next((each for each in ends[line[-1]] if each not in taken), None)
                if other is None:
                    break
                taken.add(other)
                more = ways[other]
                if more[0] == line[-1]:
                    line += more[1:]
                else:
                    line += more[-2::-1]
            line.reverse()
        lines[name] = line
    return lines


def _area(relation: _OsmElement, ways: Mapping[str, _OsmElement], places: _Places) -> dict[str, Any] | None:
    """Return the polygon of an area, or of a lanelet: its left bound, and its right bound backwards.

    It is None if a bound is not in the file or falls apart.
    """
    bounds: dict[str, list[list[tuple[float, float]]]] = {}
    for role in ("outer", "inner", "left", "right"):
        refs = [ref for ref, given in zip(relation.members, relation.roles, strict=True) if given == role]
        own = {ref: ways[ref].members for ref in refs if ref in ways and len(ways[ref].members) > 1}
        bounds[role] = [[places[node] for node in line] for line in _joined(own).values()]
    if relation.tags["type"].lower() == "multipolygon":
        if len(bounds["outer"]) == 1:
            outline = bounds["outer"][0]
        else:
            outline = []
    elif len(bounds["left"]) == len(bounds["right"]) == 1:
        left = bounds["left"][0]
        right = bounds["right"][0]
        along = math.dist(left[0], right[0]) + math.dist(left[-1], right[-1])
        across = math.dist(left[0], right[-1]) + math.dist(left[-1], right[0])
        outline = [*left, *(right[::-1] if along <= across else right)]
    else:
        outline = []
    holes = [hole for hole in bounds["inner"] if len(set(hole)) > 2]
    if len(set(outline)) <= 2:
        return None
    return {"type": "Polygon", "coordinates": [_ring(points) for points in (outline, *holes)]}


def _ring(points: Sequence[tuple[float, float]]) -> list[list[float]]:
    """Return points as a ring, which ends with its first point."""
    if points[0] == points[-1]:
        closed = points
    else:
        closed = [*points, points[0]]
    return [list(point) for point in closed]


def _is_map(content: Content) -> bool:
    return is_xml(content.data) and b"<osm" in content.data[:_HEAD]


def _read(content: Content, options: ReadOptions) -> MapFrames:
    elements, crs = read_elements(content, usual_class, geographic="project" in options.extra)
    if crs is not None and "project" not in options.extra:
        raise content.error("the coordinates are longitude and latitude, expected metres", remedy=PROJECT)
    left_out = Counter(element.kind for element in elements if usual_class(element.kind) is None)
    features = []
    for element in elements:
        class_name = usual_class(element.kind)
        if class_name is not None:
            properties = {"class": class_name}
            place = f"element {element.name}"
            features.append({"type": "Feature", "properties": properties, "geometry": element.geometry, "place": place})
    if not features:
        names = ", ".join(sorted(left_out)) or "none"
        raise content.error(f"no element has a type of {', '.join(SYNONYMS)}; found: {names[:200]}")
    frames = read_rows(content, LANELET2.name, options, features=features, crs=crs)
    return replace(frames, findings=(*frames.findings, *left_out_of(content.path, left_out)))


LANELET2 = Format(
    name="lanelet2", about="a map of Lanelet2, as OSM XML", recognise=_is_map, read=_read, options=("project",)
)
