"""Metrics for PyTorch: torchmetrics classes around an ``Accumulator``.

States are the rows of all frames, not their sums. They are concatenated across processes (``dist_reduce_fx="cat"``), so
any number of processes gives exactly the result of one. Metrics of scenes keep the frames as well, because a scene may
be spread over batches and processes. States are integers, so that ``.half()``, ``.to(torch.bfloat16)`` or a device
without float64 cannot round them.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from mapgauge.errors import InvalidInput, MissingDependency
from mapgauge.frames.batches import Batch
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.table import METRICS, hit_metrics
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.results.flat import flat
from mapgauge.results.results import Results
from mapgauge.training.accumulator import Accumulator, Repeated
from mapgauge.training.batch_rows import packed, unpacked, widths_of
from mapgauge.typing import Degenerate

try:
    import torch
    from torchmetrics import Metric
except ImportError as error:
    raise MissingDependency(
        "metrics for PyTorch need torch and torchmetrics",
        remedy="Install them with: pip install 'mapgauge[torch]'",
    ) from error


class PolylineMetric(Metric):
    """Any metrics of mapgauge, by their names: an accumulator that has the settings, and its rows as states.

    ``compute`` returns the values of all classes and their means. Metrics of scenes, such as ``track_pld``, need scenes
    and time stamps, and most of them tracks. Their states hold the polylines of all frames: 16 bytes per point (24 in
    3-D) and about 70 bytes per polyline. The other classes of this module are this one with chosen metrics, and say
    whether higher values are better.

    Args:
        protocol: Name of the settings, or a ``mapgauge.Protocol``.
        metrics: Names of metrics, as for ``mapgauge.evaluate``. If None, those for which the protocol has settings.
        classes: Class names by integer label; None if labels are names already.
        degenerate: ``"strict"`` raises an error for degenerate instances, ``"drop"`` drops and counts them.
        repeated: ``"error"`` raises an error for a token that was added before, ``"drop"`` drops and counts it. A
            ``DistributedSampler`` repeats frames so that all processes have the same number.
        settings: Arguments of ``torchmetrics.Metric``.
    """

    is_differentiable = False
    higher_is_better: bool | None = None
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(
        self,
        protocol: str | Protocol = "paper-60x30",
        *,
        metrics: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
        degenerate: Degenerate = "strict",
        repeated: Repeated = "error",
        **settings: Any,
    ) -> None:
        """Create the metric without frames."""
        super().__init__(**settings)
        self._empty = Accumulator(protocol, metrics=metrics, classes=classes, degenerate=degenerate, repeated=repeated)
        # A MetricCollection merges metrics whose states are almost equal after the first batch. The names of the states
        # contain a digest of the settings, so that only metrics with equal settings are merged.
        digest = hashlib.blake2b(repr((self._empty.settings, degenerate, repeated)).encode(), digest_size=4).hexdigest()
        kinds = {"frames": torch.int64, "records": torch.int64, "names": torch.uint8}
        kinds |= {"kept": torch.uint8} if self._empty.settings.of_scenes else {}
        self._states = {f"{name}_{digest}": kind for name, kind in kinds.items()}
        for name in self._states:
            self.add_state(name, [], dist_reduce_fx="cat")
        self.reset()

    def reset(self) -> None:
        """Remove all frames."""
        super().reset()
        # A process without frames must still provide tensors of the right type and width.
        for (name, kind), shape in zip(self._states.items(), widths_of(self._empty.settings), strict=True):
            getattr(self, name).append(torch.zeros(shape, dtype=kind, device=self.device))

    def update(
        self,
        predictions: Batch | MapFrames,
        truth: Batch | MapFrames,
        tokens: Sequence[str] | None = None,
        scenes: Sequence[str] | None = None,
        timestamps: Any = None,
        poses: Any = None,
    ) -> None:
        """Score a batch and keep its rows.

        Args:
            predictions: One dictionary per frame: ``polylines``, a list of ``(n, 2 or 3)`` tensors in metres or one
                ``(polylines, n, 2 or 3)`` tensor; ``labels``, whole numbers or names; ``confidence``, numbers in
                [0, 1]. For metrics that need tracks also ``tracks``, one id per polyline. On any device.
            truth: The truth of the same frames in the same order, without confidences.
            tokens: The name of each frame, needed to detect frames that a sampler repeats.
            scenes: The scene of each frame. Metrics of scenes need it.
            timestamps: The time of each frame, or its number in its scene. Metrics of scenes need it.
            poses: The motion from each frame to the world, ``(frames, 4, 4)``. ``PolylineStability`` needs it.
        """
        # Repeated tokens are detected when all frames are together, because only then all of them are known.
        rows = self._empty.score(predictions, truth, tokens, scenes, timestamps, poses)
        if rows.tokens:
            for name, array in zip(self._states, packed(rows), strict=True):
                getattr(self, name).append(torch.from_numpy(array).to(self.device))

    def compute(self) -> dict[str, Any]:
        """Return the values of all classes and their means as scalar tensors, by keys such as ``pld/mean``."""
        # The mps devices of Apple have no float64.
        kind = torch.float32 if self.device.type == "mps" else torch.float64
        values = flat(self.results())
        return {key: torch.tensor(value, dtype=kind, device=self.device) for key, value in values.items()}

    def results(self) -> Results:
        """Return the results of ``mapgauge.evaluate``, without the geometry.

        They are of the frames of this process, or of all processes inside ``with metric.sync_context():``.
        """
        whole = self._empty.fresh()
        states = [getattr(self, name) for name in self._states]  # lists; tensors after synchronisation
        arrays = [torch.cat(state) if isinstance(state, list) else state for state in states]
        rows = unpacked([array.cpu().numpy() for array in arrays], whole.settings)
        if rows.tokens:
            whole.add(rows)
        return whole.results()

    def set_dtype(self, dst_type: Any) -> "PolylineMetric":
        """Do nothing: the states keep their types."""
        return self

    def _apply(self, *arguments: Any, **keywords: Any) -> Any:
        """Move the metric to a device. A cached value could be rounded, so it is removed and computed again later."""
        moved = super()._apply(*arguments, **keywords)
        moved._computed = None
        return moved


class PolylineLocalisationDetection(PolylineMetric):
    """PLD with its five parts, localisation and detection. Lower is better. Arguments as for ``PolylineMetric``."""

    higher_is_better = False

    def __init__(self, protocol: str | Protocol = "paper-60x30", **arguments: Any) -> None:
        """Create the metric without frames."""
        super().__init__(protocol, metrics=("pld",), **arguments)


class PolylineAveragePrecision(PolylineMetric):
    """Average precision by the Chamfer, Fréchet or SOSPA distance. Higher is better.

    ``metrics`` are one or more of ``ap_chamfer``, ``ap_frechet``, ``ap_sospa``; None computes those that the protocol
    has thresholds for. The other arguments are as in ``PolylineMetric``.
    """

    higher_is_better = True

    def __init__(
        self, protocol: str | Protocol = "paper-60x30", *, metrics: Sequence[str] | None = None, **arguments: Any
    ) -> None:
        """Create the metric without frames."""
        chosen = protocol_of(protocol)
        known = [metric.name for metric, _ in hit_metrics(tuple(METRICS))]
        able = [name for name in known if METRICS[name].settings(chosen)]
        wanted = able if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
        if not wanted or not all(name in known for name in wanted if name in METRICS):
            raise InvalidInput(
                f"average precision needs one or more of {', '.join(known)} with thresholds in the protocol "
                f"{chosen.name}, got {', '.join(wanted) or 'none'}"
            )
        super().__init__(chosen, metrics=wanted, **arguments)


class TrackPolylineLocalisationDetection(PolylineMetric):
    """T-PLD: PLD over time, with a cost for every switch of ids. Lower is better.

    It needs ``tracks`` on both sides, scenes and time stamps. ``switch_cost`` is the cost of a switch; None takes that
    of the protocol, or the recommended one. The other arguments are as in ``PolylineMetric``.
    """

    higher_is_better = False

    def __init__(
        self, protocol: str | Protocol = "paper-60x30", *, switch_cost: float | None = None, **arguments: Any
    ) -> None:
        """Create the metric without frames."""
        own = {} if switch_cost is None else {"switch_cost": switch_cost}
        super().__init__(
            protocol_of(protocol).replace(settings={"track_pld": own}), metrics=("track_pld",), **arguments
        )


class ConsistentPolylineAveragePrecision(PolylineMetric):
    """C-mAP by MapTracker's rules: average precision of predictions that keep their ids. Higher is better.

    It needs ``tracks`` on both sides, scenes and time stamps. The arguments are as in ``PolylineMetric``.
    """

    higher_is_better = True

    def __init__(self, protocol: str | Protocol = "maptracker-c-60x30", **arguments: Any) -> None:
        """Create the metric without frames."""
        super().__init__(protocol, metrics=("c_map",), **arguments)


class PolylineStability(PolylineMetric):
    """mAS as its paper defines it: how stable predictions are over time. Higher is better.

    It needs ``tracks`` of the truth, scenes, time stamps and poses. The arguments are as in ``PolylineMetric``.
    """

    higher_is_better = True

    def __init__(self, protocol: str | Protocol = "mas-60x30", **arguments: Any) -> None:
        """Create the metric without frames."""
        super().__init__(protocol, metrics=("mas",), **arguments)
