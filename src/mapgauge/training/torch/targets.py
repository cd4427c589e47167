"""True lines and their classes as padded tensors."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from mapgauge.errors import InvalidInput


class Targets(NamedTuple):
    """The true lines of a batch in padded tensors. ``T`` is the largest number of lines, ``P`` of points."""

    points: Any  # (batch, T, P, 2 or 3) in metres
    labels: Any  # (batch, T) classes; -1 is padding; int64
    counts: Any = None  # (batch, T) numbers of points, or None if all lines have P
    closed: Any = False  # bool, or (batch, T)
    directed: Any = True  # bool, or (batch, T)


def pad_lines(lines: Any, like: Any, single: bool) -> tuple[Any, Any]:
    """Pad lines of different lengths to one tensor. Returns it and the numbers of points.

    Dimension, device and batch size are as in ``like``. ``single`` means that there is no batch dimension.
    """
    if not isinstance(lines, Sequence):
        raise InvalidInput(f"truth must be a tensor or a sequence of tensors, got {type(lines).__name__}")
    if single:
        batch: list[Any] = [lines]
    else:
        batch = list(lines)
    if len(batch) != len(like):
        raise InvalidInput(f"truth must have one entry per item of the batch, {len(like)}, got {len(batch)}")
    counts = []
    parts = []
    for i, item in enumerate(batch):
        whole = isinstance(item, torch.Tensor) and item.ndim == 3
        for j, line in enumerate(item[:1] if whole else item):
            _check_line(f"truth[{j}]" if single else f"truth[{i}][{j}]", line, like)
        counts.append([item.shape[1]] * len(item) if whole else [len(line) for line in item])
        if whole:
            parts += [item.flatten(0, 1)]
        else:
            parts += [line for line in item if len(line)]
    most = max(map(len, counts), default=0)
    longest = max((max(row, default=0) for row in counts), default=0)
    if any(part.dtype == torch.float64 for part in parts):
        kind = torch.float64
    else:
        kind = torch.float32
    table = torch.tensor([row + [0] * (most - len(row)) for row in counts], dtype=torch.int32)
    table = table.reshape(len(batch), most)
    padded = torch.zeros(len(batch), most, longest, like.shape[-1], dtype=kind, device=like.device)
    if parts:
        _fill(padded.flatten(0, 2), torch.arange(longest) < table[..., None], parts)
    # The copy to a device does not wait for it.
    table = table.to(like.device, non_blocking=True)
    if single:
        return (padded[0], table[0])
    return (padded, table)


def pad_targets(targets: Any, like: Any, closed: bool, directed: bool) -> Targets:
    """Pad the targets of a batch, and check them. The two flags are for targets that do not say it.

    ``targets`` are ``Targets``, or for each item a mapping with ``labels``, ``points`` and if needed ``closed`` and
    ``directed``.
    """
    if isinstance(targets, Targets):
        if targets.points.ndim != 4 or targets.labels.shape != targets.points.shape[:2] or len(like) != len(targets[0]):
            raise InvalidInput(
                f"targets must have points of shape ({len(like)}, lines, points, 2 or 3) and labels of shape "
                f"({len(like)}, lines), got {tuple(targets.points.shape)} and {tuple(targets.labels.shape)}"
            )
        points = torch.where((targets.labels >= 0)[..., None, None], targets.points, 0.0)  # the padding may be NaN
        return targets._replace(points=points)
    if not isinstance(targets, Sequence):
        raise InvalidInput(f"targets must be Targets or a sequence of mappings, got {type(targets).__name__}")
    for number, target in enumerate(targets):
        check_keys(f"targets[{number}]", target, "labels", "points")
        for name in target.keys() & {"labels", "closed", "directed"}:
            _check_per_line(f"{name} of targets[{number}]", target[name], len(target["points"]))
    points, counts = pad_lines([target["points"] for target in targets], like, single=False)
    sizes = torch.tensor([len(target["points"]) for target in targets])
    live = torch.arange(points.shape[1]) < sizes[:, None]
    tables = []
    for name, default in (("labels", -1), ("closed", closed), ("directed", directed)):
        table: Any = default
        if name == "labels" or any(name in target for target in targets):
            table = torch.full(points.shape[:2], default, device=points.device)
            values = [
                target[name] if name in target else torch.full((len(target["points"]),), default, device=points.device)
                for target in targets
            ]
            _fill(table.flatten(), live, values)
        tables.append(table)
    return Targets(points, tables[0], counts, closed=tables[1], directed=tables[2])


def check_keys(name: str, given: Any, *keys: str) -> None:
    """Refuse anything but a mapping with some keys."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{name} must be a mapping with {' and '.join(keys)}, got {type(given).__name__}")
    lacking = [key for key in keys if key not in given]
    if lacking:
        raise InvalidInput(
            f"{name} has no {' and no '.join(lacking)}; available: {', '.join(map(str, given)) or 'none'}"
        )


def _fill(table: Any, live: Any, values: list[Any]) -> None:
    """Write values one after another into the places of a flat table that are live, in one operation."""
    places = live.flatten().nonzero()[:, 0].to(table.device, non_blocking=True)  # on the host: nothing waits
    table.index_copy_(0, places, torch.cat([value.to(table.dtype) for value in values]).to(table.device))


def _check_per_line(where: str, values: Any, lines: int) -> None:
    is_tensor = isinstance(values, torch.Tensor)
    if not is_tensor or values.shape != (lines,) or (lines and values.dtype.is_floating_point):
        if is_tensor:
            got = f"{values.dtype} {tuple(values.shape)}"
        else:
            got = type(values).__name__
        raise InvalidInput(f"{where} must be a tensor of shape ({lines},), flags or whole numbers, got {got}")


def _check_line(where: str, line: Any, like: Any) -> None:
    dimension = like.shape[-1]
    if not isinstance(line, torch.Tensor) or line.ndim != 2 or (len(line) and line.shape[1] != dimension):
        got = type(line).__name__
        if isinstance(line, torch.Tensor):
            got = str(tuple(line.shape))
        raise InvalidInput(f"{where} must be a tensor of shape (points, {dimension}), got {got}")
    if not line.dtype.is_floating_point:
        raise InvalidInput(f"{where} must hold floating-point numbers, got {line.dtype}")
    if line.device != like.device:
        raise InvalidInput(
            f"{where} is on {line.device} and predictions are on {like.device}",
            remedy="Move the truth: line.to(predictions.device)",
        )
