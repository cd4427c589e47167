"""Batches of a training loop as ``MapFrames``."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_confidence
from mapgauge.errors import InvalidInput
from mapgauge.frames.columns import COLUMNS, TEXTS, Column, Values
from mapgauge.frames.links import CONTROLLED_BY, SUCCESSOR, Links, joined_links, kept_links
from mapgauge.frames.map_frames import MapFrames, members_of
from mapgauge.geometry.polylines import Polylines, as_points
from mapgauge.typing import Confidences, Degenerate, Flags, Indices, Points

Batch: TypeAlias = Sequence[Mapping[str, Any]]

ORDERS = "MapTR has divider, ped_crossing, boundary; StreamMapNet has ped_crossing, divider, boundary"


def plain(value: Any) -> Any:
    """Return a tensor in a form that numpy accepts: without gradient, on the CPU, with a type that numpy has."""
    for name in ("detach", "cpu"):
        if hasattr(value, name):
            value = getattr(value, name)()
    floating = getattr(value, "is_floating_point", None)
    # numpy has no bfloat16.
    if callable(floating) and floating():
        return value.double()
    return value


def as_array(value: Any, where: str) -> NDArray[Any]:
    """Return numbers or names, which may be tensors on any device, as an array."""
    try:
        return np.asarray([plain(item) for item in value] if isinstance(value, list | tuple) else plain(value))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"{where} is not an array: {error}") from error


def _links(item: Mapping[str, Any], where: str, boxes: Flags) -> Links:
    """Return the links of one frame of a batch.

    ``links`` of the frame is an array ``(polylines, polylines)`` of scores in [0, 1]. Entry ``[i, j]`` says that lane i
    leads into lane j, or that traffic element j, which is a box, applies to lane i. 0 is no link.
    """
    _check_given("links", item, where, otherwise="zeros where there are none")
    count = len(boxes)
    scores = as_array(item["links"], f"{where}['links']")
    if scores.shape != (count, count) and not (count == 0 and scores.size == 0):
        raise InvalidInput(
            f"{where}['links'] has shape {scores.shape}, expected ({count}, {count}): a score for every pair of "
            "polylines, in their order"
        )
    if scores.size and scores.dtype.kind not in "biuf":
        raise InvalidInput(f"{where}['links'] must be numbers in [0, 1], got values of type {scores.dtype}")
    scores = scores.reshape(count, count).astype(np.float64)
    wrong = np.argwhere(~((scores >= 0) & (scores <= 1)))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise InvalidInput(
            f"{where}['links'][{i}, {j}] is {scores[i, j]}, expected a score in [0, 1]",
            remedy="Apply the sigmoid if these are logits",
        )
    source, target = np.nonzero(scores)
    from_box = np.flatnonzero(boxes[source])
    if len(from_box):
        i = int(source[from_box[0]])
        j = int(target[from_box[0]])
        raise InvalidInput(f"{where}['links'][{i}, {j}] begins at a traffic element, expected a lane")
    kind = np.where(boxes[target], CONTROLLED_BY, SUCCESSOR)
    return Links.of(source, target, weight=scores[source, target], kind=kind)


class _BatchItem(NamedTuple):
    """The polylines of one frame of a batch."""

    coords: Points
    size: Indices  # (polylines,): number of points
    label: Indices
    confidence: Confidences
    columns: dict[str, Values]
    links: Links | None

    def kept(self, sound: Flags) -> "_BatchItem":
        """Return the polylines that are sound."""
        if sound.all():
            return self
        return _BatchItem(
            coords=self.coords[np.repeat(sound, self.size)],
            size=self.size[sound],
            label=self.label[sound],
            confidence=self.confidence[sound],
            columns={name: values[sound] for name, values in self.columns.items()},
            links=kept_links(self.links, np.flatnonzero(sound), len(sound)),
        )


def frames_from_batch(
    batch: Batch,
    side: str,
    classes: tuple[str, ...],
    numbers: tuple[str, ...] | None,
    degenerate: Degenerate,
    *,
    scored: bool,
    boxes: Sequence[str] = (),
) -> tuple[MapFrames, Indices]:
    """Convert a batch to frames. Tokens are positions in the batch. Also return the dropped instances of each frame.

    A batch has one dictionary per frame: ``polylines``, ``labels`` and, if ``scored``, ``confidence``. All or none have
    ``links``, a matrix of scores (``_links``). Frames may have columns of ``COLUMNS``, one value per polyline: all or
    none have ``tracks``, and truth may have ``ignore``. ``side`` is the name of the batch in messages. ``numbers`` has
    the class names of integer labels 0, 1, ...; None if these are not allowed. Polylines of the classes ``boxes`` are
    boxes of traffic elements: two corners in pixels.
    """
    if isinstance(batch, Mapping | str | bytes) or not isinstance(batch, Sequence):
        raise InvalidInput(
            f"{side} must be a list with a dict per frame, got a {type(batch).__name__}",
            remedy="Put the dict of a single frame in a list",
        )
    keys = {key for item in batch if isinstance(item, Mapping) for key in item}
    known = [column for column in COLUMNS.values() if column.in_batches and (column.key or column.name) in keys]
    is_box = np.array([name in boxes for name in classes])
    items: list[_BatchItem] = []
    dropped = np.zeros(len(batch), np.int64)
    dimension: int | None = None
    for b, item in enumerate(batch):
        where = f"{side}[{b}]"
        _check_keys(item, where, scored)
        coords, size = _polylines(item["polylines"], f"{where}['polylines']", dimension)
        if len(coords):
            dimension = coords.shape[1]
        label = _labels(item["labels"], f"{where}['labels']", len(size), classes=classes, numbers=numbers)
        scores = np.ones(len(size))
        if scored:
            scores = _numbers(item["confidence"], f"{where}['confidence']", len(size))
        columns = {column.name: _values(column, item, where, count=len(size)) for column in known}
        links = None
        if "links" in keys:
            links = _links(item, where, is_box[label])
        sound = _sound(coords, size, scores, where=where, degenerate=degenerate)
        scores = np.where(sound, scores, 0.0)
        confidence = check_confidence(f"{where}['confidence']", scores, count=len(size), of="polyline")
        one = _BatchItem(coords, size, label, confidence=confidence, columns=columns, links=links)
        dropped[b] = np.count_nonzero(~sound)
        items.append(one.kept(sound))
    return _joined(items, side, classes, boxes=boxes, scored=scored), dropped


def _joined(
    items: Sequence[_BatchItem], side: str, classes: tuple[str, ...], *, boxes: Sequence[str], scored: bool
) -> MapFrames:
    """Return the frames of a batch as one container. Frames without polylines have no say about the dimension."""
    filled = [item for item in items if len(item.size)]
    coords: Points = np.empty((0, 2))
    sizes = label = np.empty(0, np.int64)
    confidence: Confidences = np.empty(0)
    if filled:
        coords = np.concatenate([item.coords for item in filled])
        sizes = np.concatenate([item.size for item in filled])
        label = np.concatenate([item.label for item in filled])
        confidence = np.concatenate([item.confidence for item in filled])
    counts = [len(item.size) for item in items]
    links = None
    columns = {}
    if items:
        links = joined_links([item.links for item in items], counts)
        columns = {name: np.concatenate([item.columns[name] for item in items]) for name in items[0].columns}
    return MapFrames(
        tokens=tuple(str(b) for b in range(len(items))),
        classes=classes,
        frame=np.repeat(np.arange(len(items)), counts),
        label=label,
        polylines=Polylines(coords, np.append(0, sizes.cumsum(dtype=np.int64))),
        confidence=confidence if scored else None,
        name=side,
        links=links,
        boxes=tuple(boxes),
        **members_of(columns),
    )


def _check_keys(item: Any, where: str, scored: bool) -> None:
    expected = ["polylines", "labels"]
    if scored:
        expected.append("confidence")
    if not isinstance(item, Mapping):
        raise InvalidInput(f"{where} must be a dict with {', '.join(expected)}, got a {type(item).__name__}")
    lacking = [key for key in expected if key not in item]
    if lacking:
        raise InvalidInput(
            f"{where} has no {' and no '.join(lacking)}. It has: {', '.join(map(str, item)) or 'nothing'}"
        )
    if not scored and "confidence" in item:
        raise InvalidInput(
            f"{where} has confidence, expected truth without confidences",
            remedy="Check that predictions and truth are not swapped",
        )


def _polylines(value: Any, where: str, dimension: int | None) -> tuple[Points, Indices]:
    """Return all points and the number of points per polyline.

    ``value`` is one array ``(polylines, points, 2 or 3)`` or a list of polylines.
    """
    lines: list[Any]
    if hasattr(value, "ndim") and getattr(value, "dtype", None) != np.dtype(object):
        array = as_array(value, where)
        if array.size and array.ndim != 3:
            raise InvalidInput(
                f"{where} has shape {array.shape}, expected (polylines, points, 2 or 3)",
                remedy="Put a single polyline in a list",
            )
        known = [2, 3]
        if dimension is not None:
            known = [dimension]
        if array.size and array.dtype.kind in "iuf" and array.shape[2] in known:
            coords = np.ascontiguousarray(array, np.float64).reshape(-1, array.shape[2])
            return coords, np.full(len(array), array.shape[1])
        lines = list(array)  # raises the same errors as a list
    elif isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        raise InvalidInput(f"{where} must be a list of polylines or one array, got a {type(value).__name__}")
    else:
        lines = list(value)
    arrays = []
    for i, line in enumerate(lines):
        points = as_points(plain(line), f"{where}[{i}]", dimension)
        if len(points) and points.shape[1] not in (2, 3):
            raise InvalidInput(f"{where}[{i}]: points have {points.shape[1]} coordinates, expected 2 or 3")
        if len(points):
            dimension = points.shape[1]
        arrays.append(points)
    filled = [points for points in arrays if len(points)]
    return np.concatenate(filled) if filled else np.empty((0, 2)), np.array([len(a) for a in arrays], np.int64)


def _labels(value: Any, where: str, count: int, classes: tuple[str, ...], numbers: tuple[str, ...] | None) -> Indices:
    """Return the class of each polyline from names or numbers."""
    array = _column(value, where, count, what="labels")
    if not count:
        return np.empty(0, np.int64)
    if array.dtype.kind == "U":
        places = {name: code for code, name in enumerate(classes)}
        codes = np.array([places.get(name, -1) for name in array.tolist()], np.int64)
        known = ", ".join(classes)
    elif array.dtype.kind in "iu":
        if numbers is None:
            raise InvalidInput(
                f"{where} holds numbers, but no class names were given for these integer labels. "
                f"The order differs between projects: {ORDERS}",
                remedy="Pass classes= with the names in order",
            )
        inside = (array >= 0) & (array < len(numbers))
        table = np.array([classes.index(name) for name in numbers], np.int64)
        codes = np.where(inside, table[np.where(inside, array, 0).astype(np.int64)], -1)
        known = ", ".join(f"{number} {name}" for number, name in enumerate(numbers))
    else:
        raise InvalidInput(f"{where} must be whole numbers or names, got values of type {array.dtype}")
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        first = array[unknown[0]].item()
        if len(unknown) > 1:
            more = f" ({len(unknown)} of {count} labels are unknown)"
        else:
            more = ""
        raise InvalidInput(f"{where}[{unknown[0]}] is {first!r}, expected one of: {known}{more}")
    return codes


def _check_given(key: str, item: Mapping[str, Any], where: str, otherwise: str) -> None:
    """Refuse a frame without a key that other frames have."""
    if key not in item:
        raise InvalidInput(
            f"{where} has no {key}, but other frames of the batch have them",
            remedy=f"Give all frames the key {key}, with {otherwise}",
        )


def _column(value: Any, where: str, count: int, what: str) -> NDArray[Any]:
    """Return an array with one value per polyline."""
    array = as_array(value, where)
    if array.shape != (count,):
        raise InvalidInput(f"{where} must be {count} {what}, one per polyline, got shape {array.shape}")
    return array


# By ``Column.kind``: what the values are called, the letters of the types of arrays that they may have, and in words.
_KINDS = {
    "id": ("ids", "iuU", "whole numbers or texts"),
    "text": ("texts", "U", "texts"),
    "flag": ("flags", "b", "True or False"),
    "number": ("numbers", "iuf", "numbers"),
}


def _values(column: Column, item: Mapping[str, Any], where: str, count: int) -> Values:
    """Return the values of a column for the polylines of a frame."""
    key = column.key or column.name
    if column.absent == "unknown":
        _check_given(key, item, where, otherwise="an empty list where there are no polylines")
    if key not in item:
        return column.empties(count)
    called, letters, expected = _KINDS[column.kind]
    array = _column(item[key], f"{where}['{key}']", count, what=called)
    if not count:
        return column.empties(0)
    if array.dtype.kind not in letters:
        raise InvalidInput(f"{where}['{key}'] must be {expected}, got values of type {array.dtype}")
    values = column.of(array)
    if column.kind in TEXTS and any("\0" in text for text in values.tolist()):
        raise InvalidInput(f"{where}['{key}'] must not have NUL characters")
    return values


def _numbers(value: Any, where: str, count: int) -> Confidences:
    array = _column(value, where, count, what="numbers")
    if count and array.dtype.kind not in "iuf":
        raise InvalidInput(f"{where} must be numbers in [0, 1], got values of type {array.dtype}")
    return array.astype(np.float64)


def _sound(coords: Points, sizes: Indices, scores: Confidences, where: str, degenerate: Degenerate) -> Flags:
    """Return which instances are valid polylines. With ``degenerate="strict"``, others raise an error."""
    sound: Flags = (sizes > 1) & np.isfinite(scores)
    sound[np.repeat(np.arange(len(sizes)), sizes)[~np.isfinite(coords).all(axis=1)]] = False
    if degenerate == "strict" and not sound.all():
        i = int(np.argmin(sound))
        points = coords[sizes[:i].sum() : sizes[: i + 1].sum()]
        if sizes[i] < 2:
            what = f"{where}['polylines'][{i}] has {sizes[i]} points, expected at least 2"
        elif not np.isfinite(points).all():
            row, column = np.argwhere(~np.isfinite(points))[0].tolist()
            what = (
                f"{where}['polylines'][{i}]: coordinate {column} of point {row} is {points[row, column]}, "
                "expected a finite number"
            )
        else:
            what = f"{where}['confidence'][{i}] is {scores[i]}, expected a number in [0, 1]"
        if (~sound).sum() > 1:
            more = f" ({np.count_nonzero(~sound)} of {len(sound)} instances are invalid)"
        else:
            more = ""
        raise InvalidInput(f"{what}{more}", remedy='Pass degenerate="drop" to leave such instances out')
    return sound
