"""What an author of a plug-in needs: the manifest, and the types of everything that a manifest can name.

A plug-in is a module with one ``Feature`` named ``FEATURE``. An entry point of the group ``mapgauge.features`` names
it, or the option ``--plugin MODULE``, or ``use`` in Python. The pages "Add a metric", "Add a file format" and "Add a
feature" have examples. Frames, protocols, results and errors are public names of ``mapgauge``.

>>> from mapgauge.plugin import Feature
>>> Feature(metrics=("length_error:LENGTH_ERROR",)).metrics
('length_error:LENGTH_ERROR',)
"""

from mapgauge.checks.context import CheckInput
from mapgauge.checks.table import Check
from mapgauge.frames.columns import Column
from mapgauge.hooks import Nearest, PriorTables, Sentence, Similar, WorkAhead
from mapgauge.io._format import Format, ReadOptions
from mapgauge.io.files.source import Content
from mapgauge.manifest import Command, Feature, Figure, use
from mapgauge.markup import Html, element, html
from mapgauge.metrics.citations import Citation
from mapgauge.metrics.groups import Block, Groups
from mapgauge.metrics.metric import CombinedRows, HitRows, Metric, Setting, SumRows, Value
from mapgauge.metrics.rows import Selection
from mapgauge.metrics.settings import DistanceSettings, HitSettings, Settings, setting
from mapgauge.results.drawn_links import DrawnLinks
from mapgauge.scoring.data import BlockWork
from mapgauge.views.report.pack import Added, Section, WholeScene

__all__ = [
    "Added",
    "Block",
    "BlockWork",
    "Check",
    "CheckInput",
    "Citation",
    "Column",
    "CombinedRows",
    "Command",
    "Content",
    "DistanceSettings",
    "DrawnLinks",
    "Feature",
    "Figure",
    "Format",
    "Groups",
    "HitRows",
    "HitSettings",
    "Html",
    "Metric",
    "Nearest",
    "PriorTables",
    "ReadOptions",
    "Section",
    "Selection",
    "Sentence",
    "Setting",
    "Settings",
    "Similar",
    "SumRows",
    "Value",
    "WholeScene",
    "WorkAhead",
    "element",
    "html",
    "setting",
    "use",
]
