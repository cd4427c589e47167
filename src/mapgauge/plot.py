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

from mapgauge.dependencies import matplotlib_module

matplotlib_module()  # before the modules below import it

from mapgauge.features.causes.figure import causes
from mapgauge.features.confidence.figure import calibration, confidence
from mapgauge.features.global_map.figures import global_map
from mapgauge.features.splits.figure import splits
from mapgauge.features.tracks.figures import lags, strip
from mapgauge.views.figures.birdseye import frame, scene
from mapgauge.views.figures.curves import cutoffs, histogram, parts, ranges
from mapgauge.views.figures.hits import precision_recall
from mapgauge.views.figures.style import save

__all__ = [
    "calibration",
    "causes",
    "confidence",
    "cutoffs",
    "frame",
    "global_map",
    "histogram",
    "lags",
    "parts",
    "precision_recall",
    "ranges",
    "save",
    "scene",
    "splits",
    "strip",
]
