"""Scores frames: a block of frames by itself, and all frames in memory in threads."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.evaluation.scores import Scores
from mapgauge.evaluation.threads import Progress, in_threads
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import in_time
from mapgauge.metrics.assigned import Known, know_matches, matches_of
from mapgauge.metrics.groups import Groups, group
from mapgauge.metrics.metric import Bits, HitRows, Metric, SumRows
from mapgauge.metrics.table import METRICS, hit_metrics, sum_metrics
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Floats, Indices

BLOCK = 48  # frames that are scored together; they take some milliseconds and little memory


def score(
    predictions: MapFrames,
    truth: MapFrames,
    protocol: Protocol,
    metrics: tuple[str, ...],
    rings: tuple[float, ...],
    known: Known | None = None,
) -> Scores:
    """Score aligned frames by some metrics.

    Args:
        predictions: Aligned with the truth.
        truth: The frames. For metrics of level "scene", all frames of each scene must be among them.
        protocol: All settings.
        metrics: By name.
        rings: Bounds of rings around the ego vehicle, rising.
        known: What an earlier evaluation of the same frames found. If None, predictions are assigned if a metric needs
            it.
    """
    linked = any("links" in METRICS[name].needs for name in metrics)
    groups = group(predictions, truth, protocol, links=linked)
    of_all = any(row.of == "lines" for row, _ in (*sum_metrics(metrics), *hit_metrics(metrics)))
    lines, of_lines = groups.of_lines() if groups.boxes and of_all else (groups, None)
    shape = (len(truth), len(truth.classes))
    counts = np.diff(groups.bounds, axis=1).reshape(*shape, 2)
    mine = groups.predictions
    if known is not None and of_all:
        know_matches(lines, protocol, known, groups, of_lines)
    units = {name: _units(METRICS[name], truth) for name in metrics}
    sums, ringed = {}, {}
    bounds = list(pairwise(rings))
    for metric, rows in sum_metrics(metrics):
        settings, unit = metric.settings(protocol), units[metric.name]
        mine_of = lines if metric.of == "lines" else groups
        blocks = [_summed(rows, mine_of, protocol, setting, unit) for setting in settings]
        sums[metric.name] = _stacked(blocks, shape, rows)
        if rows.rings:
            blocks = [_summed(rows, mine_of.within(*ring), protocol, settings[0], unit) for ring in bounds]
            ringed[metric.name] = _stacked(blocks, shape, rows)
    hits = {}
    for metric, hit_rows in hit_metrics(metrics):
        if metric.of != "lines" or of_lines is None:
            hits[metric.name] = _hits(hit_rows, groups, protocol, units[metric.name])[mine]
        else:
            bits = np.zeros(len(groups.row), np.uint16)
            bits[of_lines] = _hits(hit_rows, lines, protocol, units[metric.name])
            hits[metric.name] = bits[mine]
    found = matches_of(lines, protocol, groups, of_lines) if known is None else known.matches
    return Scores(counts[..., 0], counts[..., 1], groups.confidence[mine], sums, ringed, hits, found)


def _units(metric: Metric, truth: MapFrames) -> list[Indices] | None:
    """Return the groups of each scene for a metric of level "scene"; None if frames are scored by themselves.

    The frames of a scene are in the order of time.
    """
    if metric.level == "frame":
        return None
    scenes = np.array(truth.scenes or ("",) * len(truth))
    classes = np.arange(len(truth.classes))
    order = in_time(truth)
    frames = (order[scenes[order] == scene] for scene in dict.fromkeys(scenes.tolist()))
    return [(np.asarray(places)[:, None] * len(classes) + classes).ravel() for places in frames]


def _summed(rows: SumRows, groups: Groups, protocol: Protocol, setting: object, units: list[Indices] | None) -> Floats:
    """Return the numbers of each group, computed unit by unit."""
    if units is None:
        return rows.score(groups, protocol, setting)
    block = np.zeros((len(groups.bounds), len(rows.columns)))
    for chosen in units:
        block[chosen] = rows.score(groups.pick(chosen), protocol, setting)
    return block


def _hits(rows: HitRows, groups: Groups, protocol: Protocol, units: list[Indices] | None) -> Bits:
    """Return the bits of each instance, computed unit by unit."""
    if units is None:
        return rows.score(groups, protocol)
    bits = np.zeros(len(groups.confidence), np.uint16)
    for chosen in units:
        bits[groups.rows(chosen)] = rows.score(groups.pick(chosen), protocol)
    return bits


def _stacked(blocks: list[Floats], shape: tuple[int, int], rows: SumRows) -> Floats:
    empty = np.zeros((0, shape[0] * shape[1], len(rows.columns)))
    return np.concatenate([empty, *(block[None] for block in blocks)]).reshape(len(blocks), *shape, len(rows.columns))


def score_frames(
    predictions: MapFrames,
    truth: MapFrames,
    protocol: Protocol,
    metrics: tuple[str, ...],
    rings: tuple[float, ...],
    *,
    workers: int | None = 1,
    progress: Progress | None = None,
    beside: Sequence[Callable[[], None]] = (),
    known: Scores | None = None,
) -> Scores:
    """Score all frames of aligned sides.

    Kernels release the GIL, and threads share the data without copies. The result does not depend on the number of
    threads.

    Args:
        predictions: Aligned with the truth.
        truth: The frames.
        protocol: All settings.
        metrics: By name.
        rings: Bounds of rings around the ego vehicle, rising.
        workers: Number of threads. If None, the number of processors.
        progress: A function that is called with the number of finished frames and the number of all frames.
        beside: Functions that run at the same time; see ``in_threads``.
        known: Scores of the same frames by other metrics. Their matches are used again, if they have them.
    """
    order = _whole_scenes(truth, metrics)
    if order is not None:
        x, y = predictions.at(order.tolist()), truth.at(order.tolist())
        before = None if known is None else known.at(order)
        how: dict[str, Any] = {"workers": workers, "progress": progress, "beside": beside, "known": before}
        sorted_scores = score_frames(x, y, protocol, metrics, rings, **how)
        return sorted_scores.at(np.argsort(order))
    blocks = _blocks(truth, metrics) or [slice(0, 0)]

    def work(block: slice) -> Scores:
        x, y = predictions.between(block), truth.between(block)
        return score(x, y, protocol, metrics, rings, None if known is None else known.known(block))

    def advance(done: int, _: int) -> None:
        if progress is not None:
            progress(blocks[done - 1].stop, len(truth))

    return Scores.concatenate(in_threads(work, blocks, workers, advance, beside))


def _per_scene(metrics: tuple[str, ...]) -> bool:
    return any(METRICS[name].level == "scene" for name in metrics)


def _whole_scenes(truth: MapFrames, metrics: tuple[str, ...]) -> NDArray[np.int64] | None:
    """Return an order in which the frames of each scene are consecutive; None if no reordering is needed."""
    if not _per_scene(metrics) or truth.scenes is None:
        return None
    first: dict[str, int] = {}
    rank = np.array([first.setdefault(scene, len(first)) for scene in truth.scenes], np.int64)
    return None if (np.diff(rank) >= 0).all() else np.argsort(rank, kind="stable")


def _blocks(truth: MapFrames, metrics: tuple[str, ...]) -> list[slice]:
    """Return the blocks of frames. With metrics per scene, a block ends where a scene ends."""
    if not _per_scene(metrics) or truth.scenes is None:
        return [slice(start, min(start + BLOCK, len(truth))) for start in range(0, len(truth), BLOCK)]
    ends = [i for i in range(1, len(truth)) if truth.scenes[i] != truth.scenes[i - 1]] + [len(truth)]
    blocks, start = [], 0
    for k, end in enumerate(ends):
        if end - start >= BLOCK or k == len(ends) - 1:
            blocks.append(slice(start, end))
            start = end
    return blocks


_ROUNDING = 1e-9  # sums of another order may differ by this share


def ties_by_file(
    predictions: MapFrames,
    truth: MapFrames,
    protocol: Protocol,
    metrics: tuple[str, ...],
    scores: Scores,
    workers: int | None,
) -> tuple[Finding, ...]:
    """Return a finding if ties were decided by the order of the file.

    Args:
        predictions: Aligned with the truth.
        truth: The frames.
        protocol: All settings.
        metrics: By name.
        scores: Of these frames by these metrics.
        workers: Number of threads. If None, the number of processors.
    """
    if protocol.ties == "content" or not metrics:
        return ()
    turned = score_frames(_turned(predictions), _turned(truth), protocol, metrics, (), workers=workers)
    frames = np.flatnonzero(_differ(scores, turned)).tolist()
    if not frames:
        return ()
    text = (
        f"the numbers of {len(frames)} of {len(truth)} frames depend on the order of the lines in the files, as in the "
        f"public code that {protocol.name} follows: it decides between equal distances, confidences and scores of links"
    )
    return (Finding("note", "ties-by-file", text, len(frames), tuple(truth.tokens[f] for f in frames)),)


def _turned(frames: MapFrames) -> MapFrames:
    """Return the frames with the instances of each in the opposite order."""
    return frames.keep(np.lexsort((-np.arange(len(frames.frame)), frames.frame)))


def _differ(one: Scores, other: Scores) -> Flags:
    """Return the frames in which sums differ, or hits of predictions with the same confidence."""
    found = np.zeros(one.frames, np.bool_)
    for name, sums in one.sums.items():
        same = np.isclose(sums, other.sums[name], rtol=_ROUNDING, atol=0.0, equal_nan=True)
        found |= ~same.all(axis=(0, 2, 3))
    for name in one.hits:
        bits = []
        for scores in (one, other):
            group = scores.frame * scores.predicted.shape[1] + scores.label
            bits.append(scores.hits[name][np.lexsort((scores.hits[name], scores.confidence, group))])
        found[one.frame[bits[0] != bits[1]]] = True
    return found
