"""Lines as tensors: checks, padding, flags and closing points. Nothing here waits for a device."""

from collections.abc import Sequence
from typing import Any

import torch

from mapgauge.arguments import check_flag
from mapgauge.errors import InvalidInput


def as_batch(lines: Any, name: str) -> tuple[Any, bool]:
    """Return lines with a batch dimension, and whether it was added."""
    if not isinstance(lines, torch.Tensor):
        raise InvalidInput(f"{name} must be a tensor, got {type(lines).__name__}")
    if lines.ndim not in (3, 4) or lines.shape[-1] not in (2, 3):
        raise InvalidInput(
            f"{name} must have shape (lines, points, 2 or 3) or (batch, lines, points, 2 or 3), "
            f"got {tuple(lines.shape)}"
        )
    if not lines.dtype.is_floating_point:
        raise InvalidInput(f"{name} must hold floating-point numbers, got {lines.dtype}")
    return (lines[None], True) if lines.ndim == 3 else (lines, False)


def pad_lines(lines: Any, like: Any, single: bool) -> tuple[Any, Any]:
    """Pad lines of different lengths to one tensor. Returns it and the numbers of points.

    Args:
        lines: A sequence of lines, or a sequence of those, or of tensors ``(truths, points, dimension)``, for a batch.
        like: A tensor with the dimension, the device and the batch size.
        single: Whether there is no batch dimension.
    """
    if not isinstance(lines, Sequence):
        raise InvalidInput(f"truth must be a tensor or a sequence of tensors, got {type(lines).__name__}")
    batch = [lines] if single else list(lines)
    if len(batch) != len(like):
        raise InvalidInput(f"truth must have one entry per item of the batch, {len(like)}, got {len(batch)}")
    dimension = like.shape[-1]
    for i, item in enumerate(batch):
        for j, line in enumerate(item):
            where = f"truth[{j}]" if single else f"truth[{i}][{j}]"
            if not isinstance(line, torch.Tensor) or line.ndim != 2 or (len(line) and line.shape[1] != dimension):
                got = tuple(line.shape) if isinstance(line, torch.Tensor) else type(line).__name__
                raise InvalidInput(f"{where} must be a tensor of shape (points, {dimension}), got {got}")
            if not line.dtype.is_floating_point:
                raise InvalidInput(f"{where} must hold floating-point numbers, got {line.dtype}")
            if line.device != like.device:
                raise InvalidInput(
                    f"{where} is on {line.device} and predictions are on {like.device}",
                    remedy="Move the truth: line.to(predictions.device)",
                )
    every = [line for item in batch for line in item if len(line)]
    longest, most = max(map(len, every), default=0), max(map(len, batch), default=0)
    kind = torch.float64 if any(line.dtype == torch.float64 for line in every) else torch.float32
    counts = [[len(line) for line in item] + [0] * (most - len(item)) for item in batch]
    # A tensor from a list is made on the host and copied. The copy does not wait for the device.
    points = torch.tensor(counts, dtype=torch.int32).reshape(len(batch), most).to(like.device, non_blocking=True)
    padded = torch.zeros(len(batch), most, longest, dimension, dtype=kind, device=like.device)
    for i, item in enumerate(batch):
        for j, line in enumerate(item):
            if len(line):
                padded[i, j, : len(line)] = line.to(kind)
    return (padded[0], points[0]) if single else (padded, points)


def check_count(name: str, count: Any, lines: Any, single: bool) -> Any:
    """Return the numbers of points of padded lines with a batch dimension, at most the length of the padding."""
    if count is None:
        return None
    shape = tuple(lines.shape[1:2] if single else lines.shape[:2])
    if not isinstance(count, torch.Tensor) or tuple(count.shape) != shape or count.dtype.is_floating_point:
        got = f"{count.dtype} {tuple(count.shape)}" if isinstance(count, torch.Tensor) else repr(count)
        raise InvalidInput(f"{name} must be a tensor of whole numbers of shape {shape}, got {got}")
    return _placed(name, count, lines, single).clamp(0, lines.shape[2]).to(torch.int32)


def check_flags(name: str, flag: Any, lines: Any, single: bool) -> Any:
    """Return one flag, or a flag per line with a batch dimension."""
    if isinstance(flag, bool):
        return flag
    if not isinstance(flag, torch.Tensor):
        return check_flag(name, flag)
    shape = tuple(lines.shape[1:2] if single else lines.shape[:2])
    if tuple(flag.shape) != shape or flag.dtype != torch.bool:
        raise InvalidInput(
            f"{name} must be True, False or a tensor of booleans of shape {shape}, got {flag.dtype} {tuple(flag.shape)}"
        )
    return _placed(name, flag, lines, single)


def _placed(name: str, value: Any, lines: Any, single: bool) -> Any:
    if value.device != lines.device:
        raise InvalidInput(f"{name} is on {value.device}, the lines are on {lines.device}")
    return value[None] if single else value


def without_closing_points(lines: Any, count: Any, closed: Any) -> Any:
    """Return the numbers of points of lines without the closing points of closed lines that repeat their first."""
    if count is None:
        count = torch.full(lines.shape[:2], lines.shape[2], dtype=torch.int32, device=lines.device)
    if lines.shape[2] <= 2:
        return count
    end = (count.to(torch.int64) - 1).clamp(min=0)[..., None, None].expand(*count.shape, 1, lines.shape[-1])
    repeats = (lines[:, :, :1] == lines.gather(2, end)).all(-1)[..., 0] & (count > 2)
    if closed is not True:
        repeats = repeats & closed
    return count - repeats.to(count.dtype)
