"""Brings a map of any format to classes and metres, as layers that can be cut."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import shapely

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.findings import left_out_of
from mapgauge.frames.synonyms import usual_class
from mapgauge.geometry.projections import (
    AUTO,
    EXCHANGED,
    GEOGRAPHIC,
    check_projection,
    exchanged,
    looks_geographic,
    project_points,
)
from mapgauge.io._format import declared_system, unknown_system
from mapgauge.io.files.source import Content
from mapgauge.io.lanelet2 import is_xml
from mapgauge.truth.cutting.shapes import Geometries, Layer, as_geometries, lines_in, polygons_in, valid_polygons
from mapgauge.truth.datasets import MapLayers, map_findings
from mapgauge.truth.from_map.lanelet2 import read_lanelet2
from mapgauge.truth.from_map.vectors import NAME_CLASSES, RawMap, read_vectors
from mapgauge.truth.rules import CLASSES
from mapgauge.typing import Indices
from mapgauge.words import did_you_mean

_FARTHEST = 1e9  # metres
AS_IS = "none"  # the projection of a map whose coordinates are metres
_PROJECT = Remedy(
    'Pass project="utm:LAT:LON" with the origin of the poses; local: and mercator: are other projections, and '
    '"EPSG:CODE" is a reference system. If the coordinates are metres, pass project="none"',
    "Write FILE,project=utm:LAT:LON with the origin of the poses; local: and mercator: are other projections, and "
    "EPSG:CODE is a reference system. If the coordinates are metres, write FILE,project=none",
)


def read_layers(path: Path, class_property: str | None, rename: Mapping[str, str], project: str | None) -> MapLayers:
    """Return the layers of a map in metres. A finding counts the elements that are left out."""
    if project == AUTO:
        raise InvalidInput(f"project={AUTO}: poses need an origin that is known", remedy=_PROJECT)
    is_projected = project not in (None, AS_IS)
    if is_projected:
        check_projection(project)
    content = Content(path)
    class_of = _class_of(rename)
    if is_xml(content.data):
        raw = read_lanelet2(content, class_of, geographic=is_projected)
    else:
        raw = read_vectors(content, class_property)
    classes = [class_of(kind) for kind in raw.kinds]
    known = np.array([k for k, name in enumerate(classes) if name], np.int64)
    left_out = Counter(kind for kind, name in zip(raw.kinds, classes, strict=True) if not name)
    shapes = raw.shapes.copy()
    shapes[known] = _in_metres(content, raw, known, project=project)
    layers: dict[str, Layer] = {}
    invalid: list[str] = []
    for name in CLASSES:
        own = np.array([k for k in known.tolist() if classes[k] == name], np.int64)
        is_area = name == "ped_crossing"
        if is_area:
            parts, owner = _areas(shapes[own])
        else:
            parts, owner = _lines(shapes[own])
        layers[name] = Layer.of(parts, _numbered([raw.names[k] for k in own[owner].tolist()]))
        if is_area:
            layers[name], invalid = valid_polygons(parts, layers[name].ids)
        for k in set(own.tolist()).difference(own[owner].tolist()):
            if shapes[k] is None:
                lacks = "a geometry"
            elif is_area:
                lacks = "an area"
            else:
                lacks = "a line"
            left_out[f"{raw.kinds[k]} without {lacks}"] += 1
    if not any(map(len, layers.values())):
        names = ", ".join(sorted(left_out)) or "none"
        text = f"no element has a class of {', '.join(CLASSES)}; found: {names[:200]}"
        raise content.error(text, remedy=NAME_CLASSES)
    findings = (*left_out_of(path, left_out), *map_findings(str(path), repaired=invalid, left_out=()))
    if not is_projected:
        declared = declared_system(raw.crs, content.error, "the reference system", projected=True)
        findings = (*findings, *unknown_system(str(path), declared))
    return MapLayers(layers["ped_crossing"], layers["divider"], layers["boundary"], findings=findings)


def _class_of(rename: Mapping[str, str]) -> Callable[[str], str | None]:
    """Return a function from what a map calls a class to the class. ``rename`` comes before the usual names."""
    unknown = [name for name in rename.values() if name not in CLASSES]
    if unknown:
        hint = did_you_mean(unknown[0], CLASSES)
        raise InvalidInput(f"rename: unknown class {unknown[0]!r}, expected one of {', '.join(CLASSES)}{hint}")
    return lambda kind: rename.get(kind) or usual_class(kind)


def _in_metres(content: Content, raw: RawMap, known: Indices, project: str | None) -> Geometries:
    """Return the elements ``known`` in metres. Longitude and latitude without a projection are an error."""
    shapes = raw.shapes[known]
    coords, owner = shapely.get_coordinates(shapes, return_index=True)
    bad = owner[~(np.abs(coords) < _FARTHEST).all(axis=1)]
    if len(bad):
        raise content.error(f"element {raw.names[known[bad[0]]]}: a coordinate is not a number below {_FARTHEST:.0e}")
    if project == AS_IS:
        return shapes
    is_projected = project is not None
    source = declared_system(raw.crs, content.error, "the reference system", projected=is_projected, remedy=_PROJECT)
    source = source or (GEOGRAPHIC if looks_geographic(coords) else "")
    if project is None:
        if source == GEOGRAPHIC:
            text = "the coordinates look like longitude and latitude, which GeoJSON has by its standard (RFC 7946)"
            raise content.error(f"{text}; expected metres", remedy=_PROJECT)
        return shapes
    if not source:
        is_exchanged = looks_geographic(coords[:, [1, 0]])
        raise content.error(
            "the coordinates are not longitude and latitude, and the file declares no reference system",
            remedy=EXCHANGED if is_exchanged else Remedy.of("Leave project= out"),
        )
    if source == GEOGRAPHIC and (text := exchanged(coords, project)):
        raise content.error(text, remedy=EXCHANGED)
    moved: Geometries = shapely.transform(shapes, partial(project_points, projection=project, source=source))
    return moved


def _lines(shapes: Geometries) -> tuple[Geometries, Indices]:
    """Return the lines in geometries and the rings of polygons, and the geometry of each."""
    polygons, polygon_owner = polygons_in(shapes)
    rings, polygon = shapely.get_rings(polygons, return_index=True)
    lines, owner = lines_in(shapes)
    return _in_order([rings, lines], [polygon_owner[polygon], owner])


def _areas(shapes: Geometries) -> tuple[Geometries, Indices]:
    """Return the polygons in geometries, also those whose outline is a line, and the geometry of each."""
    polygons, polygon_owner = polygons_in(shapes)
    lines, owner = lines_in(shapes)
    is_outline = shapely.get_num_coordinates(lines) - shapely.is_closed(lines) > 2
    outlines = as_geometries([shapely.Polygon(line.coords) for line in lines[is_outline]])
    return _in_order([polygons, outlines], [polygon_owner, owner[is_outline]])


def _in_order(parts: Sequence[Geometries], owners: Sequence[Indices]) -> tuple[Geometries, Indices]:
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return np.concatenate(parts)[order], owner[order]


def _numbered(names: Sequence[str]) -> list[str]:
    """Return names that differ. The parts of an element have its name and a number."""
    count = Counter(names)
    seen = Counter[str]()
    numbered = []
    for name in names:
        numbered.append(name if count[name] == 1 else f"{name}.{seen[name]}")
        seen[name] += 1
    return numbered
