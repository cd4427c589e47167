"""``Instance``: one polyline of one frame, as users see it."""

from typing import NamedTuple

from mapgauge.typing import Points


class Instance(NamedTuple):
    """One instance of one frame."""

    class_name: str
    points: Points
    confidence: float | None = None  # None in truth
    track: str | None = None
