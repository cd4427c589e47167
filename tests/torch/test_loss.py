"""The losses and the matcher."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import mapgauge as mg

torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

from tests.torch.random_lines import lines  # noqa: E402

from mapgauge.torch import SospaLoss, SospaMatcher, pld_loss, sospa_cost  # noqa: E402


def test_the_loss_is_the_cost_of_pairs() -> None:
    x, y = lines(1, 4, 5, 2), lines(2, 4, 6, 2)
    closed = torch.tensor([True, False, True, False])
    each = SospaLoss(reduction="none")(x, y, closed=closed)
    assert torch.equal(each, sospa_cost(x, y, closed=closed).diagonal())
    assert torch.equal(SospaLoss(reduction="none")(x, list(y), closed=closed), each)
    weighted = SospaLoss(class_weights=[2.0, 0.0])(x, y, torch.tensor([0, 0, 1, 1]))
    assert weighted.item() == pytest.approx(SospaLoss()(x[:2], y[:2]).item())
    assert SospaLoss(reduction="sum")(x, y).item() == pytest.approx(4 * SospaLoss()(x, y).item())


@pytest.mark.parametrize("temperature", [0.0, 0.2])
def test_a_loss_without_pairs_is_zero_and_has_a_gradient(temperature: float) -> None:
    x = torch.zeros(0, 4, 2, requires_grad=True)
    loss = SospaLoss(temperature=temperature)(x, [])
    loss.backward()
    assert loss.item() == 0
    assert x.grad.shape == x.shape


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("normalised", [False, True])
def test_the_smooth_loss_is_zero_for_equal_lines_and_tends_to_the_exact_one(closed: bool, normalised: bool) -> None:
    x, y = lines(1, 3, 4, 2), lines(2, 3, 5, 2)
    make = lambda t: SospaLoss(closed=closed, directed=False, normalised=normalised, reduction="none", temperature=t)
    assert make(0.3)(x, x).abs().max() < 1e-12
    assert make(0.3)(x, x.flip(1)).abs().max() < 1e-12
    if closed:
        assert make(0.3)(x, x.roll(1, 1)).abs().max() < 1e-12
    exact = make(0.0)(x, y)
    assert torch.allclose(make(1e-3)(x, y), exact, atol=0.02)
    assert torch.autograd.gradcheck(make(0.3), (x.requires_grad_(), y.requires_grad_()), fast_mode=True)


def test_the_smooth_loss_counts_points_without_padding() -> None:
    x, y = lines(1, 2, 4, 2), lines(2, 2, 5, 2)
    loss = SospaLoss(temperature=0.3, reduction="none")
    padded = torch.cat([y, torch.ones(2, 2, 2, dtype=y.dtype)], 1)
    counted = loss(x, padded, truth_points=torch.tensor([5, 5]))
    assert torch.allclose(counted, loss(x, y))
    assert torch.allclose(loss(x, list(y)), loss(x, y))


def test_the_smooth_loss_reaches_beyond_the_cutoff() -> None:
    x = torch.tensor([[[0.0, 1.6]]], requires_grad=True)
    SospaLoss(temperature=0.3)(x, torch.zeros(1, 1, 2)).backward()
    assert x.grad[0, 0, 1] > 0.01


def test_pld_loss_is_pld_with_its_gradient() -> None:
    x, y = lines(1, 4, 5, 2), lines(2, 3, 6, 2)
    y[0] = x[1, :1] + 0.1
    y[1] = x[2, [0, 1, 2, 3, 4, 4]] + 0.2
    confidence = torch.tensor([0.3, 0.9, 0.6, 0.2], dtype=torch.float64)
    expected = mg.pld(list(x.numpy()), list(y.numpy()), confidence=confidence.numpy(), directed=False)
    assert pld_loss(x, y, confidence, directed=False, normalised=True).item() == pytest.approx(
        expected.normalised, abs=1e-12
    )
    assert pld_loss(x, y, confidence, directed=False).item() == pytest.approx(expected.value, abs=1e-12)
    arguments = x.requires_grad_(), confidence.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda a, b: pld_loss(a, y, b, directed=False, normalised=True), arguments, fast_mode=True
    )


def test_pld_loss_of_a_batch_with_padded_truths() -> None:
    x, y = lines(1, 2, 3, 4, 2), lines(2, 2, 2, 4, 2)
    confidence = torch.tensor([[0.5, 0.4, 0.3], [0.0, 0.0, 0.0]], dtype=torch.float64)
    both = pld_loss(x, [y[0], []], confidence)
    assert both[0].item() == pytest.approx(pld_loss(x[0], y[0], confidence[0]).item())
    assert both[1].item() == 0  # nothing is predicted and nothing is true
    closed = torch.tensor([[True, False]] * 2)
    assert pld_loss(x, y, confidence, closed=closed).shape == (2,)


def test_pld_loss_refuses_nan_and_wrong_shapes() -> None:
    x = lines(1, 2, 3, 2)
    with pytest.raises(mg.InvalidInput, match="NaN"):
        pld_loss(x * torch.nan, x, torch.ones(2))
    with pytest.raises(mg.InvalidInput, match=r"confidence must be .*shape \(2,\)"):
        pld_loss(x, x, torch.ones(3))


@pytest.mark.parametrize("class_cost", ["softmax", "focal"])
@pytest.mark.parametrize("queries", [7, 2])
def test_the_matcher_finds_the_cheapest_assignment(class_cost: Any, queries: int) -> None:
    points, logits = lines(1, 2, queries, 4, 2), lines(2, 2, queries, 3)
    targets = [
        {"labels": torch.tensor([0, 2, 1]), "points": lines(3, 3, 5, 2), "closed": torch.tensor([True, False, True])},
        {"labels": torch.tensor([], dtype=torch.int64), "points": []},
    ]
    matcher = SospaMatcher(3.0, class_cost=class_cost, point_weight=2.0)
    (query, line), nothing = matcher({"pred_logits": logits, "pred_points": points}, targets)
    assert [len(index) for index in nothing] == [0, 0]
    cost = 2.0 * sospa_cost(points[0], targets[0]["points"], cutoff=3.0, closed=targets[0]["closed"], normalised=True)
    p = logits[0].softmax(-1) if class_cost == "softmax" else logits[0].sigmoid()
    if class_cost == "softmax":
        by_class = -p
    else:
        by_class = 0.25 * (1 - p) ** 2 * -(p + 1e-8).log() - 0.75 * p**2 * -(1 - p + 1e-8).log()
    cost = (cost + by_class[:, targets[0]["labels"]]).numpy()
    best = cost[linear_sum_assignment(cost)].sum()
    assert cost[query, line].sum() == pytest.approx(best)
    assert len(query) == min(queries, 3)
    assert np.all(np.diff(query) > 0)


def test_the_matcher_refuses_what_it_cannot_match() -> None:
    points, logits = lines(1, 1, 2, 3, 2), lines(2, 1, 2, 3)
    target = {"labels": torch.tensor([0]), "points": lines(3, 1, 3, 2)}
    with pytest.raises(mg.InvalidInput, match="costs are NaN"):
        SospaMatcher()({"pred_logits": logits, "pred_points": points * torch.nan}, [target])
    with pytest.raises(mg.InvalidInput, match=r"labels of targets\[0\] .*\(2,\)"):
        SospaMatcher()({"pred_logits": logits, "pred_points": points}, [{**target, "points": lines(3, 2, 3, 2)}])
    with pytest.raises(mg.InvalidInput, match="per item of the batch, 1"):
        SospaMatcher()({"pred_logits": logits, "pred_points": points}, [target, target])
    with pytest.raises(mg.InvalidInput, match="outputs has no pred_points; available: pred_logits"):
        SospaMatcher()({"pred_logits": logits}, [target])
    with pytest.raises(mg.InvalidInput, match=r"targets\[0\] has no labels; available: points"):
        SospaMatcher()({"pred_logits": logits, "pred_points": points}, [{"points": target["points"]}])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": -1}, "temperature"),
        ({"reduction": "max"}, "reduction must be"),
        ({"cutoff": -1}, "cutoff"),
    ],
    ids=str,
)
def test_settings_of_the_loss_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        SospaLoss(**arguments)
    with pytest.raises(mg.InvalidInput, match="class_weights need labels"):
        SospaLoss(class_weights=[1.0])(lines(1, 1, 2, 2), lines(2, 1, 2, 2))
