"""The rows of one chunk of a streamed evaluation, as a worker returns them."""

from dataclasses import dataclass

from mapgauge.frames.findings import Finding
from mapgauge.scoring.scores import Scores
from mapgauge.scoring.totals import Sums


@dataclass(frozen=True, eq=False)
class Partial:
    """The rows of a chunk."""

    tokens: tuple[str, ...]
    scenes: tuple[str, ...] | None
    scores: Scores
    sums: Sums
    missing: int  # number of frames of the truth that the predictions lack
    ignored: int  # number of frames of the predictions that the truth lacks
    counts: tuple[list[int], list[int]]  # number of instances read from each side, by its own classes
    frames: tuple[int, int]  # number of frames read from each side
    findings: tuple[Finding, ...]  # of the readers
    seconds: tuple[float, float]  # processor time of reading and aligning, and of scoring
    hashes: tuple[int, int] | None  # content hash of each side; None in folders of early versions
