"""Cuts lines at the edges of patches."""

import numpy as np

from mapgauge.geometry.cropping import crop_polylines
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.truth.cutting.fragments import Fragment
from mapgauge.truth.cutting.layers import Layer
from mapgauge.truth.cutting.patches import Patches, outside


def cut_lines(layer: Layer, patches: Patches, *, grow: float = 0.0) -> list[list[Fragment]]:
    """Return the fragments of lines in each patch. A line that leaves a patch and comes back gives several.

    Args:
        layer: Open or closed lines. A closed line is cut at the edge of the patch only, not at its first point.
        patches: Where to cut.
        grow: Metres by which each side of a patch is moved outwards before cutting.
    """
    fragments: list[list[Fragment]] = [[] for _ in range(len(patches))]
    if not len(layer):
        return fragments
    lines = layer.lines
    patch, line, begin, end = lines.near(patches, grow)
    bounds = patches.bounds(grow)
    sizes = end - begin + 1
    for k in np.flatnonzero(lines.closed[line] & (sizes == lines.steps[line] + 1)).tolist():
        # The range is a whole closed line. Start it at a point outside, so that no fragment contains the start.
        local = patches.to_local(lines.coords[begin[k] : end[k] + 1], np.repeat(patch[k], sizes[k]))
        begin[k] += int(outside(local, bounds).argmax())
    points = ranges(begin, sizes)
    local = patches.to_local(lines.coords[points], np.repeat(patch, sizes))
    # The distance along the line is a third coordinate, which cropping interpolates.
    with_length = Polylines(np.column_stack([local, lines.along[points]]), np.concatenate([[0], sizes]).cumsum())
    cropped, sources = crop_polylines(with_length, bounds)
    periods = np.where(lines.closed, lines.length, 0.0)[line].tolist()
    patch_of, line_of = patch.tolist(), line.tolist()
    for part, k in zip(cropped, sources.tolist(), strict=True):
        along = float(part[0, -1]), float(part[-1, -1])
        fragments[patch_of[k]].append(Fragment(part[:, :-1], (layer.ids[line_of[k]],), along, periods[k]))
    return fragments
