"""The frames of the report: columns of numbers, and the choice of frames to draw."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.metrics.completeness import COMPLETENESS
from mapgauge.metrics.metric import Metric, Value, ValueKey
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import METRICS, setting_of, title_of
from mapgauge.results.frame_query import PART_OF_PLD, FrameTable
from mapgauge.results.results import Results
from mapgauge.results.values import COUNTS, lists_of_frames
from mapgauge.typing import Flags, Floats
from mapgauge.views.report.pack import WholeScene


def is_repeated(metric: Metric, metrics: Sequence[str]) -> bool:
    """Whether the main value of a metric repeats the value of another metric in the list."""
    return metric.repeats in metrics


def is_first(metric: Metric, metrics: Sequence[str]) -> bool:
    """Whether a metric is shown where there is room for few. With PLD, its causes and the offsets are not."""
    return PLD.name not in metrics or not (is_repeated(metric, metrics) or metric is COMPLETENESS)


def column_keys(results: Results) -> list[dict[str, Any]]:
    """Return the columns of the list: key, title, whether they are whole numbers, and whether they are printed."""
    values = [
        {
            "key": value.key,
            "title": _column_title(metric, value, results),
            "whole": False,
            "printed": is_first(metric, results.metrics),
        }
        for metric, rows in lists_of_frames(results.metrics)
        for value in metric.with_role("main", "headline", "part")
        if not (value.role == "main" and is_repeated(metric, results.metrics))
        if value.key in rows.values(np.zeros(len(rows.columns)), results.protocol)
    ]
    hits = [
        ValueKey(name, at, hits=True) for name in results.scores.hits for at in METRICS[name].settings(results.protocol)
    ]
    counts = [{"key": key, "title": key, "whole": True, "printed": True} for key in COUNTS]
    of_hits = [{"key": str(key), "title": title_of(key), "whole": True, "printed": False} for key in hits]
    return [*values, *counts, *of_hits]


def _column_title(metric: Metric, value: Value, results: Results) -> str:
    """Return the title of a column of the list. A part of PLD is named so, because a cause may have the same name."""
    if value.role == "main":
        return value.words + setting_of(value.key, results.protocol)
    if metric is PLD and value.role == "part":
        return f"{value.words} (part)"
    return value.words


def all_numbers(results: Results) -> dict[str, NDArray[Any]]:
    """Return the numbers of ``FrameTable`` as ``(1 + classes, frames)``: all classes pooled, then each class."""
    table = FrameTable(results)
    classes = range(len(results.class_names))
    by_choice = [table.arrays(chosen) for chosen in (classes, *([c] for c in classes))]
    return {
        name: np.array([arrays[name] for arrays in by_choice], np.int32 if column.dtype.kind == "i" else np.float32)
        for name, column in by_choice[0].items()
    }


def frame_numbers(results: Results, numbers: "Numbers | None" = None) -> dict[str, NDArray[Any]]:
    """Return the columns of the list by key. ``numbers`` are from ``all_numbers``, if they are known."""
    if numbers is None:
        numbers = all_numbers(results)
    return {column["key"]: numbers[PART_OF_PLD.get(column["key"], column["key"])] for column in column_keys(results)}


def scene_numbers(results: Results, scenes: Sequence[str] | None) -> Floats | None:
    """Return the first value of the list for each scene, pooled over its frames, as ``(1 + classes, scenes)``.

    The first row is the mean over classes. ``scenes`` has the scene of each frame. The columns are in the order in
    which the scenes appear. None without scenes, and without a metric that has a value for each frame.
    """
    lists = lists_of_frames(results.metrics)
    if scenes is None or not lists:
        return None
    metric, rows = lists[0]
    frames: dict[str, list[int]] = {}
    for frame, scene in enumerate(scenes):
        frames.setdefault(scene, []).append(frame)
    scores = results.scores
    block = scores.sums[metric.name][0]  # (frames, classes, columns)
    flat = block.reshape(len(block), -1)
    pooled = [[math.fsum(terms) for terms in flat[some].T.tolist()] for some in frames.values()]
    sums = np.array(pooled).reshape(-1, block.shape[2])
    values = rows.values(sums, results.protocol)[metric.main.key].reshape(len(frames), -1)
    counts = scores.predicted + scores.true
    compared = np.array([counts[some].any(axis=0) for some in frames.values()])
    compared &= [metric.covers(name, results.protocol) for name in results.class_names]
    by_class = np.where(compared, values, np.nan)
    means = [_mean(row) for row in by_class.tolist()]
    return np.column_stack([means, by_class]).T


def _mean(values: Sequence[float]) -> float:
    """Return the mean of the values that exist, NaN if none does. It is rounded as the means of results are."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return math.nan
    return math.fsum(known) / len(known)


RANDOM = "random sample"
Numbers = Mapping[str, NDArray[Any]]  # columns of one method


def choose(
    metrics: Sequence[Metric],
    names: Sequence[str],
    numbers: Sequence[Numbers],
    count: int,
    *,
    classes: Sequence[str] = (),
    scenes: Sequence[WholeScene] = (),
    seed: int = 0,
) -> dict[int, list[str]]:
    """Choose the frames to draw by several values, and a random sample.

    Three quarters are chosen in turn from these rankings: the frames with the worst value and the worst parts of each
    metric, for each method, and the frames with the largest differences between each two methods; then the same for the
    main value of each class. The last quarter is random. If there are no metrics, all are random. If there are at most
    ``count`` frames, all are chosen.

    If scenes are given, all frames of as many of them as fit into half the number come first. Only the rest is chosen
    as above. Returns all reasons why a frame was chosen, by its number. There are none if all frames are chosen.
    """
    total = next(iter(numbers[0].values())).shape[1]
    if count >= total:
        return {frame: [] for frame in range(total)}
    chosen: dict[int, list[str]] = {}
    for scene in scenes:
        if len(chosen) + len(scene.frames) <= count // 2:
            chosen |= {frame: [scene.reason] for frame in scene.frames}
    ranked = count - (count - len(chosen)) // 4
    ranking = [*_rankings(metrics, names, numbers), *_rankings_of_classes(metrics, names, numbers, classes=classes)]
    rankings = ([(reason, frame) for frame in order[:count]] for reason, order in ranking)
    for turn in zip_longest(*rankings):
        for reason, frame in filter(None, turn):
            if frame in chosen:
                chosen[frame].append(reason)
            elif len(chosen) < ranked:
                chosen[frame] = [reason]
        if len(chosen) == ranked:
            break
    rest = np.setdiff1d(np.arange(total), list(chosen))
    sample = np.random.default_rng(seed).choice(rest, count - len(chosen), replace=False)
    return dict(sorted((chosen | {frame: [RANDOM] for frame in sample.tolist()}).items()))


def _rankings(
    metrics: Sequence[Metric], names: Sequence[str], numbers: Sequence[Numbers]
) -> Iterator[tuple[str, list[int]]]:
    """Yield a reason and the frames it applies to, the clearest case first.

    Frames without a value are left out. A part of 0 and a difference in the other direction are no reason either.
    """
    tables = [{key: column[0].astype(np.float64) for key, column in table.items()} for table in numbers]
    owners = _owners(names)
    computed = [metric.name for metric in metrics]
    for metric in metrics:
        sign = _sign_of(metric)
        extreme = "highest" if metric.lower_is_better else "lowest"
        # Another metric has the same main value, and gave these reasons for it.
        repeats = is_repeated(metric, computed)
        roles = ("part",) if repeats else ("main", "part")
        for value in metric.with_role(*roles):
            for owner, table in zip(owners, tables, strict=True):
                if value.key not in table:
                    continue
                cost = sign * table[value.key]
                if value.role == "main":
                    yield f"worst {value.words}{owner}", _descending(cost, np.isfinite(cost))
                else:
                    yield f"{extreme} {value.words}{owner}", _descending(cost, np.isfinite(cost) & (cost != 0))
        if repeats:
            continue
        for i, j in combinations(range(len(names)), 2):
            for better, worse in ((i, j), (j, i)):
                lead = sign * (tables[worse][metric.main.key] - tables[better][metric.main.key])
                yield f"{names[better]} most ahead of {names[worse]} in {metric.title}", _descending(lead, lead > 0)


def _owners(names: Sequence[str]) -> list[str]:
    """Return what a reason says of the method that a value belongs to: nothing if there is only one."""
    if len(names) == 1:
        return [""]
    return [f" of {name}" for name in names]


def _sign_of(metric: Metric) -> float:
    """Return the factor that makes the values of a metric costs: larger ones are worse."""
    if metric.lower_is_better:
        return 1.0
    return -1.0


def _rankings_of_classes(
    metrics: Sequence[Metric], names: Sequence[str], numbers: Sequence[Numbers], classes: Sequence[str]
) -> Iterator[tuple[str, list[int]]]:
    """Yield the frames with the worst value of each class, and those where one method leads most."""
    owners = _owners(names)
    computed = [metric.name for metric in metrics]
    for metric in metrics:
        if is_repeated(metric, computed) or any(metric.main.key not in table for table in numbers):
            continue
        sign = _sign_of(metric)
        for c, class_name in enumerate(classes):
            costs = [sign * table[metric.main.key][1 + c].astype(np.float64) for table in numbers]
            for owner, cost in zip(owners, costs, strict=True):
                yield f"worst {metric.main.words} of {class_name}{owner}", _descending(cost, np.isfinite(cost))
            for i, j in permutations(range(len(names)), 2):
                lead = costs[j] - costs[i]
                reason = f"{names[i]} most ahead of {names[j]} in {metric.title} of {class_name}"
                yield reason, _descending(lead, lead > 0)


def _descending(values: Floats, ranked: Flags) -> list[int]:
    frames = np.flatnonzero(ranked)
    order: list[int] = frames[np.argsort(-values[frames], kind="stable")].tolist()
    return order
