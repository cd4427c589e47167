"""A small DETR for rasters, as many models side by side: every weight has a first dimension for the models.

All models run in one batched product per layer, and none of them knows of the others. So a GPU trains dozens of small
models in the time of a few.
"""

from typing import Any

import torch
from torch import nn
from torch.nn import functional

PATCH = 6  # cells
NEARNESS = (0.0, 0.3, 1.0, 3.0)  # of the heads: how much a query looks at tokens near its line
REACH = 5.0  # metres


class Linear(nn.Module):
    """A linear layer of many models: ``(models, ..., inputs)`` to ``(models, ..., outputs)``."""

    def __init__(self, models: int, inputs: int, outputs: int, scale: float = 1.0) -> None:
        """Create the weights, which ``Network.start`` fills."""
        super().__init__()
        self.weight, self.bias = (
            nn.Parameter(torch.zeros(models, inputs, outputs)),
            nn.Parameter(torch.zeros(models, 1, outputs)),
        )
        self.spread = scale * inputs**-0.5

    def forward(self, x: Any) -> Any:
        """Apply the layer of each model to its inputs."""
        y = torch.baddbmm(self.bias.to(x.dtype), x.flatten(1, -2), self.weight)
        return y.unflatten(1, x.shape[1:-1])


class Norm(nn.Module):
    """Layer normalisation of many models."""

    def __init__(self, models: int, size: int) -> None:
        """Start as the identity."""
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(models, size)), nn.Parameter(torch.zeros(models, size))

    def forward(self, x: Any) -> Any:
        """Normalise ``(models, batch, items, size)``."""
        x = functional.layer_norm(x, x.shape[-1:])
        return torch.addcmul(self.shift[:, None, None], x, self.scale[:, None, None])


class Attention(nn.Module):
    """Attention with several heads."""

    def __init__(self, models: int, size: int, heads: int = 4) -> None:
        """Create the four products."""
        super().__init__()
        self.heads = heads
        self.register_buffer("nearness", torch.tensor(NEARNESS)[:, None, None])
        self.query, self.both, self.out = (
            Linear(models, size, size),
            Linear(models, size, 2 * size),
            Linear(models, size, size),
        )

    def forward(self, x: Any, memory: Any, near: Any = None) -> Any:
        """Let ``x`` look at ``memory``, both ``(models, batch, items, size)``; with most heads at what is near."""
        q, k, v = (
            part.flatten(0, 1).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query(x), *self.both(memory).chunk(2, -1))
        )
        bias = None
        if near is not None:
            bias = (self.nearness * near.flatten(0, 1)[:, None]).to(q.dtype)
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2)
        return self.out(y.unflatten(0, x.shape[:2]))


class Layer(nn.Module):
    """A layer of a transformer; with a memory it is one of a decoder."""

    def __init__(self, models: int, size: int, decoder: bool) -> None:
        """Create the parts."""
        super().__init__()
        self.own = Attention(models, size)
        self.cross = Attention(models, size) if decoder else None
        self.wide, self.narrow = Linear(models, size, 2 * size), Linear(models, 2 * size, size)
        self.norms = nn.ModuleList(Norm(models, size) for _ in range(3 if decoder else 2))

    def forward(self, x: Any, memory: Any = None, near: Any = None) -> Any:
        """Apply attention and a perceptron, each to normalised values and added to them."""
        y = self.norms[0](x)
        x = x + self.own(y, y)
        if self.cross is not None:
            x = x + self.cross(self.norms[1](x), memory, near)
        return x + self.narrow(functional.gelu(self.wide(self.norms[-1](x))))


class Network(nn.Module):
    """Predicts lines from rasters.

    Args:
        seeds: A seed for the first weights of each model.
        channels: Channels of the raster.
        shape: Its rows and columns.
        queries: Number of lines that a model predicts.
        points: Number of points of a line.
        size: Width of the transformer.
        layers: Number of encoder and of decoder layers.
        groups: Sets of queries in training. Each is assigned to the true lines on its own, and only the first one
            predicts.
        metres: Length and width of a frame.
    """

    def __init__(
        self,
        seeds: list[int],
        channels: int,
        shape: tuple[int, int],
        *,
        queries: int,
        points: int,
        size: int,
        layers: int,
        groups: int,
        metres: tuple[float, float],
    ) -> None:
        """Create the weights of all models."""
        super().__init__()
        models, tokens = len(seeds), shape[0] * shape[1] // PATCH**2
        self.patches = Linear(models, channels * PATCH**2, size)
        self.places = nn.Parameter(torch.zeros(models, 1, tokens, size))
        self.encoder = nn.ModuleList(Layer(models, size, decoder=False) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(models, size, decoder=True) for _ in range(layers))
        self.norm, self.found = Norm(models, size), Norm(models, size)
        self.queries = nn.Parameter(torch.zeros(models, groups, queries, size))
        self.lines = nn.Parameter(torch.zeros(models, groups, queries, 2 * points))  # before the sigmoid
        self.where = Linear(models, 2 * points, size)
        self.classes = Linear(models, size, channels + 1)
        self.hidden, self.moves = Linear(models, size, size), Linear(models, size, 2 * points, scale=0.1)
        self.register_buffer("metres", torch.tensor(metres))
        x, y = ((torch.arange(n // PATCH) + 0.5) * PATCH / n - 0.5 for n in (shape[1], shape[0]))
        self.register_buffer("centres", torch.cartesian_prod(y, x).flip(1) * self.metres)  # of the tokens
        self.start(seeds)

    def start(self, seeds: list[int]) -> None:
        """Draw the first weights of each model from its seed."""
        for number, seed in enumerate(seeds):
            generator = torch.Generator().manual_seed(seed)
            for module in self.modules():
                if isinstance(module, Linear):
                    module.weight.data[number].normal_(0, module.spread, generator=generator)
            for table, spread in ((self.places, 0.5), (self.queries, 0.5), (self.lines, 0.2)):
                table.data[number].normal_(0, spread, generator=generator)
            centre = torch.randn(*self.lines.shape[1:3], 1, 2, generator=generator)  # a query starts as a spot
            self.lines.data[number] += centre.expand(-1, -1, self.lines.shape[-1] // 2, 2).flatten(-2)

    @torch.no_grad()
    def _near(self, line: Any) -> Any:
        """How near each token is to the line of each query: minus the square of the distance, in units of the reach."""
        points = (line.sigmoid() - 0.5).unflatten(-1, (-1, 2)) * self.metres
        square = torch.cdist(points.flatten(0, 3), self.centres).square().unflatten(0, points.shape[:4])
        return -square.min(3).values / (2 * REACH**2)

    def forward(self, images: Any) -> tuple[Any, Any]:
        """Return logits and points of all decoder layers from images ``(models, batch, channels, rows, columns)``.

        The results are ``(layers, models, batch, queries, classes + 1)`` and ``(layers, models, batch, queries, points,
        2)``, in metres. In training the batch is repeated for each group of queries.
        """
        patches = images.unflatten(-1, (-1, PATCH)).unflatten(-3, (-1, PATCH)).permute(0, 1, 3, 5, 2, 4, 6)
        x = self.patches(patches.flatten(4).flatten(2, 3)) + self.places
        for layer in self.encoder:
            x = layer(x)
        groups, batch = self.queries.shape[1] if self.training else 1, images.shape[1]
        memory = self.norm(x).repeat(1, groups, 1, 1)
        query, line = (table[:, :groups].repeat_interleave(batch, 1) for table in (self.queries, self.lines))
        logits, points = [], []
        for layer in self.decoder:
            query = layer(query + self.where(line.sigmoid() - 0.5), memory, self._near(line))
            y = self.found(query)
            line = line + self.moves(functional.gelu(self.hidden(y))).float()
            logits.append(self.classes(y).float())
            points.append((line.sigmoid() - 0.5).unflatten(-1, (-1, 2)) * self.metres)
            line = line.detach()
        return torch.stack(logits), torch.stack(points)
