"""The criterion: its losses by hand, its schedule, and how it works with layers, types, processes and the compiler."""

import itertools
import re
import sys
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import mapgauge as mg

torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

from tests.torch.criterion_process import batch  # noqa: E402
from tests.torch.random_lines import lines  # noqa: E402

from mapgauge.torch import PldCriterion, Targets, pld_loss, sospa_cost  # noqa: E402
from mapgauge.training.torch import kernels  # noqa: E402
from mapgauge.training.torch.cost import problem_of  # noqa: E402
from mapgauge.training.torch.permutations import in_order, l1_costs  # noqa: E402

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "train-with-sospa.md").read_text(encoding="utf-8")


def orders(line: Any, closed: bool, directed: bool) -> list[Any]:
    """All orders in which MapTR reads a true line; a closed one repeats its first point at the end."""
    ways = [line] if directed else [line, line.flip(0)]
    if not closed:
        return ways
    return [torch.cat([ring, ring[:1]]) for way in ways for ring in (way[:-1].roll(k, 0) for k in range(len(line) - 1))]


@pytest.mark.parametrize(("closed", "directed"), list(itertools.product((False, True), repeat=2)))
def test_l1_is_the_smallest_over_all_orders(closed: bool, directed: bool) -> None:
    x, y = lines(1, 2, 3, 5, 2), lines(2, 2, 2, 5, 2)
    if closed:
        y[:, :, -1] = y[:, :, 0]
    flags = torch.tensor([[closed, False], [closed, closed]])
    for given in (closed, flags):
        problem, _ = problem_of(x, y, 1.5, given, directed, False, None, None)
        cost, reading = l1_costs(problem)
        for b, q, t in np.ndindex(2, 3, 2):
            is_closed = closed if given is closed else bool(flags[b, t])
            costs = [(x[b, q] - order).abs().sum(-1).mean() for order in orders(y[b, t], is_closed, directed)]
            assert cost[b, q, t].item() == pytest.approx(min(costs).item())
            count = torch.tensor(4 if is_closed else 5)
            read = in_order(y[b, t], count, reading[b, q, t], 5)
            assert (x[b, q] - read).abs().sum(-1).mean().item() == pytest.approx(cost[b, q, t].item())


def test_groups_of_columns_are_assigned_apart() -> None:
    rng = np.random.default_rng(0)
    for rows, columns in itertools.product((0, 1, 2, 6), (0, 1, 5)):
        cost = rng.normal(size=(4, rows, columns)).astype(np.float32)
        group, limit = rng.integers(-1, 3, (4, columns)), np.array([np.inf, 0.0, np.inf, 0.0], np.float32)
        query = np.full((4, columns), 7)
        kernels.assign_groups(cost, group, limit, query)
        for number in range(4):
            assert np.all(query[number][group[number] < 0] == -1)
            for label in range(3):
                place = np.flatnonzero(group[number] == label)
                part = cost[number][:, place]
                i, j = linear_sum_assignment(part)
                kept = part[i, j] < limit[number]
                expected = np.full(len(place), -1)
                expected[j[kept]] = i[kept]
                assert query[number][place].tolist() == expected.tolist()


def test_early_losses_are_l1_and_focal() -> None:
    outputs, targets = batch(layers=1)
    losses = PldCriterion(10, directed=False, class_weight=2.0, l1_weight=0.5)(outputs, targets)
    points, logits = outputs["pred_points"][0], outputs["pred_logits"][0]
    total, cross = 0.0, 0.0
    for x, scores, target in zip(points, logits, targets, strict=True):
        options = [
            orders(line, bool(ring), False) for line, ring in zip(target["points"], target["closed"], strict=True)
        ]
        l1 = torch.tensor([[min((p - o).abs().sum(-1).mean().item() for o in some) for some in options] for p in x])
        p = scores.sigmoid()
        focal = 0.25 * (1 - p) ** 2 * -(p + 1e-8).log() - 0.75 * p**2 * -(1 - p + 1e-8).log()
        query, line = linear_sum_assignment((0.5 * l1 + 2.0 * focal[:, target["labels"]]).detach())
        total += l1[query, line].sum().item()
        truth = torch.zeros_like(p)
        truth[query, target["labels"][line]] = 1.0
        weight = torch.where(truth > 0, 0.25 * (1 - p) ** 2, 0.75 * p**2)
        cross += (weight * torch.nn.functional.binary_cross_entropy(p, truth, reduction="none")).sum().item()
    count = sum(len(target["labels"]) for target in targets)
    assert losses["loss_l1"].item() == pytest.approx(0.5 * total / count, rel=1e-5)
    assert losses["loss_class"].item() == pytest.approx(2.0 * cross / count, rel=1e-5)
    assert losses["total"].item() == pytest.approx(losses["loss_l1"].item() + losses["loss_class"].item())


def test_late_losses_are_sospa_and_pooled_pld() -> None:
    outputs, targets = batch(layers=1)
    points, logits = outputs["pred_points"][0], outputs["pred_logits"][0]
    losses = PldCriterion(10, directed=False, sospa_weight=5.0, late_l1=0.0, class_weight=0.0)(
        outputs, targets, progress=1.0
    )
    settings: dict[str, Any] = {"directed": False, "normalised": True}
    matched, values, masses = 0.0, [0.0] * 3, [0.0] * 3
    for x, scores, target in zip(points, logits.sigmoid(), targets, strict=True):
        cost = sospa_cost(x, target["points"], closed=target["closed"], **settings).detach()
        matched += cost[linear_sum_assignment(cost)].sum().item()
        for k in range(3):
            own = target["labels"] == k
            rest = {"closed": target["closed"][own], "directed": False}
            values[k] += pld_loss(x, target["points"][own], scores[:, k], **rest).item()
            masses[k] += (scores[:, k].sum().item() + own.sum().item()) / 2
    count = sum(len(target["labels"]) for target in targets)
    assert losses["loss_sospa"].item() == pytest.approx(5.0 * matched / count, rel=1e-5)
    expected = np.mean([2 * value / (mass + value) for value, mass in zip(values, masses, strict=True)])
    assert losses["loss_pld"].item() == pytest.approx(3.0 * expected, rel=1e-5)
    assert "loss_l1" not in losses


def test_pld_of_several_cutoffs_is_their_mean() -> None:
    outputs, targets = batch()

    def pld(**settings: Any) -> float:
        criterion = PldCriterion(10, directed=False, **settings)
        return float(criterion(outputs, targets, progress=1.0)["loss_pld"].item())

    single = [pld(cutoffs=(5.0, cutoff)) for cutoff in (0.75, 1.5, 3.0)]
    assert pld(pld_cutoffs=(0.5, 1.0, 2.0)) == pytest.approx(np.mean(single), rel=1e-5)


def test_a_smooth_loss_tends_to_the_exact_one() -> None:
    outputs, targets = batch()
    losses = [
        PldCriterion(10, directed=False, temperature=temperature)(outputs, targets, progress=1.0)
        for temperature in (0.0, 1e-3, 0.3)
    ]
    exact, cold, warm = (loss["loss_sospa"].item() for loss in losses)
    assert cold == pytest.approx(exact, rel=0.02)
    assert abs(warm - exact) > 0.02 * exact
    losses[2]["total"].backward()
    assert all(torch.isfinite(value.grad).all() for value in outputs.values())


def test_the_schedule_counts_the_calls_in_training() -> None:
    outputs, targets = batch()
    criterion = PldCriterion(4, directed=False, switch=0.5, cutoffs=(6.0, 1.5))
    names = [set(criterion(outputs, targets)) for _ in range(2)]
    assert names == [{"loss_class", "loss_l1", "total"}] * 2
    criterion.eval()
    assert criterion.step == 2
    assert "loss_pld" in criterion(outputs, targets)
    assert criterion.step == 2
    other = PldCriterion(4, directed=False, switch=0.5)
    state = criterion.state_dict()
    assert all(isinstance(value, torch.Tensor) for value in state.values())  # mmcv calls .cpu() on each
    other.load_state_dict(state)
    assert other.step == 2
    cutoffs = [criterion.stage(progress).cutoff for progress in (0.0, 0.5, 0.7, 0.85, 1.0)]
    assert cutoffs == sorted(cutoffs, reverse=True)
    assert cutoffs[1:] == pytest.approx([6.0, 6.0 * 0.25 ** (0.4 / 0.7), 1.5, 1.5])


@pytest.mark.parametrize("class_loss", ["focal", "softmax"])
@pytest.mark.parametrize("progress", [0.0, 1.0])
def test_layers_in_one_tensor_and_as_aux_outputs_are_the_same(class_loss: Any, progress: float) -> None:
    outputs, targets = batch(layers=3, columns=4 if class_loss == "softmax" else 3)
    stacked, aux = (PldCriterion(10, directed=False, class_loss=class_loss) for _ in range(2))
    *early, last = [
        {"pred_logits": logits, "pred_points": points}
        for logits, points in zip(outputs["pred_logits"], outputs["pred_points"], strict=True)
    ]
    both = stacked(outputs, targets, progress), aux({**last, "aux_outputs": early}, targets, progress)
    assert both[0].keys() == both[1].keys()
    for name, value in both[0].items():
        assert value.item() == both[1][name].item()
    both[0]["total"].backward()
    assert all(torch.isfinite(value.grad).all() for value in outputs.values())
    assert all((value.grad != 0).any() for value in outputs.values())


def test_padded_targets_are_the_same_as_a_list() -> None:
    outputs, targets = batch()
    most = max(len(target["labels"]) for target in targets)
    points = torch.full((len(targets), most, 6, 2), torch.nan)
    labels, closed = torch.full((len(targets), most), -1), torch.zeros(len(targets), most, dtype=torch.bool)
    for k, target in enumerate(targets):
        size = len(target["labels"])
        points[k, :size], labels[k, :size], closed[k, :size] = target["points"], target["labels"], target["closed"]
    padded = Targets(points, labels, closed=closed, directed=False)
    for progress in (0.0, 1.0):
        a, b = (PldCriterion(10, directed=False)(outputs, some, progress) for some in (targets, padded))
        assert {name: value.item() for name, value in a.items()} == {name: value.item() for name, value in b.items()}
        b["total"].backward()
    assert all(torch.isfinite(value.grad).all() for value in outputs.values())


def test_a_batch_without_lines_trains_the_confidences_only() -> None:
    outputs, _ = batch()
    nothing = {"labels": torch.zeros(0, dtype=torch.int64), "points": torch.zeros(0, 6, 2)}
    losses = PldCriterion(10, directed=False)(outputs, [nothing, nothing], progress=1.0)
    losses["total"].backward()
    assert losses["loss_sospa"].item() == 0
    assert (outputs["pred_points"].grad == 0).all()
    assert (outputs["pred_logits"].grad[-1] > 0).all()


@pytest.mark.parametrize("progress", [0.0, 1.0])
@pytest.mark.parametrize("lines_of_others", [0, 1])
def test_points_that_are_not_finite_are_refused_in_images_without_lines(progress: float, lines_of_others: int) -> None:
    outputs, targets = batch()
    some = [{name: value[:count] for name, value in targets[0].items()} for count in (lines_of_others, 0)]
    outputs["pred_points"].data[-1, 1, 0, 0] = torch.nan
    with pytest.raises(mg.InvalidInput, match="costs are NaN or infinite"):
        PldCriterion(10, directed=False)(outputs, some, progress)


@pytest.mark.parametrize("progress", [0.0, 1.0])
def test_the_losses_are_float32_under_autocast(progress: float) -> None:
    outputs, targets = batch()
    half = {name: value.detach().to(torch.bfloat16).requires_grad_() for name, value in outputs.items()}
    with torch.autocast("cpu", torch.bfloat16):
        losses = PldCriterion(10, directed=False)(half, targets, progress)
    full = {name: value.detach().float().requires_grad_() for name, value in half.items()}
    expected = PldCriterion(10, directed=False)(full, targets, progress)
    for name, value in losses.items():
        assert value.dtype == torch.float32
        assert value.item() == expected[name].item()
    losses["total"].backward()
    assert all(value.grad.dtype == torch.bfloat16 for value in half.values())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # of the compiler itself
@pytest.mark.parametrize("progress", [0.0, 1.0])
def test_a_compiled_step_has_the_same_losses_and_gradients(progress: float) -> None:
    if sys.version_info >= (3, 14):
        pytest.skip("torch.compile needs Python below 3.14 here")
    torch.compiler.reset()
    outputs, targets = batch()
    head, criterion = torch.nn.Linear(2, 2), PldCriterion(10, directed=False)

    def step(points: Any) -> Any:
        return criterion({**outputs, "pred_points": head(points)}, targets, progress)["total"]

    slopes = []
    for function in (step, torch.compile(step, backend="aot_eager")):
        head.zero_grad()
        function(outputs["pred_points"].detach()).backward()
        slopes.append(head.weight.grad.clone())
    assert torch.allclose(*slopes)


@pytest.mark.parametrize("progress", [0.0, 1.0])
def test_the_lines_for_heads_have_the_losses_of_their_lines_in_metres(progress: float) -> None:
    """The page has them for MapTR and StreamMapNet, whose points are in [0, 1]."""
    outputs, targets = batch()
    size, origin = torch.tensor([64.0, 32.0]), torch.tensor([-32.0, -16.0])
    share = {**outputs, "pred_points": (outputs["pred_points"] - origin) / size}
    heads = dict(re.findall(r"^## In (\w+)\n.*?^```python\n(.*?)^```$", PAGE, re.M | re.S))
    labels = [target["labels"] for target in targets]
    criterion = lambda *arguments: PldCriterion(10, directed=False)(*arguments, progress)
    maptr = {
        "self": SimpleNamespace(criterion=criterion, pc_range=[-32.0, -16.0, -2.0, 32.0, 16.0, 2.0]),
        "denormalize_2d_pts": lambda points, _: points * size + origin,
        "preds_dicts": {"all_cls_scores": share["pred_logits"], "all_pts_preds": share["pred_points"]},
        "gt_labels_list": labels,
        "gt_bboxes_list": [SimpleNamespace(fixed_num_sampled_points=target["points"]) for target in targets],
    }
    layers = zip(share["pred_points"], share["pred_logits"], strict=True)
    shared = [((target["points"] - origin) / size).flatten(1)[:, None] for target in targets]
    stream = {
        "self": SimpleNamespace(
            criterion=criterion, roi_size=size, origin=origin, get_targets=lambda *_: ({"lines": "memory"}, 0, 0, 0, 0)
        ),
        "preds": [{"lines": list(points.flatten(2)), "scores": list(logits)} for points, logits in layers],
        "gts": [{"labels": labels, "lines": [line.expand(-1, 10, -1) for line in shared]}] * 2,
    }
    expected = PldCriterion(10, directed=False)(outputs, targets, progress)
    expected.pop("total")
    for name, given in (("MapTR", maptr), ("StreamMapNet", stream)):
        names = {"torch": torch, **given}
        exec(f"def loss():\n{indent(heads[name], '    ')}", names)
        found = names["loss"]()
        if name == "StreamMapNet":
            found, *_, memory = found
            assert memory == ["memory"]
        assert {key: value.item() for key, value in found.items()} == pytest.approx(
            {key: value.item() for key, value in expected.items()}, rel=1e-4
        )


def test_wrong_input_is_refused() -> None:
    outputs, targets = batch()
    criterion = PldCriterion(10, directed=False)
    with pytest.raises(mg.InvalidInput, match="as many points as predictions, 6"):
        criterion(outputs, [{**target, "points": target["points"][:, :5]} for target in targets])
    with pytest.raises(mg.InvalidInput, match="outputs has no pred_points"):
        criterion({"pred_logits": outputs["pred_logits"]}, targets)
    with pytest.raises(mg.InvalidInput, match="a first dimension for layers or none"):
        criterion({**outputs, "pred_points": outputs["pred_points"][0]}, targets)
    for progress in (0.0, 1.0):
        with pytest.raises(mg.InvalidInput, match="costs are NaN or infinite"):
            criterion({**outputs, "pred_points": outputs["pred_points"] * torch.nan}, targets, progress)
        with pytest.raises(mg.InvalidInput, match="or true lines are not finite"):
            criterion(outputs, [{**target, "points": target["points"] * torch.nan} for target in targets], progress)
    with pytest.raises(mg.InvalidInput, match=r"labels must be below .*got 3"):
        criterion(outputs, [{**target, "labels": target["labels"] * 0 + 3} for target in targets])
    with pytest.raises(mg.InvalidInput, match=r"closed of targets\[0\] .*\(4,\)"):
        criterion(outputs, [{**target, "closed": target["closed"][:2]} for target in targets])
    with pytest.raises(mg.InvalidInput, match=r"progress must be .*got 500"):
        criterion(outputs, targets, progress=500)
    with pytest.raises(mg.InvalidInput, match=r"targets must be .*got dict"):
        criterion(outputs, targets[0])
    for arguments, message in (
        ({"steps": 0}, "steps must be"),
        ({"steps": 1, "switch": 2}, "switch must be"),
        ({"steps": 1, "class_loss": "mse"}, "class_loss must be"),
        ({"steps": 1, "cutoffs": (5.0, 0.0)}, "cutoffs must be"),
        ({"steps": 1, "pld_cutoffs": ()}, "pld_cutoffs one factor or more"),
        ({"steps": 1, "late_l1": -1}, "late_l1 must be a number of at least 0"),
    ):
        with pytest.raises(mg.InvalidInput, match=message):
            PldCriterion(**arguments)


def test_the_sum_of_the_losses_rises_at_the_switch_though_the_lines_stay() -> None:
    """The page on training has these values."""
    line = torch.stack([torch.linspace(-20, 20, 20), torch.zeros(20)], -1)
    truth = torch.stack([line + torch.tensor([0.0, y]) for y in (-6.0, -2.0, 2.0, 6.0)])
    outputs = {"pred_logits": torch.full((1, 4, 1), 2.0), "pred_points": (truth + torch.tensor([0.0, 0.3]))[None]}
    labels, closed = torch.zeros(4, dtype=torch.long), torch.zeros(4, dtype=torch.bool)
    targets = [{"labels": labels, "points": truth, "closed": closed}]
    criterion = PldCriterion(1000, class_loss="focal", directed=False)
    totals = [float(criterion(outputs, targets, progress)["total"]) for progress in (0.0, 0.599, 0.6, 1.0)]
    assert totals == pytest.approx([0.08, 0.08, 1.44, 3.31], abs=0.005)
    for total in totals[1:]:
        assert f"{total:.2f}" in PAGE
