"""What features add to drawings of single frames: the right and wrong links between instances."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol as Interface

from mapgauge.frames.links import FrameLink
from mapgauge.frames.map_frames import MapFrames
from mapgauge.manifest import each_object
from mapgauge.protocols import Protocol
from mapgauge.typing import Indices


class LinksOfFrame(Interface):
    """Finds the right and the wrong links of a frame, which figures and the report draw."""

    def __call__(
        self,
        predictions: MapFrames,
        truth: MapFrames,
        protocol: Protocol,
        *,
        cutoff: float,
        index: tuple[Indices, Indices],
    ) -> list[FrameLink]:
        """Return the links of both sides of one frame.

        ``index`` has the index of each prediction and of each true instance in the ``Assignment``. Links name instances
        by it.
        """


@dataclass(frozen=True, kw_only=True)
class DrawnLinks:
    """Links that figures and the report draw."""

    of_frame: LinksOfFrame
    are_compared: Callable[[Protocol], bool]  # whether a protocol compares these links, so that there can be some


def drawn_links() -> list[DrawnLinks]:
    """Return what all features say of links."""
    return [loaded for _, loaded in each_object("links")]
