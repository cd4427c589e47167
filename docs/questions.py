"""The pictures of "Which question, which number": ``python -m docs.questions`` writes them to ``docs/images/``.

Each picture shows a planted fault that mean average precision does not see, and a number that does.
``python -m docs.questions FOLDER`` writes the files for the commands of the page.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from examples.lane_graphs import LANES, cases, graph
from matplotlib.figure import Figure

import mapgauge as mg
from mapgauge import plot
from mapgauge.demo import demo_world

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE = "#0072B2", "#D55E00"


def bars(groups: list[str], values: dict[str, list[float]], up: str, name: str) -> None:
    """Draw bars side by side, one colour for each name."""
    figure = Figure(figsize=(4.4, 2.3), layout="constrained", facecolor="white")
    axes = figure.subplots()
    for k, ((label, heights), colour) in enumerate(zip(values.items(), (BLUE, ORANGE), strict=False)):
        place = np.arange(len(groups)) + 0.36 * (k - (len(values) - 1) / 2)
        axes.bar(place, heights, 0.34, color=colour, label=label)
        for at, height in zip(place, heights, strict=True):
            axes.annotate(f"{height:.2f}", (at, height), ha="center", va="bottom", fontsize=7)
    axes.set_xticks(np.arange(len(groups)), groups, fontsize=8)
    axes.set_ylim(0, 1.15)
    axes.set_ylabel(up, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, fontsize=8, frameon=False)
    plot.save(figure, IMAGES / f"{name}.svg")


def moved(truth: mg.MapFrames, metres: np.ndarray) -> mg.MapFrames:
    """The truth as predictions, moved sideways by an own distance in each frame."""
    motions = np.tile(np.eye(4), (len(truth), 1, 1))
    motions[:, 1, 3] = metres
    return replace(truth.transform(motions), poses=truth.poses, forward=truth.forward).with_confidence(1.0)


def named(frames: mg.MapFrames, prefix: str) -> mg.MapFrames:
    """Frames with other tokens and scenes."""
    tokens, scenes = ([prefix + name for name in names] for names in (frames.tokens, frames.scenes or ()))
    return replace(frames, tokens=tuple(tokens), scenes=tuple(scenes), track=None)


def leakage() -> tuple[mg.MapFrames, mg.MapFrames, mg.Results]:
    """Return training, validation, and the results of a method that is better where training drove before."""
    train, val = (named(demo_world(300, seed=seed, predictions=0)[1], f"{seed}-") for seed in (1, 2))
    poses = np.array(train.poses)
    poses[:150, :3, 3] = np.array(val.poses)[:150, :3, 3] + (1.0, 2.0, 0.0)
    noise = np.repeat(np.random.default_rng(0).uniform(0.9, 1.1, 30), 10)
    off = 0.2 * noise * np.where(np.arange(300) < 150, 1.0, 1.5)
    return replace(train, poses=poses), val, mg.evaluate(moved(val, off), val, metrics=["pld"])


def draw_leakage() -> None:
    """Draw the error over the distances to training."""
    train, val, results = leakage()
    overlap = mg.splits(train, val)
    figure = plot.splits(overlap, {"remembers places": overlap.joint(results)})
    plot.save(figure, IMAGES / "question-leakage.svg")


def pieces(sides: list[mg.MapFrames]) -> dict[str, dict[str, list[np.ndarray]]]:
    """The lines of several sides by token and class."""
    return {
        token: {
            name: [line.points for side in sides for line in side[token] if line.class_name == name]
            for name in sides[0].classes
        }
        for token in sides[0].tokens
    }


def ahead() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return a method that is nearly exact behind the ego, where it has seen the road already, and the truth."""
    _, truth = demo_world(80, predictions=0)
    halves = [truth.crop((0.0, -100.0, 100.0, 100.0)), truth.crop((-100.0, -100.0, 0.0, 100.0))]
    lines = pieces([moved(half, np.full(len(half), metres)) for half, metres in zip(halves, (0.6, 0.1), strict=True)])
    ones = {token: {name: np.ones(len(some)) for name, some in of.items()} for token, of in lines.items()}
    made = mg.MapFrames.of(lines, confidence=ones), mg.MapFrames.of(pieces(halves))
    return replace(made[0], forward="x"), replace(made[1], forward="x")


def draw_ahead() -> None:
    """Draw both scores ahead and behind."""
    predictions, cut = ahead()
    values: dict[str, list[float]] = {"Chamfer mAP": [], "PLD": []}
    for window in (None, "ahead", "rear"):
        mean = mg.evaluate(predictions, cut, mg.protocol("paper-60x30", window=window)).mean
        values["Chamfer mAP"].append(mean["ap_chamfer"] or 0.0)
        values["PLD"].append(mean["pld"] or 0.0)
    bars(["whole region", "ahead", "behind"], values, "value", "question-ahead")


def stability() -> tuple[mg.MapFrames, list[mg.MapFrames]]:
    """Return the truth, a method that draws new errors in every frame, and one that repeats its errors."""
    _, truth = demo_world(80, predictions=0)
    rng = np.random.default_rng(1)
    fresh = rng.uniform(-0.5, 0.5, len(truth))
    steady = np.repeat(rng.uniform(-0.5, 0.5, len(truth) // 10), 10)
    return truth, [moved(truth, metres) for metres in (fresh, steady)]


def draw_stability() -> None:
    """Draw mAP and flicker."""
    truth, methods = stability()
    values: dict[str, list[float]] = {"Chamfer mAP": [], "flicker": []}
    for predictions in methods:
        values["Chamfer mAP"].append(mg.evaluate(predictions, truth).mean["ap_chamfer"] or 0.0)
        values["flicker"].append(mg.consistency(predictions, lags=[1]).estimates[1]["mean"]["flicker"].value)
    bars(["new errors in every frame", "the same error all along"], values, "value", "question-stability")


def topology() -> tuple[mg.MapFrames, dict[str, mg.MapFrames]]:
    """Return the truth and the cases of ``examples/lane_graphs.py``."""
    ends = np.array(LANES)
    true = (ends[:, None, 1] == ends[None, :, 0]).all(axis=2).astype(np.float64)
    return replace(graph(true), confidence=None), cases(true)


def draw_topology() -> None:
    """Draw what TOP rewards."""
    truth, made = topology()
    names = {
        "the truth": "truth",
        "50 false lanes, wired to everything": "50 false lanes,\nall linked",
        "no links": "no links",
        "under-confident links": "weak links",
        "the same, remapped to 0.5 .. 1": "the same,\nremapped",
    }
    values: dict[str, list[float]] = {"TOP_ll": [], "lane-graph PLD": []}
    for name in names:
        predictions = made[name]
        field, ours = (mg.protocol(row, classes=["centerline"]) for row in ("openlanev2-v1.1", "lane-graph"))
        values["TOP_ll"].append(mg.evaluate(predictions, truth, field, metrics=["top_ll"]).mean["top_ll"] or 0.0)
        values["lane-graph PLD"].append(mg.evaluate(predictions, truth, ours).mean["lane_graph_pld"] or 0.0)
    bars(list(names.values()), values, "value", "question-topology")


def prior() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return the truth, and an older map in which some lines of every other frame were elsewhere or missing."""
    _, world = demo_world(80, predictions=0)
    fate = np.where(world.frame % 2 == 0, 9, np.arange(len(world.polylines)) % 10)
    points = world.polylines.coords.copy()
    points[:, 1] += np.repeat(np.where(fate == 1, 0.8, 0.0), np.diff(world.polylines.offsets))
    return world, replace(world, polylines=mg.Polylines(points, world.polylines.offsets)).keep(fate != 0)


def write_files(folder: Path) -> None:
    """Write the files for the commands of the page."""
    train, val, results = leakage()
    results.save(folder / "results.mg")
    better_behind, cut = ahead()
    truth, (flickering, steady) = stability()
    changed, old = prior()
    graph_truth, made = topology()
    files = {"train": train, "val": val, "better-behind": better_behind, "cut-truth": cut, "truth": truth}
    files |= {"flickering": flickering, "steady": steady, "changed-truth": changed, "prior": old}
    for name, frames in (files | {"copy": old.with_confidence(1.0)}).items():
        mg.write(frames, folder / f"{name}.geojson")
    mg.write(graph_truth, folder / "lanes.pkl", format="openlanev2-truth")
    mg.write(made["50 false lanes, wired to everything"], folder / "false-lanes.pkl", format="openlanev2")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_files(Path(sys.argv[1]))
    else:
        draw_leakage()
        draw_ahead()
        draw_stability()
        draw_topology()
