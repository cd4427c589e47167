"""Reads GeoJSON as plain objects: slowly, but any geometry, and with errors that name the place."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput, Remedy, UnreadableFile
from mapgauge.frames.columns import Column, Values, stored_columns
from mapgauge.frames.findings import left_out_of
from mapgauge.frames.links import SUCCESSOR, Links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector
from mapgauge.io._format import ReadOptions, declared_system, refuse_ids
from mapgauge.io._values import ValueChecker
from mapgauge.io.files.json_documents import gc_paused
from mapgauge.io.files.source import Content
from mapgauge.typing import Forward

_REMEDY = "Give each feature of the frame an id, and name the target of a link by its id"


# The members "id" and "links" of all features; ``msgspec.UNSET`` for a feature without such a member.
FeatureMembers: TypeAlias = Sequence[Sequence[Any]]


class LinkObject(msgspec.Struct, gc=False):
    """A link of a feature."""

    target: int
    weight: float
    kind: str


def link_objects(frames: MapFrames) -> list[list[LinkObject]] | None:
    """Return the links of each instance. The id of an instance is its index in the file."""
    if frames.links is None:
        return None
    objects: list[list[LinkObject]] = [[] for _ in frames.label]
    for source, target, weight, kind in frames.links:
        objects[source].append(LinkObject(target, weight, kind))
    return objects


def read_links(
    collector: Collector, features: FeatureMembers, stated: Any, order: Sequence[int], frame: Sequence[int]
) -> Links | None:
    """Return the links between instances; ``order`` and ``frame`` have the feature and the frame of each instance.

    ``stated`` is the member ``links`` of the collection: true if features may have links.
    """
    ids, links = features
    if stated not in (msgspec.UNSET, None, True, False):
        raise collector.error("$.links is neither true nor false")
    if stated is not True and all(given is msgspec.UNSET for given in links):
        return None
    instances: dict[tuple[int, str], int] = {}  # by frame and id
    for row, feature in enumerate(order):
        given = ids[feature]
        if given is msgspec.UNSET or given is None:
            continue
        name = _id_text(given)
        if name is None:
            raise collector.error(f"$.features[{feature}].id is {given!r}, expected a text or a whole number")
        if instances.setdefault((frame[row], name), row) != row:
            raise collector.error(f"$.features[{feature}].id is {given!r}, as in another feature of the frame")
    rows: dict[tuple[int, int, str], float] = {}
    for source, feature in enumerate(order):
        if links[feature] is msgspec.UNSET or links[feature] is None:
            given = []
        else:
            given = links[feature]
        where = f"$.features[{feature}].links"
        if not isinstance(given, list):
            raise collector.error(f"{where} is not a list of links")
        for k, link in enumerate(given):
            at = f"{where}[{k}]"
            if not isinstance(link, dict) or "target" not in link:
                raise collector.error(f"{at} has no target, expected the id of a feature", remedy=_REMEDY)
            target = instances.get((frame[source], _id_text(link["target"]) or ""))
            if target is None or _id_text(link["target"]) is None:
                raise collector.error(
                    f"{at}.target is {link['target']!r}, expected the id of a feature of the same frame",
                    remedy=_REMEDY,
                )
            kind = collector.check.text(link.get("kind", SUCCESSOR), f"{at}.kind")
            if (source, target, kind) in rows:
                raise collector.error(f"{at}: the feature has another link of kind {kind} to the same target")
            weight = collector.check.number(link.get("weight", 1.0), f"{at}.weight")
            if not (math.isfinite(weight) and weight >= 0):
                raise collector.error(f"{at}.weight is {weight}, expected a finite number of at least 0")
            rows[source, target, kind] = weight
    if rows:
        sources, targets, kinds = zip(*rows, strict=True)
    else:
        sources = ()
        targets = ()
        kinds = ()
    return Links.of(
        np.array(sources, np.int64), np.array(targets, np.int64), weight=list(rows.values()), kind=list(kinds)
    )


def _id_text(value: Any) -> str | None:
    """Return an id as text; None if it cannot be an id."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    return f"{value}"


MAP = "map"  # the token of a file whose features have no frame: a map
_PLACE = re.compile(r"\$\.features\[(\d+)\](?:\.properties)?\.?\s?")
_LIKE_FRAME = re.compile("frame|token|sample|timestamp", re.IGNORECASE)  # in the name of what may be the frame
_FIXED = ("frame", "class", "confidence", "scene")  # properties besides ``COLUMNS``
# The types of JSON of the values of columns, by ``Column.kind``, and what they are in messages.
JSON_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "id": ((str, int), "a text or a whole number"),
    "text": ((str,), "a text"),
    "flag": ((bool,), "true or false"),
    "number": ((float, int), "a finite number"),
}
# What maps call the property that names the class of an element, the most likely first. Shapefiles have capitals.
_CLASS_PROPERTIES = ("class", "class_name", "kind", "type", "category", "label", "layer")


def property_names(properties: object) -> dict[str, str]:
    """Return the names that the properties have in the file, from the option ``properties``."""
    if properties is None:
        properties = {}
    known = (*_FIXED, *(column.name for column in stored_columns()))
    expected = f"properties must map {', '.join(known)} to names in the file, such as {{'frame': 'sample_token'}}"
    if not isinstance(properties, Mapping) or not all(isinstance(name, str) for name in properties.values()):
        raise InvalidInput(f"{expected}, got {properties!r}")
    unknown = [name for name in properties if name not in known]
    if unknown:
        raise InvalidInput(f"{expected}, got {', '.join(map(repr, unknown))}")
    return {name: properties.get(name, name) for name in known}


def class_property(names: Iterable[str]) -> str:
    """Return which of the properties of a map names the class of an element; ``"class"`` if none does."""
    given = {name.lower(): name for name in names}
    return next((given[name] for name in _CLASS_PROPERTIES if name in given), "class")


def read_rows(
    content: Content, format_name: str, options: ReadOptions, features: list[dict[str, Any]], crs: Any
) -> MapFrames:
    """Read the features that another format was changed to. Messages have the ``place`` of a feature."""
    refuse_ids(options.classes, str(content.path))

    def error(message: str, *, remedy: Remedy | str | None = None) -> UnreadableFile:
        named = _PLACE.sub(lambda match: f"{features[int(match[1])]['place']}: ", message)
        return content.error(named, remedy=remedy)

    collector = Collector(content, format_name, options, locate=lambda *_: "", confidence=False)
    collector.error = error
    collector.check = ValueChecker(error)
    document = {"type": "FeatureCollection", "features": features, "crs": crs}
    return read_objects(content, collector, property_names(options.extra.get("properties")), given=document)


def read_objects(
    content: Content, collector: Collector, called: dict[str, str], given: dict[str, Any] | None = None
) -> MapFrames:
    """Read any collection: that of the file, or a given one."""
    order: list[list[int]] = []  # the features of each frame, once for each of their lines
    collector.locate = lambda frame, token, instance: f"$.features[{order[frame][instance]}]"
    with gc_paused():
        if given is None:
            document = _document(content)
            where = "$.crs"
        else:
            document = given
            where = "the reference system"
        projected = "project" in collector.options.extra
        collector.crs = declared_system(document.get("crs"), content.error, where, projected=projected)
        properties = _all_properties(collector, document["features"])
        _read_about_all(collector, document, properties, called=called)
        frames = listed_frames(collector, document.get("frames", []))

        # A map of elements, in place of frames, has no property that could name a frame.
        names = {name for one in properties for name in one}
        is_one_map = not frames and called["frame"] == "frame" and not any(map(_LIKE_FRAME.search, names))
        if is_one_map and called["class"] == "class":
            called = called | {"class": class_property(names)}
        if is_one_map:
            token_of = [MAP] * len(properties)
        else:
            token_of = [_token_of_feature(collector, i, one, called=called) for i, one in enumerate(properties)]
        features_of: dict[str, list[int]] = {token: [] for token in frames}
        for i, token in enumerate(token_of):
            features_of.setdefault(token, []).append(i)
        _add_scenes(collector, frames, properties, token_of=token_of, called=called)

        left_out = Counter[str]()
        for token, rows in features_of.items():
            order.append([])
            collector.add_frame(token, **frames.get(token, {}))
            for i in rows:
                geometry = document["features"][i].get("geometry")
                lines = _lines(collector, geometry, f"$.features[{i}].geometry", is_one_map=is_one_map)
                if not lines:
                    left_out[_without_a_line(properties[i].get(called["class"]), geometry)] += 1
                for points, where in lines:
                    order[-1].append(i)
                    _add(collector, i, points, where=where, properties=properties[i], called=called)
        collector.findings += left_out_of(content.path, left_out)

        _add_columns(collector, document, properties, order=order, called=called)
    return collector.finish()


def _all_properties(collector: Collector, features: list[Any]) -> list[dict[str, Any]]:
    """Return the properties of each feature."""
    properties = []
    for i, feature in enumerate(features):
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            raise collector.error(f"$.features[{i}] is not a Feature")
        if not isinstance(feature.get("properties"), dict):
            raise collector.error(f"$.features[{i}] has no properties, expected at least frame and class")
        properties.append(feature["properties"])
    return properties


def _read_about_all(
    collector: Collector, document: dict[str, Any], properties: list[dict[str, Any]], *, called: dict[str, str]
) -> None:
    """Read what is said of all instances: whether they are predictions, their classes, and where forward is."""
    sure = [called["confidence"] in one for one in properties]
    collector.has_confidence = has_confidence(collector, document.get("predictions"), sure, name=called["confidence"])
    collector.codes.update(listed_names(collector, document.get("classes", []), "classes"))
    collector.boxes = tuple(listed_names(collector, document.get("boxes", []), "boxes"))
    collector.forward = stated_forward(collector, document.get("forward"))


def _token_of_feature(collector: Collector, i: int, properties: dict[str, Any], *, called: dict[str, str]) -> str:
    """Return the token of the frame that a feature names."""
    given = _required(collector, i, properties, name="frame", called=called)
    return _token(collector, given, _path(i, called["frame"]))


def _add_scenes(
    collector: Collector,
    frames: dict[str, dict[str, Any]],
    properties: list[dict[str, Any]],
    *,
    token_of: list[str],
    called: dict[str, str],
) -> None:
    """Add the scenes that features name to what is known of their frames."""
    for i, (token, one) in enumerate(zip(token_of, properties, strict=True)):
        given = one.get(called["scene"])
        if given is None:
            continue
        scene = _token(collector, given, _path(i, called["scene"]))
        if frames.setdefault(token, {}).setdefault("scene", scene) != scene:
            raise collector.error(
                f"{_path(i, called['scene'])} differs from the scene of the other features of the frame"
            )


def _add_columns(
    collector: Collector,
    document: dict[str, Any],
    properties: list[dict[str, Any]],
    *,
    order: list[list[int]],
    called: dict[str, str],
) -> None:
    """Add the links and the other columns of instances, whose features ``order`` has for each frame."""
    frame = [k for k, rows in enumerate(order) for _ in rows]
    rows = [i for rows in order for i in rows]
    stated: Any = [[feature.get(name, msgspec.UNSET) for feature in document["features"]] for name in ("id", "links")]
    collector.links = read_links(collector, stated, document.get("links"), order=rows, frame=frame)
    for column in stored_columns():
        name = called[column.name]
        given = [_value(collector, column, properties[i].get(name), where=_path(i, name)) for i in rows]
        made = values_of(column, given)
        if made is not None:
            collector.columns[column.name] = made


def _document(content: Content) -> dict[str, Any]:
    """Return the whole collection."""
    if content.kind == "pickle":
        raise content.error("a pickle, expected GeoJSON")
    document: Any = content.document
    if not isinstance(document, dict) or document.get("type") != "FeatureCollection":
        if isinstance(document, dict):
            kind = document.get("type")
        else:
            kind = None
        given = "another document"
        if isinstance(kind, str):
            given = f"a {kind}"
        raise content.error(f'{given}, expected {{"type": "FeatureCollection", "features": [...]}}')
    if not isinstance(document.get("features"), list):
        raise content.error("$.features is not a list of features")
    return document


def _path(feature: int, name: str) -> str:
    return f"$.features[{feature}].properties" + (f".{name}" if name.isidentifier() else f'["{name}"]')


def _required(collector: Collector, i: int, properties: dict[str, Any], name: str, called: dict[str, str]) -> Any:
    """Return a property that every feature must have."""
    if called[name] not in properties:
        raise collector.error(
            f"{_path(i, called[name])} is missing; available: {', '.join(properties) or 'none'}",
            remedy=Remedy(
                f'If one of them is the {name}, pass properties={{"{name}": "its name"}}',
                f"If one of them is the {name}, write FILE,properties={name}:NAME",
            ),
        )
    return properties[called[name]]


def has_confidence(collector: Collector, stated: object, given: list[bool], name: str) -> bool:
    """Whether the file holds predictions: if it says so, or if its features have a confidence."""
    if stated is not None and not isinstance(stated, bool):
        raise collector.error("$.predictions is neither true nor false")
    if stated is None:
        expected = any(given)
    else:
        expected = stated
    if expected and not all(given):
        raise collector.error(
            f"{_path(given.index(False), name)} is missing; expected a confidence in all features or in none"
        )
    if not expected and any(given):
        raise collector.error(f"{_path(given.index(True), name)}: $.predictions is false, so expected no confidence")
    return expected


def stated_forward(collector: Collector, stated: Any) -> Forward | None:
    """Return the axis that points forward, as the file says, or None if it does not."""
    if stated not in (None, "x", "y"):
        raise collector.error(f'$.forward is {stated!r}, expected "x" or "y"')
    forward: Forward | None = stated
    return forward


def listed_names(collector: Collector, names: Any, member: str) -> dict[str, int]:
    """Return the codes of the classes that a member of the collection lists, including classes without instances."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise collector.error(f"$.{member} is not a list of names")
    if len(set(names)) < len(names):
        raise collector.error(f"$.{member} has a name twice")
    return {name: code for code, name in enumerate(names)}


def _value(collector: Collector, column: Column, value: Any, where: str) -> Any:
    """Return a property of a feature, which must have the type of its column; None if the feature has none."""
    if value is None:
        return None
    if column.kind == "id":
        if value == "":
            return ""
        return _token(collector, value, where)
    types, expected = JSON_TYPES[column.kind]
    is_sound = isinstance(value, types) and (column.kind == "flag" or not isinstance(value, bool))
    if column.kind == "number" and is_sound:
        number = collector.check.number(value, where)
        if math.isfinite(number):
            return number
        is_sound = False
    if not is_sound:
        raise collector.error(f"{where} is {value!r}, expected {expected}")
    return value


def values_of(column: Column, given: Sequence[Any]) -> Values | None:
    """Return the value of each instance, the empty one if its feature has none; None if no feature has one."""
    if all(value is None or value == "" for value in given):
        return None
    return np.array([column.empty if value is None else value for value in given], column.type)


def listed_frames(collector: Collector, listed: Any) -> dict[str, dict[str, Any]]:
    """Return the frames that the file lists, in order, with their scene, timestamp and pose."""
    if not isinstance(listed, list):
        raise collector.error("$.frames is not a list of tokens or objects")
    about: dict[str, dict[str, Any]] = {}
    for i, entry in enumerate(listed):
        where = f"$.frames[{i}]"
        if isinstance(entry, dict):
            given = entry
        else:
            given = {"token": entry}
        token = _token(collector, given.get("token"), f"{where}.token" if given is entry else where)
        if token in about:
            raise collector.error(f"{where}: the token {token} occurs twice")
        about[token] = {}
        if given.get("scene") is not None:
            about[token]["scene"] = _token(collector, given["scene"], f"{where}.scene")
        if given.get("timestamp") is not None:
            stamp = about[token]["timestamp"] = given["timestamp"]
            if isinstance(stamp, bool) or not isinstance(stamp, int) or not -(2**63) <= stamp < 2**63:
                raise collector.error(f"{where}.timestamp is not a whole number of 64 bits")
        if given.get("pose") is not None:
            about[token]["pose"] = _pose(collector, given["pose"], f"{where}.pose")
    return about


def _token(collector: Collector, value: Any, where: str) -> str:
    """Return a name; a whole number is converted to text."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole:
        return str(value)
    return collector.check.text(value, where)


def _pose(collector: Collector, value: Any, where: str) -> NDArray[np.float64]:
    if isinstance(value, list):
        rows = value
    else:
        rows = []
    if len(rows) != 4 or not all(isinstance(row, list) and len(row) == 4 for row in rows):
        raise collector.error(f"{where} is not a 4x4 matrix")
    number = collector.check.number
    pose = np.array([[number(x, f"{where}[{i}][{k}]") for k, x in enumerate(row)] for i, row in enumerate(rows)])
    if not np.isfinite(pose).all():
        raise collector.error(f"{where} has a value that is not a finite number")
    return pose


def _add(
    collector: Collector, i: int, points: Any, where: str, properties: dict[str, Any], called: dict[str, str]
) -> None:
    """Add one instance."""
    class_name = _required(collector, i, properties, name="class", called=called)
    collector.add_instance(
        points,
        collector.check.text(class_name, _path(i, called["class"])),
        confidence=properties.get(called["confidence"]),
        where=where,
        confidence_where=_path(i, called["confidence"]),
    )


def _lines(collector: Collector, geometry: Any, where: str, *, is_one_map: bool) -> list[tuple[Any, str]]:
    """Return the points of the lines of a geometry, and their places.

    In a map, each part of a geometry and each ring of a polygon is a line, and points and features without a geometry
    have none. In a frame, an instance has one line.
    """
    if isinstance(geometry, dict):
        kind = geometry.get("type")
    else:
        kind = None
    if is_one_map and (geometry is None or kind in ("Point", "MultiPoint")):
        return []
    if geometry is None:
        raise collector.error(
            f"{where} is missing", remedy="A frame without instances needs no feature; list it in $.frames"
        )
    parts, place = _parts(geometry, kind, where)
    if isinstance(parts, list) and (is_one_map or len(parts) == 1):
        lines = (_lines(collector, part, f"{place}[{k}]", is_one_map=is_one_map) for k, part in enumerate(parts))
        return [line for each in lines for line in each]
    if kind == "LineString":
        return [(geometry.get("coordinates"), place)]
    if kind == "Polygon":
        return _rings(collector, geometry.get("coordinates"), where, place=place, is_one_map=is_one_map)
    several = isinstance(kind, str) and kind.startswith(("Multi", "GeometryCollection"))
    split = "Split it into one feature for each part (QGIS: multipart to singleparts; geopandas: explode)"
    raise collector.error(f"{where} is {kind!r}, expected a LineString or a Polygon", remedy=split if several else None)


def _parts(geometry: Any, kind: Any, where: str) -> tuple[Any, str]:
    """Return the parts of a geometry as geometries, and their place; None for a geometry of one part."""
    if kind == "GeometryCollection":
        return geometry.get("geometries"), f"{where}.geometries"
    if isinstance(kind, str) and kind.startswith("Multi"):
        parts = geometry.get("coordinates")
    else:
        parts = None
    if isinstance(parts, list):
        parts = [{"type": kind.removeprefix("Multi"), "coordinates": part} for part in parts]
    return parts, f"{where}.coordinates"


def _rings(collector: Collector, rings: Any, where: str, place: str, *, is_one_map: bool) -> list[tuple[Any, str]]:
    """Return the rings of a polygon. In a frame, it must not have holes."""
    if not isinstance(rings, list):
        raise collector.error(f"{place} is not a list of rings")
    if len(rings) > 1 and not is_one_map:
        raise collector.error(f"{where} has a hole", remedy="Make one feature for each ring, or leave the holes out")
    for k, ring in enumerate(rings):
        if isinstance(ring, list) and ring and ring[0] != ring[-1]:
            raise collector.error(f"{place}[{k}] does not end with its first point, as a polygon does")
    return [(ring, f"{place}[{k}]") for k, ring in enumerate(rings or [[]])]


def _without_a_line(class_name: Any, geometry: Any) -> str:
    """Return what an element of a map is called that has no line."""
    if isinstance(class_name, str):
        name = class_name
    else:
        name = "element without a class"
    return f"{name} without a {'geometry' if geometry is None else 'line'}"
