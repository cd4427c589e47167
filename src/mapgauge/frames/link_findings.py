"""Checks the links of both sides, for metrics of lane graphs."""

import numpy as np

from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.links import SUCCESSOR
from mapgauge.frames.map_frames import MapFrames


def link_findings(predictions: MapFrames, truth: MapFrames, floor: float = 0.0) -> tuple[Finding, ...]:
    """Return findings about the links between lanes.

    Args:
        predictions: Their links have scores.
        truth: The frames.
        floor: The score up to which there is no link.
    """
    counts = [_count(side, floor) for side in (predictions, truth)]
    names = [predictions.name or "predictions", truth.name or "truth"]
    found = []
    for k, (own, other) in enumerate((counts, counts[::-1])):
        if not own and other:
            above = f" with a score above {floor:g}" if floor else ""
            text = f"{names[k]}: no links between lanes{above}, and {names[1 - k]} has {other}. Scores of lane graphs"
            found.append(
                Finding(
                    "note",
                    "links-one-side",
                    f"{text} need both",
                    remedy=Remedy.of("Use files with links, such as those of OpenLane-V2"),
                )
            )
    return tuple(found)


def _count(frames: MapFrames, floor: float) -> int:
    if frames.links is None:
        return 0
    return int(np.count_nonzero(frames.links.is_kind(SUCCESSOR) & (frames.links.weight > floor)))
