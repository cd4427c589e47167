"""Draws the price of each class."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

import mapgauge as mg


def prices(
    results: mg.Results | Sequence[mg.Results],
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: str = "paper",
    ax: Any = None,
) -> Figure:
    """Draw a bar for each class of the first method."""
    first = results if isinstance(results, mg.Results) else results[0]
    figure = Figure(figsize=(4, 3))
    axes = figure.add_subplot()
    axes.bar(list(first.classes), [values["price"] or 0.0 for values in first.classes.values()])
    axes.set_ylabel("EUR")
    if title:
        axes.set_title(title)
    return figure
