"""Decoding JSON by types, also in several threads.

msgspec looks at the annotations of a class when it first meets it. If two threads do this at the same time, the process
can end with a segmentation fault. Here one thread does it.
"""

from threading import Lock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_LOCK = Lock()
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


def decoder_of(kind: type[T]) -> "msgspec.json.Decoder[T]":
    """Return the decoder of a type. Threads share it."""
    with _LOCK:
        if kind not in _DECODERS:
            _DECODERS[kind] = msgspec.json.Decoder(kind)
        return _DECODERS[kind]


def decode_json(data: bytes | str, kind: type[T]) -> T:
    """Return the value of a type that a JSON document has."""
    return decoder_of(kind).decode(data)
