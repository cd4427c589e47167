"""``history``: the values of many nights as curves, with their steps, slow changes, and changes of the inputs."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mapgauge.errors import InvalidInput
from mapgauge.features.history.curves import HistoryCurve, HistoryEvent, around
from mapgauge.features.history.inputs import InputChange, input_changes
from mapgauge.features.history.nights import Night, SkippedFile, changed_metadata, labels_of, plain_night, read_nights
from mapgauge.features.history.page import page
from mapgauge.features.history.scenes import on_scenes
from mapgauge.features.history.sentences import said
from mapgauge.features.history.steps import fit
from mapgauge.io.files.writing import save
from mapgauge.markup import block, element
from mapgauge.metrics.metric import Metric, Role, ValueKey
from mapgauge.metrics.table import METRICS, value_named
from mapgauge.protocols import Protocol
from mapgauge.results.drawn_values import MEAN
from mapgauge.results.statement import Statement
from mapgauge.results.tags import Tags
from mapgauge.typing import Progress

_FITTED: tuple[Role, ...] = ("main", "headline", "part")  # roles of the values whose steps are searched
_MOST_ON_SCENES = 40  # changes that are compared on shared scenes, the newest first: each takes some milliseconds


@dataclass(frozen=True, eq=False, kw_only=True)
class History:
    """Nights in the order of their dates, the curves of all values, and what changed."""

    nights: tuple[Night, ...]
    curves: tuple[HistoryCurve, ...]
    events: tuple[HistoryEvent, ...]  # of all fitted values, in the order of nights; only the worse ones if asked for
    inputs: tuple[InputChange, ...]
    skipped: tuple[SkippedFile, ...]  # files that are left out, with the reason
    remarks: tuple[str, ...]
    only_worse: bool = False
    by: str = ""  # the column of tags by which scenes are grouped

    def __repr__(self) -> str:
        """Return the number of nights and the answer."""
        return f"<History of {len(self.nights)} nights: {self.statements[0].text}>"

    def _repr_html_(self) -> str:
        return block(*(element("div", statement.text) for statement in self.statements))

    @property
    def protocol(self) -> Protocol:
        """The protocol of all nights."""
        return self.nights[-1].protocol

    @property
    def metrics(self) -> list[Metric]:
        """The metrics that any night has."""
        return _metrics_of(self.nights)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, which are those of the protocol."""
        return self.nights[-1].pooled.class_names

    @cached_property
    def labels(self) -> list[str]:
        """The date of each night in words."""
        return labels_of(self.nights)

    @cached_property
    def by_place(self) -> dict[tuple[str, str], HistoryCurve]:
        """The curves by class and key."""
        return {(curve.class_name, curve.key): curve for curve in self.curves}

    @property
    def main_events(self) -> list[HistoryEvent]:
        """The events of main values, in the order of nights, then of metrics and classes."""
        mains = [metric.main.key for metric in self.metrics]
        names = [*self.class_names, MEAN]
        found = [event for event in self.events if event.key in mains]
        found.sort(key=lambda one: (one.change.night, mains.index(one.key), names.index(one.class_name)))
        return found

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """What the history says, the most important first."""
        return tuple(said(self))

    def curve(self, class_name: str, key: str) -> HistoryCurve:
        """Return the curve of a value.

        Args:
            class_name: A class, or ``"mean"``.
            key: The key of a value, such as ``"pld"`` or ``"ap_chamfer@0.5"``.
        """
        found = self.by_place.get((class_name, key))
        if found is None:
            raise InvalidInput(f"the history has no value {key!r} of {class_name!r}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the history as plain values."""
        return {
            "protocol": self.protocol.name,
            "statements": [statement.to_dict() for statement in self.statements],
            "nights": [plain_night(night) for night in self.nights],
            "curves": [curve.to_dict() for curve in self.curves],
            "events": [event.to_dict() for event in self.events],
            "inputs": [change.to_dict() for change in self.inputs],
            "skipped": [skipped.to_dict() for skipped in self.skipped],
            "remarks": list(self.remarks),
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each night and class, and one for the means: date, metadata, inputs, values, intervals."""
        noted = list(dict.fromkeys(key for night in self.nights for key in night.metadata))
        names = [MEAN, *self.class_names]
        rows = []
        for k, night in enumerate(self.nights):
            for name in names:
                predicted, true = night.pooled.instances.get(name, (None, None))
                row: dict[str, Any] = {"name": night.name, "date": night.date, "class": name}
                row |= {f"metadata:{key}": night.metadata.get(key) for key in noted}
                row |= {
                    "frames": night.pooled.frames.get("evaluated"),
                    "share_without_truth": night.share_without_truth,
                    "predictions": predicted,
                    "truth": true,
                    "truth_length": (night.pooled.truth_lengths or {}).get(name),
                }
                for curve in self.curves:
                    if curve.class_name != name:
                        continue
                    low, high = curve.intervals[k] or (None, None)
                    row |= {curve.key: curve.values[k], f"{curve.key}:low": low, f"{curve.key}:high": high}
                rows.append(row)
        return rows

    def to_html(self, title: str = "History") -> str:
        """Return the page: one file that needs neither network nor server."""
        return page(self, title)

    def save(self, path: str | os.PathLike[str], *, title: str = "History") -> None:
        """Write the page.

        Args:
            path: The file (.html).
            title: The title of the page.
        """
        # File names may contain bytes that are not valid text. They are written as numeric character references.
        save(Path(path), self.to_html(title).encode("utf-8", "xmlcharrefreplace"))


def history(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    protocol: str | None = None,
    tags: Tags | None = None,
    by: str | None = None,
    only_worse: bool = False,
    progress: Progress | None = None,
) -> History:
    """Say what changed over many nights, each of which is a file of results.

    Only the pooled values of each file are read. Steps and slow changes are searched in the main values, the headline
    values and the parts of each metric, with at least 10 nights; ``docs/explanation/history-steps.md`` says how.

    Args:
        files: A folder with files of results (.mg), or these files.
        protocol: The full name of a protocol: only its nights are in the history. If None, the protocol of most files.
            Nights of different protocols are never in one curve.
        tags: Tags of scenes, from ``read_tags``. Changes are then also given for each value of a column.
        by: The column of ``tags``, such as ``"city"``. It may be left out if there is only one.
        only_worse: Whether to keep only what got worse.
        progress: Called with the number of files read so far and their total.

    Returns:
        The nights by date, all curves with intervals, what changed, and files that are left out with the reason.

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> predictions, truth = mg.demo.demo_world(5, predictions=10)
    >>> for day in range(1, 13):
    ...     shown = predictions.with_confidence(0.3) if day > 8 else predictions
    ...     results = mg.evaluate(shown, truth, metrics=["pld"], metadata={"date": f"2026-11-{day:02}"})
    ...     results.save(folder / f"{day:02}.mg")
    >>> (step,) = mg.history(folder).curve("mean", "pld").changes
    >>> step.kind, step.night
    ('step', 8)
    """
    groups, column = _groups_of(tags, by)
    nights, skipped, remarks = read_nights(files, protocol=protocol, progress=progress)
    curves = tuple(_curves(nights))
    inputs = tuple(input_changes(nights))
    events = [event for curve in curves for event in _events(curve, nights, inputs)]
    events.sort(key=lambda event: event.change.night)
    if only_worse:
        chosen = [event for event in events if event.worse]
    else:
        chosen = events
    return History(
        nights=tuple(nights),
        curves=curves,
        events=tuple(_on_scenes(chosen, curves, nights, groups=groups)),
        inputs=inputs,
        skipped=tuple(skipped),
        remarks=tuple(remarks),
        only_worse=only_worse,
        by=column,
    )


def _groups_of(tags: Tags | None, by: str | None) -> tuple[dict[str, str], str]:
    """Return the group of each scene, and the column of tags."""
    if tags is None:
        if by is not None:
            raise InvalidInput(f"by is {by!r}, and there are no tags", remedy="Give tags with this column")
        return {}, ""
    if tags.key == "token":
        raise InvalidInput(
            f"{tags.name}: the tags belong to frames, and a history has the sums of scenes",
            remedy="Give a table with a column scene",
        )
    columns = [name for name, kind in tags.kinds.items() if kind in ("text", "flag")]
    if by is None and len(columns) == 1:
        by = columns[0]
    if by not in columns:
        raise InvalidInput(
            f"{tags.name}: by must be one of its columns of text or flags ({', '.join(columns) or 'none'}), got {by!r}"
        )
    found = {}
    for scene, row in tags.rows.items():
        value = row.get(by)
        if isinstance(value, bool):
            found[scene] = by if value else f"not {by}"
        elif value not in (None, ""):
            found[scene] = str(value)
    return found, by


def _metrics_of(nights: Sequence[Night]) -> list[Metric]:
    """Return the metrics that any night has, in the order of tables."""
    present = {name for night in nights for name in night.pooled.metrics}
    return [METRICS[name] for name in METRICS if name in present]


def _curves(nights: Sequence[Night]) -> Iterable[HistoryCurve]:
    """Yield the curves of all values that any night has, in the order of its tables."""
    for class_name in (MEAN, *nights[-1].pooled.class_names):
        keys = dict.fromkeys(key for night in reversed(nights) for key in night.pooled.values.get(class_name, {}))
        for key in keys:
            found = value_named(ValueKey.parse(key).name)
            if found is None:  # counts, and values of a metric that is not installed
                continue
            values = tuple(_known(night.value(class_name, key)) for night in nights)
            if all(value is None for value in values):
                continue
            intervals = tuple(night.interval(class_name, key) for night in nights)
            curve = HistoryCurve(class_name=class_name, key=key, values=values, intervals=intervals)
            if ValueKey.parse(key).plain and found[1].role in _FITTED:
                curve = _fitted(curve)
            yield curve


def _known(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return float(value)


def _fitted(curve: HistoryCurve) -> HistoryCurve:
    """Return a curve with its changes. Nights without a value are left out of the fit."""
    present = [k for k, value in enumerate(curve.values) if value is not None]
    found = fit([value for value in curve.values if value is not None])
    if found is None:
        return curve
    changes = tuple(replace(change, night=present[change.night], last=present[change.last]) for change in found.changes)
    stretches = tuple(
        replace(stretch, begin=present[stretch.begin], end=present[stretch.end - 1] + 1) for stretch in found.stretches
    )
    fitted = replace(curve, changes=changes, stretches=stretches, noise=found.noise, detectable=found.detectable)
    if found.autocorrelation is None:
        return fitted
    value, error = found.autocorrelation
    return replace(fitted, autocorrelation=value, autocorrelation_error=error)


def _events(curve: HistoryCurve, nights: Sequence[Night], inputs: Sequence[InputChange]) -> Iterable[HistoryEvent]:
    lower = curve.lower_is_better
    for change in curve.changes:
        if change.kind == "slow":
            within = [other for other in inputs if change.night < other.night <= change.last]
        else:
            within = [other for other in inputs if other.night == change.night]
        if change.kind == "slow":
            noted: dict[str, str] = {}  # other nights have other notes
        else:
            noted = changed_metadata(nights[change.night - 1], nights[change.night])
        worse = None
        if lower is not None:
            worse = (change.size > 0) == lower
        yield HistoryEvent(
            class_name=curve.class_name, key=curve.key, change=change, worse=worse, metadata=noted, inputs=tuple(within)
        )


def _on_scenes(
    events: Sequence[HistoryEvent],
    curves: Sequence[HistoryCurve],
    nights: Sequence[Night],
    *,
    groups: Mapping[str, str],
) -> list[HistoryEvent]:
    """Return events, those of main values with the difference on shared scenes."""
    by_place = {(curve.class_name, curve.key): curve for curve in curves}
    mains = {metric.main.key for metric in _metrics_of(nights)}
    count = 0
    done: list[HistoryEvent] = []
    for event in reversed(events):
        found = None
        if event.key in mains and count < _MOST_ON_SCENES:
            curve = by_place[event.class_name, event.key]
            spans = around(event.change, curve.changes, len(nights))
            before, after = (_with_value(curve, nights, span) for span in spans)
            found = on_scenes(before, after, event.class_name, key=event.key, groups=groups)
        count += found is not None
        done.append(replace(event, on_scenes=found))
    return done[::-1]


def _with_value(curve: HistoryCurve, nights: Sequence[Night], span: slice) -> list[Night]:
    """Return the nights of a span in which a curve has a value."""
    return [nights[k] for k in range(len(nights))[span] if curve.values[k] is not None]
