"""Results: the scores of every frame and class, and what follows from them.

Frames pool by sums: a summary over any set of frames, a scene or a bootstrap sample comes from the same rows.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_length
from mapgauge.display.tables import number, text_table
from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import ranges
from mapgauge.metrics.pld import Parts, PldResult
from mapgauge.protocols import Protocol
from mapgauge.results.assignment import Assignment, match_frame
from mapgauge.scoring.score import Scores, thresholds_of
from mapgauge.scoring.totals import Totals, labels_of

Values = dict[str, float | None]


class Input(NamedTuple):
    """What is recorded of predictions or truth."""

    name: str  # the file
    format: str
    frames: int
    counts: dict[str, int]  # instances by class
    hash: str  # of the columns that were read, whatever the format


@dataclass(frozen=True, eq=False)
class Results:
    """What an evaluation found: one row per frame and class, and the summary.

    ``classes`` has the values of each class by name, ``mean`` their means; both have the same keys: ``pld``,
    ``localisation``, ``detection``, the five parts, ``ap_chamfer``, ``ap_chamfer@0.5`` and so on. A class with neither
    predictions nor truth has no values (None), and the means leave it out.
    """

    protocol: Protocol
    metrics: tuple[str, ...]
    class_names: tuple[str, ...]
    tokens: tuple[str, ...]
    scenes: tuple[str, ...] | None
    scores: Scores
    ranges: tuple[float, ...]
    inputs: tuple[Input, Input]
    frames_missing: int
    frames_ignored: int
    findings: tuple[Finding, ...]
    version: str
    data: tuple[MapFrames, MapFrames] | None = None  # what was compared, while it is in memory

    def __repr__(self) -> str:
        """The main numbers, in one line."""
        shown = [f"{key} {self.mean[key]:.3f}" for key in self.metrics if self.mean.get(key) is not None]
        return f"<Results {self.protocol.name}: {self.totals.frames} frames, mean {', '.join(shown) or 'nothing'}>"

    @cached_property
    def classes(self) -> dict[str, Values]:
        """The values of each class, pooled over all frames."""
        return {name: self._class_values(c) for c, name in enumerate(self.class_names)}

    @cached_property
    def mean(self) -> Values:
        """The mean over classes of each value."""
        return mean_of(self.classes.values())

    @cached_property
    def totals(self) -> Totals:
        """Counts and sums over all frames."""
        return Totals.of(self.scores, self.protocol)

    @cached_property
    def without_value(self) -> tuple[str, ...]:
        """Classes with neither predictions nor truth."""
        there = (self.totals.predicted + self.totals.true > 0).tolist()
        return tuple(name for name, any_there in zip(self.class_names, there, strict=True) if not any_there)

    def _class_values(self, c: int) -> Values:
        totals = self.totals
        predicted, true = int(totals.predicted[c]), int(totals.true[c])
        values: Values = {"predictions": predicted, "truth": true}
        if "pld" in self.metrics:
            for k, cutoff in enumerate(self.protocol.cutoffs):
                found = pld_values(self._pooled(totals.parts[k, c], cutoff) if predicted + true else None)
                mean = float(totals.frame_values[k, c]) / totals.frames if predicted + true else None
                found["pld_frame_mean"] = mean  # the alternative to pooling
                values |= found if k == 0 else {}
                if len(self.protocol.cutoffs) > 1:
                    values |= {f"{key}@{cutoff}": value for key, value in found.items()}
            for k, (inner, outer) in enumerate(zip(self.ranges, self.ranges[1:], strict=False)):
                parts = totals.ring_parts[k, c]
                values[f"pld:{inner:g}-{outer:g}m"] = (
                    self._pooled(parts, self.protocol.cutoffs[0]).normalised if parts[5] else None
                )
        for name, precision in totals.precision.items():
            each = precision[:, c].tolist()
            values[name] = float(np.mean(each)) if predicted + true else None
            for threshold, value in zip(thresholds_of(self.protocol, name), each, strict=True):
                values[f"{name}@{threshold}"] = value if predicted + true else None
        return values

    def _pooled(self, sums: NDArray[np.float64], cutoff: float) -> PldResult:
        *parts, mass = sums.tolist()
        return PldResult(*Parts._make(parts), mass, cutoff, self.protocol.order, None)

    @cached_property
    def places_of_records(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The frame and the class of each prediction."""
        frame = np.repeat(np.arange(len(self.scores.predicted)), self.scores.predicted.sum(axis=1))
        return frame, labels_of(self.scores)

    def pool(self, parts: NDArray[np.float64], cutoff: float) -> PldResult:
        """PLD of some rows together. Sums are exactly rounded, so the order of rows does not matter."""
        return self._pooled(np.array([math.fsum(column) for column in parts.T.tolist()]), cutoff)

    def frames(
        self, sort: str = "pld", *, class_name: str | None = None, count: int | None = None
    ) -> list[dict[str, Any]]:
        """One row per frame, the largest value first: by PLD, the worst frames.

        Args:
            sort: A key of the rows: ``token``, ``scene``, ``predictions``, ``truth``, ``pld``, ``localisation``,
                ``detection``, a part, or ``hits:ap_chamfer@1.0`` and the like. Numbers fall, text rises.
            class_name: Only this class; otherwise counts are added and PLD pools the classes of a frame.
            count: At most so many rows.
        """
        chosen = self._classes_at(class_name)
        columns: dict[str, Any] = {"token": self.tokens}
        if self.scenes is not None:
            columns["scene"] = self.scenes
        columns["predictions"] = self.scores.predicted[:, chosen].sum(axis=1).tolist()
        columns["truth"] = self.scores.true[:, chosen].sum(axis=1).tolist()
        if "pld" in self.metrics:
            pooled = [
                pld_values(self.pool(parts, self.protocol.cutoffs[0])) for parts in self.scores.parts[0][:, chosen]
            ]
            columns |= {key: [values[key] for values in pooled] for key in pooled[0]}
        kept = np.isin(self.places_of_records[1], chosen)
        frame = self.places_of_records[0][kept]
        for name, hits in self.scores.hits.items():
            for t, threshold in enumerate(thresholds_of(self.protocol, name)):
                found = np.bincount(frame, weights=(hits[kept] >> t) & 1, minlength=len(self.tokens))
                columns[f"hits:{name}@{threshold}"] = found.astype(np.int64).tolist()
        if sort not in columns:
            raise InvalidInput(f"no column {sort!r} to sort by. There are: {', '.join(columns)}")
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        rows.sort(key=lambda row: (row[sort] is not None, row[sort]), reverse=not isinstance(columns[sort][0], str))
        return rows[:count]

    def _classes_at(self, class_name: str | None) -> list[int]:
        if class_name is None:
            return list(range(len(self.class_names)))
        if class_name not in self.class_names:
            raise InvalidInput(f"no class {class_name!r}. There are: {', '.join(self.class_names)}")
        return [self.class_names.index(class_name)]

    def of_frames(self, frames: Sequence[int]) -> "Results":
        """The results of some of the frames alone."""
        order = np.asarray(frames, np.int64)
        per_frame = self.scores.predicted.sum(axis=1)
        records = ranges(per_frame.cumsum()[order] - per_frame[order], per_frame[order])
        scores = self.scores
        picked = Scores(
            scores.predicted[order],
            scores.true[order],
            scores.parts[:, order],
            scores.ring_parts[:, order],
            scores.confidence[records],
            {name: hits[records] for name, hits in scores.hits.items()},
        )
        where = order.tolist()
        scenes = None if self.scenes is None else tuple(self.scenes[i] for i in where)
        same = {field.name: getattr(self, field.name) for field in fields(Results)}
        changed = {"tokens": tuple(self.tokens[i] for i in where), "scenes": scenes, "scores": picked}
        return Results(**(same | changed))

    def by(self, key: str | Mapping[str, Any] | Callable[[str], Any] = "scene") -> dict[Any, "Results"]:
        """The results of each group of frames: by scene, or by what a mapping or a function says of each token."""
        if isinstance(key, str):
            if key != "scene" or self.scenes is None:
                raise InvalidInput(
                    f"cannot group by {key!r}: " + ("no scene is known" if key == "scene" else "unknown")
                )
            keys: Sequence[Any] = self.scenes
        elif not callable(key) and not isinstance(key, Mapping):
            raise InvalidInput(f"cannot group by {key!r}: give 'scene', a mapping or a function of the token")
        elif callable(key):
            keys = [key(token) for token in self.tokens]
        else:
            lacking = [token for token in self.tokens if token not in key]
            if lacking:
                raise InvalidInput(f"{len(lacking)} tokens have no group (first: {lacking[0]})")
            keys = [key[token] for token in self.tokens]
        groups: dict[Any, list[int]] = {}
        for i, name in enumerate(keys):
            groups.setdefault(name, []).append(i)
        return {name: self.of_frames(frames) for name, frames in groups.items()}

    def assignment(self, token: str, *, cutoff: float | None = None) -> Assignment:
        """Who was assigned to whom in one frame, with the matched points; computed again from the data.

        Args:
            token: The frame.
            cutoff: Of SOSPA, metres; the first of the protocol if None.
        """
        if self.data is None:
            raise InvalidInput(
                "these results came from a file, which does not hold the geometry. "
                "Load them with load_results(path, predictions, truth)"
            )
        if token not in self.tokens:
            raise InvalidInput(f"no frame {token!r}")
        if cutoff is None and not self.protocol.cutoffs:
            raise InvalidInput(f"the protocol {self.protocol.name} has no cutoff. Pass cutoff= in metres")
        length = self.protocol.cutoffs[0] if cutoff is None else check_length("cutoff", cutoff)
        return match_frame(*self.data, self.data[1].index[token], self.protocol, length)

    def table(self) -> str:
        """The summary as text: one table per metric, a row per class and the mean."""
        rows = [*self.classes.items(), ("mean", self.mean)]
        tables = []
        for metric in self.metrics:
            keys = _columns(metric, self)
            header = ["class", "predictions", "truth", *keys]
            body = [
                [
                    name,
                    *(_count(values.get(key)) for key in ("predictions", "truth")),
                    *(number(values[k]) for k in keys),
                ]
                for name, values in rows
            ]
            tables.append(text_table(header, body))
        return "\n\n".join(tables)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the geometry to one file, which ``load_results`` reads."""
        from mapgauge.results.storage import save_results  # which needs this module

        save_results(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows of frames, as plain values."""
        return {
            "mapgauge": self.version,
            "protocol": self.protocol.to_dict(),
            "inputs": {"predictions": self.inputs[0]._asdict(), "truth": self.inputs[1]._asdict()},
            "frames": {
                "evaluated": self.totals.frames,
                "missing": self.frames_missing,
                "ignored": self.frames_ignored,
                "without_truth": self.totals.without_truth,
            },
            "classes": self.classes,
            "mean": self.mean,
            "without_value": list(self.without_value),
            "findings": [asdict(finding) for finding in self.findings],
        }


def pld_values(result: PldResult | None) -> Values:
    """The values of PLD under their names; of a class with nothing in it, None."""
    keys = ("pld", "localisation", "detection", *Parts._fields, "localisation_by_instances", "detection_by_instances")
    if result is None:
        return dict.fromkeys(keys)
    if result.order != 1:  # the normalised value of a higher order does not split into parts
        return dict.fromkeys(keys) | {"pld": result.normalised}
    parts = result.normalised_parts
    return {
        "pld": result.normalised,
        "localisation": result.localisation,
        "detection": result.detection,
        **parts._asdict(),
        "localisation_by_instances": result.localisation_by_instances,
        "detection_by_instances": result.detection_by_instances,
    }


def mean_of(classes: Iterable[Values]) -> Values:
    """The mean of each value over the classes that have it."""
    rows = list(classes)
    mean: Values = {}
    for key in rows[0] if rows else ():
        if key not in ("predictions", "truth"):
            there = [value for row in rows if (value := row[key]) is not None]
            mean[key] = math.fsum(there) / len(there) if there else None
    return mean


def _columns(metric: str, results: Results) -> list[str]:
    """What a table of a metric shows."""
    if metric == "pld":
        further = [f"pld@{cutoff}" for cutoff in results.protocol.cutoffs] if len(results.protocol.cutoffs) > 1 else []
        rings = [key for key in results.mean if key.startswith("pld:")]
        return ["pld", "localisation", "detection", *Parts._fields, *further, *rings]
    return [metric, *(f"{metric}@{threshold}" for threshold in thresholds_of(results.protocol, metric))]


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"
