"""The options of ``read``, and the table of class names that both ``read`` and ``write`` take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.typing import Degenerate

Classes: TypeAlias = Sequence[str] | Mapping[int, str] | Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the caller of ``read`` asked for."""

    classes: dict[int, str] | None = None  # replaces the class table of the format
    degenerate: Degenerate = "strict"
    extra: Mapping[str, Any] = field(default_factory=dict)  # keywords that only this format takes
    workers: int | None = None  # number of threads; None for one per processor


def class_table(classes: Classes) -> dict[int, str]:
    """Return class names by id, from a list of names, from ``{id: name}`` or from ``{name: id}``.

    >>> class_table(["divider", "boundary"]), class_table({"divider": 2})
    ({0: 'divider', 1: 'boundary'}, {2: 'divider'})
    """
    expected = "classes must be a list of names, {id: name} or {name: id}"
    if isinstance(classes, str) or not isinstance(classes, Sequence | Mapping):
        raise InvalidInput(f"{expected}, got {classes!r}")
    pairs = list(classes.items()) if isinstance(classes, Mapping) else list(enumerate(classes))
    table: dict[int, str] = {}
    for key, value in pairs:
        number, name = (key, value) if isinstance(value, str) else (value, key)
        if not isinstance(name, str) or isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise InvalidInput(f"{expected}, got {classes!r}")
        if int(number) in table:
            raise InvalidInput(f"classes: id {number} has two names, {table[int(number)]} and {name}")
        table[int(number)] = name
    return table


def known_ids(table: Mapping[int, str]) -> str:
    """Return a class table as text, for messages.

    >>> known_ids({1: "boundary", 0: "divider"})
    '0 divider, 1 boundary'
    """
    return ", ".join(f"{number} {name}" for number, name in sorted(table.items())) or "none"
