"""Assignments on the host: costs are copied to it, all matrices are solved in one call, and indices are copied back.

The copy starts in ``costs_to_host`` and does not wait. Work that is launched before ``assign`` overlaps with it.
"""

from typing import Any, NamedTuple

import numpy as np
import torch

from mapgauge.errors import InvalidInput


class HostCosts(NamedTuple):
    """Costs on their way to the host."""

    cost: Any  # (matrices, queries, truths)
    group: Any  # (matrices, truths): truths of a group are assigned together; negative is padding
    limit: Any  # (matrices,): pairs that do not cost less are left out
    ready: Any  # an event of the device, or None
    device: Any


def costs_to_host(cost: Any, group: Any, limit: Any) -> HostCosts:
    """Start to copy costs. ``limit`` is a tensor on the host."""
    device = cost.device
    cost = cost.detach().contiguous()
    group = group.to(torch.int64)
    if device.type != "cuda":
        return HostCosts(cost.cpu(), group.cpu(), limit, ready=None, device=device)
    cost, group = (
        torch.empty(value.shape, dtype=value.dtype, pin_memory=True).copy_(value, non_blocking=True)
        for value in (cost, group)
    )
    ready = torch.cuda.Event()
    ready.record(torch.cuda.current_stream(device))
    return HostCosts(cost, group, limit, ready=ready, device=device)


@torch.compiler.disable
def assign(costs: HostCosts) -> Any:
    """Return the query of each truth, or -1, as ``(matrices, truths)`` on the device of the costs."""
    from mapgauge.training.torch import kernels

    if costs.ready is not None:
        costs.ready.synchronize()
    cost, group, limit = (np.ascontiguousarray(value.numpy()) for value in (costs.cost, costs.group, costs.limit))
    if not np.isfinite(cost).all():
        raise InvalidInput("costs are NaN or infinite: points, logits, confidences or true lines are not finite")
    query = torch.full(costs.group.shape, -1, dtype=torch.int64, pin_memory=costs.ready is not None)
    kernels.assign_groups(cost, group, limit, row_of=query.numpy())
    return query.to(costs.device, non_blocking=True)
