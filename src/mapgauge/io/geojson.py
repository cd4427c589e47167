"""GeoJSON: the way to bring data of your own, from Python, QGIS or anything else that writes it.

::

    {"type": "FeatureCollection",
     "features": [{"type": "Feature",
                   "properties": {"frame": token, "class": "divider", "confidence": 0.9, "track": "7", "scene": "s"},
                   "geometry": {"type": "LineString", "coordinates": [[x, y], ...]}}, ...],
     "frames": [token, {"token": token, "scene": "s", "timestamp": 0, "pose": [[...], ...]}, ...],
     "classes": ["divider", ...], "predictions": true}

Features and two of their properties, ``frame`` and ``class``, are all that must be there. Coordinates are metres in the
frame of the ego vehicle, never longitude and latitude. ``docs/how-to/bring-your-own-data.md`` has the rules.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.files.source import Content
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector, Settings
from mapgauge.io._format import Format
from mapgauge.io._json import collector_paused, decode, read_points

PROPERTIES = ("frame", "class", "confidence", "track", "scene")
_GEOGRAPHIC = re.compile(r"CRS84|CRS83|CRS27|\b(?:4326|4979|4258|4269)\b")
_HEAD = 1 << 16  # bytes in which the type of the document is looked for


class _Line(msgspec.Struct, gc=False):
    type: Literal["LineString"]
    coordinates: msgspec.Raw


class _Feature(msgspec.Struct, gc=False):
    type: str
    properties: dict[str, Any]
    geometry: _Line


class _Lines(msgspec.Struct, gc=False):
    """A collection of lines only, whose points can be read the fast way."""

    type: str
    features: list[_Feature]
    frames: Any = []
    classes: Any = []
    predictions: Any = None
    crs: Any = None


def _is_collection(content: Content) -> bool:
    if content.kind != "json":
        return False
    return b'"FeatureCollection"' in content.text[:_HEAD] or content.keys >= {"features", "geometry"}


def _read(content: Content, settings: Settings) -> MapFrames:
    if settings.classes is not None:
        raise InvalidInput(
            f"{content.path}: classes= gives names to numeric ids, and GeoJSON has names. Use .rename() after reading"
        )
    called = _names(settings.options.get("properties"))
    order: list[list[int]] = []  # the features of each frame
    collector = Collector(
        str(content.path),
        GEOJSON.name,
        settings,
        locate=lambda frame, token, instance: f"$.features[{order[frame][instance]}]",
        confidence=False,
    )
    with collector_paused():
        document = _document(content, collector)
        features = [_properties(collector, i, feature) for i, feature in enumerate(document["features"])]
        collector.has_confidence = _has_confidence(collector, document, features, called["confidence"])
        collector.codes.update(_classes(collector, document))
        about = _frames(collector, document)
        members: dict[str, list[int]] = {token: [] for token in about}
        for i, properties in enumerate(features):
            token = _token(collector, _needed(collector, i, properties, "frame", called), _path(i, called["frame"]))
            members.setdefault(token, []).append(i)
            scene = properties.get(called["scene"])
            if scene is not None:
                named = _token(collector, scene, _path(i, called["scene"]))
                if about.setdefault(token, {}).setdefault("scene", named) != named:
                    raise collector.error(f"{_path(i, called['scene'])} is not the scene of the frame's other features")
        for token, rows in members.items():
            order.append(rows)
            collector.frame(token, **about.get(token, {}))
            for i in rows:
                _add(collector, i, document["features"][i].get("geometry"), features[i], called)
    return collector.finish()


def _names(properties: object) -> dict[str, str]:
    """What the properties are called in this file."""
    if properties is None:
        properties = {}
    expected = f"properties must say what the file calls {', '.join(PROPERTIES)}, such as {{'frame': 'sample_token'}}"
    if not isinstance(properties, Mapping) or not all(isinstance(name, str) for name in properties.values()):
        raise InvalidInput(f"{expected}, got {properties!r}")
    unknown = [name for name in properties if name not in PROPERTIES]
    if unknown:
        raise InvalidInput(f"{expected}, got {', '.join(map(repr, unknown))}")
    return {name: properties.get(name, name) for name in PROPERTIES}


def _document(content: Content, collector: Collector) -> dict[str, Any]:
    """The whole collection."""
    if content.kind == "pickle":
        raise collector.error("a pickle, expected GeoJSON")
    document: Any = _sound_lines(content)
    if document is None:
        document = content.document
    if not isinstance(document, dict) or document.get("type") != "FeatureCollection":
        kind = document.get("type") if isinstance(document, dict) else None
        came = f"a {kind}" if isinstance(kind, str) else "something else"
        raise collector.error(f'{came}, expected {{"type": "FeatureCollection", "features": [...]}}')
    if not isinstance(document.get("features"), list):
        raise collector.error("$.features is not a list of features")
    if _GEOGRAPHIC.search(str(document.get("crs"))):
        raise collector.error(
            "$.crs says longitude and latitude, expected metres in the frame of the ego vehicle. "
            "Project the coordinates, and leave crs out"
        )
    return document


def _sound_lines(content: Content) -> dict[str, Any] | None:
    """The whole collection with points as arrays, or None if the file has a fault or other geometries."""
    document = decode(content.text, _Lines)
    if document is None:
        return None
    points = read_points([feature.geometry.coordinates for feature in document.features], polylines=True)
    if points is None:
        return None
    arrays = np.split(points.coords, points.sizes.cumsum()[:-1]) if len(points.sizes) else []
    features = [
        {
            "type": feature.type,
            "properties": feature.properties,
            "geometry": {"type": "LineString", "coordinates": array},
        }
        for feature, array in zip(document.features, arrays, strict=True)
    ]
    return msgspec.structs.asdict(document) | {"features": features}


def _path(feature: int, name: str) -> str:
    return f"$.features[{feature}].properties" + (f".{name}" if name.isidentifier() else f'["{name}"]')


def _properties(collector: Collector, i: int, feature: Any) -> dict[str, Any]:
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        raise collector.error(f"$.features[{i}] is not a Feature")
    properties = feature.get("properties")
    if not isinstance(properties, dict):
        raise collector.error(f"$.features[{i}] has no properties, expected at least frame and class")
    return properties


def _needed(collector: Collector, i: int, properties: dict[str, Any], name: str, called: dict[str, str]) -> Any:
    """A property that every feature has."""
    if called[name] not in properties:
        raise collector.error(
            f"{_path(i, called[name])} is missing, there are: {', '.join(properties) or 'none'}. "
            f'If one of them is the {name}, pass properties={{"{name}": "its name"}}'
        )
    return properties[called[name]]


def _has_confidence(collector: Collector, document: dict[str, Any], features: list[dict[str, Any]], name: str) -> bool:
    """Whether these are predictions: as the file says, or if its features have a confidence; all have, or none."""
    stated = document.get("predictions")
    if stated is not None and not isinstance(stated, bool):
        raise collector.error("$.predictions is neither true nor false")
    given = [name in properties for properties in features]
    expected = any(given) if stated is None else stated
    if expected and not all(given):
        raise collector.error(f"{_path(given.index(False), name)} is missing; all features have a confidence or none")
    if not expected and any(given):
        raise collector.error(f"{_path(given.index(True), name)}: $.predictions is false, so expected no confidence")
    return expected


def _classes(collector: Collector, document: dict[str, Any]) -> dict[str, int]:
    """The classes in their order, if the file lists them: also those without instances."""
    names = document.get("classes", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise collector.error("$.classes is not a list of names")
    if len(set(names)) < len(names):
        raise collector.error("$.classes has a name twice")
    return {name: code for code, name in enumerate(names)}


def _frames(collector: Collector, document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The frames that the file lists, in their order, with what it says about them."""
    listed = document.get("frames", [])
    if not isinstance(listed, list):
        raise collector.error("$.frames is not a list of tokens or objects")
    about: dict[str, dict[str, Any]] = {}
    for i, entry in enumerate(listed):
        where = f"$.frames[{i}]"
        given = entry if isinstance(entry, dict) else {"token": entry}
        token = _token(collector, given.get("token"), f"{where}.token" if given is entry else where)
        if token in about:
            raise collector.error(f"{where}: the token {token} came before")
        about[token] = {}
        if given.get("scene") is not None:
            about[token]["scene"] = _token(collector, given["scene"], f"{where}.scene")
        if given.get("timestamp") is not None:
            about[token]["timestamp"] = _timestamp(collector, given["timestamp"], f"{where}.timestamp")
        if given.get("pose") is not None:
            about[token]["pose"] = _pose(collector, given["pose"], f"{where}.pose")
    return about


def _token(collector: Collector, value: Any, where: str) -> str:
    """A name; a whole number is taken as its text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else collector.text(value, where)


def _timestamp(collector: Collector, value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise collector.error(f"{where} is not a whole number of 64 bits")
    return value


def _pose(collector: Collector, value: Any, where: str) -> NDArray[np.float64]:
    rows = value if isinstance(value, list) else []
    if len(rows) != 4 or not all(isinstance(row, list) and len(row) == 4 for row in rows):
        raise collector.error(f"{where} is not a 4x4 matrix")
    pose = np.array(
        [[collector.number(x, f"{where}[{i}][{k}]") for k, x in enumerate(row)] for i, row in enumerate(rows)]
    )
    if not np.isfinite(pose).all():
        raise collector.error(f"{where} has a value that is not a finite number")
    return pose


def _add(collector: Collector, i: int, geometry: Any, properties: dict[str, Any], called: dict[str, str]) -> None:
    """One instance."""
    points, where = _line(collector, geometry, f"$.features[{i}].geometry")
    confidence: Any = 1.0
    if collector.has_confidence:
        confidence = collector.number(properties.get(called["confidence"]), _path(i, called["confidence"]))
    track = properties.get(called["track"])
    collector.instance(
        points,
        class_name=collector.text(_needed(collector, i, properties, "class", called), _path(i, called["class"])),
        confidence=confidence,
        track="" if track is None or track == "" else _token(collector, track, _path(i, called["track"])),
        where=where,
    )


def _line(collector: Collector, geometry: Any, where: str) -> tuple[Any, str]:
    """The points of a geometry, and where they are."""
    if geometry is None:
        raise collector.error(f"{where} is missing. A frame without instances needs no feature: list it in $.frames")
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if kind == "LineString":
        return geometry.get("coordinates"), f"{where}.coordinates"
    if kind != "Polygon":
        several = isinstance(kind, str) and (kind.startswith("Multi") or kind == "GeometryCollection")
        hint = (
            ". Split it into one feature each (QGIS: multipart to singleparts; geopandas: explode)" if several else ""
        )
        raise collector.error(f"{where} is {kind!r}, expected a LineString or a Polygon{hint}")
    rings = geometry.get("coordinates")
    if not isinstance(rings, list):
        raise collector.error(f"{where}.coordinates is not a list of rings")
    if len(rings) > 1:
        raise collector.error(f"{where} has a hole. Make a feature of each ring, or leave the holes out")
    ring = rings[0] if rings else []
    if isinstance(ring, list) and ring and ring[0] != ring[-1]:
        raise collector.error(f"{where}.coordinates[0] does not end with its first point, as a polygon does")
    return ring, f"{where}.coordinates[0]"


def _write(frames: MapFrames, classes: dict[int, str] | None) -> bytes:
    if classes is not None:
        raise InvalidInput(
            f"{GEOJSON.name}: classes= is for formats with numeric ids; GeoJSON has names. Use .rename()"
        )
    if len(frames.index) < len(frames):
        raise InvalidInput(f"{GEOJSON.name} tells frames apart by token, and some tokens occur more than once")
    features = []
    for k, (i, label) in enumerate(zip(frames.frame.tolist(), frames.label.tolist(), strict=True)):
        properties: dict[str, Any] = {"frame": frames.tokens[i], "class": frames.classes[label]}
        if frames.confidence is not None:
            properties["confidence"] = float(frames.confidence[k])
        if frames.track is not None and frames.track[k]:
            properties["track"] = str(frames.track[k])
        geometry = {"type": "LineString", "coordinates": frames.polylines[k].tolist()}
        features.append(msgspec.json.encode({"type": "Feature", "properties": properties, "geometry": geometry}))
    listed: list[Any] = list(frames.tokens)
    about: dict[str, Any] = {"scene": frames.scenes}
    about["timestamp"] = None if frames.timestamps is None else frames.timestamps.tolist()
    about["pose"] = None if frames.poses is None else frames.poses.tolist()
    about = {name: values for name, values in about.items() if values is not None}
    if about:
        listed = [
            {"token": token} | {name: values[i] for name, values in about.items()} for i, token in enumerate(listed)
        ]
    head = {"type": "FeatureCollection", "predictions": frames.confidence is not None, "classes": frames.classes}
    # Features before frames: the list of frames is long, and a file is recognised by its beginning.
    return (
        msgspec.json.encode(head)[:-1]
        + b',"features":[\n'
        + b",\n".join(features)
        + b'],\n"frames":'
        + msgspec.json.encode(listed)
        + b"}\n"
    )


GEOJSON = Format(
    "geojson",
    "a FeatureCollection of lines: the way to bring data of your own",
    _is_collection,
    _read,
    _write,
    suffix=".geojson",
    options=("properties",),
)
