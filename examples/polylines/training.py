"""Trains variants of a study, each with all seeds in one network, and writes their predictions.

A study has two phases. Before the switch, all variants with the same network are the same models, and are trained once.
Then some processes train a few variants each. A step of such small models is mostly work of the host, so that several
processes share one GPU.
"""

import math
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from examples.polylines.network import Network
from examples.polylines.worlds import CLASSES, SIZE, Frames

from mapgauge.torch import PldCriterion, Targets

SWITCH = 0.6  # share of the steps that variants have in common
FIRST_SEED = 100


@dataclass(frozen=True)
class Variant:
    """A way to train."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)  # of the criterion
    groups: int = 1  # sets of queries


@dataclass(frozen=True)
class Size:
    """The size of a study."""

    steps: int
    seeds: int
    frames: tuple[int, int, int]  # to train, validate and test
    width: int = 128
    layers: int = 3
    queries: int = 40
    points: int = 20
    batch: int = 32
    rate: float = 6e-4  # of the optimiser
    looks: int = 10  # predictions of the validation part while training


class Bundle:
    """Some variants with all seeds in one network. Model ``v * seeds + s`` is seed s of variant v."""

    def __init__(self, variants: list[Variant], size: Size, device: str, origin: Path | None = None) -> None:
        """Start from the seeds, or from the models of one variant that ``save`` wrote."""
        self.variants, self.size, self.device = variants, size, device
        seeds = [FIRST_SEED + seed for _ in variants for seed in range(size.seeds)]
        self.network = Network(
            seeds, len(CLASSES), (round(2 * SIZE[1]), round(2 * SIZE[0])), queries=size.queries, points=size.points,
            size=size.width, layers=size.layers, groups=variants[0].groups, metres=(SIZE[0], SIZE[1]),
        ).to(device)  # fmt: skip
        parameters = list(self.network.parameters())
        self.optimiser = torch.optim.AdamW(parameters, lr=size.rate, weight_decay=1e-2, fused=device == "cuda")
        if origin is not None:
            self._load(origin)
        self.criteria = [
            PldCriterion(size.steps, **{"switch": SWITCH, "class_loss": "softmax", **variant.settings})
            for variant in variants
        ]
        if device == "cuda":  # a graph of the forward and of the backward pass each: their kernels are small
            shape = (len(seeds), size.batch, len(CLASSES), round(2 * SIZE[1]), round(2 * SIZE[0]))
            with self._autocast():
                torch.cuda.make_graphed_callables(self.network, (torch.zeros(shape, device=device),))

    def _autocast(self) -> Any:
        return torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda", cache_enabled=False)

    def save(self, path: Path) -> None:
        """Write weights and the state of the optimiser."""
        torch.save([self.network.state_dict(), self.optimiser.state_dict()], path)

    def _load(self, path: Path) -> None:
        """Take the weights and the state of one variant for each variant."""
        weights, optimiser = torch.load(path, map_location=self.device, weights_only=True)
        named = dict(self.network.named_parameters())

        def repeated(value: Any) -> Any:
            return value.repeat(len(self.variants), *[1] * (value.ndim - 1)) if value.ndim else value

        with torch.no_grad():
            for name, parameter in named.items():
                parameter.copy_(repeated(weights[name]))
        for state in optimiser["state"].values():
            state |= {name: repeated(value) for name, value in state.items()}
        self.optimiser.load_state_dict(optimiser)

    def step(self, images: Any, targets: Targets, progress: float) -> Any:
        """Make a step, and return the loss of each variant."""
        size, count, groups = self.size, len(self.variants), self.variants[0].groups
        with self._autocast():
            logits, points = self.network(images.repeat(count, 1, 1, 1, 1))
        if groups > 1:  # the batch of each seed is repeated
            targets = Targets(*(_repeated(value, size.seeds, groups) for value in targets))
        parts = zip(logits.chunk(count, 1), points.chunk(count, 1), self.criteria, strict=True)
        pending = [
            criterion.begin({"pred_logits": a.flatten(1, 2), "pred_points": b.flatten(1, 2)}, targets, progress)
            for a, b, criterion in parts
        ]
        ended = [criterion.finish(part)["total"] for criterion, part in zip(self.criteria, pending, strict=True)]
        losses = torch.stack(ended)
        self.optimiser.zero_grad()
        # A loss is a mean over the batches of all seeds, and each model has a part of it.
        (size.seeds * losses.sum()).backward()
        warm = min((progress + 1 / size.steps) / 0.03, 1.0)
        for group in self.optimiser.param_groups:
            group["lr"] = size.rate * min(warm, (1 + math.cos(math.pi * progress)) / 2)
        self.optimiser.step()
        return losses.detach()

    @torch.no_grad()
    def predict(self, images: Any, folder: Path, name: str) -> None:
        """Write confidences ``(seeds, frames, queries, classes)`` and points of the last layer, a file per variant."""
        self.network.eval()
        chance, points = [], []
        for some in images.split(50):
            with self._autocast():
                a, b = self.network(some.expand(len(self.variants) * self.size.seeds, *some.shape))
            chance.append(a[-1].softmax(-1)[..., :-1].cpu())
            points.append(b[-1].cpu())
        self.network.train()
        every = [torch.cat(values, 1).numpy() for values in (chance, points)]
        for k, variant in enumerate(self.variants):
            own = slice(k * self.size.seeds, (k + 1) * self.size.seeds)
            path = folder / f"{name}~{variant.name}.npz"
            with path.with_suffix(".part").open("wb") as file:
                np.savez(file, chance=every[0][own], points=every[1][own])
            path.with_suffix(".part").rename(path)  # whoever sees the file sees all of it


def _repeated(value: Any, seeds: int, groups: int) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return value.unflatten(0, (seeds, -1)).repeat(1, groups, *[1] * (value.ndim - 1)).flatten(0, 1)


class Data:
    """Frames on a device."""

    def __init__(self, frames: Frames, device: str) -> None:
        """Copy them."""
        arrays = (frames.masks, frames.points, frames.labels, frames.closed)
        self.masks, self.points, self.labels, self.closed = (torch.from_numpy(array).to(device) for array in arrays)

    def images(self, index: Any, generator: Any) -> Any:
        """Noisy rasters: some cells are not seen, discs are hidden, and noise is added."""
        mask = self.masks[index].float()
        count, (rows, columns) = len(mask), mask.shape[-2:]

        def random(*shape: int) -> Any:
            return torch.rand(*shape, generator=generator, device=mask.device)

        x, y = (torch.arange(n, device=mask.device) / n for n in (columns, rows))
        place, radius = random(count, 3, 2), 2 + 5 * random(count, 3)  # metres
        across, along = (x - place[..., :1]) * SIZE[0], (y - place[..., 1:]) * SIZE[1]
        square = across[:, :, None].square() + along[..., None].square()
        hidden = (square < radius[..., None, None].square()).any(1)
        seen = (random(*mask.shape) > 0.4) & ~hidden[:, None]
        noise = torch.randn(mask.shape, generator=generator, device=mask.device)
        return mask * seen + 0.4 * noise

    def batch(self, seeds: int, batch: int, generator: Any) -> tuple[Any, Targets]:
        """A batch for each seed, half of it mirrored along each axis: images ``(seeds, batch, ...)`` and targets."""
        index = torch.randint(len(self.masks), (seeds * batch,), generator=generator, device=self.masks.device)
        flip = torch.rand(2, seeds * batch, generator=generator, device=self.masks.device) < 0.5
        images = self.images(index, generator)
        for axis, some in zip((-1, -2), flip, strict=True):
            images = torch.where(some[:, None, None, None], images.flip(axis), images)
        sign = torch.where(flip, -1.0, 1.0).T[:, None, None]
        targets = Targets(self.points[index] * sign, self.labels[index], closed=self.closed[index], directed=False)
        return images.unflatten(0, (seeds, batch)), targets


def train(variants: list[Variant], size: Size, folder: Path, device: str, origin: Path | None) -> None:
    """Train some variants with all seeds, and print their last losses.

    Without an origin, the steps before the switch are made, and the models are saved as ``{groups}.pt``. Otherwise the
    rest is. Predictions of the validation part while training and of both parts in the end are written to the folder.
    """
    torch.set_num_threads(1)  # several processes; and the models of a CPU are tiny
    torch.set_float32_matmul_precision("high")
    warnings.filterwarnings("ignore", "The AccumulateGrad node")  # the graph has its own stream
    data = Data(Frames.load(folder / "train.npz"), device)
    bundle = Bundle(variants, size, device, origin)
    seen = {}
    for number, part in enumerate(("validation", "test")):
        frames = Data(Frames.load(folder / f"{part}.npz"), device)
        generator = torch.Generator(device).manual_seed(1 + number)
        seen[part] = frames.images(torch.arange(len(frames.masks), device=device), generator)
    looks = {round((k + 1) * size.steps / size.looks) for k in range(size.looks)}
    switch = round(SWITCH * size.steps)
    generator, start = torch.Generator(device), 0.0
    made = range(switch) if origin is None else range(switch, size.steps)
    warm = made[: len(made) // 3 + 1]  # kernels are compiled in the first steps
    for step in made:
        start = time.perf_counter() if step in warm else start
        generator.manual_seed(1000 + step)  # all variants see the same batches
        images, targets = data.batch(size.seeds, size.batch, generator)
        losses = bundle.step(images, targets, step / size.steps)
        if step + 1 in looks and step + 1 < size.steps:
            bundle.predict(seen["validation"], folder, f"{step + 1}")
    if origin is None:
        bundle.save(folder / f"{variants[0].groups}.pt")
    else:
        for part, every in seen.items():
            bundle.predict(every, folder, part)
    names = "; ".join(f"{v.name} {loss:.3f}" for v, loss in zip(variants, losses.tolist(), strict=True))
    milliseconds = 1e3 * (time.perf_counter() - start) / (len(made) - len(warm) + 1)
    print(f"{len(made)} steps of {milliseconds:.0f} ms: {names}", flush=True)
