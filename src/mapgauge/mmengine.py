"""A metric for mmengine's evaluators, and with them for mmdet and mmdet3d from version 3 and 1.1 on.

Importing this module registers ``MapgaugeMetric``. A configuration needs
``custom_imports = dict(imports=["mapgauge.mmengine"])`` and ``val_evaluator = dict(type="MapgaugeMetric", ...)``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mapgauge.errors import InvalidInput, MissingDependency
from mapgauge.evaluation.accumulator import Accumulator
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.typing import Degenerate

try:
    from mmengine.evaluator import BaseMetric
    from mmengine.registry import METRICS
except ImportError as error:
    raise MissingDependency(
        "the metric for mmengine needs mmengine and torch. Install them with: pip install 'mapgauge[mmengine]'"
    ) from error


@METRICS.register_module(force=True)  # a second import of the module is no reason to fail
class MapgaugeMetric(BaseMetric):
    """PLD and average precision of the frames that an mmengine loop evaluates.

    The result has the values of ``mapgauge.evaluate`` under flat keys: ``pld/mean``, ``ap_chamfer/divider/0.5``. Frames
    that a sampler repeats to give each process as many are left out by mmengine itself.

    Args:
        protocol: The settings, by name or as a ``mapgauge.Protocol``.
        metrics: Which of ``pld``, ``ap_chamfer``, ``ap_frechet``, ``ap_sospa`` to compute; those that the protocol has
            cutoffs or thresholds for if None.
        classes: The names that label numbers stand for, in order; ``classes`` of the data set's ``metainfo`` if None.
        predictions: Where in a data sample the predictions are; dots lead inwards.
        truth: Where the truth is.
        polylines: The key of the polylines in both.
        labels: The key of the labels in both.
        scores: The key of the confidences in the predictions.
        token: Where the name of the frame is; frames have none if None.
        scene: Where the name of its scene is; none is known if None.
        degenerate: ``"strict"`` refuses instances that are no polyline, ``"drop"`` leaves them out and counts them.
        settings: Those of ``mmengine.evaluator.BaseMetric``: ``collect_device``, ``collect_dir``, ``prefix``.
    """

    default_prefix = ""  # keys as everywhere else; None would make mmengine complain

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
        scores: str = "scores",
        token: str | None = None,
        scene: str | None = None,
        degenerate: Degenerate = "strict",
        **settings: Any,
    ) -> None:
        """Begin without frames."""
        super().__init__(**settings)
        self._protocol, self._metrics, self._classes, self._degenerate = protocol, metrics, classes, degenerate
        self._sides = (predictions, truth)
        self._keys = {"polylines": polylines, "labels": labels, "scores": scores}
        self._token, self._scene = token, scene
        if protocol_of(protocol).classes is not None or classes is not None:
            self._accumulator()  # a wrong setting is refused here, not after an epoch

    def _accumulator(self) -> Accumulator:
        known = (self.dataset_meta or {}).get("classes") if self._classes is None else self._classes
        return Accumulator(self._protocol, metrics=self._metrics, classes=known, degenerate=self._degenerate)

    def process(self, data_batch: Any, data_samples: Sequence[Mapping[str, Any]]) -> None:
        """Score a batch.

        Args:
            data_batch: Of the data loader; not looked at.
            data_samples: One per frame, with predictions and truth.
        """
        empty = self._accumulator()
        for b, sample in enumerate(data_samples):
            one = empty.fresh()  # one result per frame, so that mmengine can leave out those that its sampler repeated
            try:
                one.update(
                    [self._instances(sample, self._sides[0], ("polylines", "labels", "scores"))],
                    [self._instances(sample, self._sides[1], ("polylines", "labels"))],
                    None if self._token is None else [str(_at(sample, self._token))],
                    None if self._scene is None else [str(_at(sample, self._scene))],
                )
            except InvalidInput as error:
                raise InvalidInput(f"data_samples[{b}]: {error}") from error
            self.results.append(one)

    def _instances(self, sample: Any, side: str, names: tuple[str, ...]) -> dict[str, Any]:
        """One side of a frame under the names that an accumulator takes."""
        return {name: _at(sample, f"{side}.{self._keys[name]}") for name in names}

    def compute_metrics(self, results: list[Accumulator]) -> dict[str, float]:
        """The values of all frames.

        Args:
            results: What ``process`` kept, of all processes.
        """
        whole = self._accumulator()
        for one in results:
            whole.merge(one)
        return whole.compute()


def _at(sample: Any, path: str) -> Any:
    """A value in a data sample, or an error that says what is there instead."""
    value = sample
    for key in path.split("."):
        if isinstance(value, Mapping):
            found, there = key in value, ", ".join(map(str, value))
        else:
            found, there = hasattr(value, key), f"a {type(value).__name__}"
        if not found:
            raise InvalidInput(
                f"no {key} on the way to {path}, only {there}. Say where it is: see MapgaugeMetric's arguments"
            )
        value = value[key] if isinstance(value, Mapping) else getattr(value, key)
    return value
