"""GlobalMapNet's maps: one map of a whole scene or city, in the coordinates of the world.

::

    map = {"meta_info": {"location": ..., "scene_name": ...}, "poses": [...],
           "map_elements": [{"category": "road", "coords": [[x, y], ...], "details": {"score": 0.9}}, ...]}

A file is one map, or an object of maps: ``<name>_maps.json`` of predictions, ``av2_all_gt.json`` of truth. A map is one
frame. Its token is the name of its scene, or its key, or the name of the map. Truth has a ``global_id`` in its details,
or no scores. The coordinates are in the world, so frames have no poses. ``io.poses`` reads the poses of the drive.
"""

from pathlib import Path
from typing import Any

from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector
from mapgauge.io._format import Format, ReadOptions, refuse_ids
from mapgauge.io.files.json_documents import gc_paused
from mapgauge.io.files.source import Content

CATEGORIES = {"ped": "ped_crossing", "lane": "divider", "road": "boundary"}


def maps_by_name(content: Content) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the place in the file and the content of each map, by the name of its scene, its key, or its own name."""
    if content.kind == "json":
        document = content.document
    else:
        document = None
    if not isinstance(document, dict):
        raise content.error('expected a map, {"map_elements": [...]}, or an object of maps')
    maps: dict[str, tuple[str, dict[str, Any]]] = {}
    for key, given in ({"": document} if "map_elements" in document else document).items():
        where = "$"
        if key:
            where = f'$["{key}"]'
        if not isinstance(given, dict) or not isinstance(given.get("map_elements"), list):
            raise content.error(f"{where} is not a map, an object with a list map_elements")
        about = given.get("meta_info")
        if not isinstance(about, dict):
            about = {}
        names = (about.get("scene_name"), key, about.get("map_name"), about.get("location"))
        name = next((name for name in names if name), content.path.name.partition(".")[0])
        if not isinstance(name, str):
            raise content.error(f"{where}.meta_info: the name of the scene is {name!r}, expected a text")
        if name in maps:
            raise content.error(f"{where}: another map has the name {name}, expected one map for each scene")
        maps[name] = where, given
    return maps


def cities_of(path: Path) -> dict[str, str]:
    """Return the city of each map, by the name of the map. Maps that do not say it are left out."""
    known = {name: given.get("meta_info") for name, (_, given) in maps_by_name(Content(path)).items()}
    cities = {name: about.get("location") for name, about in known.items() if isinstance(about, dict)}
    return {name: str(city) for name, city in cities.items() if city}


def _read(content: Content, options: ReadOptions) -> MapFrames:
    refuse_ids(options.classes, str(content.path))
    with gc_paused():
        maps = maps_by_name(content)
        details = [_details(element) for _, given in maps.values() for element in given["map_elements"]]
        predicted = any("score" in given for given in details) and not any("global_id" in given for given in details)

        def locate(frame: int, token: str, instance: int) -> str:
            return f"{maps[token][0]}.map_elements[{instance}].coords"

        names = tuple(CATEGORIES.values())
        collector = Collector(content, GLOBALMAPNET.name, options, locate=locate, classes=names, confidence=predicted)
        for name, (place, given) in maps.items():
            collector.add_frame(name, scene=name)
            for k, element in enumerate(given["map_elements"]):
                _add(collector, element, f"{place}.map_elements[{k}]")
    if predicted:
        unscored = sum("score" not in given for given in details)
    else:
        unscored = 0
    if unscored:
        text = f"{collector.name}: {unscored} of {len(details)} elements have no score; their confidence is 1"
        collector.findings.append(Finding("warning", "scores-missing", text, count=unscored))
    return collector.finish()


def _details(element: Any) -> dict[str, Any]:
    if isinstance(element, dict):
        given = element.get("details")
    else:
        given = None
    if not isinstance(given, dict):
        return {}
    return given


def _add(collector: Collector, element: Any, where: str) -> None:
    if not isinstance(element, dict) or "coords" not in element:
        raise collector.error(f"{where} is not an object with category and coords")
    category = element.get("category")
    if not isinstance(category, str) or category not in CATEGORIES:
        raise collector.error(f"{where}.category is {category!r}, expected one of {', '.join(CATEGORIES)}")
    collector.add_instance(
        element["coords"],
        CATEGORIES[category],
        confidence=_details(element).get("score", 1.0),
        confidence_where=f"{where}.details.score",
    )


GLOBALMAPNET = Format(
    name="globalmapnet",
    about="predictions or truth: maps of whole scenes, *_maps.json and *_gt.json of GlobalMapNet",
    recognise=lambda content: content.kind == "json" and "map_elements" in content.keys,
    read=_read,
)
