"""PyTorch: SOSPA as a cost and a loss for training, and metrics for torchmetrics.

The cost and the losses need torch only. The metrics need torchmetrics too. A name is imported when it is first used.
"""

from typing import Any

from mapgauge.dependencies import require
from mapgauge.manifest import mapping, own

require("torch", "mapgauge.torch", "torch")

# ``torch.pyi`` names the objects for type checkers. ``python -m tools.public_names`` writes it.
__all__ = sorted(mapping("torch", among=own()))


def __getattr__(name: str) -> Any:
    known = mapping("torch")
    if name not in known:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    manifest, place = known[name]
    globals()[name] = loaded = manifest.load(place)
    return loaded


def __dir__() -> list[str]:
    return __all__
