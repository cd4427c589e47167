"""The pooled values of results, which a file of results has as its first member.

They are read without the rows of frames, so that hundreds of files can be looked at together. Values of scenes are kept
as sums, so that two results can be compared on the scenes that they share.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from mapgauge.decoding import decode_json
from mapgauge.errors import UnreadableFile
from mapgauge.io.files.first_member import first_member
from mapgauge.io.files.json_documents import refuse_doubled_keys
from mapgauge.io.files.source import Content
from mapgauge.markup import shortened
from mapgauge.metrics.table import sum_metrics
from mapgauge.results.bootstrap import SAMPLES, Kind, added_by_unit, draw
from mapgauge.results.comparison import limits_of, sorted_by_token
from mapgauge.results.drawn_values import count_units, drawn_values, draws_of, lacking_units, units_with_class
from mapgauge.results.estimation import estimate
from mapgauge.results.intervals import LEVEL
from mapgauge.results.saving import BROKEN, INCOMPLETE, SUMMARY
from mapgauge.results.values import Values
from mapgauge.typing import Floats, Indices

if TYPE_CHECKING:
    from mapgauge.results.results import Results

LAYOUT = 1  # of the summary; others are read from the rows
_MOST_UNITS = 10_000  # of which intervals are drawn: more would take longer than the evaluation
_MOST_SUMS = 1 << 20  # numbers of scenes that are kept: 8 MB. 1,000 scenes with 3 classes have 18,000 of PLD
MOST_BYTES = 1 << 24  # of a summary, decompressed
_LARGEST = 1e12  # of a value; a damaged file may have larger ones
_NPY = b"\x93NUMPY\x01\x00"  # numpy.lib.format: magic, version 1.0, then two bytes with the length of the header


class PooledInput(msgspec.Struct, frozen=True):
    """What a summary says about the predictions or the truth."""

    name: str
    frames: int
    counts: dict[str, int]  # number of instances by class, as read
    hash: str


class SceneSums(msgspec.Struct, frozen=True):
    """Sums of each scene. Arrays are bytes of little-endian numbers, in the order of scenes, classes, columns."""

    scenes: tuple[str, ...]  # sorted
    frames: bytes  # int64 ``(scenes,)``
    instances: bytes  # int64 ``(scenes, classes)``: predictions and truth
    sums: dict[str, bytes]  # by metric, at its first setting: float64 ``(scenes, classes, columns)``


class Pooled(msgspec.Struct, frozen=True, kw_only=True):
    """The values of results, pooled over all frames, with intervals, and what is known about their inputs."""

    layout: int
    mapgauge: str
    date: str
    metadata: dict[str, str]
    protocol: dict[str, Any]
    metrics: tuple[str, ...]
    class_names: tuple[str, ...]
    predictions: PooledInput
    truth: PooledInput
    frames: dict[str, int]  # as ``Summary.frame_counts``
    truth_lengths: dict[str, float] | None
    instances: dict[str, tuple[int, int]]  # predictions and truth of each class in the evaluated frames and region
    values: dict[str, dict[str, float | None]]  # by class, or "mean", and key
    # The bounds of an interval of 95 %. Values of all settings but the first, and rings, have none.
    intervals: dict[str, dict[str, tuple[float, float] | None]]
    drawn: Kind
    units: int
    of_scenes: SceneSums | None = None
    has_errors: bool = False  # whether a finding is an error, so that the values cannot be trusted


def pooled(results: "Results") -> Pooled:
    """Return the pooled values of results. Their order of frames does not matter."""
    method = sorted_by_token(results)
    values = {"mean": method.mean} | method.classes
    intervals: dict[str, dict[str, tuple[float, float] | None]] = {}
    of_scenes = None
    kind: Kind = "frame" if method.scenes is None else "scene"
    units = len(set(method.scenes or method.tokens))
    if 1 < units <= _MOST_UNITS:
        drawn = draw([method], SAMPLES, seed=0)
        intervals = _intervals(method, values, drawn.unit_of_frame, weights=drawn.weights)
        columns = sum(len(rows.columns) for _, rows in sum_metrics(method.metrics))
        if kind == "scene" and units * len(method.class_names) * columns <= _MOST_SUMS:
            of_scenes = _scene_sums(method, drawn.unit_of_frame, units)
    predictions, truth = (
        PooledInput(name=side.name, frames=side.frames, counts=side.counts, hash=side.hash) for side in method.inputs
    )
    totals = method.totals
    counts = zip(method.class_names, totals.predicted.tolist(), totals.true.tolist(), strict=True)
    return Pooled(
        layout=LAYOUT,
        mapgauge=method.version,
        date=method.date,
        metadata=dict(method.metadata),
        protocol=method.protocol.to_dict(),
        metrics=method.metrics,
        class_names=method.class_names,
        predictions=predictions,
        truth=truth,
        frames=method.frame_counts,
        truth_lengths=None if method.truth_lengths is None else dict(method.truth_lengths),
        instances={name: (predicted, true) for name, predicted, true in counts},
        values=values,
        intervals=intervals,
        drawn=kind,
        units=units,
        of_scenes=of_scenes,
        has_errors=any(finding.level == "error" for finding in method.findings),
    )


def _intervals(
    method: "Results", values: Mapping[str, Values], unit_of_frame: Indices, weights: Floats
) -> dict[str, dict[str, tuple[float, float] | None]]:
    """Return the intervals that ``compare`` has, and those of parts."""
    samples = drawn_values(method, unit_of_frame, weights, roles=("main", "headline", "part"))
    count = count_units([units_with_class(method, unit_of_frame, weights.shape[1])])
    lacking = [lacking_units(method, unit_of_frame, weights.shape[1])]
    found: dict[str, dict[str, tuple[float, float] | None]] = {}
    for name, by_key in samples.items():
        found[name] = {}
        for key in by_key:
            value = values[name].get(key)
            draws = draws_of(samples, name, key, count=count, lacking=lacking)
            known = estimate(np.nan if value is None else value, draws, LEVEL, limits=limits_of(key))
            if np.isfinite(known.low) and np.isfinite(known.high):
                found[name][key] = (known.low, known.high)
    return found


def _scene_sums(method: "Results", unit_of_frame: Indices, units: int) -> SceneSums:
    scores = method.scores
    instances = added_by_unit((scores.predicted + scores.true).astype(np.float64), unit_of_frame, units)
    sums = {
        metric.name: added_by_unit(scores.sums[metric.name][0], unit_of_frame, units).astype("<f8").tobytes()
        for metric, _ in sum_metrics(method.metrics)
    }
    return SceneSums(
        scenes=tuple(sorted(set(method.scenes or ()))),
        frames=np.bincount(unit_of_frame, minlength=units).astype("<i8").tobytes(),
        instances=instances.astype("<i8").tobytes(),
        sums=sums,
    )


def encoded(values: Pooled) -> bytes:
    """Return pooled values as the JSON of a file."""
    return msgspec.json.encode(values)


def read_pooled(path: str | os.PathLike[str], most: int = MOST_BYTES) -> tuple[Pooled | None, int]:
    """Return the pooled values in a file of results, and their size in bytes; None and 0 if it has none.

    Only the beginning of the file is read. Raises ``UnreadableFile`` for anything but a file of results, and for pooled
    values of more than ``most`` bytes.
    """
    content = Content(path)
    try:
        text = _summary_text(content, most)
        if text is None or decode_json(text, _SummaryLayout).layout != LAYOUT:
            return None, 0
        refuse_doubled_keys(text, content.error)
        return _checked(decode_json(text, Pooled)), len(text)
    except UnreadableFile:
        raise
    except (ValueError, *BROKEN) as error:
        raise content.error(
            f"not a file of results: {shortened(str(error), longest=200)}", remedy=INCOMPLETE
        ) from error


class _SummaryLayout(msgspec.Struct):
    layout: int


def _summary_text(content: Content, most: int) -> bytes | None:
    """Return the JSON of pooled values; None if the file begins with another array."""
    data = first_member(content, f"{SUMMARY}.npy", most)
    if data is None:
        return None
    if not data.startswith(_NPY):
        raise ValueError("its summary is no array of bytes")
    begin = len(_NPY) + 2
    return data[begin + int.from_bytes(data[begin - 2 : begin], "little") :]


def _checked(read: Pooled) -> Pooled:
    """Return pooled values whose parts fit together, or raise ``ValueError``."""
    known = {*read.class_names, "mean"}
    if not set(read.values) <= known or not set(read.intervals) <= known or not set(read.instances) <= known:
        raise ValueError("its summary has values of unknown classes")
    if any(abs(value) > _LARGEST for row in read.values.values() for value in row.values() if value is not None):
        raise ValueError("its summary has values that no metric has")
    of_scenes = read.of_scenes
    if of_scenes is not None:
        scenes = len(of_scenes.scenes)
        classes = len(read.class_names)
        if len(set(of_scenes.scenes)) < scenes or len(of_scenes.frames) != 8 * scenes:
            raise ValueError("the scenes of its summary do not fit together")
        if len(of_scenes.instances) != 8 * scenes * classes:
            raise ValueError("the scenes of its summary do not fit its classes")
    return read


__all__ = ["MOST_BYTES", "Pooled", "PooledInput", "SceneSums", "encoded", "pooled", "read_pooled"]
