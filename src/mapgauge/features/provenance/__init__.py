"""Provenance: why two results differ, published values, and what to cite."""

from importlib.resources import files


def stored_text(name: str) -> str:
    """Return the text of a data file of this folder."""
    return files(__name__).joinpath(name).read_text("utf-8")
