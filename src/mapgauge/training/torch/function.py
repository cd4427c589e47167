"""SOSPA as a function with a gradient: calls a backend, and says how the gradient and ``torch.vmap`` work.

A backend has ``costs``, ``matchings`` and ``gradients`` with the arguments of those in ``plain.py``.
"""

from types import ModuleType
from typing import Any

import torch

from mapgauge.training.torch.plain import Problem

_TENSORS = 6  # the first arguments of a problem, each with the batch as its first dimension


class Sospa(torch.autograd.Function):
    """Costs and readings of all pairs. Its arguments are a backend and the values of a ``Problem``."""

    @staticmethod
    def forward(backend: ModuleType, *values: Any) -> tuple[Any, Any]:
        """Return costs and readings."""
        cost, reading = backend.costs(Problem(*values))
        return cost, reading

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Any, Any]) -> None:
        """Keep lines, costs and readings for the backward pass. The matching is computed again."""
        tensors = [value if isinstance(value, torch.Tensor) else None for value in inputs[1:]]
        context.save_for_backward(*output, *tensors)
        context.backend = inputs[0]
        context.rest = [None if isinstance(value, torch.Tensor) else value for value in inputs[1:]]
        context.mark_non_differentiable(output[1])

    @staticmethod
    def backward(context: Any, weight: Any, _: Any) -> tuple[Any, ...]:
        """Return the gradients for both sides."""
        cost, reading, *tensors = context.saved_tensors
        values = [other if tensor is None else tensor for tensor, other in zip(tensors, context.rest, strict=True)]
        of_y = context.needs_input_grad[2]
        gradients = SospaGradient.apply if torch.is_grad_enabled() else SospaGradient.forward
        grad_x, grad_y = gradients(context.backend, reading, cost, weight, of_y, *values)
        return None, grad_x, grad_y if of_y else None, None, None, None, None, None, None

    @staticmethod
    def vmap(info: Any, dims: tuple[Any, ...], backend: ModuleType, *values: Any) -> tuple[Any, Any]:
        """Make the new dimension a part of the batch."""
        folded = _fold(info.batch_size, dims[1:], values)
        return _unfold(info.batch_size, Sospa.apply(backend, *folded)), (0, 0)


class SospaGradient(torch.autograd.Function):
    """The gradients of ``Sospa``. They have no gradient of their own."""

    @staticmethod
    def forward(backend: ModuleType, reading: Any, cost: Any, weight: Any, of_y: bool, *values: Any) -> tuple[Any, Any]:
        """Return the gradients for both sides; that for y is empty unless it is needed."""
        problem = Problem(*values)
        grad_x, grad_y = backend.gradients(problem, reading, cost, weight, of_y)
        return grad_x, problem.y.new_zeros(len(problem.y), 0) if grad_y is None else grad_y

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Any, Any]) -> None:
        """Keep nothing."""

    @staticmethod
    def backward(context: Any, *weights: Any) -> tuple[Any, ...]:
        """Refuse a second derivative."""
        raise NotImplementedError("the gradient of SOSPA has no gradient: second derivatives are not computed")

    @staticmethod
    def vmap(info: Any, dims: tuple[Any, ...], backend: ModuleType, *values: Any) -> tuple[Any, Any]:
        """Make the new dimension a part of the batch."""
        reading, cost, weight = _fold(info.batch_size, dims[1:4], values[:3], tensors=3)
        folded = _fold(info.batch_size, dims[5:], values[4:])
        return _unfold(info.batch_size, SospaGradient.apply(backend, reading, cost, weight, values[3], *folded)), (0, 0)


def _fold(size: int, dims: tuple[Any, ...], values: tuple[Any, ...], tensors: int = _TENSORS) -> list[Any]:
    """Return the values with the mapped dimension in front of the batch, as one dimension."""
    out = []
    for value, dim in zip(values[:tensors], dims, strict=False):
        if isinstance(value, torch.Tensor):
            moved = value.expand(size, *value.shape) if dim is None else value.movedim(dim, 0)
            out.append(moved.flatten(0, 1))
        else:
            out.append(value)
    return [*out, *values[tensors:]]


def _unfold(size: int, values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value.unflatten(0, (size, value.shape[0] // max(size, 1))) for value in values)
