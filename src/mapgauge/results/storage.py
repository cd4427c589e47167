"""Results on disk: one file, numpy's own archive of arrays, with a header in JSON.

No pickle is in it, so a file from anywhere can be opened.
"""

import io
import math
import os
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.evaluation.evaluate import Frames, describe, loaded, prepare
from mapgauge.files.places import streams
from mapgauge.files.source import Content
from mapgauge.files.writing import save as write_bytes
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io.dataset import open_dataset
from mapgauge.protocols import Protocol
from mapgauge.results.results import Input, Results
from mapgauge.scoring.score import METRICS, PARTS, Scores, thresholds_of

VERSION = 1  # of the layout; a later one is refused


class _Header(msgspec.Struct):
    layout: int
    mapgauge: str
    protocol: dict[str, Any]
    metrics: tuple[str, ...]
    class_names: tuple[str, ...]
    tokens: tuple[str, ...]
    scenes: tuple[str, ...] | None
    ranges: tuple[float | None, ...]  # None for infinity, which JSON lacks
    inputs: tuple[Input, Input]
    frames_missing: int
    frames_ignored: int
    findings: tuple[Finding, ...]


class _Layout(msgspec.Struct):
    layout: int
    mapgauge: str


def save_results(results: Results, path: str | os.PathLike[str]) -> None:
    """Write results, without the geometry they came from, to one file.

    Args:
        results: What ``evaluate`` gave.
        path: The file.
    """
    header = _Header(
        VERSION,
        results.version,
        results.protocol.to_dict(),
        results.metrics,
        results.class_names,
        results.tokens,
        results.scenes,
        tuple(None if math.isinf(bound) else bound for bound in results.ranges),
        results.inputs,
        results.frames_missing,
        results.frames_ignored,
        results.findings,
    )
    buffer = io.BytesIO()
    text = np.frombuffer(msgspec.json.encode(header), np.uint8)
    np.savez_compressed(buffer, header=text, **results.scores.arrays())
    write_bytes(Path(path), buffer.getvalue())


def load_results(
    path: str | os.PathLike[str], predictions: Frames | None = None, truth: Frames | None = None
) -> Results:
    """Read results that ``Results.save`` wrote, or the folder of a streamed evaluation.

    Args:
        path: The file, or the folder.
        predictions: What was evaluated, if assignments are to be looked at; it must be the same as then.
        truth: The truth it was compared with.

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    >>> results = mg.evaluate(truth.with_confidence(1), truth, mg.protocol("paper-60x30", classes=["divider"]))
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "results.mg"
    >>> results.save(file)
    >>> mg.load_results(file).mean["pld"]
    0.0
    """
    results = _load(path)
    if predictions is None and truth is None:
        return results
    if predictions is None or truth is None:
        raise InvalidInput("give both predictions and truth, or neither")
    x, y = loaded(predictions), loaded(truth)
    for given, side, then, name in zip(
        (predictions, truth), (x, y), results.inputs, ("predictions", "truth"), strict=True
    ):
        if then.hash not in (describe(side).hash, _digest(given)):
            raise InvalidInput(f"{path}: these are not the {name} that were evaluated ({then.name or 'from memory'})")
    return replace(results, data=prepare(x, y, results.protocol, "ignore")[:2])


def _digest(given: Frames) -> str | None:
    """What stands for Parquet that was evaluated in pieces: a hash of its footers, not of its columns."""
    return open_dataset(given).digest if not isinstance(given, MapFrames) and streams(given) else None


# What Python's zip archives and numpy raise for a damaged file, beside ValueError.
BROKEN = (OSError, EOFError, KeyError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error, msgspec.MsgspecError)


def _load(path: str | os.PathLike[str]) -> Results:
    if Path(path).is_dir():
        from mapgauge.evaluation.streaming import load_folder  # which needs this module

        return load_folder(Path(path))
    content = Content(path)
    data = content.data  # as a whole, so that no file stays open behind an error
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        text = arrays.pop("header").tobytes()
        written = msgspec.json.decode(text, type=_Layout)
        if written.layout > VERSION:
            raise content.error(f"written by a newer mapgauge ({written.mapgauge}). Update mapgauge")
        return _results(msgspec.json.decode(text, type=_Header), arrays)
    except UnreadableFile:
        raise
    except (ValueError, *BROKEN) as error:
        raise content.error(f"not a file of results: {error}") from error


def protocol_from(values: dict[str, Any]) -> Protocol:
    """A protocol from what ``Protocol.to_dict`` gave, after JSON."""
    settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return Protocol(**settings)


def _results(header: _Header, arrays: dict[str, Any]) -> Results:
    scores = Scores.of_arrays(arrays)
    protocol = protocol_from(header.protocol)
    frames, classes = shape = (len(header.tokens), len(header.class_names))
    records = int(scores.predicted.sum()) if scores.predicted.dtype == np.int64 else -1
    cutoffs = len(protocol.cutoffs) if "pld" in header.metrics else 0
    rings = max(len(header.ranges) - 1, 0)
    expected: list[tuple[Any, tuple[int, ...], type]] = [
        (scores.predicted, shape, np.int64),
        (scores.true, shape, np.int64),
        (scores.parts, (cutoffs, frames, classes, PARTS), np.float64),
        (scores.ring_parts, (rings, frames, classes, PARTS), np.float64),
        (scores.confidence, (records,), np.float64),
        *((column, (records,), np.uint16) for column in scores.hits.values()),
    ]
    named = all(name == "pld" or thresholds_of(protocol, name) for name in header.metrics if name in METRICS)
    if (
        any(column.shape != size or column.dtype != kind for column, size, kind in expected)
        or not named
        or set(header.metrics) - {"pld"} != set(scores.hits)
        or not set(header.metrics) <= set(METRICS)
        or (header.scenes is not None and len(header.scenes) != frames)
    ):
        raise ValueError("its columns do not fit together")
    return Results(
        protocol,
        header.metrics,
        header.class_names,
        header.tokens,
        header.scenes,
        scores,
        tuple(math.inf if bound is None else bound for bound in header.ranges),
        header.inputs,
        header.frames_missing,
        header.frames_ignored,
        header.findings,
        header.mapgauge,
    )
