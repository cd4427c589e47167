"""``sospa_cost`` against the kernels of the package, its gradients, and what it refuses."""

import sys
from typing import Any

import numpy as np
import pytest

import mapgauge as mg

torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

from tests.torch.random_lines import SETTINGS, lines, names_of  # noqa: E402

from mapgauge.torch import sospa_cost, sospa_matching  # noqa: E402

SHAPES = [(5, 4, 6, 7, 2), (3, 3, 9, 4, 3), (2, 3, 1, 1, 2), (2, 2, 3, 0, 2), (2, 2, 0, 3, 2)]


@pytest.mark.parametrize("settings", SETTINGS, ids=names_of)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_costs_and_matchings_are_those_of_the_kernels(settings: dict[str, Any], shape: tuple[int, ...]) -> None:
    queries, truths, n, m, dimension = shape
    x, y = lines(1, queries, n, dimension), lines(2, truths, m, dimension)
    found = sospa_matching(x, y, **settings)
    assert found.cost.shape == (queries, truths)
    same = {"closed": settings["closed"], "directed": settings["directed"]}
    for q, t in np.ndindex(queries, truths):
        expected = mg.sospa_align(x[q].numpy(), y[t].numpy(), **same)
        value = expected.normalised if settings["normalised"] else expected.value
        assert found.cost[q, t].item() == pytest.approx(value, abs=1e-12)
        partner = found.partner[q, t]
        assert [[i, j] for i, j in enumerate(partner.tolist()) if j >= 0] == expected.pairs.tolist()
        assert found.reversed[q, t].item() == expected.reversed
        assert found.shift[q, t].item() == expected.shift


@pytest.mark.parametrize("settings", SETTINGS, ids=names_of)
def test_gradients_are_those_of_finite_differences(settings: dict[str, Any]) -> None:
    x, y = lines(3, 1, 2, 3, 2).requires_grad_(), lines(4, 1, 2, 4, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: sospa_cost(a, b, **settings), (x, y), fast_mode=True)


@pytest.mark.parametrize("form", ["padded", "ragged"])
def test_padded_and_ragged_lines_are_those_without_padding(form: str) -> None:
    counts = [3, 6, 1, 0]
    ragged = [lines(k, count, 2) for k, count in enumerate(counts)]
    padded = torch.full((4, 6, 2), torch.nan, dtype=torch.float64)  # the padding may hold anything
    for k, line in enumerate(ragged):
        padded[k, : len(line)] = line
    closed, directed = torch.tensor([True, False, True, True]), torch.tensor([False, True, True, False])
    x = lines(9, 3, 5, 2)
    given: Any = ragged if form == "ragged" else padded
    points = None if form == "ragged" else torch.tensor(counts)
    cost = sospa_cost(x, given, closed=closed, directed=directed, normalised=True, truth_points=points)
    swapped = sospa_cost(
        padded, x, closed=True, directed=False, normalised=True, prediction_points=torch.tensor(counts)
    )
    for q, t in np.ndindex(3, 4):
        one = {"closed": bool(closed[t]), "directed": bool(directed[t])}
        expected = mg.sospa(x[q].numpy(), ragged[t].numpy(), normalised=True, **one)
        assert cost[q, t].item() == pytest.approx(expected, abs=1e-12)
        expected = mg.sospa(ragged[t].numpy(), x[q].numpy(), normalised=True, closed=True, directed=False)
        assert swapped[t, q].item() == pytest.approx(expected, abs=1e-12)


def test_a_batch_of_ragged_truths_has_empty_lines_where_truths_are_missing() -> None:
    x = lines(1, 2, 3, 4, 2).requires_grad_()
    truth: Any = [[lines(2, 5, 2)], lines(3, 2, 3, 2)]
    cost = sospa_cost(x, truth, normalised=True)
    assert cost.shape == (2, 3, 2)
    assert (cost[0, :, 1] == 1).all()
    assert torch.equal(cost[1], sospa_cost(x[1], truth[1], normalised=True))
    cost.sum().backward()
    assert torch.isfinite(x.grad).all()


def test_a_repeated_closing_point_of_a_closed_truth_is_dropped() -> None:
    ring = lines(5, 1, 4, 2)
    repeated = torch.cat([ring, ring[:, :1]], 1)
    x = lines(6, 2, 5, 2)
    assert torch.equal(sospa_cost(x, repeated, closed=True), sospa_cost(x, ring, closed=True))
    assert not torch.equal(sospa_cost(x, repeated), sospa_cost(x, ring))
    assert sospa_cost(ring.roll(2, 1).flip(1), repeated, closed=True, directed=False).item() == 0


def test_pairs_in_many_chunks_are_those_in_one() -> None:
    """Many pairs are computed in chunks of some thousands, on a processor."""
    x, y = lines(1, 300, 6, 2).requires_grad_(), lines(2, 80, 5, 2).requires_grad_()
    closed = torch.arange(80) % 2 == 0
    whole = sospa_matching(x, y, closed=closed, directed=False)
    slopes = torch.autograd.grad(whole.cost.sum(), (x, y))
    parts = [sospa_matching(some, y, closed=closed, directed=False) for some in x.split(20)]
    for value, pieces in zip(whole, zip(*parts, strict=True), strict=True):
        assert torch.equal(value, torch.cat(pieces))
    total = torch.stack([part.cost.sum() for part in parts]).sum()
    for a, b in zip(slopes, torch.autograd.grad(total, (x, y)), strict=True):
        assert torch.allclose(a, b, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32])
def test_half_types_are_computed_in_float32(kind: Any) -> None:
    x, y = lines(1, 4, 6, 2, dtype=kind).requires_grad_(), lines(2, 3, 6, 2, dtype=kind)
    with torch.autocast("cpu", torch.bfloat16):
        cost = sospa_cost(x, y)
    assert cost.dtype == torch.float32
    assert torch.equal(cost, sospa_cost(x.float(), y.float()))
    assert torch.allclose(cost.double(), sospa_cost(x.double(), y.double()), rtol=0, atol=1e-6)
    cost.sum().backward()
    assert x.grad.dtype == kind


def test_mixed_types_are_computed_in_the_wider_one() -> None:
    assert sospa_cost(lines(1, 1, 2, 2), lines(1, 1, 2, 2, dtype=torch.float16)).dtype == torch.float64


@pytest.mark.parametrize("cutoff", [0.1, 1.5, 7.3])
def test_equal_lines_cost_nothing_and_have_no_gradient(cutoff: float) -> None:
    x = lines(1, 1, 20, 2, dtype=torch.float32).requires_grad_()
    cost = sospa_cost(x, x.detach(), cutoff=cutoff)
    cost.backward()
    assert cost.item() == 0
    assert (x.grad == 0).all()


def test_points_that_are_not_finite_give_nan_where_they_are() -> None:
    x, y = lines(1, 3, 4, 2).requires_grad_(), lines(2, 2, 4, 2)
    bad = x.detach().clone()
    bad[1, 2, 0] = torch.inf
    bad[2, 0, 1] = torch.nan
    bad.requires_grad_()
    cost = sospa_cost(bad, y, closed=True)
    assert torch.isnan(cost).tolist() == [[False, False], [True, True], [True, True]]
    cost.sum().backward()
    assert torch.isnan(bad.grad[1]).any()
    assert torch.isnan(bad.grad[2]).any()
    assert torch.isfinite(bad.grad[0]).all()


@pytest.mark.parametrize(("queries", "truths"), [(0, 3), (3, 0), (0, 0)])
def test_no_lines_are_no_error(queries: int, truths: int) -> None:
    x = torch.zeros(queries, 4, 2, requires_grad=True)
    found = sospa_matching(x, torch.zeros(truths, 5, 2), closed=True)
    assert found.cost.shape == (queries, truths)
    assert found.partner.shape == (queries, truths, 4)
    found.cost.sum().backward()
    assert sospa_cost(x, []).shape == (queries, 0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the compiler itself
def test_the_plain_backend_compiles_as_one_graph() -> None:
    if sys.version_info >= (3, 14):
        pytest.skip("torch.compile needs Python below 3.14 here")
    x, y = lines(1, 2, 3, 2).requires_grad_(), lines(2, 2, 3, 2)
    compiled = torch.compile(sospa_cost, backend="aot_eager", fullgraph=True)
    cost = compiled(x, y, closed=True)
    assert torch.allclose(cost, sospa_cost(x, y, closed=True))
    (slope,) = torch.autograd.grad(cost.sum(), x)
    assert torch.allclose(slope, torch.autograd.grad(sospa_cost(x, y, closed=True).sum(), x)[0])


def test_second_derivatives_are_refused() -> None:
    x = lines(1, 1, 3, 2).requires_grad_()
    (slope,) = torch.autograd.grad(sospa_cost(x, lines(2, 1, 3, 2)).sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="second derivatives"):
        slope.sum().backward()


LINE = torch.zeros(2, 3, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"predictions": [[0.0, 0.0]]}, "predictions must be a tensor, got list"),
        ({"predictions": LINE[0]}, r"predictions must have shape .* got \(3, 2\)"),
        ({"predictions": LINE.long()}, "predictions must hold floating-point numbers, got torch.int64"),
        ({"truth": LINE.new_zeros(2, 3, 3)}, "same number of coordinates, got 2 and 3"),
        ({"truth": LINE[None]}, "both have a batch dimension"),
        ({"truth": 3}, "truth must be a tensor or a sequence of tensors, got int"),
        ({"truth": [LINE]}, r"truth\[0\] must be a tensor of shape \(points, 2\), got \(2, 3, 2\)"),
        ({"truth": LINE.to("meta")}, "predictions are on cpu and truth is on meta. Move the truth"),
        ({"truth": [LINE[0].to("meta")]}, r"truth\[0\] is on meta"),
        ({"truth": [LINE[0].long()]}, r"truth\[0\] must hold floating-point numbers"),
        ({"truth": [LINE[0]], "truth_points": torch.tensor([1])}, "truth_points is for a padded tensor"),
        ({"truth_points": torch.tensor([1])}, r"truth_points must be a tensor of whole numbers of shape \(2,\)"),
        ({"closed": torch.tensor([1, 0])}, r"closed must be True, False or a tensor of booleans of shape \(2,\)"),
        ({"closed": "auto"}, "closed"),
        ({"directed": torch.tensor([True], device="meta")}, "directed must be"),
        ({"cutoff": 0}, "cutoff must be a positive length"),
        ({"backend": "cuda"}, "backend must be 'auto', 'plain' or 'triton'"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        sospa_cost(**{"predictions": LINE, "truth": LINE, **arguments})
