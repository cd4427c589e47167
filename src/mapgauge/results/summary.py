"""The summary of an evaluation: inputs, settings, and the values of each class."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

from mapgauge.evaluation.scores import Scores, Totals
from mapgauge.frames.content import content_hash, hash_text
from mapgauge.frames.findings import Finding
from mapgauge.frames.history import History
from mapgauge.frames.map_frames import MapFrames
from mapgauge.markup import number, text_table
from mapgauge.metrics.table import METRICS, setting_of, value_keys
from mapgauge.protocols import Protocol, full_name
from mapgauge.results.values import COUNTS, Values, mean_of, values_of_classes


class Input(NamedTuple):
    """The record of the predictions or the truth of an evaluation."""

    name: str  # path of the file; "" for frames in memory
    format: str
    frames: int
    counts: dict[str, int]  # number of instances by class
    hash: str  # content hash, the same for every file format and for streamed data; see ``frames.content_hash``
    history: History = None  # how the frames were read and changed; None if they cannot be read again

    @classmethod
    def of(cls, frames: MapFrames, *, tracks: bool = False) -> "Input":
        """Return the record of frames in memory.

        Args:
            frames: The frames.
            tracks: Whether a metric uses their tracks, so that the hash includes them.
        """
        text = hash_text(content_hash(frames, tracks=tracks))
        return cls(frames.name, frames.format, len(frames), frames.counts, text, frames.history)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain Python values."""
        return self._asdict() | {"history": None if self.history is None else [s._asdict() for s in self.history]}


class InputsOf:
    """Computes the records of both sides when they are asked for. Their hashes take as long as reading them."""

    def __init__(self, predictions: MapFrames, truth: MapFrames, tracks: tuple[bool, bool]) -> None:
        """Keep both sides, and whether a metric uses their tracks."""
        self.names = predictions.name, truth.name
        self._sides: tuple[MapFrames, MapFrames] | None = (predictions, truth)
        self._tracks = tracks

    @cached_property
    def computed(self) -> tuple[Input, Input]:
        """The records. Both sides are released."""
        assert self._sides is not None  # until now
        x, y = (Input.of(side, tracks=used) for side, used in zip(self._sides, self._tracks, strict=True))
        self._sides = None
        return x, y


@dataclass(frozen=True, eq=False)
class Summary:
    """Inputs, settings, and the values of all classes, pooled over all frames."""

    protocol: Protocol
    metrics: tuple[str, ...]
    class_names: tuple[str, ...]
    ranges: tuple[float, ...]
    records: tuple[Input, Input] | InputsOf  # of predictions and truth, or what computes them when needed
    frames_missing: int
    frames_ignored: int
    findings: tuple[Finding, ...]
    version: str
    source: Totals | Scores  # totals, or the rows from which they are computed when needed

    @property
    def inputs(self) -> tuple[Input, Input]:
        """The records of predictions and truth."""
        return self.records.computed if isinstance(self.records, InputsOf) else self.records

    @property
    def names(self) -> tuple[str, str]:
        """The names of predictions and truth. Unlike ``inputs``, they need no hashes."""
        return self.records.names if isinstance(self.records, InputsOf) else (self.inputs[0].name, self.inputs[1].name)

    @cached_property
    def totals(self) -> Totals:
        """Counts, sums and average precisions over all frames."""
        return self.source if isinstance(self.source, Totals) else Totals.of(self.source, self.protocol)

    @cached_property
    def classes(self) -> dict[str, Values]:
        """Values of each class."""
        return values_of_classes(self.totals, self.class_names, self.metrics, self.protocol, self.ranges)

    @cached_property
    def mean(self) -> Values:
        """Mean over classes of each value."""
        return mean_of(self.classes.values(), self.metrics)

    @cached_property
    def without_value(self) -> tuple[str, ...]:
        """Classes with neither predictions nor truth."""
        filled = (self.totals.predicted + self.totals.true > 0).tolist()
        return tuple(name for name, is_filled in zip(self.class_names, filled, strict=True) if not is_filled)

    @property
    def frames(self) -> dict[str, int]:
        """Numbers of frames that were evaluated, missing from the predictions, ignored, and without truth."""
        return {
            "evaluated": self.totals.frames,
            "missing": self.frames_missing,
            "ignored": self.frames_ignored,
            "without_truth": self.totals.without_truth,
        }

    def keys(self, metric: str) -> list[str]:
        """Return the keys of the values of a metric, in the order of tables."""
        keys = value_keys(METRICS[metric], self.protocol, self.ranges, "main", "headline", "part")
        return [str(key) for key in keys]

    def rows_of(self, metric: str) -> list[tuple[str, Values]]:
        """Return the values of the classes that a metric has values for, and the means, with their names."""
        covered = [name for name in self.class_names if METRICS[metric].covers(name, self.protocol)]
        return [*((name, self.classes[name]) for name in covered), ("mean", self.mean)]

    def table(self) -> str:
        """Return the summary as text: one table per metric, with a row per class and the mean."""
        return "\n\n".join(_table(self.keys(metric), self.rows_of(metric), self.protocol) for metric in self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain Python values."""
        return {
            "mapgauge": self.version,
            "protocol": self.protocol.to_dict() | {"full_name": full_name(self.protocol)},
            "inputs": {"predictions": self.inputs[0].to_dict(), "truth": self.inputs[1].to_dict()},
            "frames": self.frames,
            "classes": self.classes,
            "mean": self.mean,
            "without_value": list(self.without_value),
            "findings": [asdict(finding) for finding in self.findings],
        }


def _table(keys: Sequence[str], rows: Sequence[tuple[str, Values]], protocol: Protocol) -> str:
    body = [
        [name, *(_count(values.get(key)) for key in COUNTS), *(number(values[key]) for key in keys)]
        for name, values in rows
    ]
    return text_table(["class", *COUNTS, *(key + setting_of(key, protocol) for key in keys)], body)


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"
