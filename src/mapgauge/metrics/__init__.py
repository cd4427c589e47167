"""Metrics between two sets of polylines, and the table ``METRICS`` that the rest of the package reads.

To add a metric, write a module that defines a row (``mapgauge.metrics.metric.Metric``), and add the row to ``METRICS``
in ``mapgauge.metrics.table``. The metric then appears in evaluation on every engine, in the summary, JSON, CSV and
LaTeX, in the report and its list of frames, in ``compare`` with intervals, in gates, sweeps, ``Accumulator`` and
torchmetrics.
"""
