"""A metric for the evaluators of mmengine. Importing this module registers ``MapgaugeMetric``."""

from mapgauge.training.mmengine import MapgaugeMetric

__all__ = ["MapgaugeMetric"]
