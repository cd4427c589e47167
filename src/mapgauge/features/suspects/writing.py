"""Writes suspicious places: GeoJSON, a line in the world for each place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mapgauge.errors import InvalidInput
from mapgauge.io.files.writing import save
from mapgauge.typing import Points

SUFFIXES = (".geojson", ".json")


def check_suffix(path: Path) -> None:
    """Refuse a file name with another suffix."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(
            f"{path}: the suffix {path.suffix or '(none)'} is no format of suspicious places",
            remedy=f"Write a file that ends with {' or '.join(SUFFIXES)}",
        )


def save_places(document: dict[str, Any], lines: Sequence[Points], path: Path) -> None:
    """Write the places of a document, each with its line in the world, in metres."""
    check_suffix(path)
    features = []
    for place, line in zip(document["places"], lines, strict=True):
        geometry = {"type": "LineString", "coordinates": line.round(3).tolist()}
        features.append({"type": "Feature", "properties": place, "geometry": geometry})
    head = {"type": "FeatureCollection", "names": document["names"], "sentence": document["sentence"]}
    save(path, msgspec.json.encode(head | {"features": features}) + b"\n")
