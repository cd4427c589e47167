"""Checks that both sides have the same dimension and the same height."""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import Context
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding

_NEAR = 2.0  # metres in the plane; heights of lines nearer than this are compared
_PAIRS = 10  # number of such pairs needed
_OFFSET = 0.5  # metres; a smaller difference in height is not reported


def dimensions(context: Context) -> Iterator[Finding]:
    """Check that points of both sides have the same number of coordinates."""
    x, y = context.predictions, context.truth
    if len(x.polylines.coords) and len(y.polylines.coords) and x.dimension != y.dimension:
        high = "predictions" if x.dimension > y.dimension else "truth"
        text = f"the predictions are {x.dimension}-D and the truth is {y.dimension}-D"
        remedy = Remedy(f"Use {high}.planar() to compare in the plane", "Use --planar to compare in the plane")
        yield Finding("error", "dimensions-differ", text, len(x.polylines) + len(y.polylines), remedy=remedy)


def height(context: Context) -> Iterator[Finding]:
    """Find heights with different origins, such as the road and the LiDAR."""
    if context.predictions.dimension < 3 or context.truth.dimension < 3:
        return
    neighbours = context.neighbours
    above: list[float] = []
    for frame, distance in zip(neighbours.frames, neighbours.distances(context.turn), strict=True):
        for i in np.flatnonzero(distance.min(axis=1) < _NEAR).tolist():
            other = frame.predictions[distance[i].argmin()]
            above.append(float(other[:, 2].mean() - frame.truth[i, :, 2].mean()))
    if len(above) < _PAIRS:
        return
    low, offset, high = np.quantile(above, (0.25, 0.5, 0.75))
    if abs(offset) > max(_OFFSET, high - low):
        text = (
            f"the predictions lie {abs(offset):.1f} m {'above' if offset > 0 else 'below'} the truth (median of "
            f"{len(above)} pairs of lines). One height may be measured from the road and the other from the LiDAR"
        )
        remedy = Remedy("Use .transform(pose) on one side, or .planar() on both", "Use --planar to leave out height")
        yield Finding("warning", "height-offset", text, len(above), remedy=remedy)
