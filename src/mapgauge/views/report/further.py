"""Which drawings the page has, and the blocks of those that it reads later."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from mapgauge.views.report.pack import Arrays, pack


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How many drawings the page has if the caller does not choose frames."""

    frames: int = 200  # that are drawn with all their predictions; these are chosen by several rankings
    megabytes: float = 40  # of the drawings of all frames, up to which they are in the page
    faint: float = 0.1  # confidence below which unmatched predictions of the further frames are left out
    block: int = 250  # further frames that the browser reads at once


LIMITS = Limits()


class FurtherFrames:
    """Frames that are drawn besides the chosen ones, in blocks that the browser reads one by one."""

    def __init__(self, frames: Sequence[int], limits: Limits = LIMITS) -> None:
        """Begin with the frames that may be drawn."""
        self.waiting = list(frames)
        self.blocks: list[dict[str, Any]] = []  # the frames of each block, and where its arrays are
        self.texts: list[str] = []  # the arrays of each block
        self.limits = limits

    @property
    def drawn(self) -> list[int]:
        """The frames of all blocks."""
        return [frame for block in self.blocks for frame in block["frames"]]

    @property
    def expected(self) -> int:
        """The number of frames that are drawn, or will be as far as it is known."""
        return len(self.drawn) + len(self.waiting)

    def draw(self, drawings: Callable[[Sequence[int]], Arrays], worst: Callable[[int], Collection[int]]) -> None:
        """Draw frames up to the limit of size.

        Args:
            drawings: Returns the arrays of some frames.
            worst: Returns so many frames that should be drawn besides the first block if there is no room for all.
        """
        most = self.limits.megabytes * 1e6
        size = 0
        while self.waiting and size < most:
            size += self._add(drawings)
            if len(self.blocks) > 1:
                continue
            # The size of the first block says how many frames there is room for.
            room = int((most - size) / size * len(self.drawn))
            if room < len(self.waiting):
                self.waiting = sorted(worst(max(room, 0)))

    def _add(self, drawings: Callable[[Sequence[int]], Arrays]) -> int:
        """Draw the next block. Returns its size."""
        frames = self.waiting[: self.limits.block]
        where, text = pack(drawings(frames))
        self.waiting = self.waiting[self.limits.block :]
        self.blocks.append({"frames": frames, "arrays": where})
        self.texts.append(text)
        return len(text)
