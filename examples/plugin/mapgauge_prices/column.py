"""A column of instances: what it costs to miss a polyline."""

from mapgauge.plugin import Column

COST = Column(name="cost", about="what it costs to miss the polyline", kind="number", empty=1.0)
