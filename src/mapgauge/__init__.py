"""mapgauge evaluates online HD maps with SOSPA and PLD, and with average precision by Chamfer and Fréchet distance.

>>> import mapgauge as mg
>>> mg.sospa([[0, 0], [1, 0]], [[0, 0.5], [1, 0.5]])
1.0
"""

from importlib import import_module
from typing import Any

# Names are imported on first use, which keeps ``import mapgauge`` cheap. The manifests of the core and of the features
# name them. ``__init__.pyi`` has them for type checkers; ``python -m tools.public_names`` writes it.


def _homes() -> dict[str, str]:
    """Return the places of all public names."""
    from mapgauge.manifest import own

    return {name: manifest.full(place) for manifest in own() for name, place in manifest.feature.names.items()}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(name for name, home in _homes().items() if not home.endswith(":"))  # without modules
    if name.startswith("__") and name != "__version__":  # what Python itself asks for
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    homes = _homes()
    home = homes.get(name)
    if home is None:
        from mapgauge.words import did_you_mean

        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{did_you_mean(name, homes)}")
    module, _, attribute = home.partition(":")
    if attribute:
        value = getattr(import_module(module), attribute)
    else:
        value = import_module(module)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_homes())
