"""Compares the Triton backend with the plain one. Run as a script, it does so in Triton's interpreter on a CPU."""

import os
from typing import Any

if __name__ == "__main__":
    os.environ["TRITON_INTERPRET"] = "1"

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

from mapgauge.torch import sospa_matching  # noqa: E402
from mapgauge.training.torch.cost import problem_of  # noqa: E402
from mapgauge.training.torch.plain import SospaProblem  # noqa: E402


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


def compare_l1(x: Any, y: Any, **settings: Any) -> None:
    """Fail unless both backends give the same L1 distances over permutations."""
    from mapgauge.training.torch import fast_l1, permutations

    points = settings.pop("truth_points", None)
    problem, _ = problem_of(x, y, 1.5, settings["closed"], settings["directed"], True, None, points)
    values: Any = (value.cpu() if isinstance(value, torch.Tensor) else value for value in problem)
    on_cpu = SospaProblem(*values)
    cost, reading = fast_l1.l1_costs(problem)
    expected, expected_reading = permutations.l1_costs(on_cpu)
    torch.testing.assert_close(cost.cpu(), expected)
    assert torch.equal(reading.cpu(), expected_reading)


def main() -> None:
    """Compare on lines so small that the interpreter takes seconds."""
    from mapgauge.training.torch import fast, fast_l1

    fast_l1.LANES = 4
    for lanes in (fast.LANES, fast.MATCHING_LANES):
        lanes.update(dict.fromkeys(lanes, 4))
    generator = torch.Generator().manual_seed(0)
    for shape_x, shape_y in (((2, 2, 3, 2), (2, 2, 4, 2)), ((1, 1, 3, 3), (1, 2, 34, 3))):
        x, y = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in (shape_x, shape_y))
        some = torch.tensor([[True, False]] * len(x))
        compare(x, y, closed=False, directed=True, normalised=False)
        compare(x, y, closed=True, directed=some, truth_points=torch.tensor([[4, 2]] * len(x)))
        compare(x, y, closed=some, directed=False, prediction_points=torch.full(shape_x[:2], 2))
    x, y = (torch.randn(1, 3, 5, 2, generator=generator, dtype=torch.float64) for _ in range(2))
    y[0, 0], y[0, 1] = x[0, 0].roll(2, 0) + 0.1, x[0, 1].flip(0).roll(1, 0) + 0.1
    y[0, 2] += 50
    for closed in (True, torch.tensor([[True, True, False]])):
        compare(x, y, closed=closed, directed=False, normalised=True)
    y[0, 2] -= 50  # all orders of a line that is far away have the same distance
    y[0, :2, -1] = y[0, :2, 0]
    for closed in (False, True, torch.tensor([[True, False, True]])):
        compare_l1(x, y, closed=closed, directed=False)
        compare_l1(x, y, closed=closed, directed=torch.tensor([[True, False, False]]))
    compare_l1(x, y, closed=False, directed=False, truth_points=torch.tensor([[5, 3, 0]]))


if __name__ == "__main__":
    main()
