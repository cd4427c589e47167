"""Decompression of gzip and zstd files, up to a number of bytes."""

import re
import zlib
from collections.abc import Callable
from typing import Any

from mapgauge.dependencies import zstd_module

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"

_ZEROS = re.compile(rb"\0*")
_CHUNK = 1 << 10, 1 << 22  # bytes given to a decompressor after the first member: at first, and at most


class TooLarge(Exception):
    """The content is larger than allowed."""


def decompressed(data: bytes, limit: int) -> bytes:
    """Return the content of a gzip or zstd file; other data unchanged.

    Raises:
        TooLarge: The content has more bytes than ``limit``.
        ValueError: The data are damaged or incomplete.
    """
    if data.startswith(GZIP):
        return _decompressed(data, limit, lambda: zlib.decompressobj(wbits=31), zlib.error, _ZEROS)
    if data.startswith(ZSTD):
        zstd = zstd_module()
        return _decompressed(data, limit, zstd.ZstdDecompressor, zstd.ZstdError, None)
    return data


def _decompressed(
    data: bytes,
    limit: int,
    make: Callable[[], Any],
    broken: type[Exception],
    padding: re.Pattern[bytes] | None,
) -> bytes:
    """Decompress all members of a file; the members follow each other, with padding between them."""
    parts: list[bytes] = []
    room = limit + 1
    view = memoryview(data)
    at, chunk = 0, len(data)  # the first member at once, so that its content needs no second copy
    while at < len(data):
        member = make()
        while not member.eof:
            if at == len(data):
                raise ValueError("the file ends before the compressed data do")
            given = view[at : at + chunk]
            try:
                part = member.decompress(given, room)
            except broken as error:
                raise ValueError(str(error)) from error
            parts.append(part)
            room -= len(part)
            if room <= 0:
                raise TooLarge
            at += len(given)
            chunk = min(2 * chunk, _CHUNK[1])
        at -= len(member.unused_data)
        # Short at first: a decompressor copies what follows its member, which is slow for many small members.
        chunk = _CHUNK[0]
        if padding is not None:
            at = padding.match(data, at).end()  # type: ignore[union-attr]  # matches the empty text
    return parts[0] if len(parts) == 1 else b"".join(parts)
