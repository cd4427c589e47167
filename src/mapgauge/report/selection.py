"""Chooses the frames that the page can draw, and states why each was chosen."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.metrics.metric import Metric
from mapgauge.report.causes import is_pld_again
from mapgauge.typing import Flags, Floats

RANDOM = "random sample"
WHOLE = "in a scene with the worst T-PLD"
Numbers = Mapping[str, NDArray[Any]]  # the columns of one method, from ``frame_numbers``


def choose(
    metrics: Sequence[Metric],
    names: Sequence[str],
    numbers: Sequence[Numbers],
    count: int,
    *,
    scenes: Sequence[Sequence[int]] = (),
    seed: int = 0,
) -> dict[int, list[str]]:
    """Choose the frames to draw by several values, and a random sample.

    Three quarters are chosen in turn from these rankings: the frames with the worst value and the worst parts of each
    metric, for each method, and the frames with the largest differences between each two methods. The last quarter is
    random. If there are no metrics, all are random. If there are at most ``count`` frames, all are chosen.

    If scenes are given, all frames of as many of them as fit into half the number come first. Only the rest is chosen
    as above.

    Args:
        metrics: The metrics that score single frames.
        names: Names of the methods.
        numbers: The columns of each method.
        count: Number of frames to choose.
        scenes: The frames of scenes to draw as a whole, the first ones first.
        seed: Seed of the random sample.

    Returns:
        All reasons why a frame was chosen, by its number. There are none if all frames are chosen.
    """
    total = next(iter(numbers[0].values())).shape[1]
    if count >= total:
        return {frame: [] for frame in range(total)}
    chosen: dict[int, list[str]] = {}
    for frames in scenes:
        if len(chosen) + len(frames) <= count // 2:
            chosen |= {frame: [WHOLE] for frame in frames}
    ranked = count - (count - len(chosen)) // 4
    rankings = ([(reason, frame) for frame in order[:count]] for reason, order in _rankings(metrics, names, numbers))
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
    computed = [metric.name for metric in metrics]
    for metric in metrics:
        again = is_pld_again(metric, computed)
        sign, word = (1.0, "highest") if metric.lower_is_better else (-1.0, "lowest")
        for value in metric.with_role("part") if again else metric.with_role("main", "part"):
            main = value.role == "main"
            for name, table in zip(names, tables, strict=True):
                if value.key in table:
                    cost = sign * table[value.key]
                    there = np.isfinite(cost) if main else np.isfinite(cost) & (cost != 0)
                    of = f" of {name}" if len(names) > 1 else ""
                    yield f"{'worst' if main else word} {value.words}{of}", _descending(cost, there)
        for i, j in () if again else combinations(range(len(names)), 2):
            for better, worse in ((i, j), (j, i)):
                lead = sign * (tables[worse][metric.main.key] - tables[better][metric.main.key])
                yield f"{names[better]} most ahead of {names[worse]} in {metric.title}", _descending(lead, lead > 0)


def _descending(values: Floats, there: Flags) -> list[int]:
    frames = np.flatnonzero(there)
    order: list[int] = frames[np.argsort(-values[frames], kind="stable")].tolist()
    return order
