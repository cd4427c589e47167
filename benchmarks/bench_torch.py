"""Measures ``sospa_cost`` on a GPU against plain torch and against the L1 cost over permutations that MapTR uses.

Run it with ``python -m benchmarks.bench_torch`` where torch sees a GPU. It prints tables in GitHub markdown. Times are
medians of CUDA events. "GPU" is the work of the GPU: the calls are captured as a CUDA graph and replayed. "alone" is
one call to an idle GPU, which includes what the host takes to launch it. In a training step the host runs ahead, and
the step pays about the time of the GPU. Before the clock starts, both backends must give the same costs.
"""

import argparse
from collections.abc import Callable
from typing import Any

import torch
from benchmarks.tables import at_most, heading, row

from mapgauge.torch import sospa_cost

SIZES = ((50, 15), (400, 15), (2400, 180))
POINTS = (20, 60)
GOALS = {  # milliseconds on an H200, by (queries, points, closed): forward, forward and backward
    (400, 20, False): (0.15, 0.4),
    (400, 20, True): (0.5, 1.2),
}
MEMORY = 3.0  # times the inputs and outputs
LARGEST = 2**31  # numbers in the tensor of the L1 cost; larger ones are not measured


def scene(queries: int, truths: int, points: int, seed: int = 0) -> tuple[Any, Any]:
    """True lines of half a metre between points, and queries near them."""
    generator = torch.Generator().manual_seed(seed)
    turn = 0.1 * torch.randn(truths, points, generator=generator)
    heading_of = 6.3 * torch.rand(truths, 1, generator=generator) + turn.cumsum(1)
    steps = 0.5 * torch.stack([heading_of.cos(), heading_of.sin()], -1)
    truth = steps.cumsum(1) + 40 * torch.rand(truths, 1, 2, generator=generator) - 20
    near = truth[torch.randint(truths, (queries,), generator=generator)]
    predictions = near + 0.5 * torch.randn(queries, points, 2, generator=generator)
    return predictions.cuda(), truth.cuda()


def permutation_l1(predictions: Any, truth: Any, closed: bool) -> Any:
    """The smallest sum of coordinate differences over both directions and, if closed, over all start points."""
    orders = [truth, truth.flip(1)]
    if closed:
        orders = [order.roll(shift, 1) for order in orders for shift in range(truth.shape[1])]
    every = torch.stack(orders, 1).flatten(2)  # (truths, orders, coordinates)
    cost = torch.cdist(predictions.flatten(1), every.flatten(0, 1), p=1)
    return cost.reshape(len(predictions), len(truth), -1).min(-1).values


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """The median time of some work."""
    for _ in range(3):
        work()
    times = []
    for _ in range(rounds):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return float(sorted(times)[len(times) // 2])


def memory(work: Callable[[], Any]) -> int:
    """The most bytes that are allocated during some work, its result included."""
    work()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    kept = work()
    torch.cuda.synchronize()
    del kept
    return int(torch.cuda.max_memory_allocated() - before)


def both(function: Callable[[Any], Any], predictions: Any) -> Callable[[], Any]:
    """The forward and the backward pass of a cost."""
    x = predictions.clone().requires_grad_()
    return lambda: torch.autograd.grad(function(x).sum(), x)


def replayed(work: Callable[[], object]) -> Any:
    """The same work as a CUDA graph, without the time of the host."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def measure(queries: int, truths: int, points: int, closed: bool, rounds: int) -> list[str]:
    """The cells of one row."""
    x, y = scene(queries, truths, points)

    def cost(a: Any) -> Any:
        return sospa_cost(a, y, closed=closed, directed=False, normalised=True)

    def slow(a: Any) -> Any:
        return sospa_cost(a, y, closed=closed, directed=False, normalised=True, backend="plain")

    def other(a: Any) -> Any:
        return permutation_l1(a, y, closed)

    apart = (cost(x[:200]) - slow(x[:200])).abs().max().item()
    if apart > 1e-5:
        raise SystemExit(f"the backends differ by {apart}")
    jobs = [lambda: cost(x), both(cost, x)]
    times = [milliseconds(replayed(job), rounds) for job in jobs]
    goal = GOALS.get((queries, points, closed))
    cells = [at_most(t, goal[k], f"{t:.3f}") if goal else f"{t:.3f}" for k, t in enumerate(times)]
    cells += [f"{milliseconds(job, rounds):.3f}" for job in jobs]
    small = queries * truths <= 2**13 and points == POINTS[0]
    cells += [f"{milliseconds(job, 3):.2f}" if small else "-" for job in (lambda: slow(x), both(slow, x))]
    fits = queries * truths * points * (2 * points if closed else 2) * 2 < LARGEST
    for job in (lambda: other(x), both(other, x)):
        cells.append(f"{milliseconds(replayed(job), max(rounds // 5, 3)):.3f}" if fits else "-")
    share = memory(lambda: cost(x)) / (4 * (x.numel() + y.numel() + queries * truths))
    return [*cells, at_most(share, MEMORY, f"{share:.2f} x")]


def measure_flags(queries: int, truths: int, points: int, rounds: int) -> list[str]:
    """The time of a call in a loop with open lines, by how ``closed`` is given: a flag, flags, half of them true."""
    x, y = scene(queries, truths, points)
    none = torch.zeros(truths, dtype=torch.bool, device="cuda")
    half = torch.arange(truths, device="cuda") % 2 == 0
    times = []
    for closed in (False, none, half, True):

        def loop(closed: Any = closed) -> None:
            for _ in range(10):
                sospa_cost(x, y, closed=closed, directed=False, normalised=True)

        times.append(milliseconds(loop, rounds) / 10)
    return [f"{time:.3f}" for time in times]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, float32, both directions; milliseconds")
    names = ("forward", "forward + backward")
    columns = ["queries x truths x points", *(f"{name}, {how}" for how in ("GPU", "alone") for name in names)]
    columns += ["plain torch", "plain, both", "permutation L1", "L1, both", "memory"]
    heading("Flags", "queries x truths x points", "closed=False", "all False", "half of them", "closed=True")
    for queries, truths in SIZES:
        row(f"{queries} x {truths} x 20", *measure_flags(queries, truths, 20, rounds))
    for closed in (False, True):
        heading("Closed lines" if closed else "Open lines", *columns)
        for points in POINTS:
            for queries, truths in SIZES:
                row(f"{queries} x {truths} x {points}", *measure(queries, truths, points, closed, rounds))


if __name__ == "__main__":
    main()
