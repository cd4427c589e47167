"""Trains small networks on rasters of roads with several losses, and scores them by PLD and average precision.

A network sees a noisy raster of a frame and predicts a set of lines. Everything but the criterion is the same in all
variants: frames, first weights, optimiser, number of steps. By default a few steps show that it works. ``--study`` is
the table in the docs on a GPU, and a short form of it on a CPU, whose numbers mean nothing.

    python examples/train_polylines.py --cut av2 --roads roads   # real road maps; needs shapely and pyarrow
    python examples/train_polylines.py --study --roads roads --out study
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

ROAD_FRAMES = (6000, 500, 800)  # to train, validate and test
RATE = 1e-3  # of the optimiser, in long trainings
TRAINERS = 6  # processes
STUDENT = {2: 12.706, 5: 2.776}  # 95 % quantiles, by number of seeds
COLUMNS = {
    "pld/mean": "PLD",
    "pld/mean/localisation": "Loc",
    "pld/mean/detection": "Det",
    "ap_chamfer/mean": "CD-AP",
    "ap_frechet/mean": "FD-AP",
}
RESCALED = "L1, confidences rescaled"


def variants(part: str) -> list[Any]:
    """The variants of a part of the study. The first one is the baseline.

    The search tries many variants in a short training. Those that were good for PLD on its validation part, and those
    that show what each loss does, are trained longer in both worlds.
    """
    from examples.polylines.training import Variant

    only_l1: dict[str, Any] = {"switch": 1.0}
    first = [
        Variant("L1", only_l1),
        Variant("SOSPA", {"pld_weight": 0.0}),
        Variant("SOSPA and PLD", {"pld_weight": 3.0}),
        Variant("PLD, with all of the L1", {"pld_weight": 3.0, "sospa_weight": 0.0, "late_l1": 1.0}),
        Variant("SOSPA and PLD, weight 10", {"pld_weight": 10.0}),
    ]
    if part != "search":
        return [*first, Variant("SOSPA, PLD of weight 10, all L1", {"pld_weight": 10.0, "late_l1": 1.0})]
    return [
        *first,
        Variant("SOSPA and PLD, switch at 80 %", {"pld_weight": 3.0, "switch": 0.8}),
        Variant("smooth SOSPA and PLD, no L1", {"pld_weight": 3.0, "temperature": 0.2, "late_l1": 0.0}),
        Variant("SOSPA and PLD of 3 cutoffs", {"pld_weight": 3.0, "pld_cutoffs": (0.5, 1.0, 2.0)}),
        Variant("SOSPA, PLD, all of the L1", {"pld_weight": 3.0, "late_l1": 1.0}),
        Variant("SOSPA, PLD, all of the classes", {"pld_weight": 3.0, "late_class": 1.0}),
        Variant("L1, 3 groups of queries", only_l1, groups=3),
        Variant("SOSPA and PLD, 3 groups", {"pld_weight": 3.0}, groups=3),
    ]


def interval(values: list[float]) -> tuple[float, float]:
    """The mean and half the 95 % interval of the mean over seeds."""
    if len(values) == 1:
        return values[0], 0.0
    return float(np.mean(values)), float(STUDENT[len(values)] * np.std(values, ddof=1) / len(values) ** 0.5)


def table(results: dict[str, Any]) -> str:
    """The scores of the test part, with 95 % intervals over seeds, and the difference of PLD to the baseline."""
    rows = results["test"]
    base = rows[next(iter(rows))]["pld/mean"]
    chosen = min(results["validation"], key=lambda name: np.mean(results["validation"][name]["pld/mean"]))
    lines = [f"{'trained with':34}" + "".join(f"{name:>14}" for name in (*COLUMNS.values(), "PLD - L1"))]
    for name, scores in rows.items():
        cells = [interval(scores[key]) for key in COLUMNS]
        cells.append(interval([a - b for a, b in zip(scores["pld/mean"], base, strict=True)]))
        mark = " *" if name == chosen else ""
        lines.append(f"{name + mark:34}" + "".join(f"{f'{mean:.3f} ±{half:.3f}':>14}" for mean, half in cells))
    return "\n".join([*lines, "* smallest PLD on the validation part"])


class InProcess(Executor):
    """Computes at once in this process, where others would cost more than they save."""

    def submit(self, function: Any, /, *arguments: Any, **settings: Any) -> Any:
        """Return a finished future."""
        future: Any = Future()
        future.set_result(function(*arguments, **settings))
        return future


class Scores:
    """Starts to score files of predictions as they appear."""

    def __init__(self, folder: Path, seeds: int, pool: Executor) -> None:
        """Know of no file yet."""
        self.folder, self.seeds, self.pool, self.futures = folder, seeds, pool, dict[tuple[str, str], list[Any]]()

    def look(self) -> None:
        """Start to score new files. Files that are named after a step are of the validation part."""
        from examples.polylines.scoring import METRICS, score

        for path in sorted(self.folder.glob("*~*.npz")):
            when, _, name = path.stem.partition("~")
            if (when, name) not in self.futures:
                part, metrics = ("validation", ("pld",)) if when.isdigit() else (when, METRICS)
                jobs = [self.pool.submit(score, path, seed, part, metrics) for seed in range(self.seeds)]
                self.futures[when, name] = jobs

    def of(self, when: str, name: str) -> dict[str, list[float]]:
        """The scores of all seeds, by metric."""
        return collected(self.futures[when, name])


def collected(jobs: list[Any]) -> dict[str, list[float]]:
    """The results of all seeds, by metric."""
    values = [job.result() for job in jobs]
    return {name: [value[name] for value in values] for name in values[0]}


def study(some: list[Any], size: Any, folder: Path, device: str, trainers: Executor, scorers: Executor) -> Any:
    """Train and score variants. Returns PLD on the validation part by step, and the scores of both parts."""
    from examples.polylines.scoring import rescaled
    from examples.polylines.training import train

    scores = Scores(folder, size.seeds, scorers)

    def finish(jobs: list[Any]) -> None:
        while wait(jobs, timeout=2.0).not_done:
            scores.look()
        for job in jobs:
            job.result()
        scores.look()

    kinds = {variant.groups: [v for v in some if v.groups == variant.groups] for variant in some}
    finish([trainers.submit(train, own[:1], size, folder, device, None) for own in kinds.values()])
    jobs = []
    together = -(-len(some) // TRAINERS)  # variants in one process
    for groups, own in kinds.items():
        for k in range(0, len(own), together):
            origin = folder / f"{groups}.pt"
            jobs.append(trainers.submit(train, own[k : k + together], size, folder, device, origin))
    finish(jobs)
    steps = sorted({int(when) for when, _ in scores.futures if when.isdigit()})
    curves = {}
    for variant in some:
        first = kinds[variant.groups][0].name  # before the switch, variants are the same models
        names = {step: variant.name if (f"{step}", variant.name) in scores.futures else first for step in steps}
        curves[variant.name] = {step: scores.of(f"{step}", name)["pld/mean"] for step, name in names.items()}
    parts = {part: {variant.name: scores.of(part, variant.name) for variant in some} for part in ("validation", "test")}
    for variant in some:
        curves[variant.name][size.steps] = parts["validation"][variant.name]["pld/mean"]
    jobs = [scorers.submit(rescaled, folder, some[0].name, seed) for seed in range(size.seeds)]
    parts["test"][RESCALED] = collected(jobs)
    return {"curves": curves, **parts}


def run(part: str, size: Any, some: list[Any], device: str, roads: str | None) -> dict[str, Any]:
    """Prepare the world of a part of the study, and train and score its variants."""
    from examples.polylines import scoring, worlds
    from examples.polylines.training import FIRST_SEED

    start = time.perf_counter()
    truth = worlds.road_truth(Path(roads or ""), size.frames) if part == "roads" else worlds.demo_truth(size.frames)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, frames in truth.items():
            worlds.frames_of(frames, size.points).save(folder / f"{name}.npz")
        print(f"{part}: {[len(frames) for frames in truth.values()]} frames, {time.perf_counter() - start:.0f} s")
        del truth["train"]
        if device == "cuda":
            how = multiprocessing.get_context("spawn")
            free = max((os.cpu_count() or 1) - TRAINERS, 1)
            trainers: Executor = ProcessPoolExecutor(TRAINERS, how)
            scorers: Executor = ProcessPoolExecutor(free, how, initializer=scoring.know, initargs=(truth,))
        else:
            scoring.know(truth)
            trainers, scorers = InProcess(), InProcess()
        with trainers, scorers:
            results = study(some, size, folder, device, trainers, scorers)
    seeds = list(range(FIRST_SEED, FIRST_SEED + size.seeds))
    about = {"part": part, "steps": size.steps, "seeds": seeds, "frames": list(size.frames)}
    return {**about, "seconds": round(time.perf_counter() - start), **results}


def main() -> None:
    """Cut roads, or train and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", action="store_true", help="all variants on a GPU; a short form on a CPU")
    parser.add_argument("--cut", help="folder with two logs of Argoverse 2; writes frames to --roads and ends")
    parser.add_argument("--roads", help="folder with frames of real roads")
    parser.add_argument("--part", choices=("search", "demo", "roads"), help="one part of the study instead of all")
    parser.add_argument("--steps", type=int, help="number of steps")
    parser.add_argument("--out", help="folder for the results of each world as JSON")
    options = parser.parse_args()
    if not options.roads and (options.cut or options.part == "roads"):
        parser.error("--cut and --part roads need a folder: --roads FOLDER")
    if options.cut:
        from examples.polylines.worlds import cut_roads

        cut_roads(Path(options.cut), Path(options.roads), ROAD_FRAMES)
        return
    if find_spec("torch") is None:
        print("PLD of trained networks needs torch. Install it with: pip install 'mapgauge[torch]'")
        return
    import torch
    from examples.polylines.training import Size

    device = "cuda" if options.study and torch.cuda.is_available() else "cpu"
    sizes = {
        "search": Size(3000, 5, (9000, 500, 800), rate=6e-4),
        "demo": Size(8000, 5, (9000, 500, 800), rate=RATE),
        "roads": Size(8000, 5, ROAD_FRAMES, rate=RATE),
    }
    if device == "cpu":
        steps, seeds, frames = (100, 2, (200, 20, 20)) if options.study else (20, 1, (20, 10, 10))
        small = {"width": 32, "layers": 2, "queries": 24, "points": 12, "batch": 4, "looks": 2}
        sizes = dict.fromkeys(sizes, Size(steps, seeds, frames, **small))
    parts = ["search", "demo", "roads"] if options.study and device == "cuda" else ["demo", "roads"]
    parts = [options.part] if options.part else [part for part in parts if part != "roads" or options.roads]
    for part in parts:
        size = replace(sizes[part], steps=options.steps or sizes[part].steps)
        some = variants(part) if device == "cuda" else variants(part)[: 4 if options.study else 3]
        results = run(part, size, some, device, options.roads)
        if options.out:
            Path(options.out).mkdir(parents=True, exist_ok=True)
            (Path(options.out) / f"{part}.json").write_text(json.dumps(results), encoding="utf-8")
        print(f"{part}: seeds {results['seeds']}, {size.steps} steps, {results['seconds']} s on {device}")
        print(table(results), flush=True)
    if options.study and not (options.roads or options.part):
        print("roads: left out, because there is no --roads; --cut writes this folder")


if __name__ == "__main__":
    main()
