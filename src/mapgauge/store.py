"""Results on disk: one file, numpy's own archive of arrays, with a header in JSON.

No pickle is in it, so a file from anywhere can be opened.
"""

import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.evaluate import Frames, describe, loaded, prepare
from mapgauge.findings import Finding
from mapgauge.io._target import save as write_bytes
from mapgauge.protocols import Protocol
from mapgauge.results import Input, Results
from mapgauge.score import Scores

VERSION = 1  # of the layout; a later one is refused


class _Header(msgspec.Struct):
    layout: int
    mapgauge: str
    protocol: dict[str, Any]
    metrics: tuple[str, ...]
    class_names: tuple[str, ...]
    tokens: tuple[str, ...]
    scenes: tuple[str, ...] | None
    ranges: tuple[float, ...]
    inputs: tuple[Input, Input]
    frames_missing: int
    frames_ignored: int
    findings: tuple[Finding, ...]


def save_results(results: Results, path: str | os.PathLike[str]) -> None:
    """Write results, without the geometry they came from, to one file.

    Args:
        results: What ``evaluate`` gave.
        path: The file.
    """
    scores = results.scores
    header = _Header(
        VERSION,
        results.version,
        results.protocol.to_dict(),
        results.metrics,
        results.class_names,
        results.tokens,
        results.scenes,
        results.ranges,
        results.inputs,
        results.frames_missing,
        results.frames_ignored,
        results.findings,
    )
    arrays: dict[str, Any] = {f"hits/{name}": hits for name, hits in scores.hits.items()}
    arrays |= {name: getattr(scores, name) for name in ("predicted", "true", "parts", "ring_parts", "confidence")}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, header=np.frombuffer(msgspec.json.encode(header), np.uint8), **arrays)
    write_bytes(Path(path), buffer.getvalue())


def load_results(
    path: str | os.PathLike[str], predictions: Frames | None = None, truth: Frames | None = None
) -> Results:
    """Read results that ``Results.save`` wrote.

    Args:
        path: The file.
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
    if predictions is None or truth is None:
        return results
    x, y = loaded(predictions), loaded(truth)
    for side, then, name in ((x, results.inputs[0], "predictions"), (y, results.inputs[1], "truth")):
        if describe(side).hash != then.hash:
            raise InvalidInput(f"{path}: these are not the {name} that were evaluated ({then.name or 'from memory'})")
    return replace(results, data=prepare(x, y, results.protocol, "ignore")[:2])


def _load(path: str | os.PathLike[str]) -> Results:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = msgspec.json.decode(arrays.pop("header").tobytes(), type=_Header)
        if header.layout > VERSION:
            raise UnreadableFile(f"{path}: written by a newer mapgauge ({header.mapgauge}). Update mapgauge")
        return _results(header, arrays)
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile, msgspec.MsgspecError) as error:
        if isinstance(error, UnreadableFile):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableFile(f"{path}: not a file of results: {reason}") from error


def _results(header: _Header, arrays: dict[str, Any]) -> Results:
    hits = {name.removeprefix("hits/"): arrays.pop(name) for name in list(arrays) if name.startswith("hits/")}
    scores = Scores(**arrays, hits=hits)
    shape = (len(header.tokens), len(header.class_names))
    records = int(scores.predicted.sum())
    fits = scores.predicted.shape == scores.true.shape == shape and len(scores.confidence) == records
    if not fits or any(len(column) != records for column in hits.values()):
        raise ValueError("its columns do not fit together")
    settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in header.protocol.items()}
    return Results(
        Protocol(**settings),
        header.metrics,
        header.class_names,
        header.tokens,
        header.scenes,
        scores,
        header.ranges,
        header.inputs,
        header.frames_missing,
        header.frames_ignored,
        header.findings,
        header.mapgauge,
    )
