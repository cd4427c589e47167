"""A metric for the evaluators of mmengine, which mmdet (from 3.0) and mmdet3d (from 1.1) use.

Importing this module registers ``MapgaugeMetric``. A configuration needs
``custom_imports = dict(imports=["mapgauge.mmengine"])`` and ``val_evaluator = dict(type="MapgaugeMetric", ...)``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mapgauge.errors import InvalidInput, MissingDependency
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.training.accumulator import Accumulator
from mapgauge.typing import Degenerate

try:
    from mmengine.evaluator import BaseMetric
    from mmengine.registry import METRICS
except ImportError as error:
    raise MissingDependency(
        "the metric for mmengine needs mmengine and torch",
        remedy="Install them with: pip install 'mapgauge[mmengine]'",
    ) from error


@METRICS.register_module(force=True)  # so that the module can be imported twice
class MapgaugeMetric(BaseMetric):
    """PLD and average precision of the frames that an mmengine loop evaluates.

    The result has the values of ``mapgauge.evaluate`` under flat keys: ``pld/mean``, ``ap_chamfer/divider/0.5``. A
    sampler repeats frames to give each process the same number; mmengine removes these frames itself.

    Args:
        protocol: The settings, by name or as a ``mapgauge.Protocol``.
        metrics: Names of the metrics to compute, such as ``pld`` and ``ap_chamfer``; None computes all that the
            protocol has cutoffs or thresholds for.
        classes: Class names by integer label; None takes ``classes`` from the ``metainfo`` of the data set.
        predictions: Path of the predictions in a data sample; its keys are separated by dots.
        truth: Path of the truth.
        polylines: Key of the polylines in both.
        labels: Key of the labels in both.
        confidence: Key of the confidences in the predictions.
        tracks: Key of the ids of tracks in both; None if they have none. Metrics of tracks need ids, scenes
            and time stamps, and some of them poses.
        token: Path of the name of the frame; None if frames have no names.
        scene: Path of the name of the scene; None if it is unknown.
        timestamp: Path of the time of the frame, or of its number in the scene; None if it is unknown.
        pose: Path of the pose of the frame, ``(4, 4)``; None if it is unknown.
        degenerate: ``"strict"`` raises an error for degenerate instances, ``"drop"`` drops and counts them.
        settings: Arguments of ``mmengine.evaluator.BaseMetric``: ``collect_device``, ``collect_dir``, ``prefix``.
    """

    default_prefix = ""  # keys have no prefix; mmengine warns if this is None

    def __init__(
        self,
        protocol: str | Protocol = "paper-60x30",
        *,
        metrics: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
        predictions: str = "pred_instances",
        truth: str = "gt_instances",
        polylines: str = "polylines",
        labels: str = "labels",
        confidence: str = "scores",
        tracks: str | None = None,
        token: str | None = None,
        scene: str | None = None,
        timestamp: str | None = None,
        pose: str | None = None,
        degenerate: Degenerate = "strict",
        **settings: Any,
    ) -> None:
        """Create the metric without frames."""
        super().__init__(**settings)
        self._protocol = protocol
        self._metrics = metrics
        self._classes = classes
        self._degenerate = degenerate
        keys = {"polylines": polylines, "labels": labels} | ({} if tracks is None else {"tracks": tracks})
        scored = keys | {"confidence": confidence}
        self._sides = [  # the paths of both sides, by the keys of an accumulator
            {name: f"{side}.{key}" for name, key in names.items()}
            for side, names in ((predictions, scored), (truth, keys))
        ]
        self._of_frame = {"tokens": token, "scenes": scene, "timestamps": timestamp, "poses": pose}
        if protocol_of(protocol).classes is not None or classes is not None:
            self._accumulator()  # raises an error for wrong settings here, not after an epoch

    def _accumulator(self) -> Accumulator:
        if self._classes is None:
            known = (self.dataset_meta or {}).get("classes")
        else:
            known = self._classes
        return Accumulator(self._protocol, metrics=self._metrics, classes=known, degenerate=self._degenerate)

    def process(self, data_batch: Any, data_samples: Sequence[Mapping[str, Any]]) -> None:
        """Score the predictions and the truth in the data samples. The batch of the data loader is not used."""
        empty = self._accumulator()
        for b, sample in enumerate(data_samples):
            frame = empty.fresh()  # one result per frame, so that mmengine can remove repeated frames
            try:
                x, y = ({name: _at(sample, path) for name, path in paths.items()} for paths in self._sides)
                values = {name: _at(sample, path) for name, path in self._of_frame.items() if path is not None}
                texts = {name: str(values[name]) for name in ("tokens", "scenes") if name in values}
                more: dict[str, Any] = {name: [value] for name, value in (values | texts).items()}
                frame.update([x], [y], **more)
            except InvalidInput as error:
                raise InvalidInput(f"data_samples[{b}]: {error}") from error
            self.results.append(frame)

    def compute_metrics(self, results: list[Accumulator]) -> dict[str, float]:
        """Compute the values of all frames from what ``process`` stored in all processes."""
        whole = self._accumulator()
        for frame in results:
            whole.merge(frame)
        return whole.compute()


def _at(sample: Any, path: str) -> Any:
    """Return the value at a path in a data sample."""
    value = sample
    for key in path.split("."):
        is_mapping = isinstance(value, Mapping)
        if not (key in value if is_mapping else hasattr(value, key)):
            if is_mapping:
                where = f"; available: {', '.join(map(str, value))}"
            else:
                where = f" in a {type(value).__name__}"
            raise InvalidInput(f"{path}: {key} not found{where}", remedy="Pass the right path or key to MapgaugeMetric")
        if is_mapping:
            value = value[key]
        else:
            value = getattr(value, key)
    return value
