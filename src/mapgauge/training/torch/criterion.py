"""``PldCriterion``: the losses of a DETR-like head, first L1 over permutations, then SOSPA and PLD."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from mapgauge.arguments import check_cutoff, check_flag, check_not_negative, check_share, check_whole
from mapgauge.errors import InvalidInput
from mapgauge.training.torch.assigning import HostCosts, assign, costs_to_host
from mapgauge.training.torch.cost import problem_of, solve
from mapgauge.training.torch.loss import ALPHA, GAMMA, ClassCost, class_costs, of_lines, smooth_costs
from mapgauge.training.torch.permutations import counts_of, in_order, l1_costs
from mapgauge.training.torch.plain import SospaProblem
from mapgauge.training.torch.targets import Targets, check_keys, pad_targets

_FALL = 0.7  # the cutoff reaches its last value after this share of the late stage


class Stage(NamedTuple):
    """The weights of the losses at one step."""

    classes: float  # all layers but the last
    last_classes: float  # the last layer
    l1: float
    sospa: float
    pld: float
    cutoff: float  # metres


class Pending(NamedTuple):
    """A batch whose assignment is not computed yet."""

    stage: Stage
    logits: Any  # (layers, batch, queries, classes)
    points: Any  # (layers, batch, queries, points, 2 or 3)
    targets: Targets
    problem: SospaProblem  # of all layers
    l1_reading: Any  # (layers, batch, queries, truths)
    sospa: Any  # (layers, batch, queries, truths) with a gradient, or None before the switch
    sospa_reading: Any
    of_pld: list[Any]  # SOSPA of the last layer by cutoff, (batch, queries, truths) with a gradient
    host: HostCosts


class PldCriterion(torch.nn.Module):
    """The losses of a DETR-like head in the order that was best for PLD in our study.

    In the first part of the training, queries are assigned to true lines by their class and L1 over permutations, and
    trained with it, as in MapTR. In the late part SOSPA takes the place of most of the L1, in the assignment and in the
    loss. Its cutoff falls to the one of the evaluation. ``PLD`` of the batch then trains the confidences of the last
    layer, and its points.

    The assignments of all layers and of PLD are computed on the host in one call. ``begin`` and ``finish`` are the two
    halves of ``forward``: what is launched between them overlaps with the copy of the costs. ``torch.compile`` leaves
    both as they are, and compiles what is around them.

    Args:
        steps: Number of calls in training. They are counted, and the count is a part of the state of the module.
        switch: Share of the steps after which the late part begins.
        cutoffs: Metres: the cutoff at the switch, and the one of the evaluation.
        class_loss: ``"focal"`` for sigmoids, a column per class; ``"softmax"`` for cross entropy with a last column for
            "no line".
        class_weight: Weight of the class loss.
        l1_weight: Weight of the L1 distance per point in metres.
        sospa_weight: Weight of normalised SOSPA in the late part.
        pld_weight: Weight of normalised PLD of the last layer in the late part.
        pld_cutoffs: PLD is the mean over these multiples of the cutoff.
        temperature: Metres, for a smooth SOSPA loss as in ``SospaLoss``.
        late_l1: Share of ``l1_weight`` that stays in the late part.
        late_class: Share of ``class_weight`` that stays in the last layer in the late part.
        no_line: Weight of "no line" in the cross entropy.
        closed: Whether true lines are closed, unless the targets say it.
        directed: Whether the direction of lines counts, unless the targets say it.

    >>> criterion = PldCriterion(steps=1000, directed=False)
    >>> points = torch.tensor([[[[0.0, 0.0], [1.0, 0.0]], [[0.0, 8.0], [1.0, 8.0]]]], requires_grad=True)
    >>> outputs = {"pred_logits": torch.zeros(1, 2, 3), "pred_points": points}
    >>> targets = [{"labels": torch.tensor([1]), "points": torch.tensor([[[1.0, 0.5], [0.0, 0.5]]])}]
    >>> losses = criterion(outputs, targets)
    >>> sorted(losses), round(losses["loss_l1"].item(), 3)
    (['loss_class', 'loss_l1', 'total'], 0.125)
    """

    def __init__(
        self,
        steps: int,
        *,
        switch: float = 0.6,
        cutoffs: tuple[float, float] = (5.0, 1.5),
        class_loss: ClassCost = "focal",
        class_weight: float = 1.0,
        l1_weight: float = 0.25,
        sospa_weight: float = 5.0,
        pld_weight: float = 3.0,
        pld_cutoffs: tuple[float, ...] = (1.0,),
        temperature: float = 0.0,
        late_l1: float = 0.1,
        late_class: float = 0.2,
        no_line: float = 0.2,
        closed: bool = False,
        directed: bool = True,
    ) -> None:
        """Keep the settings."""
        super().__init__()
        if class_loss not in ("softmax", "focal"):
            raise InvalidInput(f"class_loss must be 'softmax' or 'focal', got {class_loss!r}")
        if len(cutoffs) != 2 or not pld_cutoffs:
            raise InvalidInput(
                f"cutoffs must be two lengths and pld_cutoffs one factor or more, got {cutoffs!r} and {pld_cutoffs!r}"
            )
        self.steps: int = check_whole("steps", steps, least=1)
        self.switch: float = check_share("switch", switch)
        self.step: int = 0
        self.cutoffs: tuple[float, float] = check_cutoff("cutoffs", cutoffs[0]), check_cutoff("cutoffs", cutoffs[1])
        self.pld_cutoffs: tuple[float, ...] = tuple(check_cutoff("pld_cutoffs", factor) for factor in pld_cutoffs)
        self.class_loss = class_loss
        self.no_line: float = check_not_negative("no_line", no_line)
        self.class_weight: float = check_not_negative("class_weight", class_weight)
        self.l1_weight: float = check_not_negative("l1_weight", l1_weight)
        self.sospa_weight: float = check_not_negative("sospa_weight", sospa_weight)
        self.pld_weight: float = check_not_negative("pld_weight", pld_weight)
        self.temperature: float = check_not_negative("temperature", temperature)
        self.late_l1: float = check_not_negative("late_l1", late_l1)
        self.late_class: float = check_not_negative("late_class", late_class)
        self.closed: bool = check_flag("closed", closed)
        self.directed: bool = check_flag("directed", directed)

    def get_extra_state(self) -> Any:
        """Return the number of steps so far, as a tensor: some libraries take all values of a state for tensors."""
        return torch.tensor(self.step)

    def set_extra_state(self, state: Any) -> None:
        """Continue at a step."""
        self.step = int(state)

    def stage(self, progress: float) -> Stage:
        """Return the weights at a share of the training.

        >>> PldCriterion(100).stage(0.5).sospa, PldCriterion(100).stage(1.0).cutoff
        (0.0, 1.5)
        """
        first, last = self.cutoffs
        if progress < self.switch:
            return Stage(self.class_weight, self.class_weight, self.l1_weight, sospa=0.0, pld=0.0, cutoff=first)
        late = 1.0
        if self.switch < 1:
            late = (progress - self.switch) / (1 - self.switch)
        return Stage(
            classes=self.class_weight,
            last_classes=self.class_weight * (self.late_class if self.pld_weight else 1.0),
            l1=self.late_l1 * self.l1_weight,
            sospa=self.sospa_weight,
            pld=self.pld_weight,
            cutoff=first * (last / first) ** min(late / _FALL, 1.0),
        )

    def forward(self, outputs: Mapping[str, Any], targets: Any, progress: float | None = None) -> dict[str, Any]:
        """Return the weighted losses, and their sum as ``"total"``.

        Args:
            outputs: ``pred_logits`` ``(batch, queries, classes)`` and ``pred_points`` ``(batch, queries, points, 2 or
                3)`` in metres, with those of earlier decoder layers in a sequence ``aux_outputs`` of such mappings. Or
                both with a first dimension for the layers, the last layer at the end.
            targets: For each item a mapping with ``labels`` ``(truths,)``, ``points`` ``(truths, points, 2 or 3)`` and
                if needed ``closed`` and ``directed``, flags ``(truths,)``; or ``Targets``. A line has as many points as
                a prediction. A closed line may repeat its first point at its end.
            progress: The share of the training that is done, in [0, 1]. By default it is counted.
        """
        losses: dict[str, Any] = self.finish(self.begin(outputs, targets, progress))
        return losses

    @torch.compiler.disable
    def begin(self, outputs: Mapping[str, Any], targets: Any, progress: float | None = None) -> Pending:
        """Compute the costs, and start to copy them to the host. The arguments are as in ``forward``."""
        stage = self.stage(self.step / self.steps if progress is None else check_share("progress", progress))
        logits, points = _layers(outputs)
        layers, batch = points.shape[:2]
        with torch.autocast(points.device.type, enabled=False):
            logits = logits.float()
            points = points.float()
            padded = self._padded(targets, logits, points[0])
            repeated = Targets(*(_repeat(value, layers) for value in padded))
            problem, _ = problem_of(
                points.flatten(0, 1),
                repeated.points,
                stage.cutoff,
                closed=repeated.closed,
                directed=repeated.directed,
                normalised=True,
                n=None,
                m=repeated.counts,
            )
            solved: tuple[Any, Any] = (None, None)
            if stage.sospa or stage.pld:
                solved = solve(problem)
            sospa, sospa_reading = solved
            of_pld = [
                sospa[-batch:] if factor == 1 else solve(_last(problem, batch, factor * stage.cutoff))[0]
                for factor in (self.pld_cutoffs if stage.pld else ())
            ]
            with torch.no_grad():
                live = padded.labels >= 0
                l1, l1_reading = l1_costs(problem)
                cost = stage.l1 * l1
                cost = cost + stage.classes * class_costs(logits.flatten(0, 1), repeated.labels, self.class_loss)
                if sospa is not None:
                    cost = cost + stage.sospa * sospa
                group = torch.where(live, 0, -1).repeat(layers, 1)
                costs = [torch.where(group[:, None] < 0, 0.0, cost)]
                groups = [group]
                chance = of_lines(self._confidence(logits[-1]), padded.labels)
                for distance in of_pld:
                    costs.append(torch.where(live[:, None], chance * (distance - 1), 0.0))
                    groups.append(padded.labels)
                limit = torch.tensor([math.inf] * (layers * batch) + [0.0] * (len(of_pld) * batch))
                # A column of padding more is NaN for bad points, which are refused in images without lines too.
                checked = functional.pad(torch.cat(costs), (0, 1))
                checked[: layers * batch, :, -1] = (points * 0.0).sum((-1, -2)).flatten(0, 1)
            host = costs_to_host(checked, functional.pad(torch.cat(groups), (0, 1), value=-1), limit)
        return Pending(
            stage=stage,
            logits=logits,
            points=points,
            targets=padded,
            problem=problem,
            l1_reading=l1_reading,
            sospa=sospa,
            sospa_reading=sospa_reading,
            of_pld=of_pld,
            host=host,
        )

    @torch.compiler.disable
    def finish(self, pending: Pending) -> dict[str, Any]:
        """Compute the assignments, and return the losses."""
        stage = pending.stage
        logits = pending.logits
        targets = pending.targets
        problem = pending.problem
        layers, batch = logits.shape[:2]
        with torch.autocast(logits.device.type, enabled=False):
            lines = _mean_over_processes((targets.labels >= 0).sum().float()).clamp(min=1.0)
            assigned = assign(pending.host)[:, :-1]
            queries, *of_pld = assigned.split([layers * batch, *[batch] * len(pending.of_pld)])
            chosen = queries.reshape(layers, batch, -1)
            losses = {"loss_class": self._class_loss(stage, logits, targets.labels, chosen=chosen, lines=lines)}
            if stage.l1:
                apart = _l1_of(problem, queries, pending.l1_reading)
                losses["loss_l1"] = stage.l1 * torch.where(queries >= 0, apart, 0.0).sum() / lines
            if stage.sospa:
                if self.temperature:
                    apart = _smooth_of(problem, queries, pending.sospa_reading, temperature=self.temperature)
                else:
                    apart = _at(pending.sospa, queries)
                losses["loss_sospa"] = stage.sospa * torch.where(queries >= 0, apart, 0.0).sum() / lines
            if stage.pld:
                confidence = self._confidence(logits[-1])
                values = [
                    _pooled_pld(confidence, targets.labels, distance, query=query)
                    for distance, query in zip(pending.of_pld, of_pld, strict=True)
                ]
                losses["loss_pld"] = stage.pld * torch.stack(values).mean()
        if self.training and torch.is_grad_enabled():
            self.step += 1
        return {**losses, "total": sum(losses.values())}

    def _padded(self, targets: Any, logits: Any, points: Any) -> Targets:
        """Return padded targets, whose lines have as many points as the predictions."""
        padded = pad_targets(targets, points, self.closed, directed=self.directed)
        size = points.shape[2]
        classes = logits.shape[-1] - (self.class_loss == "softmax")
        if isinstance(targets, Targets):
            lengths = {padded.points.shape[2]}
        else:
            lengths = {len(line) for target in targets for line in target["points"]}
        if lengths - {size}:
            raise InvalidInput(
                f"L1 needs true lines with as many points as predictions, {size}, got {sorted(lengths - {size})[0]}",
                remedy=f"Resample the true lines: mapgauge.resample(line, count={size})",
            )
        # On other devices, the check would wait for the device.
        if padded.labels.device.type == "cpu" and (padded.labels >= classes).any():
            raise InvalidInput(
                f"labels must be below the number of classes, {classes} for {logits.shape[-1]} columns of pred_logits "
                f"and class_loss {self.class_loss!r}, got {int(padded.labels.max())}"
            )
        return padded

    def _confidence(self, logits: Any) -> Any:
        if self.class_loss == "softmax":
            return logits.softmax(-1)[..., :-1]
        return logits.sigmoid()

    def _class_loss(self, stage: Stage, logits: Any, labels: Any, chosen: Any, lines: Any) -> Any:
        """Return the class loss of all layers."""
        layers, batch, queries, columns = logits.shape
        if self.class_loss == "softmax":
            nothing = columns - 1
        else:
            nothing = columns
        # A column more takes what is written for lines without a query.
        wanted = torch.full((layers, batch, queries + 1), nothing, dtype=torch.int64, device=logits.device)
        slot = torch.where(chosen >= 0, chosen, queries)
        wanted = wanted.scatter(2, slot, labels.clamp(min=0).expand(slot.shape))[..., :queries]
        weight = logits.new_tensor([stage.classes] * (layers - 1) + [stage.last_classes])
        if self.class_loss == "softmax":
            by_class = torch.ones(columns, device=logits.device).index_fill(
                0, torch.tensor(nothing, device=logits.device), self.no_line
            )
            each = functional.cross_entropy(logits.flatten(0, 2), wanted.flatten(), by_class, reduction="none")
            mass = by_class[wanted].sum((1, 2))
            return (weight * each.reshape(wanted.shape).sum((1, 2)) / mass).sum()
        truth = functional.one_hot(wanted, columns + 1)[..., :columns].to(logits.dtype)
        each = functional.binary_cross_entropy_with_logits(logits, truth, reduction="none")
        p = logits.sigmoid()
        scale = torch.where(truth > 0, ALPHA * (1 - p) ** GAMMA, (1 - ALPHA) * p**GAMMA)
        return (weight * (scale * each).sum((1, 2, 3))).sum() / lines


def _layers(outputs: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return logits and points of all decoder layers, the last layer at the end."""
    check_keys("outputs", outputs, "pred_logits", "pred_points")
    logits = outputs["pred_logits"]
    points = outputs["pred_points"]
    if logits.ndim == 3 and points.ndim == 4:
        earlier: Sequence[Mapping[str, Any]] = outputs.get("aux_outputs", ())
        for number, layer in enumerate(earlier):
            check_keys(f"aux_outputs[{number}]", layer, "pred_logits", "pred_points")
        logits = torch.stack([*(layer["pred_logits"] for layer in earlier), logits])
        points = torch.stack([*(layer["pred_points"] for layer in earlier), points])
    if logits.ndim != 4 or points.ndim != 5 or logits.shape[:3] != points.shape[:3]:
        raise InvalidInput(
            "pred_points must be (batch, queries, points, 2 or 3) and pred_logits (batch, queries, classes), both with "
            f"a first dimension for layers or none, got {tuple(points.shape)} and {tuple(logits.shape)}"
        )
    return logits, points


def _repeat(value: Any, layers: int) -> Any:
    """Return a tensor of a batch for each layer."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.repeat(layers, *[1] * (value.ndim - 1))


def _last(problem: SospaProblem, batch: int, cutoff: float) -> SospaProblem:
    """Return the problem of the last layer with another cutoff."""
    values: Any = (value[-batch:] if isinstance(value, torch.Tensor) else value for value in problem)
    return SospaProblem(*values)._replace(cutoff=cutoff)


def _at(values: Any, query: Any) -> Any:
    """Return the values ``(batch, queries, truths)`` at the query of each true line; any value where it has none."""
    return values.gather(1, query.clamp(min=0)[:, None])[:, 0]


def _chosen_points(problem: SospaProblem, query: Any) -> Any:
    """Return the predicted points for each true line: ``(batch, truths, points, 2 or 3)``."""
    place = query.clamp(min=0)[..., None, None]
    return problem.x.gather(1, place.expand(*query.shape, *problem.x.shape[2:]))


def _l1_of(problem: SospaProblem, query: Any, reading: Any) -> Any:
    """Return the L1 distance per point of each true line and its query, in the given readings."""
    true = in_order(problem.y, counts_of(problem), _at(reading, query), points=problem.x.shape[2])
    return (_chosen_points(problem, query) - true).abs().sum(-1).mean(-1)


def _smooth_of(problem: SospaProblem, query: Any, reading: Any, temperature: float) -> Any:
    """Return the smooth normalised SOSPA of each true line and its query."""
    pairs = problem._replace(
        x=_chosen_points(problem, query).flatten(0, 1)[:, None],
        y=problem.y.flatten(0, 1)[:, None],
        y_points=counts_of(problem).flatten()[:, None],
    )
    return smooth_costs(pairs, _at(reading, query).flatten(), temperature).reshape(query.shape)


def _pooled_pld(confidence: Any, labels: Any, distance: Any, query: Any) -> Any:
    """Return normalised PLD of a batch, pooled over its items, as the mean over classes.

    ``confidence`` is ``(batch, queries, classes)``, ``query`` the query that PLD assigns to each true line, or -1.
    """
    classes = confidence.shape[-1]
    of_class = functional.one_hot(labels.clamp(min=0), classes).to(confidence.dtype) * (labels >= 0)[..., None]
    saved = _at(of_lines(confidence, labels) * (1 - distance), query)
    saved = (torch.where(query >= 0, saved, 0.0)[..., None] * of_class).sum((0, 1))
    mass = (confidence.sum((0, 1)) + of_class.sum((0, 1))) / 2
    value = (mass - saved).clamp(min=0)
    return (2 * value / (mass + value).clamp(min=1e-6)).mean()


def _mean_over_processes(value: Any) -> Any:
    """Return the mean over the processes that train together, so that each line has the same weight in all of them."""
    from torch import distributed

    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        distributed.all_reduce(value)
        value = value / distributed.get_world_size()
    return value
