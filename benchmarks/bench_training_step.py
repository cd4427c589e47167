"""Measures the losses of a training step against the step of a model of the size of MapTR, on a GPU.

Run it with ``python -m benchmarks.bench_training_step`` where torch sees a GPU; it needs torchvision. The model stands
in for MapTR-tiny: ResNet-50 on six images of 480 x 800, image features sampled at 200 x 100 places of a bird's-eye
view, and six decoder layers with 50 x 20 queries of width 256. It has plain attention where MapTR has deformable
attention, and its loss is a mean of squares. Times are medians with the device awaited, in milliseconds.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from benchmarks.tables import at_most, heading, row
from torch import nn
from torch.nn import functional

from mapgauge.torch import PldCriterion, SospaMatcher, Targets, pld_loss

CLASSES, QUERIES, POINTS, TRUTHS, LAYERS, WIDTH = 3, 50, 20, 15, 6, 256
SHARE = 0.1  # of a step, at most


class MapTrSized(nn.Module):
    """A stand-in with the parts and sizes of MapTR-tiny."""

    def __init__(self) -> None:
        """Create the parts."""
        super().__init__()
        from torchvision.models import resnet50

        self.backbone = nn.Sequential(*list(resnet50(weights=None).children())[:-2])
        self.narrow = nn.Conv2d(2048, WIDTH, 1)
        self.register_buffer("places", 2 * torch.rand(6, 200, 100, 2) - 1)
        self.view = nn.Sequential(
            nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.ReLU(), nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        )
        self.queries = nn.Parameter(torch.randn(QUERIES * POINTS, WIDTH))
        layer = nn.TransformerDecoderLayer(WIDTH, 8, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.decoder = nn.ModuleList(nn.TransformerDecoder(layer, 1) for _ in range(LAYERS))
        self.classes, self.points = nn.Linear(WIDTH, CLASSES), nn.Linear(WIDTH, 2)

    def forward(self, images: Any) -> dict[str, Any]:
        """Return logits and points of all decoder layers from images ``(batch, 6, 3, 480, 800)``."""
        batch = len(images)
        features = self.narrow(self.backbone(images.flatten(0, 1)))
        places = self.places.repeat(batch, 1, 1, 1)
        seen = functional.grid_sample(features.float(), places, align_corners=False).unflatten(0, (batch, 6)).mean(1)
        memory = functional.avg_pool2d(self.view(seen), 4).flatten(2).transpose(1, 2)
        query = self.queries.expand(batch, -1, -1)
        logits, points = [], []
        for layer in self.decoder:
            query = layer(query, memory)
            of_lines = query.unflatten(1, (QUERIES, POINTS))
            logits.append(self.classes(of_lines.mean(2)))
            points.append(30 * self.points(of_lines).tanh())
        return {"pred_logits": torch.stack(logits), "pred_points": torch.stack(points)}


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """The median time of some work, with the device awaited."""
    times = []
    for _ in range(rounds + 3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return sorted(times[3:])[rounds // 2]


def scene(batch: int) -> tuple[dict[str, Any], Targets, Any]:
    """Outputs of a trained head, near true lines: a third of the lines are closed."""
    generator = torch.Generator().manual_seed(0)
    turn = 0.1 * torch.randn(batch, TRUTHS, POINTS, generator=generator)
    heading_of = 6.3 * torch.rand(batch, TRUTHS, 1, generator=generator) + turn.cumsum(-1)
    truth = torch.stack([heading_of.cos(), heading_of.sin()], -1).cumsum(2)
    truth += torch.tensor([60.0, 30.0]) * (torch.rand(batch, TRUTHS, 1, 2, generator=generator) - 0.5)
    near = truth[:, torch.arange(QUERIES) % TRUTHS]
    points = near + 0.4 * torch.randn(LAYERS, batch, QUERIES, POINTS, 2, generator=generator)
    logits = torch.randn(LAYERS, batch, QUERIES, CLASSES, generator=generator)
    labels = torch.randint(CLASSES, (batch, TRUTHS), generator=generator)
    outputs = {"pred_logits": logits.cuda().requires_grad_(), "pred_points": points.cuda().requires_grad_()}
    closed = labels.cuda() == 0
    targets = Targets(truth.cuda(), labels.cuda(), closed=closed, directed=False)
    ragged = [
        {"points": a, "labels": b, "closed": c} for a, b, c in zip(targets.points, targets.labels, closed, strict=True)
    ]
    return outputs, targets, ragged


def losses(batch: int, rounds: int) -> dict[str, float]:
    """The times of the matcher, of PLD of three classes, and of the whole criterion, each with its backward pass."""
    outputs, targets, ragged = scene(batch)
    last = {name: value[-1].detach().requires_grad_() for name, value in outputs.items()}
    matcher, criterion = SospaMatcher(5.0, directed=False, class_cost="focal"), PldCriterion(10)

    def pld() -> None:
        confidence = last["pred_logits"].sigmoid()
        values = []
        for k in range(CLASSES):
            # Lines of other classes have no points, so that they do not count.
            count = torch.where(targets.labels == k, POINTS, 0)
            values.append(
                pld_loss(
                    last["pred_points"], targets.points, confidence[..., k], closed=targets.closed, directed=False,
                    normalised=True, truth_points=count,
                ).mean()
            )  # fmt: skip
        torch.stack(values).sum().backward()

    def whole(targets: Any, progress: float) -> None:
        criterion(outputs, targets, progress)["total"].backward()

    jobs = {
        "`SospaMatcher`, one layer": lambda: matcher(last, ragged),
        "`pld_loss` of three classes": pld,
        "`PldCriterion`, six layers, early": lambda: whole(targets, 0.0),
        "`PldCriterion`, six layers, late": lambda: whole(targets, 1.0),
        "the same, targets as lists": lambda: whole(ragged, 1.0),
    }
    return {name: milliseconds(job, rounds) for name, job in jobs.items()}


def step_of(batch: int, rounds: int) -> float:
    """The time of a training step of the model without losses."""
    model = MapTrSized().cuda().to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    images = torch.randn(batch, 6, 3, 480, 800, device="cuda")

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            outputs = model(images)
        sum(value.float().square().mean() for value in outputs.values()).backward()
        optimiser.step()
        optimiser.zero_grad()

    return milliseconds(step, rounds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, bfloat16 autocast; milliseconds")
    step = {batch: step_of(batch, rounds) for batch in (4, 16)}
    heading("Losses in a step", "what", *(f"batch {batch}" for batch in (4, 16, 64)))
    # 64 frames of six images do not fit at once, so their step is four of 16.
    steps = {**step, 64: 4 * step[16]}
    row("step of the model without losses", *(f"{value:.0f}" for value in steps.values()))
    times = {batch: losses(batch, rounds) for batch in steps}
    for name in times[4]:
        cells = [
            at_most(times[b][name] / steps[b], SHARE, f"{times[b][name]:.1f}, {times[b][name] / steps[b]:.1%}")
            for b in steps
        ]
        row(name, *cells)


if __name__ == "__main__":
    main()
