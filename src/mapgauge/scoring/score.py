"""Scores frames: a block of frames by itself, and all frames in memory in threads."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.columns import column_of
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames, members_of
from mapgauge.frames.tracks import frames_by_scene
from mapgauge.metrics.assigned import matches_of
from mapgauge.metrics.groups import Block, Groups
from mapgauge.metrics.metric import Bits, HitRows, Metric, SumRows
from mapgauge.metrics.table import METRICS, hit_metrics, sum_metrics
from mapgauge.protocols import Protocol
from mapgauge.scoring.data import Data
from mapgauge.scoring.ignored import check_ignored
from mapgauge.scoring.scores import Scores
from mapgauge.typing import Flags, Floats, Indices, Progress


def score(
    block: Block,
    protocol: Protocol,
    metrics: tuple[str, ...],
    rings: tuple[float, ...],
    matches: Indices | None = None,
) -> Scores:
    """Score a block of frames by some metrics. For metrics of level "scene", it must have all frames of each scene.

    ``matches`` come from an earlier evaluation. If None, PLD is solved.
    """
    groups = block.groups
    truth = block.sides[1]
    shape = (len(truth), len(truth.classes))
    counts = np.diff(groups.bounds, axis=1).reshape(*shape, 2)
    units = {name: _units(METRICS[name], truth) for name in metrics}
    sums = {}
    ringed = {}
    hits = {}
    for metric, rows in sum_metrics(metrics):
        settings = metric.settings(protocol)
        unit = units[metric.name]
        scored = _scored_by(metric, block)
        blocks = [_summed(rows, scored, protocol, setting=setting, units=unit) for setting in settings]
        sums[metric.name] = _stacked(blocks, shape, rows)
        if rows.rings:
            blocks = [
                _summed(rows, scored.within(*ring), protocol, setting=settings[0], units=unit)
                for ring in pairwise(rings)
            ]
            ringed[metric.name] = _stacked(blocks, shape, rows)
    for metric, hit_rows in hit_metrics(metrics):
        bits = _hits(hit_rows, _scored_by(metric, block), protocol, units=units[metric.name])
        if metric.of == "lines":
            bits = block.for_all(bits, of_boxes=0)
        hits[metric.name] = bits[groups.predictions]
    if matches is None:
        matches = matches_of(block, protocol)
    return Scores(
        predicted=counts[..., 0],
        true=counts[..., 1],
        confidence=groups.confidence[groups.predictions],
        sums=sums,
        rings=ringed,
        hits=hits,
        matches=matches,
    )


def _scored_by(metric: Metric, block: Block) -> Groups:
    """Return the groups that a metric scores: those of lines, or with boxes in an image too."""
    if metric.of == "lines":
        return block.lines
    return block.groups


def _units(metric: Metric, truth: MapFrames) -> list[Indices] | None:
    """Return the groups of each scene for a metric of level "scene"; None if frames are scored by themselves.

    The frames of a scene are in the order of time.
    """
    if metric.level == "frame":
        return None
    classes = np.arange(len(truth.classes))
    return [(frames[:, None] * len(classes) + classes).ravel() for frames in frames_by_scene(truth).values()]


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
    return np.array(blocks, np.float64).reshape(len(blocks), *shape, len(rows.columns))


def score_frames(
    data: Data,
    metrics: tuple[str, ...],
    rings: tuple[float, ...] = (),
    *,
    known: Scores | None = None,
    workers: int | None = 1,
    progress: Progress | None = None,
) -> Scores:
    """Score all frames of aligned sides.

    Kernels release the GIL, and threads share the data without copies. The result does not depend on the number of
    threads. ``known`` and ``progress`` are arguments of ``Data.in_blocks``.
    """
    check_ignored(metrics, data.sides[1])
    whole_scenes = has_scene_metrics(metrics)
    if whole_scenes:
        order = _whole_scenes(data.sides[1])
    else:
        order = None
    if order is not None:
        x, y = (side.at(order.tolist()) for side in data.sides)
        if known is not None:
            known = known.at(order)
        data = Data.of(x, y, data.protocol, block_size=data.block_size)

    def work(block: Block) -> Scores:
        matches = None
        if known is not None:
            scored = known.scored_matches(block.frames)
            if scored is not None:
                matches = scored.matches
        return score(block, data.protocol, metrics, rings=rings, matches=matches)

    parts = data.in_blocks(
        work,
        links=any("links" in METRICS[name].needs for name in metrics),
        known=known,
        workers=workers,
        progress=progress,
        whole_scenes=whole_scenes,
    )
    scores = Scores.concatenate(parts)
    if order is None:
        return scores
    return scores.at(np.argsort(order))


def has_scene_metrics(metrics: Sequence[str]) -> bool:
    """Whether the frames of a scene must be scored together."""
    return any(METRICS[name].level == "scene" for name in metrics)


def _whole_scenes(truth: MapFrames) -> NDArray[np.int64] | None:
    """Return an order in which the frames of each scene are consecutive; None if no reordering is needed."""
    if truth.scenes is None:
        return None
    first: dict[str, int] = {}
    rank = np.array([first.setdefault(scene, len(first)) for scene in truth.scenes], np.int64)
    if (np.diff(rank) >= 0).all():
        return None
    return np.argsort(rank, kind="stable")


_ROUNDING = 1e-9  # sums of another order may differ by this share


def ties_by_file(data: Data, metrics: tuple[str, ...], scores: Scores, workers: int | None) -> tuple[Finding, ...]:
    """Return a finding if ties were decided by the order of the file."""
    protocol = data.protocol
    if protocol.ties == "content" or not metrics:
        return ()
    x, y = map(_turned, data.sides)
    turned = score_frames(Data.of(x, y, protocol, block_size=data.block_size), metrics, workers=workers)
    frames = np.flatnonzero(_differ(scores, turned)).tolist()
    if not frames:
        return ()
    text = (
        f"the numbers of {len(frames)} of {len(y)} frames depend on the order of the lines in the files, as in the "
        f"public code that {protocol.name} follows: it decides between equal distances, confidences and scores of links"
    )
    return (Finding("note", "ties-by-file", text, count=len(frames), examples=tuple(y.tokens[f] for f in frames)),)


def _turned(side: MapFrames) -> MapFrames:
    """Return frames with the instances of each frame, and the nodes of graphs, in the opposite order."""
    turned = side.keep(np.lexsort((-np.arange(len(side.frame)), side.frame)))
    columns = turned.columns
    for name, values in turned.columns.items():
        opposite = column_of(name).opposite
        if opposite is not None:
            columns[name] = opposite(values)
    return replace(turned, **members_of(columns))


def _differ(first: Scores, second: Scores) -> Flags:
    """Return the frames in which sums differ, or hits of predictions with the same confidence."""
    differ = np.zeros(first.frames, np.bool_)
    for name, sums in first.sums.items():
        same = np.isclose(sums, second.sums[name], rtol=_ROUNDING, atol=0.0, equal_nan=True)
        differ |= ~same.all(axis=(0, 2, 3))
    for name in first.hits:
        bits = []
        for scores in (first, second):
            group = scores.frame * scores.predicted.shape[1] + scores.label
            bits.append(scores.hits[name][np.lexsort((scores.hits[name], scores.confidence, group))])
        differ[first.frame[bits[0] != bits[1]]] = True
    return differ
