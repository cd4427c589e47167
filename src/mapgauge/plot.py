"""Draws results and frames as figures for papers. Each function returns a matplotlib ``Figure``.

The functions do not use pyplot: they need no display and can run in threads. They draw with the default settings of
matplotlib, whatever ``matplotlibrc`` or the program says.

>>> import mapgauge as mg
>>> import mapgauge.plot
>>> from mapgauge.demo import demo_world
>>> results = mg.evaluate(*demo_world(10), metrics=["pld"])
>>> worst = results.frames(count=1)[0]
>>> figure = mapgauge.plot.frame(results.assignment(worst["token"]), values={"pld": worst["pld"]})
>>> import pathlib, tempfile
>>> mapgauge.plot.save(figure, pathlib.Path(tempfile.mkdtemp()) / "worst.svg")
"""

from typing import Any

from mapgauge.dependencies import matplotlib_module
from mapgauge.manifest import mapping, own

matplotlib_module()  # before the modules of figures import it

from mapgauge.views.figures.style import save as save

# ``plot.pyi`` names the functions for type checkers. ``python -m tools.public_names`` writes it.
__all__ = sorted(["save", *mapping("figures", among=own())])


def __getattr__(name: str) -> Any:
    if name in __all__:
        known = mapping("figures", among=own())
    else:
        known = mapping("figures")
    if name not in known:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    manifest, figure = known[name]
    globals()[name] = function = manifest.load(figure.place)
    return function


def __dir__() -> list[str]:
    return __all__
