"""The content of frames: hashes, and an order of instances that does not depend on the file."""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from mapgauge.frames.columns import TEXTS, Column, Values, column_of
from mapgauge.frames.links import Links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Flags, Floats, Indices

HASH_BYTES = 16
_ROUNDS = 3  # how far links are followed to tell equal instances apart


def content_hash(frames: MapFrames, *, tracks: bool = False) -> int:
    """Return the hash of tokens, classes, points, confidences, links and the columns that are hashed.

    Scenes, times and poses are not included, and ``tracks`` only if a metric uses them. Frames without links have the
    same hash whether ``links`` is None or empty.

    >>> a = MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {}})
    >>> content_hash(a) == content_hash(a.at([1, 0])) == content_hash(a.at([0])) + content_hash(a.at([1]))
    True
    """
    return added_hashes([int.from_bytes(digest, "little") for digest in frame_hashes(frames, tracks=tracks)])


def has_content(frames: MapFrames, text: str) -> bool:
    """Whether frames have a recorded hash, with tracks (as results of metrics that use tracks) or without."""
    return any(hash_text(content_hash(frames, tracks=tracks)) == text for tracks in (False, True))


def frame_hashes(frames: MapFrames, tokens: Sequence[str] | None = None, *, tracks: bool = False) -> list[bytes]:
    """Return the hash of each frame, 16 bytes. ``content_hash`` is their sum as little-endian numbers.

    ``tokens`` replace the tokens of the frames.
    """
    heads = [_encoded(token) for token in tokens or frames.tokens]
    names = [_encoded(name) for name in frames.classes]
    tails = _tails(frames, tracks)
    hashes = []
    coords = frames.polylines.coords
    points = frames.polylines.offsets
    sizes = np.diff(points)
    width = frames.dimension.to_bytes(1, "little")
    labels = frames.label.tolist()
    for head, tail, (begin, end) in zip(heads, tails, pairwise(frames.offsets.tolist()), strict=True):
        digest = hashlib.blake2b(head, digest_size=HASH_BYTES)
        if end > begin:
            digest.update(b"\0" + width + b"\0".join([names[label] for label in labels[begin:end]]))
            digest.update(sizes[begin:end].tobytes())
            digest.update(np.ascontiguousarray(coords[points[begin] : points[end]]).data)
            digest.update(tail)
        hashes.append(digest.digest())
    return hashes


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _tails(frames: MapFrames, tracks: bool) -> list[bytes]:
    """Return the last bytes of each frame with instances: confidences, columns and links."""
    columns = [hashed for hashed in _hashed(frames) if tracks or hashed[0].hashed != "tracked"]
    columns.sort(key=lambda hashed: hashed[0].hashed == "tracked")  # so that tracks only add to what others have
    shown = [_in_hash(frames, column, values) for column, values in columns]
    links = None
    if frames.links is not None and len(frames.links):
        links = frames.links
    if links is None:
        first_link = []
    else:
        first_link = np.searchsorted(links.source, frames.offsets).tolist()
    tails = []
    for k, (begin, end) in enumerate(pairwise(frames.offsets.tolist())):
        if frames.confidence is None:
            tail = b""
        else:
            tail = frames.confidence[begin:end].tobytes()
        for (column, values), is_shown in zip(columns, shown, strict=True):
            if is_shown[k]:
                tail += _encoded(column.key or column.name) + b"\0" + _bytes_of(column, values[begin:end])
        if links is not None and first_link[k] < first_link[k + 1]:
            some = slice(first_link[k], first_link[k + 1])
            ends = np.stack([links.source[some], links.target[some]]) - begin
            kinds = b"\0".join([_encoded(kind) for kind in links.kind_of(some).tolist()])
            tail += b"links\0" + ends.tobytes() + links.weight[some].tobytes() + kinds
        tails.append(tail)
    return tails


def _hashed(frames: MapFrames) -> list[tuple[Column, Values]]:
    """Return the columns of frames that hashes may have, in the order of the table, and their values."""
    rows = [(column_of(name), values) for name, values in frames.columns.items()]
    hashed = [(column, values) for column, values in rows if column.hashed != "never"]
    return sorted(hashed, key=lambda row: (row[0].order, row[0].name))


def _in_hash(frames: MapFrames, column: Column, values: Values) -> Flags:
    """Return the frames whose hash has a column."""
    if column.hashed == "known":
        counted = np.ones(len(values), np.bool_)
    else:
        counted = column.filled(values)
    shown: Flags = np.bincount(frames.frame[counted], minlength=len(frames)) > 0
    return shown


def _bytes_of(column: Column, values: Values) -> bytes:
    """Return the values of some instances as bytes."""
    if column.kind in TEXTS:
        return _encoded("\0".join(values.tolist()))
    return values.tobytes()


def added_hashes(hashes: Sequence[int]) -> int:
    """Return the hash of several sets of frames together."""
    return sum(hashes) % (1 << (8 * HASH_BYTES))


def hash_text(total: int) -> str:
    """Return a hash as hexadecimal text."""
    return f"{total:0{2 * HASH_BYTES}x}"


def by_content(key: Indices, sides: Sequence[MapFrames], links: Links | None) -> Indices:
    """Return the order of the instances of both sides by a key and then by content.

    ``key`` and ``links`` belong to all instances: first the instances of one side, then the instances of the other
    side.
    """
    number = np.concatenate([_number(side) for side in sides])
    order = np.argsort(number, kind="stable")
    # Small whole numbers are sorted fast.
    order = order[np.argsort(key[order].astype(np.min_scalar_type(key.max(initial=0))), kind="stable")]
    same = (np.diff(key[order]) == 0) & (np.diff(number[order]) == 0)
    if not same.any():
        return order
    ties = np.flatnonzero(np.append(same, False) | np.append(False, same))
    run = np.cumsum(np.append(True, ~same))[ties].tolist()
    content = _contents(sides, order[ties])
    if links is not None and len(set(zip(run, content, strict=True))) < len(run):
        content = _with_links(sides, order[ties], links)
    order[ties] = order[ties[sorted(range(len(run)), key=lambda k: (run[k], content[k]))]]
    return order


def by_row(frames: MapFrames) -> Indices:
    """Return the order of instances by frame and class, otherwise as in the file: the order of rows of results."""
    return np.argsort(frames.frame * max(len(frames.classes), 1) + frames.label, kind="stable")


def _number(side: MapFrames) -> Floats:
    """Return a number from the confidence and the first point of each line, if it has points.

    The confidence has the largest weight: kernels that sort by confidence find most instances in their order.
    """
    if side.confidence is None:
        number = np.zeros(len(side.polylines))
    else:
        number = -1e6 * side.confidence
    offsets = side.polylines.offsets
    coords = side.polylines.coords
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    for axis, weight in zip(range(side.dimension), (1.0, 0.618, 0.271), strict=False):
        number[filled] += weight * coords[offsets[filled], axis]
    return number


def _contents(sides: Sequence[MapFrames], instances: Indices) -> list[bytes]:
    """Return the content of some instances of both sides as bytes."""
    first = len(sides[0].polylines)
    contents = []
    # Columns that are known for all lanes come first, as they did when there was no other order.
    columns = [sorted(_hashed(side), key=lambda hashed: hashed[0].hashed != "known") for side in sides]
    for i in instances.tolist():
        number = int(i >= first)
        side = sides[number]
        k = i - number * first
        start, stop = side.polylines.offsets[k : k + 2]
        content = [
            b"" if side.confidence is None else side.confidence[k].tobytes(),
            (stop - start).tobytes() + np.ascontiguousarray(side.polylines.coords[start:stop]).tobytes(),
            *(_for_order(column, values[k : k + 1]) for column, values in columns[number]),
        ]
        contents.append(b"".join(content))
    return contents


def _for_order(column: Column, values: Values) -> bytes:
    """Return the value of one instance as bytes that decide the order of equal lines."""
    if column.filled_first:
        return (~column.filled(values)).tobytes() + (b"" if column.kind == "flag" else _bytes_of(column, values))
    return _bytes_of(column, values)


def _with_links(sides: Sequence[MapFrames], instances: Indices, links: Links) -> list[bytes]:
    """Return the content of some instances as bytes, with the contents of the instances that links join them to."""
    frame = np.concatenate([side.frame for side in sides])
    near = np.flatnonzero(np.isin(frame, frame[instances]))
    place = np.full(len(frame), -1)
    place[near] = np.arange(len(near))
    some = np.flatnonzero(place[links.source] >= 0)
    codes = links.code[some].tolist()
    labels = [_encoded(links.kinds[c]) + weight.tobytes() for c, weight in zip(codes, links.weight[some], strict=True)]
    ends = place[links.source[some]].tolist(), place[links.target[some]].tolist()
    contents = distinguished(_contents(sides, near), *ends, labels)
    return [contents[i] for i in place[instances].tolist()]


def distinguished(
    contents: Sequence[bytes], source: Iterable[int], target: Iterable[int], labels: Iterable[bytes]
) -> list[bytes]:
    """Return the contents of instances, each with the contents of the instances that links join it to.

    A link has a source, a target and a label, which is its content.
    """
    links = list(zip(source, target, labels, strict=True))
    known = list(contents)
    for _ in range(_ROUNDS):
        if len(set(known)) == len(known):
            break
        digests = [hashlib.blake2b(content, digest_size=16).digest() for content in known]
        seen: list[list[bytes]] = [[] for _ in known]
        for i, j, label in links:
            seen[i].append(b"+" + label + digests[j])
            seen[j].append(b"-" + label + digests[i])
        known = [digest + b"".join(sorted(around)) for digest, around in zip(digests, seen, strict=True)]
    return known
