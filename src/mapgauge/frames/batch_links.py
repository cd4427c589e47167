"""Links in the batches of a training loop: one matrix of scores between all instances of a frame."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.frames.batch_values import as_array
from mapgauge.frames.links import CONTROLLED_BY, SUCCESSOR, Links
from mapgauge.typing import Flags


def batch_links(item: Mapping[str, Any], where: str, boxes: Flags, linked: int) -> Links | None:
    """Return the links of one frame of a batch.

    Args:
        item: The frame. ``links`` is an array ``(polylines, polylines)`` of scores in [0, 1]. Entry ``[i, j]`` says
            that lane i leads into lane j, or that traffic element j applies to lane i. 0 is no link.
        where: Place in messages.
        boxes: Which polylines are boxes of traffic elements.
        linked: Number of frames of the batch that have links.
    """
    if not linked:
        return None
    if "links" not in item:
        raise InvalidInput(
            f"{where} has no links, but other frames of the batch have them",
            remedy="Give all frames the key links, with zeros where there are none",
        )
    count = len(boxes)
    scores = as_array(item["links"], f"{where}['links']")
    if scores.shape != (count, count) and not (count == 0 and scores.size == 0):
        raise InvalidInput(
            f"{where}['links'] has shape {scores.shape}, expected ({count}, {count}): a score for every pair of "
            "polylines, in their order"
        )
    if scores.size and scores.dtype.kind not in "biuf":
        raise InvalidInput(f"{where}['links'] must be numbers in [0, 1], got values of type {scores.dtype}")
    scores = scores.reshape(count, count).astype(np.float64)
    wrong = np.argwhere(~((scores >= 0) & (scores <= 1)))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise InvalidInput(
            f"{where}['links'][{i}, {j}] is {scores[i, j]}, expected a score in [0, 1]",
            remedy="Apply the sigmoid if these are logits",
        )
    source, target = np.nonzero(scores)
    from_box = np.flatnonzero(boxes[source])
    if len(from_box):
        i, j = int(source[from_box[0]]), int(target[from_box[0]])
        raise InvalidInput(f"{where}['links'][{i}, {j}] begins at a traffic element, expected a lane")
    kind = np.where(boxes[target], CONTROLLED_BY, SUCCESSOR)
    return Links.of(source, target, weight=scores[source, target], kind=kind)
