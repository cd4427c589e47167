"""Two coordinates or three, and the same height."""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import Context
from mapgauge.frames.findings import Finding

_NEAR = 2.0  # metres in the plane between lines whose heights are compared
_PAIRS = 10  # of such lines, at least
_OFFSET = 0.5  # metres


def dimensions(context: Context) -> Iterator[Finding]:
    """Points of two coordinates cannot be compared with points of three."""
    x, y = context.predictions, context.truth
    if len(x.polylines.coords) and len(y.polylines.coords) and x.dimension != y.dimension:
        high = "predictions" if x.dimension > y.dimension else "truth"
        text = (
            f"the predictions are {x.dimension}-D and the truth is {y.dimension}-D. Use {high}.planar() to compare in "
            "the plane"
        )
        yield Finding("error", "dimensions-differ", text, len(x.polylines) + len(y.polylines))


def height(context: Context) -> Iterator[Finding]:
    """Heights above different origins: the road and the LiDAR, say."""
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
            f"the predictions lie {abs(offset):.1f} m {'above' if offset > 0 else 'below'} the truth, by the median of "
            f"{len(above)} pairs of lines. Is one height measured from the road and one from the LiDAR? Use "
            ".transform(pose) on one side, or .planar() on both"
        )
        yield Finding("warning", "height-offset", text, len(above))
