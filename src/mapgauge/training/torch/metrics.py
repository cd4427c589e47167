"""Metrics for PyTorch: torchmetrics classes around an ``Accumulator``.

States are the rows of all frames, not their sums. They are concatenated across processes (``dist_reduce_fx="cat"``), so
any number of processes gives exactly the result of one. Metrics of scenes keep the frames as well, because a scene may
be spread over batches and processes. States are integers, so that ``.half()``, ``.to(torch.bfloat16)`` or a device
without float64 cannot round them.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput
from mapgauge.frames.batches import Batch
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.table import METRICS, hit_metrics
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.results.flat import flat
from mapgauge.results.results import Results
from mapgauge.training.accumulator import Accumulator, BatchRows, Repeated, ScoringSettings, refuse_repeated
from mapgauge.typing import Degenerate

torch: Any = require("torch", "a metric for PyTorch", "torch")
Metric: Any = require("torchmetrics", "a metric for PyTorch", "torch").Metric

_LENGTH = 8  # bytes that hold the number of bytes of a part
_COLUMNS = msgspec.msgpack.Decoder(dict[str, tuple[str, tuple[int, ...], bytes]])


def _packed(rows: BatchRows) -> NDArray[np.uint8]:
    """Return rows as bytes. The bytes of several parts can be concatenated."""
    columns = {name: (column.dtype.str, column.shape, column.tobytes()) for name, column in rows.columns().items()}
    content = msgspec.msgpack.encode(columns)
    return np.frombuffer(bytearray(len(content).to_bytes(_LENGTH, "little") + content), np.uint8)


def _unpacked(data: bytes, settings: ScoringSettings) -> list[BatchRows]:
    """Return the rows of each part of concatenated bytes."""
    parts = []
    at = 0
    while at < len(data):
        begin = at + _LENGTH
        at = begin + int.from_bytes(data[at:begin], "little")
        stored = _COLUMNS.decode(data[begin:at])
        columns = {
            name: np.frombuffer(bytearray(content), kind).reshape(shape)
            for name, (kind, shape, content) in stored.items()
        }
        parts.append(BatchRows.of_columns(columns, settings))
    return parts


class PolylineMetric(Metric):
    """Any metrics of mapgauge, by their names: an accumulator that has the settings, and its rows as states.

    ``compute`` returns the values of all classes and their means. Metrics of scenes need scenes and time stamps, and
    most of them tracks. Their states hold the polylines of all frames: 16 bytes per point (24 in
    3-D) and about 70 bytes per polyline. The other classes of this module are ``PolylineMetric`` with chosen metrics,
    and say whether higher values are better.

    Args:
        protocol: Name of the settings, or a ``mapgauge.Protocol``.
        metrics: Names of metrics, as for ``mapgauge.evaluate``. If None, all that the protocol has settings for.
        classes: Class names by integer label; None if labels are names already.
        degenerate: ``"strict"`` raises an error for degenerate instances, ``"drop"`` drops and counts them.
        repeated: ``"error"`` raises an error for a token that was added before, in ``update``, or in ``compute`` if
            another process added it. ``"drop"`` drops and counts it. A ``DistributedSampler`` repeats frames so that
            all processes have the same number.
        settings: Arguments of ``torchmetrics.Metric``.
    """

    is_differentiable = False
    higher_is_better: bool | None = None
    full_state_update = False
    plot_lower_bound: float = 0.0
    plot_upper_bound: float = 1.0

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
        self._state = f"rows_{digest}"
        self._seen: set[str] = set()  # tokens of this process
        self._seen_before: set[str] = set()  # those of earlier batches, while ``forward`` has set the state aside
        self.add_state(self._state, [], dist_reduce_fx="cat")
        self.reset()

    def reset(self) -> None:
        """Remove all frames."""
        super().reset()
        self._seen = set()
        # A process without frames must still provide a tensor of the right type.
        getattr(self, self._state).append(torch.zeros(0, dtype=torch.uint8, device=self.device))

    def update(
        self,
        predictions: Batch | MapFrames,
        truth: Batch | MapFrames,
        tokens: Sequence[str] | None = None,
        scenes: Sequence[str] | None = None,
        timestamps: Any = None,
        poses: Any = None,
    ) -> None:
        """Score a batch and keep its rows. The arguments are as in ``mapgauge.Accumulator.update``."""
        rows = self._empty.score(predictions, truth, tokens=tokens, scenes=scenes, timestamps=timestamps, poses=poses)
        if self._empty.repeated == "error":  # those of other processes are known in ``compute`` only
            refuse_repeated(rows.tokens, self._seen, self._seen_before)
            self._seen.update(filter(None, rows.tokens))
        if rows.tokens:
            getattr(self, self._state).append(torch.from_numpy(_packed(rows)).to(self.device))

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        """Score a batch, keep its rows and return its values. torchmetrics resets the metric on the way."""
        self._seen_before = self._seen
        try:
            return super().forward(*arguments, **keywords)
        finally:
            self._seen_before.update(self._seen)
            self._seen = self._seen_before
            self._seen_before = set()

    def compute(self) -> dict[str, Any]:
        """Return the values of all classes and their means as scalar tensors, by keys such as ``pld/mean``."""
        # The mps devices of Apple have no float64.
        if self.device.type == "mps":
            kind = torch.float32
        else:
            kind = torch.float64
        values = flat(self.results())
        return {key: torch.tensor(value, dtype=kind, device=self.device) for key, value in values.items()}

    def results(self) -> Results:
        """Return the results of ``mapgauge.evaluate``, without the geometry.

        They are of the frames of this process, or of all processes inside ``with metric.sync_context():``.
        """
        whole = self._empty.fresh()
        state = getattr(self, self._state)  # a list; a tensor after synchronisation
        if isinstance(state, list):
            data = torch.cat(state)
        else:
            data = state
        parts = _unpacked(data.cpu().numpy().tobytes(), whole.settings)
        if parts:
            whole.add(BatchRows.concatenate(parts))
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

    higher_is_better: bool | None = False

    def __init__(self, protocol: str | Protocol = "paper-60x30", **arguments: Any) -> None:
        """Create the metric without frames."""
        super().__init__(protocol, metrics=("pld",), **arguments)


class PolylineAveragePrecision(PolylineMetric):
    """Average precision by the Chamfer, Fréchet or SOSPA distance. Higher is better.

    ``metrics`` are one or more of ``ap_chamfer``, ``ap_frechet``, ``ap_sospa``; None computes all that the protocol has
    thresholds for. The other arguments are as in ``PolylineMetric``.
    """

    higher_is_better: bool | None = True

    def __init__(
        self, protocol: str | Protocol = "paper-60x30", *, metrics: Sequence[str] | None = None, **arguments: Any
    ) -> None:
        """Create the metric without frames."""
        chosen = protocol_of(protocol)
        known = [metric.name for metric, _ in hit_metrics(tuple(METRICS))]
        able = [name for name in known if METRICS[name].settings(chosen)]
        if metrics is None:
            wanted = able
        elif isinstance(metrics, str):
            wanted = [metrics]
        else:
            wanted = list(metrics)
        if not wanted or not all(name in known for name in wanted if name in METRICS):
            raise InvalidInput(
                f"average precision needs one or more of {', '.join(known)} with thresholds in the protocol "
                f"{chosen.name}, got {', '.join(wanted) or 'none'}"
            )
        super().__init__(chosen, metrics=wanted, **arguments)
