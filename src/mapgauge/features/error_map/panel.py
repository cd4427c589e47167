"""What the page needs to draw an error map: compact arrays, and a picture that needs no script."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.features.error_map.around import CELL, LEVELS, AroundEgo
from mapgauge.features.error_map.error_map import ErrorMap
from mapgauge.features.error_map.places import ErrorPlace, Kind, interval_of, sentence_of
from mapgauge.features.error_map.zones import Zones
from mapgauge.markup import Html, element, joined
from mapgauge.typing import Floats, Indices
from mapgauge.views.report.pack import Arrays, pack
from mapgauge.views.tiles import Areas, Tiles, areas_of, packed

MOST = 120_000  # pieces in a page; with more, pieces that are close are one
PLACES = 5  # of each kind
_STATIC = 1200  # lines of the picture, at most
_CENTIMETRES = 100
_ASPECT = 1.6  # of the sheet
COLOURS = 8  # of shares in the picture: classes e0, e1, ... of the style


class Shown(NamedTuple):
    """Pieces as the page shows them: single pieces, or several that are close."""

    piece: Indices  # (pieces of the map,): the shown piece of each
    total: int  # number of shown pieces
    merged: float  # metres of a cell; 0 if they are single pieces


def shown_of(made: ErrorMap, found: Areas, most: int = MOST) -> Shown:
    """Return the pieces that a page shows, ``most`` of them at most.

    If there are more, pieces of one class and one area are shown as one if they are in the same cell of a grid.
    """
    pieces = made.pieces
    count = len(pieces.x)
    if count <= most:
        return Shown(np.arange(count), count, merged=0.0)
    size = 1.0
    while True:
        number = _in_cells(pieces.x, pieces.y, size, group=found.area * len(made.classes) + pieces.label)
        shown = int(number.max()) + 1
        if shown <= most:
            return Shown(number, shown, size)
        size *= 2


def _in_cells(x: Floats, y: Floats, size: float, group: Indices) -> Indices:
    """Return the number of the cell of each point, from 0. Points of different groups are in different cells."""
    column = np.floor((x - x.min()) / size).astype(np.int64)
    row = np.floor((y - y.min()) / size).astype(np.int64)
    keys = (group * (int(row.max()) + 1) + row) * (int(column.max()) + 1) + column
    number: Indices = np.unique(keys, return_inverse=True)[1].reshape(-1)
    return number


def map_panel(made: ErrorMap, trusted: Sequence[str], zones: Sequence[Zones] = (), *, most: int = MOST) -> Html:
    """Return the panel of a map of the world. Sentences are about the methods in ``trusted``.

    ``zones`` are those of each method; none if the data have no vehicle. ``most`` is an argument of ``shown_of``.
    """
    found = areas_of(made.pieces.x, made.pieces.y, made.pieces.length)
    tiles = packed(found.bounds, _ASPECT)
    shown = shown_of(made, found, most)
    arrays = _piece_arrays(made, found, tiles, shown=shown) | _zone_arrays(zones)
    places = [_place_rows(made, found, shown, method=k) for k in range(len(made.names))]
    about = {
        "kind": "map",
        "names": list(made.names),
        "classes": list(made.classes),
        "levels": list(LEVELS),
        "least": made.confidence,
        "cutoff": made.cutoff,
        "merged": shown.merged,
        "count": shown.total,
        "areas": len(found.bounds),
        "size": [tiles.width, tiles.height],
        "places": places,
        "zones": _zone_names(zones),
    }
    picture = _picture(made, found, tiles)
    return _panel(about, arrays, picture, sentences=_sentences(made, trusted))


def ego_panel(
    maps: Sequence[AroundEgo], names: Sequence[str], cutoff: float, trusted: Sequence[str], zones: Sequence[Zones]
) -> Html:
    """Return the panel of the area around the vehicle. Sentences are about the methods in ``trusted``."""
    first = maps[0]
    _, columns, rows = first.seen.shape
    arrays = _zone_arrays(zones)
    for k, made in enumerate(maps):
        arrays[f"{k}.seen"] = (made.seen.sum(axis=0) / 1000).astype(np.float32).ravel()
        arrays[f"{k}.found"] = (made.found.sum(axis=1) / 1000).astype(np.float32).ravel()
    about = {
        "kind": "ego",
        "names": list(names),
        "levels": list(LEVELS),
        "least": 0.0,
        "cutoff": cutoff,
        "cell": CELL,
        "columns": columns,
        "rows": rows,
        "corner": [first.left, first.bottom],
        "zones": _zone_names(zones),
    }
    share = first.share()
    squares = []
    for column in range(columns):
        for row in range(rows):
            value = float(share[column, row])
            if value == value:
                colour = f"e{min(int(value * COLOURS), COLOURS - 1)}"
                # Ahead is to the right: a panel is wider than high.
                squares.append(element("rect", x=column, y=rows - 1 - row, width=1, height=1, class_=colour))
    picture = element(
        "svg", squares, viewBox=f"0 0 {columns} {rows}", role="img", aria_label="Not found around the vehicle"
    )
    sentences = []
    for name, made in zip(names, maps, strict=True):
        if name not in trusted:
            continue
        parts = [f"{100 * value:.0f} % {side}" for side, value in made.sides().items() if value == value]
        sentences.append(f"{name}: not found {', '.join(parts)}")
    return _panel(about, arrays, picture, sentences=sentences)


def _zone_names(zones: Sequence[Zones]) -> list[str]:
    if not zones:
        return []
    return zones[0].names


def _zone_arrays(zones: Sequence[Zones]) -> Arrays:
    """Return the lengths in the zones in metres: seen by class and zone, and found by level, class and zone."""
    arrays: Arrays = {}
    for k, made in enumerate(zones):
        arrays[f"{k}.zones.seen"] = (made.seen / 1000).astype(np.float32).ravel()
        arrays[f"{k}.zones.found"] = (made.found / 1000).astype(np.float32).ravel()
    return arrays


def _panel(about: dict[str, Any], arrays: Arrays, picture: Html, sentences: Sequence[str]) -> Html:
    """Return the picture, the sentences, and the data for the script."""
    directory, data = pack(arrays)
    text = json.dumps(about | {"arrays": directory}, separators=(",", ":"), allow_nan=False)
    return joined(
        [
            element("div", element("div", picture, class_="error-picture"), id="error-map"),
            element("ul", [element("li", sentence) for sentence in sentences], class_="error-sentences"),
            element("pre", text, id="error-map-about", hidden="hidden"),
            element("pre", data, id="error-map-data", hidden="hidden"),
        ]
    )


def _sentences(made: ErrorMap, trusted: Sequence[str]) -> list[str]:
    sentences = []
    for name in trusted:
        places = made.worst(name, count=1)
        sentences += [sentence_of(place, name) for place in places]
    return sentences


def _sums(values: NDArray[Any], shown: Shown) -> NDArray[np.int32]:
    """Return sums over the pieces of each shown piece."""
    sums = np.zeros(shown.total, np.int64)
    np.add.at(sums, shown.piece, values)
    return sums.astype(np.int32)


def _means(values: Floats, weight: Floats, shown: Shown) -> Floats:
    total = np.bincount(shown.piece, weight, shown.total)
    mean: Floats = np.bincount(shown.piece, weight * values, shown.total) / total
    return mean


def _piece_arrays(made: ErrorMap, found: Areas, tiles: Tiles, shown: Shown) -> Arrays:
    """Return the arrays of the pieces, and the frames that saw them."""
    pieces = made.pieces
    length = pieces.length
    area = np.zeros(shown.total, np.int32)
    area[shown.piece] = found.area
    label = np.zeros(shown.total, np.uint8)
    label[shown.piece] = pieces.label
    x = _means(pieces.x, length, shown) + tiles.left[area]
    y = _means(pieces.y, length, shown) + tiles.bottom[area]
    half_x = pieces.half_x
    half_y = pieces.half_y
    if shown.merged:
        # The direction of the longest part, and the length of all parts along it, at most that of a cell.
        first = np.full(shown.total, -1)
        order = np.argsort(length, kind="stable")
        first[shown.piece[order]] = order
        total = np.bincount(shown.piece, length, shown.total)
        factor = np.minimum(total, shown.merged) / length[first]
        half_x = half_x[first] * factor
        half_y = half_y[first] * factor

    def centimetres(values: Floats) -> NDArray[np.int32]:
        return np.rint(values * _CENTIMETRES).astype(np.int32)

    arrays: Arrays = {
        "x": _stepped(centimetres(x)),
        "y": _stepped(centimetres(y)),
        "half": np.concatenate([centimetres(half_x), centimetres(half_y)]).astype(np.int16),
        "label": label,
        "area": _stepped(area),
        "length": centimetres(np.bincount(shown.piece, length, shown.total).astype(np.float64)),
        "seen": _sums(made.seen, shown),
        "pairs": _sums(made.pairs, shown),
        "left": tiles.left,
        "bottom": tiles.bottom,
    }
    for k in range(len(made.names)):
        counts = made.counts(k)
        levels = [_sums(made.found(k, level), shown) for level in LEVELS]
        # Few pieces are lost from one level to the next, and zeros compress well.
        losses = [levels[0], *(before - after for before, after in pairwise(levels))]
        arrays[f"{k}.found"] = np.concatenate(losses)
        arrays[f"{k}.flips"] = _sums(counts.flips, shown)
        weight = length * counts.found
        with np.errstate(invalid="ignore", divide="ignore"):
            offset = _means(np.nan_to_num(counts.offset), weight, shown)
        arrays[f"{k}.offset"] = np.where(np.isnan(offset), -1, np.rint(offset * _CENTIMETRES)).astype(np.int16)
    return arrays | _run_arrays(made, shown)


def _stepped(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the differences of consecutive values, which compress better."""
    steps: NDArray[np.int32] = np.diff(values, prepend=np.int32(0)).astype(np.int32)
    return steps


def _run_arrays(made: ErrorMap, shown: Shown) -> Arrays:
    """Return the frames that saw each shown piece, as runs of frames in the order of scenes and time."""
    count = len(made.tokens)
    # ``seen_frame`` is sorted by scene and time within a piece, and any sorted order of the frames gives runs.
    scenes = made.scenes or ("",) * count
    order = np.array(sorted(range(count), key=lambda frame: (scenes[frame], made.order[frame])), np.int64)
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    both = np.sort(shown.piece[made.seen_piece] * (count + 1) + place[made.seen_frame])
    both = both[np.diff(both, prepend=-1) > 0]  # pieces that are shown as one may be in the same frame
    begins = np.ones(len(both), np.bool_)
    begins[1:] = np.diff(both) != 1
    first = np.flatnonzero(begins)
    size = np.diff(np.append(first, len(both)))
    piece, start = np.divmod(both[first], count + 1)
    return {
        "order": order.astype(np.int32),
        "runs": np.bincount(piece, minlength=shown.total).astype(np.int32),
        "start": start.astype(np.int32),
        "size": size.astype(np.int32),
    }


def _place_rows(made: ErrorMap, found: Areas, shown: Shown, method: int) -> dict[str, list[dict[str, Any]]]:
    """Return the worst places of a method by kind, for the page."""
    kinds: tuple[Kind, ...] = ("missed", "difference", "gained") if method else ("missed",)
    rows: dict[str, list[dict[str, Any]]] = {}
    for kind in kinds:
        places = made.worst(made.names[method], kind=kind, count=PLACES)
        rows[kind] = [_place_row(made, place, shown) for place in places]
    return rows


def _place_row(made: ErrorMap, place: ErrorPlace, shown: Shown) -> dict[str, Any]:
    # The piece that stands for the place has its x and y.
    distance = np.square(made.pieces.x[place.pieces] - place.x) + np.square(made.pieces.y[place.pieces] - place.y)
    middle = int(place.pieces[np.argmin(distance)])
    return {
        "piece": int(shown.piece[middle]),
        "class": place.class_name,
        "length": round(place.length),
        "share": interval_of(place),
        "frames": place.frames,
        "scenes": place.scenes,
    }


def _picture(made: ErrorMap, found: Areas, tiles: Tiles) -> Html:
    """Return the road of the first method as SVG, in few lines."""
    pieces = made.pieces
    count = len(pieces.x)
    if not count:
        return element("p", "There is no truth on the map.")
    size = 1.0
    number = np.arange(count)
    while int(number.max()) + 1 > _STATIC:
        number = _in_cells(pieces.x, pieces.y, size, group=found.area)
        size *= 2
    shown = Shown(number, int(number.max()) + 1, size)
    weight = pieces.length * made.seen
    share = _means(made.shares(), weight, shown)
    x = _means(pieces.x + tiles.left[found.area], weight, shown)
    y = tiles.height - _means(pieces.y + tiles.bottom[found.area], weight, shown)
    # A dot of the size of the cell, or a piece.
    first = np.zeros(shown.total, np.int64)
    first[number] = np.arange(count)
    factor = max(size / 2, 1.0)
    dx = pieces.half_x[first] * factor
    dy = -pieces.half_y[first] * factor
    colour = np.minimum((share * COLOURS).astype(np.int64), COLOURS - 1)
    paths = []
    for k in range(COLOURS):
        rows = np.flatnonzero(colour == k).tolist()
        line = "".join(f"M{x[i] - dx[i]:.1f} {y[i] - dy[i]:.1f}l{2 * dx[i]:.1f} {2 * dy[i]:.1f}" for i in rows)
        if line:
            paths.append(element("path", d=line, class_=f"e{k}"))
    label = f"Map of the road. Red: not found by {made.names[0]}"
    return element("svg", paths, viewBox=f"0 0 {tiles.width:.0f} {tiles.height:.0f}", role="img", aria_label=label)
