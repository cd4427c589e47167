"""Explains the failure of a chunk."""

from concurrent.futures import BrokenExecutor

from mapgauge.errors import MapgaugeError
from mapgauge.evaluation.streaming.plan import Chunk


def explained_error(chunk: Chunk, error: Exception) -> MapgaugeError:
    """Return the error of a chunk as a ``MapgaugeError``. An unexpected exception is a bug and is raised unchanged."""
    if isinstance(error, MapgaugeError):
        return error
    died = isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"  # KilledWorker is of Dask
    if not died and not isinstance(error, MemoryError | OSError):
        raise error
    where = "; ".join(f"{piece.file} row group {', '.join(map(str, piece.groups))}" for piece in chunk.truth)
    what = "the worker died repeatedly, probably out of memory" if died else str(error) or "out of memory"
    return MapgaugeError(
        f"chunk {chunk.index} ({where}, {chunk.rows} rows with its predictions): {what}",
        remedy="Use fewer workers on a machine, or smaller row groups, to reduce the memory",
    )
