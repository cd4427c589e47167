"""Losses: SOSPA of matched lines, PLD of lines with confidences; and the assignment of queries to true lines."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch.nn import functional

from mapgauge.arguments import check_cutoff, check_flag, check_not_negative
from mapgauge.errors import InvalidInput
from mapgauge.training.torch.assigning import assign, costs_to_host
from mapgauge.training.torch.cost import Backend, as_batch, problem_of, solve, sospa_cost
from mapgauge.training.torch.plain import SospaProblem, reading_order
from mapgauge.training.torch.targets import check_keys, pad_targets

# Of the focal loss, as its authors recommend them (Lin et al., "Focal loss for dense object detection", 2017).
ALPHA = 0.25
GAMMA = 2.0
_SMALL = 1e-8  # keeps logarithms of probabilities finite
ClassCost = Literal["softmax", "focal"]


def smooth_costs(problem: SospaProblem, reading: Any, temperature: float) -> Any:
    """Return the debiased smooth SOSPA of pairs, each an item of the batch, with their readings as in ``plain.py``."""
    x = problem.x[:, 0]
    y = problem.y[:, 0]
    n, m = (
        torch.full((len(x),), line.shape[1], dtype=torch.int32, device=x.device) if count is None else count[:, 0]
        for line, count in ((x, problem.x_points), (y, problem.y_points))
    )
    order = reading_order(x.shape[1], reading).T
    padding = (order >= n[:, None]).to(torch.int8)
    order = order.gather(1, torch.argsort(padding, dim=1, stable=True))  # the padding comes last
    x = x.gather(1, order[..., None].expand(x.shape))
    # All three products run side by side. Points of padding come after those that count, and are not read.
    longest = max(x.shape[1], y.shape[1])
    x, y = (functional.pad(line, (0, 0, 0, longest - line.shape[1])) for line in (x, y))
    a = torch.cat([x, y, x])
    b = torch.cat([x, y, y])
    square = (a[:, :, None] - b[:, None]).square().sum(-1)
    apart = square > 0
    distance = torch.where(apart, torch.where(apart, square, 1.0).sqrt(), 0.0)
    gain = (problem.cutoff - distance).permute(1, 2, 0)  # (points of a, points of b, pairs)
    of_x, of_y, both = _soft_chain(gain / temperature, torch.cat([n, m, n]), torch.cat([n, m, m])).chunk(3)
    cost = temperature * ((of_x + of_y) / 2 - both)
    if not problem.normalised:
        return cost
    most = problem.cutoff * (n + m).to(cost.dtype) / 2
    return 2 * cost / torch.where(most + cost > 0, most + cost, 1.0)


def _soft_chain(gain: Any, n: Any, m: Any) -> Any:
    """Return the soft maximum of the gain over all matchings; ``n`` and ``m`` are the numbers of points that count."""
    rows, columns, pairs = gain.shape
    if not rows or not columns:
        return gain.new_zeros(pairs)
    flipped = gain.flip(1)
    before = this = gain.new_zeros(rows + 1, pairs)
    sums = [before, this]  # by i + j
    for both in range(2, rows + columns + 1):  # cells with i + j = both
        start = max(1, both - columns)
        stop = min(rows, both - 1) + 1
        matched = before[start - 1 : stop - 1] + torch.diagonal(flipped, columns - both + 1, 0, 1).T
        here = torch.logaddexp(torch.logaddexp(this[start - 1 : stop - 1], this[start:stop]), matched)
        before = this
        this = torch.cat([this[:start], here, this[stop:]])
        sums.append(this)
    empty = (n == 0) | (m == 0)
    end = torch.where(empty, 0, (n + m) * (rows + 1) + n).to(torch.int64)
    return torch.stack(sums).flatten(0, 1).gather(0, end[None])[0]


class SospaLoss(torch.nn.Module):
    """SOSPA between predicted lines and the true lines they are matched to.

    The loss has a term for the distance of matched points and a term of half the cutoff for each unmatched point of
    either line. Only matched points have a gradient. So a prediction that lies farther than the cutoff from its true
    line does not learn: start with a large cutoff, or add a loss that reaches farther.

    Args:
        cutoff: Metres.
        closed: Whether true lines are closed; one flag, or flags in ``forward``.
        directed: Whether the direction of lines counts; one flag, or flags in ``forward``.
        normalised: Use ``2 s / (M + s)`` in [0, 1] instead of metres.
        class_weights: The weight of each class, by label.
        temperature: Metres. 0 is exact SOSPA. With a larger temperature the loss is smooth and also has gradients
            somewhat beyond the cutoff. The smooth loss is debiased: it is 0 for equal lines.
        reduction: ``"mean"`` is the weighted mean over pairs (0 without pairs), ``"sum"`` the weighted sum, and
            ``"none"`` returns a loss per pair.

    >>> loss = SospaLoss(cutoff=1.5)
    >>> loss(torch.zeros(1, 2, 2), torch.tensor([[[0.0, 0.5], [0.0, 9.0]]])).item()
    2.0
    """

    def __init__(
        self,
        cutoff: float = 1.5,
        *,
        closed: bool = False,
        directed: bool = True,
        normalised: bool = False,
        class_weights: Any = None,
        temperature: float = 0.0,
        reduction: Literal["mean", "sum", "none"] = "mean",
    ) -> None:
        """Keep the settings."""
        super().__init__()
        self.cutoff: float = check_cutoff("cutoff", cutoff)
        self.closed: bool = check_flag("closed", closed)
        self.directed: bool = check_flag("directed", directed)
        self.normalised: bool = check_flag("normalised", normalised)
        self.temperature: float = check_not_negative("temperature", temperature)
        if reduction not in ("mean", "sum", "none"):
            raise InvalidInput(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}")
        self.reduction = reduction
        weights = None
        if class_weights is not None:
            weights = torch.as_tensor(class_weights, dtype=torch.float32)
        self.register_buffer("class_weights", weights)

    def forward(
        self,
        predictions: Any,
        truth: Any,
        labels: Any = None,
        *,
        closed: Any = None,
        directed: Any = None,
        prediction_points: Any = None,
        truth_points: Any = None,
    ) -> Any:
        """Return the loss.

        Args:
            predictions: ``(pairs, points, 2 or 3)`` in metres.
            truth: ``(pairs, points, 2 or 3)``, or a sequence of lines: the true line of each prediction.
            labels: ``(pairs,)`` classes, for ``class_weights``.
            closed: ``(pairs,)`` flags instead of the flag of the loss.
            directed: ``(pairs,)`` flags instead of the flag of the loss.
            prediction_points: ``(pairs,)`` numbers of points of padded lines.
            truth_points: The same for the truth.
        """
        as_batch(predictions, "predictions")
        if isinstance(truth, torch.Tensor):
            as_batch(truth, "truth")
            y = truth[:, None]
        else:
            y = [[line] for line in truth]
        flags = (self.closed if closed is None else closed, self.directed if directed is None else directed)
        per_pair = (*flags, prediction_points, truth_points)
        closed, directed, n, m = (value[:, None] if isinstance(value, torch.Tensor) else value for value in per_pair)
        problem, _ = problem_of(
            predictions[:, None], y, self.cutoff, closed=closed, directed=directed, normalised=self.normalised, n=n, m=m
        )
        loss, reading = (value.reshape(-1) for value in solve(problem))
        if self.temperature and len(loss):
            loss = smooth_costs(problem, reading, self.temperature)
        weight = torch.ones_like(loss)
        if self.class_weights is not None:
            if labels is None:
                raise InvalidInput("class_weights need labels", remedy="Pass labels, a class for each pair")
            weight = self.class_weights.to(loss)[labels]
        if self.reduction == "none":
            return loss * weight
        total = (loss * weight).sum()
        if self.reduction == "sum":
            return total
        mass = weight.sum()
        return total / torch.where(mass > 0, mass, 1.0)


def pld_loss(
    predictions: Any,
    truth: Any,
    confidence: Any,
    *,
    cutoff: float = 1.5,
    closed: Any = False,
    directed: Any = True,
    normalised: bool = False,
    prediction_points: Any = None,
    truth_points: Any = None,
    backend: Backend = "auto",
) -> Any:
    """PLD of predicted lines with confidences, of one class, with gradients for points and confidences.

    The assignment is computed on the host and taken as fixed. The confidence of a prediction has the gradient
    ``1/2 - (1 - D)`` (before normalisation) if it is assigned at the distance D, and 1/2 otherwise. So a prediction
    becomes more confident if it lies closer than ``D = 1/2`` to its true line.

    Args:
        predictions: ``(queries, points, 2 or 3)`` or ``(batch, queries, points, 2 or 3)`` in metres.
        truth: As in ``sospa_cost``. Padded true lines without points do not count.
        confidence: ``(queries,)`` or ``(batch, queries)`` in [0, 1].
        cutoff: Metres.
        closed: As in ``sospa_cost``.
        directed: As in ``sospa_cost``.
        normalised: Return ``2 d / (mass + d)`` in [0, 1]; otherwise ``d``, which can be summed over frames.
        prediction_points: As in ``sospa_cost``.
        truth_points: As in ``sospa_cost``.
        backend: As in ``sospa_cost``.

    Returns:
        One number, or one per item of the batch.

    >>> line = torch.tensor([[[0.0, 0.0], [1.0, 0.0]]])
    >>> confidence = torch.tensor([0.8], requires_grad=True)
    >>> loss = pld_loss(line, line, confidence)
    >>> loss.backward()
    >>> round(loss.item(), 3), confidence.grad.item()
    (0.1, -0.5)
    """
    problem, single = problem_of(
        predictions,
        truth,
        cutoff,
        closed=closed,
        directed=directed,
        normalised=True,
        n=prediction_points,
        m=truth_points,
    )
    cost, _ = solve(problem, backend)
    if not isinstance(confidence, torch.Tensor) or confidence.shape != predictions.shape[:-2]:
        got = type(confidence).__name__
        if isinstance(confidence, torch.Tensor):
            got = str(tuple(confidence.shape))
        raise InvalidInput(f"confidence must be a tensor of shape {tuple(predictions.shape[:-2])}, got {got}")
    r = (confidence[None] if single else confidence).to(cost.dtype)
    is_padded = truth_points is not None or not isinstance(truth, torch.Tensor)
    if is_padded:
        s = (problem.y_points > 0).to(cost.dtype)
    else:
        s = cost.new_ones(len(cost), cost.shape[2])
    with torch.no_grad():
        saving = torch.minimum(r[:, :, None], s[:, None, :]) * (1 - cost)
        group = torch.zeros(s.shape, dtype=torch.int64, device=s.device)
        query = assign(costs_to_host(-saving, group, torch.zeros(len(cost))))
    matched = query >= 0
    query = query.clamp(min=0)
    saved = torch.minimum(r.gather(1, query), s) * (1 - cost.gather(1, query[:, None])[:, 0])
    mass = (r.sum(1) + s.sum(1)) / 2
    value = (mass - torch.where(matched, saved, 0.0).sum(1)).clamp(min=0)
    if check_flag("normalised", normalised):
        value = 2 * value / torch.where(mass > 0, mass + value, 1.0)
    if single:
        return value[0]
    return value


class SospaMatcher(torch.nn.Module):
    """Assigns each true line to one query, so that SOSPA plus the cost of the class is smallest.

    Args:
        cutoff: Metres. A large cutoff also ranks queries that are still far away.
        point_weight: Weight of normalised SOSPA.
        class_weight: Weight of the cost of the class.
        class_cost: ``"softmax"`` is minus the probability of the class, ``"focal"`` the difference of the two branches
            of the focal loss of a sigmoid.
        closed: Whether true lines are closed, unless the targets say it.
        directed: Whether the direction of lines counts, unless the targets say it.

    >>> matcher = SospaMatcher()
    >>> points = torch.tensor([[[[5.0, 0.0], [6.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]]])
    >>> outputs = {"pred_logits": torch.zeros(1, 2, 3), "pred_points": points}
    >>> targets = [{"labels": torch.tensor([1]), "points": points[0, 1:]}]
    >>> matcher(outputs, targets)
    [(tensor([1]), tensor([0]))]
    """

    def __init__(
        self,
        cutoff: float = 1.5,
        *,
        point_weight: float = 5.0,
        class_weight: float = 1.0,
        class_cost: ClassCost = "softmax",
        closed: bool = False,
        directed: bool = True,
    ) -> None:
        """Keep the settings."""
        super().__init__()
        self.cutoff: float = check_cutoff("cutoff", cutoff)
        self.closed: bool = check_flag("closed", closed)
        self.directed: bool = check_flag("directed", directed)
        self.point_weight: float = float(point_weight)
        self.class_weight: float = float(class_weight)
        if class_cost not in ("softmax", "focal"):
            raise InvalidInput(f"class_cost must be 'softmax' or 'focal', got {class_cost!r}")
        self.class_cost = class_cost

    def forward(self, outputs: Mapping[str, Any], targets: Sequence[Mapping[str, Any]]) -> list[tuple[Any, Any]]:
        """Return the indices of queries and of true lines, for each item of the batch.

        The costs are copied to the host once, where the assignment is computed.

        Args:
            outputs: ``pred_logits`` ``(batch, queries, classes)`` and ``pred_points`` ``(batch, queries, points, 2 or
                3)`` in metres.
            targets: For each item ``labels`` ``(truths,)`` and ``points``, a tensor ``(truths, points, 2 or 3)`` or a
                sequence of lines; if needed ``closed`` and ``directed``, flags ``(truths,)``.

        Returns:
            Two tensors int64 on the CPU for each item: queries in increasing order, and their true lines. With more
            true lines than queries, every query has a line.
        """
        check_keys("outputs", outputs, "pred_logits", "pred_points")
        points = outputs["pred_points"]
        logits = outputs["pred_logits"]
        if points.ndim != 4 or logits.ndim != 3 or points.shape[:2] != logits.shape[:2]:
            raise InvalidInput(
                f"pred_points must be (batch, queries, points, 2 or 3) and pred_logits (batch, queries, classes), got "
                f"{tuple(points.shape)} and {tuple(logits.shape)}"
            )
        padded = pad_targets(targets, points, self.closed, directed=self.directed)
        with torch.no_grad():
            apart = sospa_cost(
                points, padded.points, cutoff=self.cutoff, closed=padded.closed, directed=padded.directed,
                normalised=True, truth_points=padded.counts,
            )  # fmt: skip
            of_class = class_costs(logits.to(apart.dtype), padded.labels, self.class_cost)
            cost = self.point_weight * apart + self.class_weight * of_class
        group = torch.where(padded.labels < 0, -1, 0)
        no_limit = torch.full((len(cost),), math.inf)
        query_of = assign(costs_to_host(cost.where(group[:, None] == 0, 0.0), group, no_limit)).cpu()
        return [_in_order(row[: len(target["labels"])]) for row, target in zip(query_of, targets, strict=True)]


def class_costs(logits: Any, labels: Any, kind: ClassCost) -> Any:
    """Return the cost of the class of every true line for every query: ``(batch, queries, truths)``."""
    if kind == "softmax":
        cost = -logits.softmax(-1)
    else:
        p = logits.sigmoid()
        right = ALPHA * (1 - p) ** GAMMA * -(p + _SMALL).log()
        wrong = (1 - ALPHA) * p**GAMMA * -(1 - p + _SMALL).log()
        cost = right - wrong
    return of_lines(cost, labels)


def of_lines(values: Any, labels: Any) -> Any:
    """Return the value of every query in the class of every true line: ``(batch, queries, truths)``."""
    return values.gather(2, labels.clamp(min=0)[:, None].expand(-1, values.shape[1], -1))


def _in_order(query: Any) -> tuple[Any, Any]:
    """Return the queries that are assigned in increasing order, and their true lines."""
    line = (query >= 0).nonzero()[:, 0]
    order = query[line].argsort()
    return query[line][order], line[order]
