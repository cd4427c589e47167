"""Figures as files: the same figure gives the same bytes, and text stays text."""

import io
import os
from pathlib import Path
from threading import Lock
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from mapgauge.errors import InvalidInput
from mapgauge.files.writing import save as write_bytes

# What each kind of file would otherwise say about the day and the program that wrote it.
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
# Text can be searched and edited; the names inside an SVG do not change from one time to the next.
SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "mapgauge", "pdf.fonttype": 42}
RESOLUTION = 300  # dots per inch

_one_at_a_time = Lock()  # matplotlib has these settings for the whole program only


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file.

    Args:
        figure: What a function of ``mapgauge.plot`` gave.
        path: The file; its suffix says the format: png (300 dots per inch), svg or pdf.
    """
    if not isinstance(figure, Figure):
        raise InvalidInput(f"figure: expected what a function of mapgauge.plot gives, got {type(figure).__name__}")
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in METADATA:
        raise InvalidInput(
            f"{file}: figures are written as {', '.join(METADATA)}. Give a name that ends in one of them"
        )
    buffer = io.BytesIO()
    with _one_at_a_time, mpl.rc_context(SETTINGS):
        figure.savefig(buffer, format=suffix[1:], dpi=RESOLUTION, metadata=METADATA[suffix])
    write_bytes(file, buffer.getvalue())
