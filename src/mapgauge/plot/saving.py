"""Writes figures to files. The same figure gives the same bytes, and text stays text."""

import io
import os
from pathlib import Path
from threading import Lock
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from mapgauge.errors import InvalidInput
from mapgauge.files.writing import save as write_bytes

# Removes dates and program versions, which would change the bytes.
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
# Text can be searched and edited. Identifiers inside an SVG do not change between runs.
SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "mapgauge", "pdf.fonttype": 42}
RESOLUTION = 300  # dots per inch

_one_at_a_time = Lock()  # these settings of matplotlib are global


def suffix_of(file: Path) -> str:
    """Return the suffix of a file for a figure. It must be one of a format that can be written."""
    suffix = file.suffix.lower()
    if suffix not in METADATA:
        raise InvalidInput(f"{file}: expected a name that ends in {', '.join(METADATA)}, got {suffix or 'no suffix'}")
    return suffix


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file.

    Args:
        figure: From a function of ``mapgauge.plot``.
        path: The file to write. Its suffix selects the format: png (300 dots per inch), svg or pdf.
    """
    if not isinstance(figure, Figure):
        raise InvalidInput(f"figure: expected a matplotlib Figure, got {type(figure).__name__}")
    file = Path(path)
    suffix = suffix_of(file)
    buffer = io.BytesIO()
    with _one_at_a_time, mpl.rc_context(SETTINGS):
        figure.savefig(buffer, format=suffix[1:], dpi=RESOLUTION, metadata=METADATA[suffix])
    write_bytes(file, buffer.getvalue())
