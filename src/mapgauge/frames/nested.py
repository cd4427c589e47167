"""Packs polylines given as nested dictionaries into the columns of ``MapFrames``."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.arguments import check_confidence
from mapgauge.errors import InvalidInput
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Confidences, Points


class Columns(NamedTuple):
    """The columns of ``MapFrames`` that nested dictionaries define."""

    tokens: tuple[str, ...]
    classes: tuple[str, ...]
    frame: NDArray[np.int64]
    label: NDArray[np.int64]
    polylines: Polylines
    confidence: Confidences | None


def columns_from_nested(
    frames: Mapping[str, Mapping[str, Any]],
    confidence: Mapping[str, Mapping[str, ArrayLike]] | None,
    classes: Sequence[str] | None,
) -> Columns:
    """Pack ``{token: {class name: polylines}}``; the arguments are those of ``MapFrames.of``."""
    names = list(dict.fromkeys(name for groups in frames.values() for name in groups) if classes is None else classes)
    arrays: list[Points] = []
    where: list[str] = []
    frame: list[int] = []
    label: list[int] = []
    values: list[Confidences] = []
    dimension: int | None = None
    for index, (token, groups) in enumerate(frames.items()):
        for name, group in groups.items():
            if name not in names:
                raise InvalidInput(f"frame {token}: unknown class {name!r}; available: {', '.join(names)}")
            lines = Polylines.of(group, f"{token}, {name}", dimension)
            if len(lines.coords):
                dimension = lines.dimension
            arrays += list(lines)
            where += [f"{token}, {name} {k}" for k in range(len(lines))]
            frame += [index] * len(lines)
            label += [names.index(name)] * len(lines)
            if confidence is not None:
                given = confidence.get(token, {}).get(name, ())
                values.append(check_confidence(f"confidence of {token}, {name}", given, len(lines), "polyline"))
    return Columns(
        tuple(frames),
        tuple(names),
        np.array(frame, np.int64),
        np.array(label, np.int64),
        Polylines.pack(arrays, where, dimension or 2),
        None if confidence is None else np.concatenate([np.empty(0), *values]),
    )
