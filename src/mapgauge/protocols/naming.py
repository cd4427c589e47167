"""Names a protocol for readers: its name, and every setting that differs from the table."""

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from mapgauge.protocols.protocol import FIRST_SHOWN, Protocol
from mapgauge.protocols.table import named

_METRES = (
    *("region", "spacing", "closed_tolerance", "cutoffs", "chamfer", "frechet", "consistent", "lanes", "segments"),
    *("areas", "buffers", "prefilter"),
)
_MOST = 4  # values of one setting that are listed


def changes(protocol: Protocol) -> dict[str, Any]:
    """Return the settings that differ from those of the protocol of this name in the table, by their fields.

    A protocol with a name of its own has no changes: the name stands for its settings.
    """
    base = named(protocol.name)
    keys = [field.name for field in fields(protocol) if field.name not in ("name", "about")]
    return {
        key: getattr(protocol, key) for key in keys if base is not None and getattr(protocol, key) != getattr(base, key)
    }


def full_name(protocol: Protocol, *, without: Collection[str] = ()) -> str:
    """Return the name of a protocol with the settings that were changed.

    Args:
        protocol: The protocol.
        without: Fields that are not named, because a table has a column for them.

    >>> import mapgauge as mg
    >>> full_name(mg.protocol("paper-60x30")), full_name(mg.protocol("paper-60x30", cutoffs=[0.5], count=20))
    ('paper-60x30', 'paper-60x30, count 20, cutoff 0.5 m')
    >>> full_name(mg.protocol("paper-60x30", cutoffs=[0.5, 1.0, 1.5], crop=True))
    'paper-60x30, crop, cutoff 1.5 m, also 0.5 and 1 m'
    """
    found = {key: value for key, value in changes(protocol).items() if key not in without}
    for one, other in (("spacing", "count"), ("count", "spacing")):
        if found.get(one) is not None:
            found.pop(other, None)  # setting one removes the other
    return ", ".join([protocol.name, *(_in_words(key, value) for key, value in found.items())])


def _in_words(key: str, value: Any) -> str:
    word = key.removesuffix("s") if key in FIRST_SHOWN else key.replace("_", " ")
    unit = " m" if key in _METRES else ""
    if value is None or value == ():
        return f"no {word}"
    if isinstance(value, bool):
        return word if value else f"{word} off"
    if not isinstance(value, tuple):
        return f"{word} {_text(value)}{unit}"
    if len(value) > _MOST and key not in FIRST_SHOWN:
        return f"{len(value)} values of {word}"
    texts = [_text(one) for one in value]
    if key in FIRST_SHOWN:
        *others, last = texts[1:] or [""]
        also = f", also {', '.join(others)}{' and ' if others else ''}{last}{unit}"
        return f"{word} {texts[0]}{unit}" + (also if last else "")
    return f"{word} {('x' if key == 'region' else '/').join(texts)}{unit}"


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
