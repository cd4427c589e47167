"""mapgauge evaluates online HD maps with SOSPA and PLD, and with average precision by Chamfer and Fréchet distance.

>>> import mapgauge as mg
>>> mg.sospa([[0, 0], [1, 0]], [[0, 0.5], [1, 0.5]])
1.0
"""

import ast
from importlib import import_module
from pkgutil import get_data
from typing import Any

# ``__init__.pyi`` names every public name once: type checkers read it, and so does this module. Names are imported on
# first use, which keeps ``import mapgauge`` cheap.
_HOMES = {
    alias.name: str(node.module)
    for node in ast.parse(get_data(__name__, "__init__.pyi") or b"").body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

__all__ = sorted(name for name, home in _HOMES.items() if home != __name__)  # without modules such as ``mg.plot``


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    value = import_module(f"{home}.{name}") if home == __name__ else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOMES)
