"""``SospaMatcher``: the one-to-one assignment of queries to true lines, as models of the DETR family need it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch

from mapgauge import kernels
from mapgauge.arguments import check_cutoff, check_flag
from mapgauge.errors import InvalidInput
from mapgauge.training.torch.cost import pad_lines, sospa_cost

_ALPHA, _GAMMA, _SMALL = 0.25, 2.0, 1e-8  # of the focal loss


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
        class_cost: Literal["softmax", "focal"] = "softmax",
        closed: bool = False,
        directed: bool = True,
    ) -> None:
        """Keep the settings."""
        super().__init__()
        self.cutoff = check_cutoff("cutoff", cutoff)
        self.closed, self.directed = check_flag("closed", closed), check_flag("directed", directed)
        self.point_weight, self.class_weight = float(point_weight), float(class_weight)
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
        _check_keys("outputs", outputs, "pred_logits", "pred_points")
        for number, target in enumerate(targets):
            _check_keys(f"targets[{number}]", target, "labels", "points")
        points, logits = outputs["pred_points"], outputs["pred_logits"]
        if points.ndim != 4 or logits.ndim != 3 or points.shape[:2] != logits.shape[:2]:
            raise InvalidInput(
                f"pred_points must be (batch, queries, points, 2 or 3) and pred_logits (batch, queries, classes), got "
                f"{tuple(points.shape)} and {tuple(logits.shape)}"
            )
        sizes = [len(target["labels"]) for target in targets]
        for number, target in enumerate(targets):
            if len(target["points"]) != sizes[number]:
                raise InvalidInput(
                    f"targets[{number}] has {sizes[number]} labels and {len(target['points'])} lines, expected the same"
                )
        with torch.no_grad():
            cost = self._costs(points, logits, targets).to("cpu", torch.float64).numpy()
        return [_cheapest(matrix[:, :size]) for matrix, size in zip(cost, sizes, strict=True)]

    def _costs(self, points: Any, logits: Any, targets: Sequence[Mapping[str, Any]]) -> Any:
        """Return the costs of all queries and true lines, ``(batch, queries, truths)``."""
        truth, counts = pad_lines([list(target["points"]) for target in targets], points, False)
        closed, directed = (self._flags(name, targets, truth) for name in ("closed", "directed"))
        cost = sospa_cost(
            points,
            truth,
            cutoff=self.cutoff,
            closed=closed,
            directed=directed,
            normalised=True,
            truth_points=counts,
        )
        labels = torch.zeros(truth.shape[:2], dtype=torch.int64, device=points.device)
        for number, target in enumerate(targets):
            labels[number, : len(target["labels"])] = target["labels"]
        return self.point_weight * cost + self.class_weight * self._class_costs(logits.to(cost.dtype), labels)

    def _class_costs(self, logits: Any, labels: Any) -> Any:
        """Return the cost of the class of each true line for each query."""
        if self.class_cost == "softmax":
            cost = -logits.softmax(-1)
        else:
            p = logits.sigmoid()
            right = _ALPHA * (1 - p) ** _GAMMA * -(p + _SMALL).log()
            wrong = (1 - _ALPHA) * p**_GAMMA * -(1 - p + _SMALL).log()
            cost = right - wrong
        return cost.gather(2, labels[:, None].expand(-1, logits.shape[1], -1))

    def _flags(self, name: str, targets: Sequence[Mapping[str, Any]], truth: Any) -> Any:
        """Return the flags of the targets, or the one of the matcher if no target has any."""
        default: bool = getattr(self, name)
        if not any(name in target for target in targets):
            return default
        flags = torch.full(truth.shape[:2], default, device=truth.device)
        for number, target in enumerate(targets):
            if name in target:
                flags[number, : len(target["labels"])] = target[name]
        return flags


def _check_keys(name: str, given: Any, *keys: str) -> None:
    """Refuse anything but a mapping with some keys."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{name} must be a mapping with {' and '.join(keys)}, got {type(given).__name__}")
    lacking = [key for key in keys if key not in given]
    if lacking:
        raise InvalidInput(
            f"{name} has no {' and no '.join(lacking)}; available: {', '.join(map(str, given)) or 'none'}"
        )


def _cheapest(cost: Any) -> tuple[Any, Any]:
    """Return the queries and true lines of the assignment with the smallest cost, by increasing query."""
    if not np.isfinite(cost).all():
        raise InvalidInput("costs are NaN or infinite: points or logits of the model are not finite")
    query, line = kernels.assignment.cheapest_pairs(cost)
    return torch.from_numpy(query), torch.from_numpy(line)
