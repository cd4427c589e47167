"""Checks of what the graph scores leave out."""

from collections.abc import Iterable, Iterator

import numpy as np

from mapgauge.checks.context import CheckInput
from mapgauge.checks.table import LINKS, Check
from mapgauge.frames.findings import Finding, examples


def checks_of_graphs() -> Iterable[Check]:
    """Yield the checks of this feature."""
    yield Check(name="graph_scores.cropped", find=cropped, order=LINKS)


def cropped(context: CheckInput) -> Iterator[Finding]:
    """Find lanes that CGNet's rules cut, which score 30 m x 60 m whatever the region of the data."""
    if context.protocol is None:
        return
    # Only here: frames are also checked without a protocol, and then no metric is needed.
    from mapgauge.features.graph_scores.graph_scores import GraphRules

    settings = context.protocol.settings.values()
    if not any(isinstance(own, GraphRules) and own.rules == "cgnet" for own in settings):
        return
    if (context.truth.forward or context.predictions.forward) == "x":
        half = (30.0, 15.0)
    else:
        half = (15.0, 30.0)
    for name, side in context.sides:
        beyond = (np.abs(side.polylines.coords[:, :2]) > half).any(axis=1)
        lanes = np.unique(np.searchsorted(side.polylines.offsets, np.flatnonzero(beyond), side="right") - 1)
        if len(lanes):
            text = (
                f"{name}: {len(lanes)} of {len(side.polylines)} lanes leave the 30 m x 60 m that CGNet's rules score; "
                "GEO, TOPO and JTOPO leave out the points beyond"
            )
            yield Finding("note", "graphs-cropped", text, count=len(lanes), examples=examples(side, lanes))
