"""The best runs along lines, against all segments tried one by one."""

from collections.abc import Iterator

import numpy as np
import pytest
from tests.metrics.network_cases import Map, disturbed, random_map

from mapgauge.features.network import growth as points_growth
from mapgauge.features.network import points
from mapgauge.features.network.growth import Component, priced_columns

HALF = 0.25


def network(side: Map) -> points.Network:
    count = np.array([len(line) for line in side.lines])
    flat = np.ascontiguousarray(side.points.T)
    return points.Network(flat, count.cumsum() - count, count, np.array(side.rings), np.array(side.confidence))


def components(x: Map, y: Map, directed: bool) -> Iterator[Component]:
    return points._components(network(x), network(y), 1.5, directed)


def worth(component: Component, rows: np.ndarray) -> np.ndarray:
    """What each column saves, less the links that it breaks."""
    columns = priced_columns(component, rows, np.zeros(component.entries))
    owner = np.repeat(np.arange(len(rows)), np.diff(columns.start))
    return columns.saving - HALF * np.bincount(owner, np.abs(columns.value), minlength=len(rows))


def segments(component: Component) -> np.ndarray:
    """All segments, as columns, that go along open lines of the second side."""
    rows = []
    for b, (_, n, ring, _, m, _, _) in enumerate(component.blocks.tolist()):
        for k in range(n):
            for t in range(m):
                for way in range(1 if component.directed else 2):
                    most = min(n if ring else (n - k if way == 0 else k + 1), m - t)
                    rows += [(b, k, t, *((size, 1) if way == 0 else (1, size))) for size in range(1, most + 1)]
    return np.array(rows)


def prefixes(component: Component, rows: np.ndarray, line: int) -> np.ndarray:
    """The best total of the first points of a line, with segments that do not overlap."""
    mine = component.blocks[rows[:, 0], 3] == line
    gain, start, size = worth(component, rows)[mine], rows[mine, 2], rows[mine, 3:].max(axis=1)
    best = np.zeros(component.blocks[component.blocks[:, 3] == line][0, 4] + 1)
    for t in range(1, len(best)):
        ends = start + size == t
        best[t] = max([best[t - 1], *(best[start[ends]] + gain[ends])])
    return best


def cases(rng: np.random.Generator, rings: bool) -> Iterator[tuple[Map, Map]]:
    for k in range(6):
        y = random_map(rng, 2, 7, 3.0)
        x = disturbed(y, rng) if k % 2 else random_map(rng, 3, 7, 3.0)
        yield (
            Map(x.lines, x.confidence, tuple(rings and len(line) > 2 for line in x.lines)),
            Map(y.lines, y.confidence, (False,) * len(y.lines)),
        )


@pytest.mark.parametrize(("directed", "rings"), [(False, False), (True, False), (False, True)])
def test_the_best_runs_are_the_best_of_all_segments(rng: np.random.Generator, directed: bool, rings: bool) -> None:
    tried = 0
    for x, y in cases(rng, rings):
        for component in components(x, y, directed):
            rows = segments(component)
            best = [prefixes(component, rows, line)[-1] for line in np.unique(component.blocks[:, 3])]
            sizes = len(x.points), len(y.points)
            found = points_growth._Runs(component, sizes, HALF).first()
            assert max(worth(component, found).sum(), 0.0) == pytest.approx(sum(best), abs=1e-12)
            tried += sum(best) > 0
    assert tried >= 3


@pytest.mark.parametrize("directed", [False, True])
def test_a_loss_is_that_of_the_best_segments_with_the_pair(rng: np.random.Generator, directed: bool) -> None:
    from mapgauge.features.network.proof_kernels import find_losses

    for x, y in cases(rng, rings=False):
        for component in components(x, y, directed):
            near = component.near
            size = int((component.blocks[:, 1] + 3 * component.blocks[:, 4]).max())
            loss = np.empty(len(near))
            find_losses(
                *(component.blocks, component.saving, near, component.by_point, directed, HALF),
                *(
                    np.empty((2, len(component.blocks), size)),
                    np.empty((2, size + 1)),
                    np.empty((2, 2, len(near))),
                    loss,
                ),
            )
            rows = segments(component)
            columns = priced_columns(component, rows, np.zeros(component.entries))
            ends = columns.cell[columns.cell_start[:-1]], columns.cell[columns.cell_start[1:] - 1]
            usable = (component.saving[ends[0]] > 0) & (component.saving[ends[1]] > 0)
            gain = worth(component, rows)
            for (cell, b), lost in zip(near, loss, strict=True):
                line = component.blocks[b, 3]
                before, after = prefixes(component, rows[usable], line), suffixes(component, rows[usable], line)
                owner = np.repeat(np.arange(len(rows)), np.diff(columns.cell_start))
                through = np.unique(owner[columns.cell == cell])
                through = through[usable[through]]
                last = rows[through, 2] + rows[through, 3:].max(axis=1)
                with_it = (before[rows[through, 2]] + gain[through] + after[last]).max()
                assert lost == pytest.approx(before[-1] - with_it, abs=1e-12)


def suffixes(component: Component, rows: np.ndarray, line: int) -> np.ndarray:
    """The best total of the points of a line from each one on."""
    mine = component.blocks[rows[:, 0], 3] == line
    gain, start, size = worth(component, rows)[mine], rows[mine, 2], rows[mine, 3:].max(axis=1)
    best = np.zeros(component.blocks[component.blocks[:, 3] == line][0, 4] + 1)
    for t in range(len(best) - 2, -1, -1):
        here = start == t
        best[t] = max([best[t + 1], *(best[start[here] + size[here]] + gain[here])])
    return best
