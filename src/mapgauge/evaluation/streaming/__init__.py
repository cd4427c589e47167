"""Evaluation of data sets larger than memory, on one machine or many.

``plan`` cuts the truth into chunks by its row groups. ``work`` is what a worker does with a chunk, wherever it runs: it
reads the row groups, scores the frames and returns rows. ``run`` hands chunks to an engine and keeps every finished
one in a folder (``mapgauge.results.folder``), so that nothing is lost when a run ends early.
``mapgauge.results.merging`` merges them.
"""
