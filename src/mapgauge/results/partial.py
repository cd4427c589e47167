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
    missing: int  # frames of the truth that the predictions lack
    ignored: int  # frames of the predictions that the truth lacks
    counts: tuple[list[int], list[int]]  # instances that were read, by class as each side names them
    frames: tuple[int, int]  # that were read
    findings: tuple[Finding, ...]  # of the readers
    seconds: tuple[float, float]  # reading and aligning, scoring
    hashes: tuple[int, int] | None  # of the content that was read, if recorded
