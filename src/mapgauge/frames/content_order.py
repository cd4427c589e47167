"""The order of instances by content, so that no number depends on the order of the input.

Instances are sorted by a number made of their confidence and first point. Those with the same number, which are few,
are compared by confidence, points, track and intersection, and then by the instances that links join them to. What is
still equal stays in the order of the input.
"""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from mapgauge.frames.links import Links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Floats, Indices

_WEIGHTS = (1.0, 0.618, 0.271)  # of the coordinates of the first point
_SURE = -1e6  # of the confidence: kernels that sort by confidence find most instances in their order
_ROUNDS = 3  # how far links are followed to tell equal instances apart


def by_content(key: Indices, sides: Sequence[MapFrames], links: Links | None) -> Indices:
    """Return the order of the instances of both sides by a key and then by content.

    Args:
        key: Of all instances, those of the first side before the others.
        sides: Both sides.
        links: Between all instances.
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


def _number(side: MapFrames) -> Floats:
    """Return a number from the confidence and the first point of each line, if it has points."""
    number = np.zeros(len(side.polylines)) if side.confidence is None else _SURE * side.confidence
    offsets, coords = side.polylines.offsets, side.polylines.coords
    there = np.flatnonzero(offsets[1:] > offsets[:-1])
    for axis, weight in zip(range(side.dimension), _WEIGHTS, strict=False):
        number[there] += weight * coords[offsets[there], axis]
    return number


def _contents(sides: Sequence[MapFrames], instances: Indices) -> list[bytes]:
    """Return the content of some instances of both sides as bytes."""
    first, contents = len(sides[0].polylines), []
    for i in instances.tolist():
        side, k = (sides[0], i) if i < first else (sides[1], i - first)
        start, stop = side.polylines.offsets[k : k + 2]
        content = [
            b"" if side.confidence is None else side.confidence[k].tobytes(),
            (stop - start).tobytes() + np.ascontiguousarray(side.polylines.coords[start:stop]).tobytes(),
            b"" if side.intersection is None else side.intersection[k].tobytes(),
            b"" if side.track is None else str(side.track[k]).encode("utf-8", "surrogatepass"),
        ]
        contents.append(b"".join(content))
    return contents


def _with_links(sides: Sequence[MapFrames], instances: Indices, links: Links) -> list[bytes]:
    """Return the content of some instances as bytes, with those of their frames that links join them to."""
    frame = np.concatenate([side.frame for side in sides])
    near = np.flatnonzero(np.isin(frame, frame[instances]))
    place = np.full(len(frame), -1)
    place[near] = np.arange(len(near))
    some = np.flatnonzero(place[links.source] >= 0)
    labels = [
        links.kinds[code].encode("utf-8", "surrogatepass") + weight.tobytes()
        for code, weight in zip(links.code[some].tolist(), links.weight[some], strict=True)
    ]
    ends = place[links.source[some]].tolist(), place[links.target[some]].tolist()
    contents = told_apart(_contents(sides, near), *ends, labels)
    return [contents[i] for i in place[instances].tolist()]


def told_apart(
    contents: Sequence[bytes], source: Iterable[int], target: Iterable[int], labels: Iterable[bytes]
) -> list[bytes]:
    """Return the contents of instances with those of the instances that links join them to.

    Args:
        contents: Of all instances.
        source: The first instance of each link.
        target: The second instance of each link.
        labels: The content of each link.
    """
    links, found = list(zip(source, target, labels, strict=True)), list(contents)
    for _ in range(_ROUNDS):
        if len(set(found)) == len(found):
            break
        digests = [hashlib.blake2b(content, digest_size=16).digest() for content in found]
        seen: list[list[bytes]] = [[] for _ in found]
        for i, j, label in links:
            seen[i].append(b"+" + label + digests[j])
            seen[j].append(b"-" + label + digests[i])
        found = [digest + b"".join(sorted(around)) for digest, around in zip(digests, seen, strict=True)]
    return found
