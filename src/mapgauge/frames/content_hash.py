"""Computes a hash of the content of frames. It does not depend on the file format, the order of frames or chunks.

Every frame has a hash of its token and its instances. The hash of several frames is the sum of their hashes, so the
hashes of the parts of a data set add up to the hash of the whole.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from mapgauge.frames.links import Links
from mapgauge.frames.map_frames import MapFrames

HASH_BYTES = 16


def content_hash(frames: MapFrames, *, tracks: bool = False) -> int:
    """Return the hash of tokens, classes, points, confidences, intersections and links.

    Scenes, times and poses are not included. Frames without links have the same hash whether ``links`` is None or
    empty.

    Args:
        frames: The frames.
        tracks: Whether tracks are included, as they are if a metric uses them. Without tracks, the hash is the same.

    >>> a = MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {}})
    >>> content_hash(a) == content_hash(a.at([1, 0])) == content_hash(a.at([0])) + content_hash(a.at([1]))
    True
    """
    return added_hashes([int.from_bytes(digest, "little") for digest in frame_hashes(frames, tracks=tracks)])


def has_content(frames: MapFrames, text: str) -> bool:
    """Whether frames have a recorded hash, with or without their tracks.

    Results of metrics that use tracks have a hash with tracks. Those of early versions have one without.
    """
    return any(hash_text(content_hash(frames, tracks=tracks)) == text for tracks in (False, True))


def frame_hashes(frames: MapFrames, tokens: Sequence[str] | None = None, *, tracks: bool = False) -> list[bytes]:
    """Return the hash of each frame, 16 bytes. ``content_hash`` is their sum as little-endian numbers.

    Args:
        frames: The frames.
        tokens: Replace the tokens of the frames.
        tracks: Whether tracks are included.
    """
    hashes = []
    coords, points = frames.polylines.coords, frames.polylines.offsets
    sizes = np.diff(points)
    width = frames.dimension.to_bytes(1, "little")
    names = [name.encode("utf-8", "surrogatepass") for name in frames.classes]
    labels = frames.label.tolist()
    instances = frames.offsets.tolist()
    named = frames.track.tolist() if tracks and frames.track is not None else None
    links = frames.links if frames.links is not None and len(frames.links) else None
    first_link = [] if links is None else np.searchsorted(links.source, frames.offsets).tolist()
    for k, (token, begin, end) in enumerate(zip(tokens or frames.tokens, instances, instances[1:], strict=False)):
        digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES)
        if end > begin:
            digest.update(b"\0" + width + b"\0".join([names[label] for label in labels[begin:end]]))
            digest.update(sizes[begin:end].tobytes())
            digest.update(np.ascontiguousarray(coords[points[begin] : points[end]]).data)
            if frames.confidence is not None:
                digest.update(frames.confidence[begin:end].tobytes())
            if frames.intersection is not None:
                digest.update(b"intersection\0" + frames.intersection[begin:end].tobytes())
            if named is not None and any(named[begin:end]):
                digest.update(b"tracks\0" + "\0".join(named[begin:end]).encode("utf-8", "surrogatepass"))
            if links is not None and first_link[k] < first_link[k + 1]:
                digest.update(_bytes_of_links(links, slice(first_link[k], first_link[k + 1]), begin))
        hashes.append(digest.digest())
    return hashes


def _bytes_of_links(links: Links, some: slice, first: int) -> bytes:
    """Return the links of a frame whose first instance is ``first``, as bytes."""
    ends = np.stack([links.source[some], links.target[some]]) - first
    kinds = b"\0".join([kind.encode("utf-8", "surrogatepass") for kind in links.kind_of(some).tolist()])
    return b"links\0" + ends.tobytes() + links.weight[some].tobytes() + kinds


def added_hashes(hashes: Sequence[int]) -> int:
    """Return the hash of several sets of frames together."""
    return sum(hashes) % (1 << (8 * HASH_BYTES))


def hash_text(total: int) -> str:
    """Return a hash as hexadecimal text."""
    return f"{total:0{2 * HASH_BYTES}x}"
