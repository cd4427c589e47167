"""A file format: a line of text for each polyline, ``token class confidence cost x,y x,y ...``."""

from typing import Any

from mapgauge import MapFrames
from mapgauge.plugin import Content, Format, ReadOptions

HEAD = b"#lines\n"


def is_lines(content: Content) -> bool:
    """Whether a file begins as files of this format do."""
    return content.data.startswith(HEAD)


def read(content: Content, options: ReadOptions) -> MapFrames:
    """Read predictions."""
    frames: dict[str, dict[str, list[Any]]] = {}
    confidence: dict[str, dict[str, list[float]]] = {}
    costs: dict[str, dict[str, list[float]]] = {}
    for number, line in enumerate(content.data.decode("utf-8").splitlines()[1:], 2):
        try:
            token, class_name, sure, cost, *points = line.split()
            polyline = [[float(value) for value in point.split(",")] for point in points]
            frames.setdefault(token, {}).setdefault(class_name, []).append(polyline)
            confidence.setdefault(token, {}).setdefault(class_name, []).append(float(sure))
            costs.setdefault(token, {}).setdefault(class_name, []).append(float(cost))
        except ValueError as error:
            expected = "expected TOKEN CLASS CONFIDENCE COST X,Y X,Y ..."
            raise content.error(f"line {number}: {expected}, got {line[:60]!r}") from error
    return MapFrames.of(frames, confidence=confidence, columns={"cost": costs})


LINES = Format(name="lines", about="predictions, a polyline in a line of text", recognise=is_lines, read=read)
