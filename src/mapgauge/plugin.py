"""What an author of a plug-in needs: the manifest, and the types of everything that a manifest can name.

A plug-in is a module with one ``Feature`` named ``FEATURE``. An entry point of the group ``mapgauge.features`` names
it, or the option ``--plugin MODULE``, or ``use`` in Python. The pages "Add a metric", "Add a file format" and "Add a
feature" have examples.

>>> from mapgauge.plugin import Feature
>>> Feature(metrics=("length_error:LENGTH_ERROR",)).metrics
('length_error:LENGTH_ERROR',)
"""

from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.frames.columns import Column
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.hooks import Nearest, PriorTables, Sentence, Similar
from mapgauge.io._format import Format, ReadOptions
from mapgauge.io.files.source import Content
from mapgauge.manifest import Command, Feature, Figure, use
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import CombinedRows, HitRows, Metric, Setting, SumRows, Value
from mapgauge.metrics.rows import Selection
from mapgauge.metrics.settings import DistanceSettings, HitSettings, Settings, setting
from mapgauge.protocols import Protocol
from mapgauge.views.report.pack import Added, Section

__all__ = [
    "Added",
    "Column",
    "CombinedRows",
    "Command",
    "Content",
    "DistanceSettings",
    "Feature",
    "Figure",
    "Finding",
    "Format",
    "Groups",
    "HitRows",
    "HitSettings",
    "InvalidInput",
    "MapFrames",
    "MapgaugeError",
    "Metric",
    "Nearest",
    "PriorTables",
    "Protocol",
    "ReadOptions",
    "Remedy",
    "Section",
    "Selection",
    "Sentence",
    "Setting",
    "Settings",
    "Similar",
    "SumRows",
    "UnreadableFile",
    "Value",
    "setting",
    "use",
]
