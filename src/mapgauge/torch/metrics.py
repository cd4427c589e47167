"""Metrics for PyTorch: torchmetrics classes around an ``Accumulator``.

States are the rows of all frames, not their sums. They are concatenated across processes (``dist_reduce_fx="cat"``), so
any number of processes gives exactly the result of one. Floating-point numbers are stored as integers with the same
bits, so that ``.half()``, ``.to(torch.bfloat16)`` or a device without float64 cannot round them.
"""

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput, MissingDependency
from mapgauge.evaluation.accumulator import Accumulator, Repeated
from mapgauge.evaluation.batch_rows import TALLIES, BatchRows, ScoringSettings
from mapgauge.frames.batches import Batch
from mapgauge.frames.content_hash import HASH_BYTES
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import METRICS, hit_metrics, sum_metrics
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.results.flat import flat
from mapgauge.results.results import Results
from mapgauge.scoring.scores import Scores
from mapgauge.typing import Degenerate

try:
    import torch
    from torchmetrics import Metric
except ImportError as error:
    raise MissingDependency(
        "metrics for PyTorch need torch and torchmetrics",
        remedy="Install them with: pip install 'mapgauge[torch]'",
    ) from error


class _PolylineMetric(Metric):
    """The base of both metrics: an accumulator that has the settings, and its rows as states."""

    is_differentiable = False
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(
        self,
        protocol: str | Protocol,
        metrics: Sequence[str],
        classes: Sequence[str] | None,
        degenerate: Degenerate,
        repeated: Repeated,
        **settings: Any,
    ) -> None:
        """Declare the states. ``settings`` are arguments of ``torchmetrics.Metric``."""
        super().__init__(**settings)
        self._empty = Accumulator(protocol, metrics=metrics, classes=classes, degenerate=degenerate, repeated=repeated)
        # A MetricCollection merges metrics whose states are almost equal after the first batch. The names of the states
        # contain a digest of the settings, so that only metrics with equal settings are merged.
        digest = hashlib.blake2b(repr((self._empty.settings, degenerate, repeated)).encode(), digest_size=4).hexdigest()
        kinds = {"frames": torch.int64, "records": torch.int64, "names": torch.uint8}
        self._states = {f"{name}_{digest}": kind for name, kind in kinds.items()}
        for name in self._states:
            self.add_state(name, [], dist_reduce_fx="cat")
        self.reset()

    def reset(self) -> None:
        """Remove all frames."""
        super().reset()
        # A process without frames must still provide tensors of the right type and width.
        for (name, kind), shape in zip(self._states.items(), _widths(self._empty.settings), strict=True):
            getattr(self, name).append(torch.zeros(shape, dtype=kind, device=self.device))

    def update(
        self,
        predictions: Batch | MapFrames,
        targets: Batch | MapFrames,
        tokens: Sequence[str] | None = None,
        scenes: Sequence[str] | None = None,
    ) -> None:
        """Score a batch and keep its rows.

        Args:
            predictions: One dictionary per frame: ``polylines``, a list of ``(n, 2 or 3)`` tensors in metres or one
                ``(polylines, n, 2 or 3)`` tensor; ``labels``, whole numbers or names; ``scores``, confidences in
                [0, 1]. On any device.
            targets: The truth of the same frames in the same order, without scores.
            tokens: The name of each frame, needed to detect frames that a sampler repeats.
            scenes: The scene of each frame.
        """
        # Repeated tokens are detected when all frames are together, because only then all of them are known.
        rows = self._empty.score(predictions, targets, tokens, scenes)
        if rows.tokens:
            for name, array in zip(self._states, _packed(rows), strict=True):
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
        rows = _unpacked([array.cpu().numpy() for array in arrays], whole.settings)
        if rows.tokens:
            whole.add(rows)
        return whole.results()

    def set_dtype(self, dst_type: Any) -> "_PolylineMetric":
        """Do nothing: the states keep their types."""
        return self

    def _apply(self, *arguments: Any, **keywords: Any) -> Any:
        """Move the metric to a device. A cached value could be rounded, so it is removed and computed again later."""
        moved = super()._apply(*arguments, **keywords)
        moved._computed = None
        return moved


class PolylineLocalisationDetection(_PolylineMetric):
    """PLD with its five parts, localisation and detection. Lower is better.

    Args:
        protocol: Name of the settings, or a ``mapgauge.Protocol`` with cutoffs.
        classes: Class names by integer label; None if labels are names already.
        degenerate: ``"strict"`` raises an error for degenerate instances, ``"drop"`` drops and counts them.
        repeated: ``"error"`` raises an error for a token that was added before, ``"drop"`` drops and counts it. A
            ``DistributedSampler`` repeats frames so that all processes have the same number.
        settings: Arguments of ``torchmetrics.Metric``.
    """

    higher_is_better = False

    def __init__(
        self,
        protocol: str | Protocol = "paper-60x30",
        *,
        classes: Sequence[str] | None = None,
        degenerate: Degenerate = "strict",
        repeated: Repeated = "error",
        **settings: Any,
    ) -> None:
        """Create the metric without frames."""
        super().__init__(protocol, (PLD.name,), classes, degenerate, repeated, **settings)


class PolylineAveragePrecision(_PolylineMetric):
    """Average precision by the Chamfer, Fréchet or SOSPA distance. Higher is better.

    Args:
        protocol: Name of the settings, or a ``mapgauge.Protocol`` with thresholds.
        metrics: One or more of ``ap_chamfer``, ``ap_frechet``, ``ap_sospa``; None computes those that the protocol has
            thresholds for.
        classes: Class names by integer label; None if labels are names already.
        degenerate: ``"strict"`` raises an error for degenerate instances, ``"drop"`` drops and counts them.
        repeated: ``"error"`` raises an error for a token that was added before, ``"drop"`` drops and counts it.
        settings: Arguments of ``torchmetrics.Metric``.
    """

    higher_is_better = True

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
        chosen = protocol_of(protocol)
        known = [metric.name for metric, _ in hit_metrics(tuple(METRICS))]
        able = [name for name in known if METRICS[name].settings(chosen)]
        wanted = able if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
        if not wanted or not all(name in known for name in wanted if name in METRICS):
            raise InvalidInput(
                f"average precision needs one or more of {', '.join(known)} with thresholds in the protocol "
                f"{chosen.name}, got {', '.join(wanted) or 'none'}"
            )
        super().__init__(chosen, wanted, classes, degenerate, repeated, **settings)


# Rows are packed into three arrays of integers. The first has a row per frame: its tally, its hashes, its counts and
# the bits of its sums. The second has a row per prediction: the bits of its confidence, and its hits. The third has the
# token and the scene of each frame in UTF-8, each followed by 0.

_HASHES = 2 * HASH_BYTES // 8  # columns of the hashes of both sides, as 64-bit integers


def _packed(rows: BatchRows) -> list[NDArray[Any]]:
    scores = rows.scores
    blocks = [np.moveaxis(block, 1, 0).reshape(len(rows.tokens), -1) for block in scores.sums.values()]
    bits = [np.ascontiguousarray(block).view(np.int64) for block in blocks]
    hashes = np.ascontiguousarray(rows.hashes).reshape(len(rows.tokens), -1).view(np.int64)
    names = "".join(f"{token}\0{scene}\0" for token, scene in zip(rows.tokens, rows.scenes, strict=True))
    return [
        np.concatenate([rows.tally, hashes, scores.predicted, scores.true, *bits], axis=1),
        np.stack([scores.confidence.view(np.int64), *(hits.astype(np.int64) for hits in scores.hits.values())], axis=1),
        np.array(bytearray(names.encode()), np.uint8),
    ]


def _unpacked(arrays: list[NDArray[Any]], settings: ScoringSettings) -> BatchRows:
    frames, records, names = arrays
    _, metrics, classes = settings
    shapes = _shapes(settings)
    sizes = [TALLIES, _HASHES, len(classes), len(classes), *(math.prod(shape) for shape in shapes.values())]
    tally, hashes, predicted, true, *bits = np.split(frames, np.cumsum(sizes)[:-1], axis=1)
    sums = {}
    for (name, shape), block in zip(shapes.items(), bits, strict=True):
        numbers = np.ascontiguousarray(block).view(np.float64).reshape(len(frames), *shape)
        sums[name] = np.ascontiguousarray(np.moveaxis(numbers, 0, 1))
    rings = {
        metric.name: np.zeros((0, len(frames), len(classes), len(rows.columns)))
        for metric, rows in sum_metrics(metrics)
        if rows.rings
    }
    hits = [metric.name for metric, _ in hit_metrics(metrics)]
    scores = Scores(
        predicted,
        true,
        np.ascontiguousarray(records[:, 0]).view(np.float64),
        sums,
        rings,
        {name: records[:, k].astype(np.uint16) for k, name in enumerate(hits, 1)},
    )
    texts = names.tobytes().decode().split("\0")[:-1]
    bits_of_hashes = np.ascontiguousarray(hashes).view(np.uint8).reshape(len(frames), 2, HASH_BYTES)
    return BatchRows(scores, tally, tuple(texts[::2]), tuple(texts[1::2]), bits_of_hashes)


def _shapes(settings: ScoringSettings) -> dict[str, tuple[int, int, int]]:
    """Return the shape of the sums of a frame, by metric: settings, classes, columns."""
    protocol, metrics, classes = settings
    return {
        metric.name: (len(metric.settings(protocol)), len(classes), len(rows.columns))
        for metric, rows in sum_metrics(metrics)
    }


def _widths(settings: ScoringSettings) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the three arrays for no frames."""
    sums = sum(math.prod(shape) for shape in _shapes(settings).values())
    hits = sum(1 for _ in hit_metrics(settings.metrics))
    return (0, TALLIES + _HASHES + 2 * len(settings.classes) + sums), (0, 1 + hits), (0,)
