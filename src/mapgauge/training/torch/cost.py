"""``sospa_cost``: SOSPA between all predictions and all true lines, as tensors with gradients."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple

import torch

from mapgauge.arguments import check_cutoff, check_flag
from mapgauge.errors import InvalidInput
from mapgauge.training.torch import plain
from mapgauge.training.torch.function import Sospa
from mapgauge.training.torch.plain import NOTHING, Problem


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

    Dimension, device and batch size are as in ``like``. ``single`` means that there is no batch dimension.
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
    is_whole = isinstance(count, torch.Tensor) and not count.dtype.is_floating_point
    return _placed(name, count, lines, single, "a tensor of whole numbers", is_whole).clamp(0, lines.shape[2]).int()


def check_flags(name: str, flag: Any, lines: Any, single: bool) -> Any:
    """Return one flag, or a flag per line with a batch dimension."""
    if isinstance(flag, bool):
        return flag
    if not isinstance(flag, torch.Tensor):
        return check_flag(name, flag)
    return _placed(name, flag, lines, single, "True, False or a tensor of booleans", flag.dtype == torch.bool)


def _placed(name: str, value: Any, lines: Any, single: bool, kind: str, is_kind: bool) -> Any:
    """Return a value per line with a batch dimension. It must be of a kind, and on the device of the lines."""
    shape = tuple(lines.shape[1:2] if single else lines.shape[:2])
    if not is_kind or tuple(value.shape) != shape:
        got = f"{value.dtype} {tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)
        raise InvalidInput(f"{name} must be {kind} of shape {shape}, got {got}")
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


Backend = Literal["auto", "plain", "triton"]


class SospaMatching(NamedTuple):
    """The costs of all pairs of lines, with the matching behind each. Indices have no gradient."""

    cost: Any  # (..., queries, truths)
    partner: Any  # (..., queries, truths, points): the point of the true line matched to each point, or -1; int64
    reversed: Any  # (..., queries, truths): whether the true line is read from its end to its start; bool
    shift: Any  # (..., queries, truths): the true line is read from this point, counted in the direction of reading


def sospa_cost(
    predictions: Any,
    truth: Any,
    *,
    cutoff: float = 1.5,
    closed: Any = False,
    directed: Any = True,
    normalised: bool = False,
    prediction_points: Any = None,
    truth_points: Any = None,
    backend: Backend = "auto",
) -> Any:
    """SOSPA between every predicted line and every true line, with gradients for both.

    The values equal ``mapgauge.sospa`` with order 1. The gradient is exact: each matched point is pulled towards its
    partner by a unit vector (times the derivative of the normalisation), and an unmatched point is not moved. At a
    point that lies on its partner the gradient is 0. Where two matchings have the same cost, it is the
    gradient of one of them.

    Args:
        predictions: ``(queries, points, 2 or 3)`` or ``(batch, queries, points, 2 or 3)``, in metres. Lines of float16
            and bfloat16 are computed in float32.
        truth: ``(truths, points, 2 or 3)`` or ``(batch, truths, points, 2 or 3)``; or a sequence of lines
            ``(points, 2 or 3)`` of any lengths; or for a batch a sequence of such tensors or sequences. The numbers of
            points of both sides may differ. If a batch has different numbers of true lines, the columns that are left
            over have empty lines.
        cutoff: ``c``, metres. Points at least this far apart are never matched, and have no gradient.
        closed: Whether true lines are closed: one flag, or a tensor ``(truths,)`` or ``(batch, truths)``. A closed line
            is compared by all its start points, and its closing point is dropped if it repeats the first exactly.
            Predictions are used as they are.
        directed: If false, the smaller distance of both directions is taken. One flag, or a tensor like ``closed``.
        normalised: Return ``2 s / (M + s)`` in [0, 1] instead of metres. An empty line has the cost 1 to any other.
        prediction_points: ``(queries,)`` or ``(batch, queries)`` numbers of points of padded lines. The padding may
            hold anything.
        truth_points: The same for the truth.
        backend: ``"triton"`` for CUDA, ``"plain"`` for any device, ``"auto"`` for the faster one.

    Returns:
        ``(queries, truths)`` or ``(batch, queries, truths)`` costs, float64 for lines of float64, otherwise float32.
        A line with NaN or an infinite coordinate has NaN costs, and its points have NaN gradients.

    >>> predictions = torch.tensor([[[0.0, 0.0], [1.0, 0.0]]], requires_grad=True)
    >>> cost = sospa_cost(predictions, [torch.tensor([[0.0, 0.5], [1.0, 0.5]])])
    >>> round(cost.item(), 6)
    1.0
    >>> cost.sum().backward()
    >>> predictions.grad.tolist()
    [[[0.0, -1.0], [0.0, -1.0]]]
    """
    cost, _, _, single = _solve(
        predictions, truth, cutoff, closed, directed, normalised, prediction_points, truth_points, backend
    )
    return cost[0] if single else cost


def sospa_matching(
    predictions: Any,
    truth: Any,
    *,
    cutoff: float = 1.5,
    closed: Any = False,
    directed: Any = True,
    normalised: bool = False,
    prediction_points: Any = None,
    truth_points: Any = None,
    backend: Backend = "auto",
) -> SospaMatching:
    """The costs of ``sospa_cost`` with the matching of the points and how the true line is read.

    The arguments are as in ``sospa_cost``.

    >>> line = torch.tensor([[[0.0, 0.0], [1.0, 0.0]]])
    >>> matching = sospa_matching(line, line.flip(1), directed=False)
    >>> matching.partner.tolist(), matching.reversed.tolist()
    ([[[1, 0]]], [[True]])
    """
    cost, reading, problem, single = _solve(
        predictions, truth, cutoff, closed, directed, normalised, prediction_points, truth_points, backend
    )
    with torch.no_grad():
        partner = _backend(backend, problem).matchings(problem, reading).to(torch.int64)
        backward = (reading % 2).to(torch.bool)
        matching = SospaMatching(cost, partner, backward, _shift(problem, partner, backward))
    return SospaMatching(*(value[0] for value in matching)) if single else matching


def pair_costs(
    x: Any,
    y: Any,
    *,
    cutoff: float,
    closed: Any,
    directed: Any,
    normalised: bool,
    prediction_points: Any,
    truth_points: Any,
    backend: Backend = "auto",
) -> tuple[Any, Any, Problem]:
    """SOSPA of each line of x ``(pairs, points, dimension)`` to the line of y with the same index.

    Returns costs and readings, ``(pairs,)``, and the problem, in which each pair is an item of the batch.
    """
    if isinstance(y, torch.Tensor):
        as_batch(y, "truth")
        y = y[:, None]
    else:
        y = [[line] for line in y]
    as_batch(x, "predictions")
    per_pair = [closed, directed, prediction_points, truth_points]
    closed, directed, n, m = (value[:, None] if isinstance(value, torch.Tensor) else value for value in per_pair)
    cost, reading, problem, _ = _solve(x[:, None], y, cutoff, closed, directed, normalised, n, m, backend)
    return cost.reshape(-1), reading.reshape(-1), problem


def _solve(
    predictions: Any,
    truth: Any,
    cutoff: float,
    closed: Any,
    directed: Any,
    normalised: bool,
    prediction_points: Any,
    truth_points: Any,
    backend: Backend,
) -> tuple[Any, Any, Problem, bool]:
    """Check the arguments. Returns costs, readings, the problem, and whether the batch dimension was added."""
    if not torch.compiler.is_compiling():  # the checks of numbers use numpy, which is not traced
        cutoff, normalised = check_cutoff("cutoff", cutoff), check_flag("normalised", normalised)
    x, single = as_batch(predictions, "predictions")
    if not isinstance(truth, torch.Tensor):
        if truth_points is not None:
            raise InvalidInput("truth_points is for a padded tensor, got a sequence of lines", remedy="Leave it out")
        truth, truth_points = pad_lines(truth, x, single)
    y, other = as_batch(truth, "truth")
    if single != other or len(x) != len(y):
        raise InvalidInput(
            f"predictions and truth must both have a batch dimension of the same size or none, got shapes "
            f"{tuple(predictions.shape)} and {tuple(truth.shape)}"
        )
    if x.shape[-1] != y.shape[-1]:
        raise InvalidInput(
            f"predictions and truth must have the same number of coordinates, got {x.shape[-1]} and {y.shape[-1]}"
        )
    if x.device != y.device:
        raise InvalidInput(
            f"predictions are on {x.device} and truth is on {y.device}",
            remedy="Move the truth: truth.to(predictions.device)",
        )
    kind = torch.float64 if torch.float64 in (x.dtype, y.dtype) else torch.float32
    x, y = x.to(kind), y.to(kind)
    x_points = check_count("prediction_points", prediction_points, x, single)
    y_points = check_count("truth_points", truth_points, y, single)
    cyclic = check_flags("closed", closed, y, single)
    along = check_flags("directed", directed, y, single)
    if cyclic is not False:
        y_points = without_closing_points(y, y_points, cyclic)
    undirected = not along if isinstance(along, bool) else ~along
    problem = Problem(x, y, x_points, y_points, cyclic, undirected, cutoff, normalised)
    cost, reading = Sospa.apply(_backend(backend, problem), *problem)
    return cost, reading, problem, single


def _backend(name: Backend, problem: Problem) -> ModuleType:
    """Return the module that computes."""
    if name not in ("auto", "plain", "triton"):
        raise InvalidInput(f"backend must be 'auto', 'plain' or 'triton', got {name!r}")
    if name == "plain" or (name == "auto" and problem.x.device.type != "cuda"):
        return plain
    from mapgauge.training.torch import fast

    if fast.fits(problem):
        return fast
    if name == "triton":
        raise InvalidInput(
            f"the Triton backend takes true lines of up to {fast.LONGEST} points, got {problem.y.shape[2]}",
            remedy='Pass backend="plain"',
        )
    return plain


def _shift(problem: Problem, partner: Any, backward: Any) -> Any:
    """Return where a true line is read from: the partner of the first matched point, if the matching wraps around."""
    points = problem.y.shape[2]
    count = points if problem.y_points is None else problem.y_points[:, None, :, None]
    walked = torch.where(backward[..., None], count - 1 - partner, partner)
    matched = partner != NOTHING
    # The largest place so far, and whether a later one is smaller.
    highest = torch.cummax(torch.where(matched, walked, NOTHING), -1).values if partner.shape[-1] else walked
    wraps = (matched & (walked < highest)).any(-1)
    first = matched.to(torch.int8).argmax(-1, keepdim=True) if partner.shape[-1] else None
    start = partner.new_zeros(problem.shape) if first is None else walked.gather(-1, first)[..., 0]
    return torch.where(wraps, start, 0)
