"""OpenLane-V2's overall scores: means of DET and of the square roots of TOP."""

from collections.abc import Mapping

import numpy as np

from mapgauge.metrics.metric import CombinedRows, Metric, Value
from mapgauge.typing import Floats


def _mean(means: Mapping[str, Floats]) -> Floats:
    """Return the mean of all values, with the square roots of those of TOP."""
    terms = [np.sqrt(value) if name.startswith("top_") else value for name, value in means.items()]
    return np.asarray(np.mean(terms, axis=0))


def _row(name: str, title: str, of: tuple[str, ...], stated: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        symbol=title,
        lower_is_better=False,
        values=(Value(name, "", title, "main"),),
        rows=CombinedRows(of, _mean),
        stated=lambda _: stated,
        limits=(0.0, 1.0),
        percent=True,
    )


OLS = _row("ols", "OLS", ("det_l", "det_t", "top_ll", "top_lt"), "mean of DET_l, DET_t, √TOP_ll, √TOP_lt")
OLUS = _row(
    *("olus", "OLUS", ("det_ls", "det_a", "det_t", "top_ll", "top_lt")),
    "mean of DET_ls, DET_a, DET_t, √TOP_lsls, √TOP_lste",
)
# The mean that gives the rows of the tables of TopoMaskV3 (arXiv 2603.01558) that were checked.
OLS_L = _row("ols_l", "OLS_l", ("det_l", "det_l_ch", "top_ll"), "mean of DET_l, DET_l_ch, √TOP_ll")
