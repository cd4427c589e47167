"""``sospa_cost``: SOSPA between all predictions and all true lines, as tensors with gradients.

A backend is a module with ``costs``, ``matchings`` and ``gradients`` as in ``plain.py``.
"""

from types import ModuleType
from typing import Any, Literal, NamedTuple

import torch

from mapgauge.arguments import check_cutoff, check_flag
from mapgauge.errors import InvalidInput
from mapgauge.training.torch import plain
from mapgauge.training.torch.plain import NOTHING, SospaProblem
from mapgauge.training.torch.targets import pad_lines


class _Sospa(torch.autograd.Function):
    """Costs and readings of all pairs. Its arguments are a backend and the values of a ``Problem``."""

    @staticmethod
    def forward(context: Any, backend: ModuleType, *values: Any) -> tuple[Any, Any]:
        """Keep lines, costs and readings for the backward pass. The matching is computed again."""
        cost, reading = backend.costs(SospaProblem(*values))
        tensors = [value if isinstance(value, torch.Tensor) else None for value in values]
        context.save_for_backward(cost, reading, *tensors)
        context.backend = backend
        context.rest = [None if isinstance(value, torch.Tensor) else value for value in values]
        context.mark_non_differentiable(reading)
        return cost, reading

    @staticmethod
    def backward(context: Any, weight: Any, _: Any) -> tuple[Any, ...]:
        cost, reading, *tensors = context.saved_tensors
        values = [other if tensor is None else tensor for tensor, other in zip(tensors, context.rest, strict=True)]
        of_y = context.needs_input_grad[2]
        grad_x, grad_y = _SospaGradient.apply(context.backend, reading, cost, weight, of_y, *values)
        return None, grad_x, grad_y, None, None, None, None, None, None


class _SospaGradient(torch.autograd.Function):
    """The gradients of ``_Sospa``. They have no gradient of their own."""

    @staticmethod
    def forward(context: Any, backend: ModuleType, *arguments: Any) -> tuple[Any, Any]:
        reading, cost, weight, of_y, *values = arguments
        gradients: tuple[Any, Any] = backend.gradients(SospaProblem(*values), reading, cost, weight, of_y)
        return gradients

    @staticmethod
    def backward(context: Any, *weights: Any) -> tuple[Any, ...]:
        raise NotImplementedError("the gradient of SOSPA has no gradient: second derivatives are not computed")


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
    if lines.ndim == 3:
        return (lines[None], True)
    return (lines, False)


def _per_line(name: str, value: Any, lines: Any, single: bool, kind: str, is_kind: bool) -> Any:
    """Return a value per line with a batch dimension. Refuse values of another kind or on another device."""
    shape = tuple(lines.shape[1:2] if single else lines.shape[:2])
    if not is_kind or tuple(value.shape) != shape:
        if isinstance(value, torch.Tensor):
            got = f"{value.dtype} {tuple(value.shape)}"
        else:
            got = repr(value)
        raise InvalidInput(f"{name} must be {kind} of shape {shape}, got {got}")
    if value.device != lines.device:
        raise InvalidInput(f"{name} is on {value.device}, the lines are on {lines.device}")
    if single:
        return value[None]
    return value


def without_closing_points(lines: Any, count: Any, closed: Any) -> Any:
    """Return the numbers of points of lines without the closing points of closed lines that repeat their first."""
    if lines.shape[2] <= 2:
        return count
    if count is None:
        repeats = (lines[:, :, 0] == lines[:, :, -1]).all(-1)
    else:
        end = (count.to(torch.int64) - 1).clamp(min=0)[..., None, None].expand(*count.shape, 1, lines.shape[-1])
        repeats = (lines[:, :, :1] == lines.gather(2, end)).all(-1)[..., 0] & (count > 2)
    if closed is not True:
        repeats = repeats & closed
    return (lines.shape[2] if count is None else count) - repeats.to(torch.int32)


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
    point that lies on its partner the gradient is 0. Where two matchings have the same cost, the gradient of one of
    them is taken.

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
    problem, single = problem_of(
        predictions,
        truth,
        cutoff,
        closed=closed,
        directed=directed,
        normalised=normalised,
        n=prediction_points,
        m=truth_points,
    )
    cost, _ = solve(problem, backend)
    if single:
        return cost[0]
    return cost


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
    problem, single = problem_of(
        predictions,
        truth,
        cutoff,
        closed=closed,
        directed=directed,
        normalised=normalised,
        n=prediction_points,
        m=truth_points,
    )
    cost, reading = solve(problem, backend)
    with torch.no_grad():
        partner = _backend(backend, problem).matchings(problem, reading).to(torch.int64)
        backward = (reading % 2).to(torch.bool)
        matching = SospaMatching(cost, partner, backward, shift=_shift(problem, partner, backward))
    if not single:
        return matching
    return SospaMatching(*(value[0] for value in matching))


def solve(problem: SospaProblem, backend: Backend = "auto") -> tuple[Any, Any]:
    """Return the costs, which have a gradient, and the readings of all pairs."""
    cost, reading = _Sospa.apply(_backend(backend, problem), *problem)
    return cost, reading


def problem_of(
    predictions: Any, truth: Any, cutoff: float, closed: Any, directed: Any, normalised: bool, n: Any, m: Any
) -> tuple[SospaProblem, bool]:
    """Check the arguments; n and m are numbers of points. Returns the problem, and whether its batch was added."""
    if not torch.compiler.is_compiling():  # the checks of numbers use numpy, which is not traced
        cutoff = check_cutoff("cutoff", cutoff)
        normalised = check_flag("normalised", normalised)
    x, single = as_batch(predictions, "predictions")
    if not isinstance(truth, torch.Tensor):
        if m is not None:
            raise InvalidInput("truth_points is for a padded tensor, got a sequence of lines", remedy="Leave it out")
        truth, m = pad_lines(truth, x, single)
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
    if torch.float64 in (x.dtype, y.dtype):
        kind = torch.float64
    else:
        kind = torch.float32
    x = x.to(kind)
    y = y.to(kind)
    counts = []
    for name, count, lines in (("prediction_points", n, x), ("truth_points", m, y)):
        if count is not None:
            is_whole = isinstance(count, torch.Tensor) and not count.dtype.is_floating_point
            count = _per_line(name, count, lines, single=single, kind="a tensor of whole numbers", is_kind=is_whole)
            count = count.clamp(0, lines.shape[2]).int()
        counts.append(count)
    flags = []
    for name, flag in (("closed", closed), ("directed", directed)):
        if isinstance(flag, torch.Tensor):
            is_flag = flag.dtype == torch.bool
            flag = _per_line(name, flag, y, single=single, kind="True, False or a tensor of booleans", is_kind=is_flag)
        flags.append(flag if isinstance(flag, bool | torch.Tensor) else check_flag(name, flag))
    x_points, y_points = counts
    cyclic, along = flags
    if cyclic is not False:
        y_points = without_closing_points(y, y_points, cyclic)
    if isinstance(along, bool):
        undirected = not along
    else:
        undirected = ~along
    return SospaProblem(
        x=x,
        y=y,
        x_points=x_points,
        y_points=y_points,
        closed=cyclic,
        undirected=undirected,
        cutoff=cutoff,
        normalised=normalised,
    ), single


def _backend(name: Backend, problem: SospaProblem) -> ModuleType:
    """Return the module that computes."""
    if name not in ("auto", "plain", "triton"):
        raise InvalidInput(f"backend must be 'auto', 'plain' or 'triton', got {name!r}")
    if name == "plain" or (name == "auto" and problem.x.device.type != "cuda"):
        return plain
    from mapgauge.training.torch import fast

    if name == "triton" and not fast.fits(problem):
        raise InvalidInput(
            f"the Triton backend takes true lines of up to {fast.LONGEST} points, got {problem.y.shape[2]}",
            remedy='Pass backend="plain"',
        )
    if fast.fits(problem):
        return fast
    return plain


def _shift(problem: SospaProblem, partner: Any, backward: Any) -> Any:
    """Return where a true line is read from: the partner of the first matched point, if the matching wraps around."""
    if not partner.shape[-1]:
        return partner.new_zeros(problem.shape)
    if problem.y_points is None:
        count = problem.y.shape[2]
    else:
        count = problem.y_points[:, None, :, None]
    walked = torch.where(backward[..., None], count - 1 - partner, partner)
    matched = partner != NOTHING
    highest = torch.cummax(torch.where(matched, walked, NOTHING), -1).values  # so far
    first = matched.to(torch.int8).argmax(-1, keepdim=True)
    return torch.where((matched & (walked < highest)).any(-1), walked.gather(-1, first)[..., 0], 0)
