"""One of two processes that train together: writes the gradient that DistributedDataParallel averaged."""

import json
import os
import sys
from pathlib import Path

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from mapgauge.torch import SospaLoss


def model_and_data() -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    """A linear model that moves lines, and four pairs of lines."""
    generator = torch.Generator().manual_seed(0)
    model = torch.nn.Linear(2, 2, dtype=torch.float64)
    with torch.no_grad():
        model.weight.copy_(torch.eye(2) + 0.1)
        model.bias.fill_(0.2)
    x, y = (torch.randn(4, 6, 2, generator=generator, dtype=torch.float64) for _ in range(2))
    return model, x, y


def gradient(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> list[float]:
    """The gradient of the mean loss, as numbers."""
    SospaLoss(closed=True)(model(x), y).backward()
    grads = torch.cat([value.grad.ravel() for value in model.parameters() if value.grad is not None])
    return [float(number) for number in grads]


def main(rank: int, store: str, out: str) -> None:
    """Take half of the pairs."""
    distributed.init_process_group("gloo", init_method=Path(store).absolute().as_uri(), rank=rank, world_size=2)
    model, x, y = model_and_data()
    half = slice(2 * rank, 2 * rank + 2)
    found = gradient(DistributedDataParallel(model), x[half], y[half])
    Path(out).write_text(json.dumps(found), encoding="utf-8")
    distributed.barrier()
    distributed.destroy_process_group()
    os._exit(0)  # threads of torch sometimes abort the process when Python ends


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
