"""The Triton backend: in Triton's interpreter on a CPU, and compiled where there is a GPU."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
triton: Any = pytest.importorskip("triton", reason="triton is not installed", exc_type=ImportError)

from tests.torch.backends import compare, compare_l1  # noqa: E402
from tests.torch.criterion_process import batch  # noqa: E402
from tests.torch.random_lines import SETTINGS, lines  # noqa: E402

from mapgauge.torch import PldCriterion, SospaLoss, sospa_cost, sospa_matching  # noqa: E402
from mapgauge.training.torch import fast  # noqa: E402

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
SHAPES = [
    (1, 50, 15, 20, 20, 2),
    (3, 7, 5, 11, 19, 3),
    (2, 40, 3, 60, 33, 2),
    (1, 5, 4, 1, 100, 2),
    (70, 1, 1, 5, 1, 3),
]
CASES = [(SHAPES[k % 5], SETTINGS[k % 8]) for k in range(0, 40, 3)]  # every shape and every setting; compiling is slow


@pytest.mark.skipif(torch.cuda.is_available(), reason="the kernels are compiled here")
def test_the_kernels_give_the_plain_results_in_the_interpreter() -> None:
    script = Path(__file__).parent / "backends.py"
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, encoding="utf-8")
    if "only 0-dimensional arrays can be converted" in run.stderr:
        pytest.skip("this interpreter of Triton needs an older numpy")
    assert run.returncode == 0, run.stderr


@gpu
def test_gradients_are_those_of_finite_differences() -> None:
    x, y = (lines(k, 1, 2, 3, 2, device="cuda").requires_grad_() for k in (3, 4))
    assert torch.autograd.gradcheck(lambda a, b: sospa_cost(a, b, closed=True), (x, y), fast_mode=True)


@gpu
def test_results_are_the_same_in_every_run() -> None:
    x, y = (lines(k, 400 // k, 20, 2, dtype=torch.float32, device="cuda").requires_grad_() for k in (1, 20))
    runs = [torch.autograd.grad(sospa_cost(x, y, closed=True).sum(), (x, y)) for _ in range(5)]
    assert all(torch.equal(a, b) for run in runs for a, b in zip(run, runs[0], strict=True))


@gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype feature:UserWarning")
def test_nothing_waits_for_the_device() -> None:
    x, y = (lines(k, 3, 5, 20, 2, dtype=torch.float16, device="cuda").requires_grad_() for k in (1, 2))
    closed, points = torch.ones(3, 5, dtype=torch.bool, device="cuda"), torch.full((3, 5), 7, device="cuda")
    sospa_cost(x, y, closed=closed, truth_points=points).sum().backward()
    try:
        torch.cuda.set_sync_debug_mode("error")
        with torch.autocast("cuda"):
            sospa_cost(x, y, closed=closed, truth_points=points).sum().backward()
            sospa_matching(x, y, directed=closed)
            SospaLoss()(x[0], y[0], closed=closed[0]).backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@gpu
def test_a_step_can_be_captured_as_a_graph() -> None:
    x, y = (lines(k, 6, 20, 2, dtype=torch.float32, device="cuda") for k in (1, 2))
    x.requires_grad_()

    def step() -> Any:
        return torch.autograd.grad(sospa_cost(x, y, closed=True).sum(), x)[0]

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        slope = step()
    with torch.no_grad():
        x += 0.1
    graph.replay()
    assert torch.equal(slope, step())


@gpu
def test_points_that_are_not_finite_give_nan_where_they_are() -> None:
    x, y = (lines(k, 3, 2, 4, 2, device="cuda") for k in (1, 2))
    x[1, 0, 0, 0] = torch.nan
    x[2, 1, 3, 1] = torch.inf
    x.requires_grad_()
    cost = sospa_cost(x, y)
    assert torch.isnan(cost).any(-1).tolist() == [[False, False], [True, False], [False, True]]
    cost.sum().backward()
    assert torch.isnan(x.grad).any((-1, -2)).tolist() == [[False, False], [True, False], [False, True]]


@gpu
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch 2.11 uses what it deprecates while it compiles
def test_a_compiled_function_has_the_same_values() -> None:
    x, y = (lines(k, 1, 50 // k, 20, 2, dtype=torch.float32, device="cuda") for k in (1, 3))
    compiled = torch.compile(lambda a, b: sospa_cost(a, b).sum())
    slopes = []
    for function in (compiled, lambda a, b: sospa_cost(a, b).sum()):
        leaf = x.clone().requires_grad_()
        function(leaf, y).backward()
        slopes.append(leaf.grad)
    assert torch.equal(*slopes)


@gpu
def test_lines_that_are_too_long_use_the_plain_backend() -> None:
    x, y = lines(1, 1, 3, 2, device="cuda"), lines(2, 1, fast.LONGEST + 1, 2, device="cuda")
    assert torch.equal(sospa_cost(x, y), sospa_cost(x, y, backend="plain"))


@gpu
@pytest.mark.parametrize(("shape", "settings"), CASES, ids=str)
def test_the_kernels_give_the_plain_results(shape: tuple[int, ...], settings: dict[str, bool]) -> None:
    batch, queries, truths, n, m, dimension = shape
    kind = torch.float64 if settings["closed"] else torch.float32
    x = lines(1, batch, queries, n, dimension, dtype=kind, device="cuda")
    y = lines(2, batch, truths, m, dimension, dtype=kind, device="cuda")
    compare(x, y, **settings)
    points = torch.randint(0, m + 1, (batch, truths), device="cuda")
    others = torch.randint(0, n + 1, (batch, queries), device="cuda")
    flags = torch.rand(2, batch, truths, device="cuda") < 0.5
    compare(x, y, closed=flags[0], directed=flags[1], truth_points=points, prediction_points=others)
    compare_l1(x, y, closed=flags[0], directed=flags[1], truth_points=points)
    compare_l1(x, y, **{name: settings[name] for name in ("closed", "directed")})


@gpu
def test_closed_lines_that_fit_in_one_direction_only() -> None:
    """The other direction is left out by its bound."""
    x = lines(1, 2, 40, 60, 2, dtype=torch.float64, device="cuda")
    y = torch.cat([x[:, :5].roll(7, 2), x[:, 5:10].flip(2).roll(3, 2), x[:, 10:12] + 90], 1) + 0.05
    compare(x, y, closed=True, directed=False, normalised=True)
    compare(x, y, closed=torch.tensor([[True, False] * 6] * 2, device="cuda"), directed=False)


@gpu
@pytest.mark.parametrize("progress", [0.0, 1.0])
def test_the_criterion_has_the_losses_and_gradients_of_a_cpu(progress: float) -> None:
    outputs, targets = batch()
    here = PldCriterion(10, directed=False)(outputs, targets, progress)
    here["total"].backward()
    moved = {name: value.detach().cuda().requires_grad_() for name, value in outputs.items()}
    there = PldCriterion(10, directed=False)(
        moved, [{name: value.cuda() for name, value in t.items()} for t in targets], progress
    )
    there["total"].backward()
    for name, value in here.items():
        assert there[name].item() == pytest.approx(value.item(), rel=1e-4)
    for name, value in outputs.items():
        torch.testing.assert_close(moved[name].grad.cpu(), value.grad, rtol=1e-3, atol=1e-5)
