"""GeoJSON: the format for your own data, from Python, QGIS or any other program that writes it.

::

    {"type": "FeatureCollection",
     "features": [{"type": "Feature",
                   "properties": {"frame": token, "class": "divider", "confidence": 0.9, "track": "7", "scene": "s",
                                  "intersection": true, "ignore": true, "change": "inserted"},
                   "geometry": {"type": "LineString", "coordinates": [[x, y], ...]},
                   "id": 7, "links": [{"target": 8, "weight": 0.9, "kind": "successor"}, ...]}, ...],
     "frames": [token, {"token": token, "scene": "s", "timestamp": 0, "pose": [[...], ...]}, ...],
     "classes": ["divider", ...], "boxes": ["red", ...], "predictions": true, "forward": "x"}

Only the features and their properties ``frame`` and ``class`` are required. Coordinates are metres in the frame of the
ego vehicle, never longitude and latitude. ``docs/how-to/bring-your-own-data.md`` has the rules.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from types import NoneType
from typing import Any, Literal

import msgspec
import numpy as np

from mapgauge.errors import UnreadableFile
from mapgauge.frames.columns import TEXTS, Column, stored_columns
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.io._collect import Collector
from mapgauge.io._format import (
    Format,
    ReadOptions,
    check_tokens_differ,
    declared_system,
    points_by_frame,
    refuse_ids,
)
from mapgauge.io._geojson_objects import (
    JSON_TYPES,
    LinkObject,
    has_confidence,
    link_objects,
    listed_frames,
    listed_names,
    property_names,
    read_links,
    read_objects,
    stated_forward,
    values_of,
)
from mapgauge.io._json import decode, decoded_keys_are_all, read_points
from mapgauge.io.files.json_documents import gc_paused
from mapgauge.io.files.source import Content

_HEAD = 1 << 16  # the type of the document is searched for in this number of bytes


class _GeoJsonLine(msgspec.Struct, gc=False):
    type: Literal["LineString"]
    coordinates: msgspec.Raw


@lru_cache
def _schema(called: tuple[tuple[str, str], ...]) -> Any:
    """Return the type of a collection of lines with these properties; None if msgspec refuses a name.

    ``called`` has a pair for each property: its name, and its name in the file.
    """
    fields: list[Any] = [(f"{name}_", Any, msgspec.UNSET) for name, _ in called]  # class is a keyword of Python
    renamed = {f"{name}_": in_file for name, in_file in called}
    try:
        properties = msgspec.defstruct("Properties", fields, rename=renamed, gc=False)
    except ValueError:  # a name occurs twice, or has characters that JSON escapes
        return None
    fields = [("type", Literal["Feature"]), ("properties", properties), ("geometry", _GeoJsonLine)]
    fields += [(name, Any, msgspec.UNSET) for name in ("id", "links")]
    feature: Any = msgspec.defstruct("Feature", fields, gc=False)
    fields = [("type", Literal["FeatureCollection"]), ("features", list[feature])]
    members = ("frames", "classes", "boxes", "predictions", "crs", "links", "forward")
    fields += [(name, Any, msgspec.UNSET) for name in members]
    return msgspec.defstruct("Lines", fields, gc=False)


def _is_collection(content: Content) -> bool:
    if content.kind != "json":
        return False
    return b'"FeatureCollection"' in content.text[:_HEAD] or content.keys >= {"features", "geometry"}


def _read(content: Content, options: ReadOptions) -> MapFrames:
    refuse_ids(options.classes, str(content.path))
    called = property_names(options.extra.get("properties"))

    def locate(frame: int, token: str, instance: int) -> str:
        return "$.features"  # until the order of the features is known

    collector = partial(Collector, content, GEOJSON.name, options, locate, confidence=False)
    if content.kind == "json":
        sound = _read_lines(content, collector(), called)
    else:
        sound = None
    if sound is None:
        return read_objects(content, collector(), called)
    return sound


@gc_paused()
def _read_lines(content: Content, collector: Collector, called: dict[str, str]) -> MapFrames | None:
    """Read a collection of lines without faults, fast: points are parsed into one array, which is sorted by frame."""
    schema = _schema(tuple(called.items()))
    if schema is None:
        return None
    document: Any = decode(content.text, schema)
    if document is None:
        return None
    projected = "project" in collector.options.extra
    collector.crs = declared_system(document.crs, content.error, "$.crs", projected=projected)
    lines = [feature.geometry.coordinates for feature in document.features]
    points = read_points(lines)
    columns = _plain_columns([feature.properties for feature in document.features], tuple(called))
    if points is None or columns is None:
        return None
    if not decoded_keys_are_all(content.text, _count_keys(document, columns.values()), lines):
        return None
    tokens, names, confidences, scenes = (columns[name] for name in ("frame", "class", "confidence", "scene"))
    given = [value is not None for value in confidences]
    stated, classes, frames, forward, boxes = (
        default if (value := getattr(document, name)) is msgspec.UNSET else value
        for name, default in (("predictions", None), ("classes", []), ("frames", []), ("forward", None), ("boxes", []))
    )
    try:
        collector.has_confidence = has_confidence(collector, stated, given, name=called["confidence"])
        collector.codes.update(listed_names(collector, classes, "classes"))
        collector.boxes = tuple(listed_names(collector, boxes, "boxes"))
        collector.forward = stated_forward(collector, forward)
        about = listed_frames(collector, frames)
    except UnreadableFile:
        return None
    for token, scene in zip(tokens, scenes, strict=True):
        if scene and about.setdefault(token, {}).setdefault("scene", scene) != scene:
            return None
    index = {token: i for i, token in enumerate(dict.fromkeys([*about, *tokens]))}
    for token in index:
        collector.add_frame(token, **about.get(token, {}))
    frame = np.array([index[token] for token in tokens], np.int64)
    order = np.argsort(frame, kind="stable")
    frame = frame[order]
    first = np.searchsorted(frame, np.arange(len(index)))
    collector.locate = lambda frame, token, instance: f"$.features[{order[first[frame] + instance]}]"
    polylines = Polylines.unchecked(points.coords, np.concatenate([[0], points.sizes]).cumsum())
    rows = order.tolist()
    if (np.diff(order) != 1).any():
        polylines = polylines.pick(order)
    linked = [[getattr(feature, name) for feature in document.features] for name in ("id", "links")]
    try:
        links = read_links(collector, linked, document.links, order=rows, frame=frame.tolist())
    except UnreadableFile:
        return None
    codes = collector.codes
    code = np.array([codes.setdefault(names[i], len(codes)) for i in rows], np.int64)
    confidence = None
    if collector.has_confidence:
        confidence = np.array([confidences[i] for i in rows], np.float64)
    collector.add_columns(
        frame,
        code,
        confidence,
        sizes=np.diff(polylines.offsets),
        coords=polylines.coords,
        links=links,
        **{column.name: values_of(column, [columns[column.name][i] for i in rows]) for column in stored_columns()},
    )
    return collector.finish()


def _count_keys(document: Any, properties: Iterable[Sequence[object]]) -> int:
    """Return the number of keys that were decoded, or fewer. Values of absent properties are None or empty."""
    members = (document.frames, document.classes, document.boxes, document.predictions, document.crs, document.forward)
    if isinstance(document.frames, list):
        listed = document.frames
    else:
        listed = []
    given = (len(values) - values.count("") - values.count(None) for values in properties)
    return (
        2
        + sum(value is not msgspec.UNSET for value in members)
        + sum(len(entry) for entry in listed if isinstance(entry, dict))
        + 5 * len(document.features)  # type, properties and geometry with its type and coordinates
        + sum(given)
    )


def _plain_columns(properties: list[Any], names: Sequence[str]) -> dict[str, list[Any]] | None:
    """Return the values of each property of features, by name; None if a value has an unusual type.

    What a feature does not have is None, and an id or a scene that it does not have is empty.
    """
    kinds = {column.name: column.kind for column in stored_columns()}
    allowed: dict[str, tuple[type, ...]] = {name: JSON_TYPES[kind][0] for name, kind in kinds.items()}
    allowed |= {"frame": (str, int), "class": (str,), "confidence": (float, int), "scene": (str, int)}
    columns: dict[str, list[Any]] = {}
    for name in names:
        values = [getattr(feature, f"{name}_") for feature in properties]
        if name == "confidence" and None in values:
            return None
        values = [None if value is msgspec.UNSET else value for value in values]
        types = {*allowed[name]}
        if name not in ("frame", "class"):
            types.add(NoneType)
        if not set(map(type, values)) <= types:
            return None
        if kinds.get(name) == "id" or name == "scene":
            if name == "scene" and "" in values:
                return None
            values = ["" if value is None else str(value) for value in values]
        # whole numbers beyond it might not fit a float
        if name == "confidence":
            largest = 1
        else:
            largest = 2**53
        is_number = name == "confidence" or kinds.get(name) == "number"
        if is_number and any(abs(value) > largest for value in values if type(value) is int):
            return None
        columns[name] = values
    if "" in columns["frame"] or "" in columns["class"]:
        return None
    return columns | {"frame": list(map(str, columns["frame"]))}


@lru_cache
def _properties(columns: tuple[Column, ...]) -> Any:
    """Return the type of the properties of a feature. Values that instances do not have are left out of the file."""
    fields: list[Any] = [("frame", str), ("class_name", str), ("confidence", float | None, None)]
    for column in columns:
        fields.append((column.name, Any, "" if column.kind in TEXTS else None))
    return msgspec.defstruct("Properties", fields, gc=False, omit_defaults=True, rename={"class_name": "class"})


def _listed_values(column: Column, frames: MapFrames) -> list[Any]:
    """Return the values of a column for all instances, as they are written."""
    values = frames.columns.get(column.name)
    if values is None:
        return ["" if column.kind in TEXTS else None] * len(frames.label)
    if column.kind == "number":
        return [None if value != value else value for value in values.tolist()]
    listed: list[Any] = values.tolist()
    return listed


class _GeoJsonGeometry(msgspec.Struct, gc=False, tag_field="type", tag="LineString"):
    coordinates: list[Any]


class _GeoJsonFeature(msgspec.Struct, gc=False, omit_defaults=True, tag_field="type", tag="Feature"):
    properties: Any  # ``_properties``
    geometry: _GeoJsonGeometry
    id: int | None = None
    links: list[LinkObject] | None = None


def _write(frames: MapFrames, classes: dict[int, str] | None) -> bytes:
    refuse_ids(classes, GEOJSON.name)
    check_tokens_differ(frames, GEOJSON.name)
    count = len(frames.label)
    columns = tuple(stored_columns())
    instances = zip(
        frames.label.tolist(),
        [None] * count if frames.confidence is None else frames.confidence.tolist(),
        *(_listed_values(column, frames) for column in columns),
        strict=True,
    )
    make = _properties(columns)
    encoder = msgspec.json.Encoder()
    links = link_objects(frames)
    number = 0  # of the next feature
    blocks = []
    for token, lines in zip(frames.tokens, points_by_frame(frames), strict=True):
        features = []
        for points in lines:
            label, *members = next(instances)
            properties = make(token, frames.classes[label], *members)
            feature = _GeoJsonFeature(properties, _GeoJsonGeometry(points))
            if links is not None:
                feature = _GeoJsonFeature(properties, _GeoJsonGeometry(points), number, links=links[number])
            features.append(feature)
            number += 1
        if features:
            blocks.append(encoder.encode_lines(features)[:-1].replace(b"\n", b",\n"))
    head = {"type": "FeatureCollection", "predictions": frames.confidence is not None, "classes": frames.classes}
    if links is not None:
        head |= {"links": True}
    if frames.forward is not None:
        head |= {"forward": frames.forward}
    if frames.boxes:
        head |= {"boxes": frames.boxes}
    # Features before frames: the list of frames is long, and a file is recognised by its beginning.
    return (
        encoder.encode(head)[:-1]
        + b',"features":[\n'
        + b",\n".join(blocks)
        + b'],\n"frames":'
        + encoder.encode(_listed(frames))
        + b"}\n"
    )


def _listed(frames: MapFrames) -> list[Any]:
    """Return the member ``frames`` of a collection: tokens, or objects if frames have more than a token."""
    about: dict[str, Any] = {
        "scene": frames.scenes,
        "timestamp": None if frames.timestamps is None else frames.timestamps.tolist(),
        "pose": None if frames.poses is None else frames.poses.tolist(),
    }
    about = {name: values for name, values in about.items() if values is not None}
    if not about:
        return list(frames.tokens)
    return [
        {"token": token} | {name: values[i] for name, values in about.items()} for i, token in enumerate(frames.tokens)
    ]


GEOJSON = Format(
    name="geojson",
    about="a FeatureCollection of lines: the format for your own data",
    recognise=_is_collection,
    read=_read,
    write=_write,
    flags=True,
    suffix=".geojson",
    options=("properties", "project"),
)
