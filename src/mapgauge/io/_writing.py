"""What writers share: numeric ids of classes, confidences, points as lists, and what a format cannot hold."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.map_frames import MapFrames


def ids_of(frames: MapFrames, table: Sequence[str], override: dict[int, str] | None, format_name: str) -> list[int]:
    """Return the numeric id to write for each class; -1 for a class without instances that has no id."""
    numbers = {
        name: i for i, name in (enumerate(table) if override is None else sorted(override.items(), reverse=True))
    }
    boxes = [name for name in frames.boxes if frames.counts.get(name)]
    if boxes:
        raise InvalidInput(
            f"{format_name} cannot hold boxes in an image ({', '.join(boxes)})",
            remedy=Remedy("Leave them out with .select(), or write Parquet", "Write Parquet, which keeps them"),
        )
    unknown = [name for name, count in frames.counts.items() if count and name not in numbers]
    if unknown:
        raise InvalidInput(
            f"{format_name} has no id for the class {', '.join(unknown)}. Known: {', '.join(numbers)}",
            remedy=Remedy(
                "Rename the classes with .rename(), leave some out with .select(), or pass classes= with names and ids",
                "Rename the classes with mapgauge convert --rename OLD=NEW",
            ),
        )
    return [numbers.get(name, -1) for name in frames.classes]


def confidences_of(frames: MapFrames, format_name: str) -> list[float]:
    """Return the confidences, for a format that requires them."""
    if frames.confidence is None:
        raise InvalidInput(
            f"{format_name} holds predictions, and these frames have no confidence",
            remedy=Remedy(
                "Write a truth format, or call .with_confidence(1) first",
                "Write a truth format, or set the confidence to 1 with mapgauge convert --certain",
            ),
        )
    return list(frames.confidence.tolist())


def check_tokens_differ(frames: MapFrames, format_name: str) -> None:
    """Refuse frames with equal tokens, for a format with one entry per token."""
    if len(frames.index) < len(frames):
        raise InvalidInput(f"{format_name} has one entry per token, and some tokens occur more than once")


def refuse_few_points(frames: MapFrames, where: str) -> None:
    """Refuse instances with fewer than two points, which ``read`` refuses as well."""
    few = np.flatnonzero(np.diff(frames.polylines.offsets) < 2)
    if len(few):
        raise InvalidInput(
            f"{where}: {len(few)} of {len(frames.polylines)} instances have fewer than 2 points, the first in frame "
            f"{frames.tokens[frames.frame[few[0]]]}, expected at least 2",
            remedy="Leave them out with frames.keep(numpy.diff(frames.polylines.offsets) > 1)",
        )


def refuse_ids(classes: dict[int, str] | None, where: str) -> None:
    """Refuse ``classes=`` for a format that has class names."""
    if classes is not None:
        raise InvalidInput(
            f"{where}: classes= is for formats with numeric ids; this format has class names",
            remedy=Remedy("Use .rename() instead", "Use mapgauge convert --rename OLD=NEW instead"),
        )


def points_by_frame(frames: MapFrames) -> Iterator[list[list[Any]]]:
    """Yield the points of the instances of each frame as lists.

    One conversion per frame is faster than one per instance, and needs less memory than one for all frames.
    """
    starts = frames.polylines.offsets.tolist()
    coords = frames.polylines.coords
    for first, last in pairwise(frames.offsets.tolist()):
        begin = starts[first]
        points = coords[begin : starts[last]].tolist()
        yield [points[start - begin : stop - begin] for start, stop in pairwise(starts[first : last + 1])]
