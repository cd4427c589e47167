"""Evaluates data sets larger than memory, on one machine or on many.

``plan`` divides the truth into chunks by its row groups. ``work`` is the task of a worker: it reads the row groups of a
chunk, scores the frames and returns rows. ``run`` submits chunks to an engine and writes every finished chunk to a
folder (``mapgauge.results.folder``), so that nothing is lost when a run ends early. ``mapgauge.results.loading`` merges
the chunks.
"""
