"""Trains a tiny network twice, with L1 over permutations and with SOSPA, and scores both by PLD and Chamfer AP.

The network sees a noisy raster of a frame of the demo world and predicts a set of lines. Everything but the cost of the
points is the same in both trainings: frames, first weights, class loss, optimiser, number of steps. By default one seed
and a few steps show that it works. ``--study`` repeats it with more seeds and steps, and is the table in the docs.
"""

import argparse
import math
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

import mapgauge as mg
from mapgauge.kernels.assignment import cheapest_columns
from mapgauge.results.flat import flat

CLASSES = ("ped_crossing", "divider", "boundary")
WIDTH, HEIGHT, CELL = 60.0, 30.0, 1.0  # metres
POINTS, QUERIES, CHANNELS, BATCH = 12, 24, 64, 8
FIRST_CUTOFF, CUTOFF = 15.0, 1.5  # metres: SOSPA starts with a large cutoff and ends with that of the metric
NOTHING = 0.2  # weight of the class "no line"
L1_WEIGHT, SOSPA_WEIGHT = 0.5, 5.0  # per metre, and per unit of normalised SOSPA
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # 95 % quantiles of the t distribution, by number of seeds


def frames_of(count: int, seed: int) -> list[dict[str, Any]]:
    """Frames of the demo world: a noisy raster, the lines with ``POINTS`` points, and their classes."""
    _, truth = mg.demo.demo_world(count, seed=seed, predictions=0)
    rng = np.random.default_rng(seed)
    out = []
    for start, stop in pairwise(truth.offsets):
        lines, labels = [truth.polylines[i] for i in range(start, stop)], truth.label[start:stop]
        image = rng.normal(0, 0.3, (len(CLASSES), round(HEIGHT / CELL), round(WIDTH / CELL)))
        for line, label in zip(lines, labels, strict=True):
            fine = mg.resample(line, spacing=CELL / 2)
            column, row = ((fine + np.array([WIDTH, HEIGHT]) / 2) / CELL).astype(int).T
            seen = rng.random(len(fine)) > 0.3
            image[label, row.clip(0, image.shape[1] - 1)[seen], column.clip(0, image.shape[2] - 1)[seen]] += 1
        points = np.array([mg.resample(line, count=POINTS) for line in lines]).reshape(-1, POINTS, 2)
        out.append({"image": image, "points": points, "labels": labels.astype(np.int64), "lines": lines})
    return out


def make_network() -> Any:
    """A convolutional encoder and a decoder with one query per line."""
    from torch import nn

    sizes = (len(CLASSES), 32, CHANNELS, CHANNELS)
    encoder = [
        part
        for a, b in pairwise(sizes)
        for part in (nn.Conv2d(a, b, 3, stride=2, padding=1), nn.GroupNorm(8, b), nn.ReLU())
    ]
    layer = nn.TransformerDecoderLayer(CHANNELS, 4, 2 * CHANNELS, dropout=0.0, batch_first=True)
    parts = {
        "encoder": nn.Sequential(*encoder),
        "places": nn.Embedding(4 * 8, CHANNELS),
        "queries": nn.Embedding(QUERIES, CHANNELS),
        "decoder": nn.TransformerDecoder(layer, 2),
        "points": nn.Sequential(nn.Linear(CHANNELS, 128), nn.ReLU(), nn.Linear(128, 2 * POINTS)),
        "classes": nn.Linear(CHANNELS, len(CLASSES) + 1),
    }
    return nn.ModuleDict(parts)


def predict(network: Any, images: Any) -> dict[str, Any]:
    """The points of all queries in metres, and the logits of their classes."""
    memory = network["encoder"](images).flatten(2).transpose(1, 2) + network["places"].weight
    found = network["decoder"](network["queries"].weight.expand(len(images), -1, -1), memory)
    points = network["points"](found).unflatten(-1, (POINTS, 2))
    return {
        "pred_points": points * points.new_tensor([WIDTH / 4, HEIGHT / 4]),
        "pred_logits": network["classes"](found),
    }


def orders_of(torch: Any, points: Any, closed: Any) -> Any:
    """All orders in which MapTR reads true lines: ``(lines, orders, points, 2)``; open lines repeat theirs."""
    ring = points[:, :-1]
    turned = [torch.cat([ring.roll(k, 1), ring.roll(k, 1)[:, :1]], 1) for k in range(POINTS - 1)]
    rings = torch.stack([way for line in turned for way in (line, line.flip(1))], 1)
    both = torch.stack([points, points.flip(1)] * (POINTS - 1), 1)
    return torch.where(closed[:, None, None, None], rings, both)


def train(method: str, frames: list[dict[str, Any]], steps: int, seed: int) -> Any:
    """Return a network trained with ``"L1"`` or ``"SOSPA"``."""
    import torch
    from torch.nn import functional

    from mapgauge.torch import SospaLoss, SospaMatcher

    torch.manual_seed(seed)
    network = make_network()
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-3, total_steps=steps, pct_start=0.1)
    images = torch.tensor(np.stack([frame["image"] for frame in frames]), dtype=torch.float32)
    targets = [{key: torch.tensor(frame[key]) for key in ("points", "labels")} for frame in frames]
    for target in targets:
        target["points"] = target["points"].float()
        target["closed"] = target["labels"] == 0
        target["orders"] = orders_of(torch, target["points"], target["closed"]).flatten(2)
    weight = torch.tensor([1.0] * len(CLASSES) + [NOTHING])
    rng = np.random.default_rng(seed)
    for step in range(steps):
        some = rng.choice(len(frames), BATCH, replace=False)
        outputs, wanted = predict(network, images[some]), [targets[k] for k in some]
        cutoff = max(CUTOFF, FIRST_CUTOFF * (CUTOFF / FIRST_CUTOFF) ** (step / (0.7 * steps)))
        if method == "SOSPA":
            pairs = SospaMatcher(cutoff, directed=False, point_weight=SOSPA_WEIGHT)(outputs, wanted)
        else:
            pairs = [
                _match(torch, points, logits, target)
                for points, logits, target in zip(outputs["pred_points"], outputs["pred_logits"], wanted, strict=True)
            ]
        labels = torch.full(outputs["pred_logits"].shape[:2], len(CLASSES))
        for k, (query, line) in enumerate(pairs):
            labels[k, query] = wanted[k]["labels"][line]
        chosen = torch.cat([outputs["pred_points"][k, query] for k, (query, _) in enumerate(pairs)])
        if method == "SOSPA":
            true = torch.cat([wanted[k]["points"][line] for k, (_, line) in enumerate(pairs)])
            closed = torch.cat([wanted[k]["closed"][line] for k, (_, line) in enumerate(pairs)])
            loss = SOSPA_WEIGHT * SospaLoss(cutoff, directed=False, normalised=True)(chosen, true, closed=closed)
        else:
            orders = torch.cat([wanted[k]["orders"][line] for k, (_, line) in enumerate(pairs)])
            loss = L1_WEIGHT * (chosen.flatten(1)[:, None] - orders).abs().mean(-1).min(-1).values.mean()
        loss = loss + functional.cross_entropy(outputs["pred_logits"].flatten(0, 1), labels.flatten(), weight)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return network.eval()


def _match(torch: Any, points: Any, logits: Any, target: dict[str, Any]) -> tuple[Any, Any]:
    """The assignment by the smallest L1 distance over all orders and the probability of the class."""
    with torch.no_grad():
        apart = torch.cdist(points.flatten(1), target["orders"].flatten(0, 1), p=1) / (2 * POINTS)
        cost = L1_WEIGHT * apart.reshape(len(points), len(target["labels"]), -1).min(-1).values
        cost = cost - logits.softmax(-1)[:, target["labels"]]
    query, _ = cheapest_columns(  # type: ignore[no-untyped-call]
        np.ascontiguousarray(cost.T.double().numpy())
    )
    return torch.from_numpy(query), torch.arange(len(query))


def score(network: Any, frames: list[dict[str, Any]]) -> tuple[float, float]:
    """PLD and Chamfer AP of a network, by the protocol of the paper."""
    import torch

    found = mg.Accumulator("paper-60x30", metrics=("pld", "ap_chamfer"), classes=CLASSES, degenerate="drop")
    with torch.no_grad():
        images = torch.tensor(np.stack([frame["image"] for frame in frames]), dtype=torch.float32)
        outputs = predict(network, images)
    chance = outputs["pred_logits"].softmax(-1)[..., :-1]
    predictions, truth = [], []
    for points, scores, frame in zip(outputs["pred_points"].double().numpy(), chance, frames, strict=True):
        best, label = scores.max(-1)
        lines = [np.vstack([line, line[:1]]) if k == 0 else line for line, k in zip(points, label, strict=True)]
        predictions.append({"polylines": lines, "labels": label.numpy(), "confidence": best.double().numpy()})
        truth.append({"polylines": frame["lines"], "labels": frame["labels"]})
    found.update(predictions, truth, tokens=[str(k) for k in range(len(frames))])
    values = flat(found.results())
    return values["pld/mean"], values["ap_chamfer/mean"]


def interval(values: list[float]) -> str:
    """The mean and the 95 % interval of the mean over seeds."""
    if len(values) == 1:
        return f"{values[0]:.3f}"
    spread = STUDENT[len(values)] * np.std(values, ddof=1) / math.sqrt(len(values))
    return f"{np.mean(values):.3f} +- {spread:.3f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", action="store_true", help="more seeds and steps")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seeds", type=int)
    options = parser.parse_args()
    steps, seeds = options.steps or (600 if options.study else 20), options.seeds or (3 if options.study else 1)
    if find_spec("torch") is None:
        print("PLD of trained networks needs torch. Install it with: pip install 'mapgauge[torch]'")
        return
    size = 400 if options.study else 20
    found: dict[str, list[tuple[float, float]]] = {"L1": [], "SOSPA": []}
    for seed in range(seeds):
        frames, others = frames_of(size, 2 * seed), frames_of(max(size // 4, 10), 2 * seed + 1)
        for method, scores in found.items():
            scores.append(score(train(method, frames, steps, seed), others))
    print(f"{seeds} seeds, {steps} steps, {size} frames to train and {len(others)} others to score")
    print(f"{'trained with':14}{'PLD (lower is better)':>24}{'CD-AP (higher is better)':>26}")
    for method, scores in found.items():
        pld, precision = ([value[k] for value in scores] for k in range(2))
        print(f"{method:14}{interval(pld):>24}{interval(precision):>26}")
    gap = [[b[k] - a[k] for a, b in zip(found["L1"], found["SOSPA"], strict=True)] for k in range(2)]
    print(f"{'SOSPA - L1':14}{interval(gap[0]):>24}{interval(gap[1]):>26}")


if __name__ == "__main__":
    main()
