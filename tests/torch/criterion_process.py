"""A small batch for the criterion, and what one of two processes that train with it computes."""

from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from mapgauge.torch import PldCriterion

CRITERION = PldCriterion(10, pld_weight=0.0, directed=False)


def batch(layers: int = 2, columns: int = 3) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The outputs of a head with 7 queries of 6 points, and two items with 4 and 1 lines near some of them."""
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(layers, 2, 7, 6, 2, generator=generator) + 4 * torch.randn(7, 1, 2, generator=generator)
    logits = torch.randn(layers, 2, 7, columns, generator=generator)
    targets = []
    for item, count in enumerate((4, 1)):
        lines = points[-1, item, :count] + 0.3 * torch.randn(count, 6, 2, generator=generator)
        labels = torch.arange(count) % 3
        lines[labels == 0, -1] = lines[labels == 0, 0]
        targets.append({"points": lines, "labels": labels, "closed": labels == 0})
    return {"pred_logits": logits.requires_grad_(), "pred_points": points.requires_grad_()}, targets


def gradient(model: torch.nn.Module, outputs: dict[str, Any], targets: list[dict[str, Any]]) -> list[float]:
    """The gradient of the late losses, as numbers."""
    inner = model.module if isinstance(model, DistributedDataParallel) else model
    with torch.no_grad():
        for parameter in inner.parameters():
            parameter.copy_(torch.eye(2) + 0.1 if parameter.ndim == 2 else torch.full((2,), 0.2))
    moved = model(outputs["pred_points"].detach())
    CRITERION({"pred_logits": outputs["pred_logits"].detach(), "pred_points": moved}, targets, 1.0)["total"].backward()
    grads = torch.cat([value.grad.ravel() for value in model.parameters() if value.grad is not None])
    return [float(number) for number in grads]


def gradient_of_share(rank: int) -> list[float]:
    """The gradient of one of two processes that train together. Each takes one of the two items."""
    outputs, targets = batch()
    own = {name: value[:, rank : rank + 1] for name, value in outputs.items()}
    return gradient(DistributedDataParallel(torch.nn.Linear(2, 2)), own, targets[rank : rank + 1])
