"""Compares the Triton backend with the plain one. Run as a script, it does so in Triton's interpreter on a CPU."""

import os
from typing import Any

if __name__ == "__main__":
    os.environ["TRITON_INTERPRET"] = "1"

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

from mapgauge.torch import sospa_matching  # noqa: E402


def results_of(backend: Any, x: Any, y: Any, **settings: Any) -> list[Any]:
    """Costs, matchings and gradients of a weighted sum of the costs; some weights are 0."""
    x, y = x.clone().requires_grad_(), y.clone().requires_grad_()
    found = sospa_matching(x, y, backend=backend, **settings)
    weight = torch.linspace(0, 1, found.cost.numel(), device=x.device).reshape(found.cost.shape)
    weight = torch.where(weight < 0.3, 0.0, weight).to(found.cost.dtype)
    return [*found, *torch.autograd.grad((found.cost * weight).sum(), (x, y))]


def compare(x: Any, y: Any, **settings: Any) -> None:
    """Fail unless both backends give the same; the matching only for float64, where no two gains are equal."""
    exact = x.dtype == torch.float64
    names = "cost", "partner", "reversed", "shift", "gradient of x", "gradient of y"
    both = [results_of(backend, x, y, **settings) for backend in ("plain", "triton")]
    for name, a, b in zip(names, *both, strict=True):
        if exact or name == "cost":
            torch.testing.assert_close(b, a, rtol=0, atol=1e-12 if exact else 1e-5, msg=lambda m, n=name: f"{n}: {m}")


def main() -> None:
    """Compare on lines so small that the interpreter takes seconds."""
    from mapgauge.training.torch import fast

    for lanes in (fast.LANES, fast.MATCHING_LANES):
        lanes.update(dict.fromkeys(lanes, 4))
    generator = torch.Generator().manual_seed(0)
    for shape_x, shape_y in (((2, 2, 3, 2), (2, 2, 4, 2)), ((1, 1, 3, 3), (1, 2, 34, 3))):
        x, y = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in (shape_x, shape_y))
        some = torch.tensor([[True, False]] * len(x))
        compare(x, y, closed=False, directed=True, normalised=False)
        compare(x, y, closed=True, directed=some, truth_points=torch.tensor([[4, 2]] * len(x)))
        compare(x, y, closed=some, directed=False, prediction_points=torch.full(shape_x[:2], 2))


if __name__ == "__main__":
    main()
