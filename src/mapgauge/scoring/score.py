"""Scores a range of frames. Threads, processes and machines share this work.

A frame is scored by itself. Metrics of level "scene" score it with the other frames of its scene.
"""

from itertools import pairwise

import numpy as np

from mapgauge.frames.groups import Groups, group
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import in_time
from mapgauge.metrics.assigned import Known, know_matches, matches_of
from mapgauge.metrics.metric import Bits, HitRows, Metric, SumRows
from mapgauge.metrics.table import METRICS, hit_metrics, sum_metrics
from mapgauge.protocols import Protocol
from mapgauge.scoring.scores import Scores
from mapgauge.typing import Floats, Indices

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
