"""What features may add to commands of the core: the types of the functions that their manifests name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from typing import Protocol as Interface

from mapgauge.manifest import each_object, only_object

if TYPE_CHECKING:
    from mapgauge.cli.emit import Piece
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results
    from mapgauge.results.statement import Statement
    from mapgauge.scoring.data import BlockWork, Data
    from mapgauge.typing import Floats

# The frames whose truth is nearest to that of a frame: ``nearest(token, count)`` returns their tokens, the nearest
# first, and how far each is.
Nearest: TypeAlias = Callable[[str, int], tuple[list[str], "Floats"]]


class Sentence(Interface):
    """Says something about one method. It becomes a part of the answer, which commands and pages print."""

    def __call__(self, results: "Results", workers: int | None, /) -> "Statement | None":
        """Return a statement about results, without a name of a method; None if there is nothing to say.

        It must not read files. Results of a streamed evaluation have geometry that is not in memory, and results from
        files may have none.
        """


def tells_pld(results: "Results") -> bool:
    """Whether PLD is what results are about: it has a value, and no other metric comes before it."""
    from mapgauge.metrics.explaining import is_about_pld
    from mapgauge.metrics.pld import PLD

    return is_about_pld(results.protocol, results.metrics) and results.mean[PLD.name] is not None


class WorkAhead(Interface):
    """Says what a sentence or a section will need from every block of frames, so that it is done while they are scored.

    The sentence or the section takes it by ``Data.outcomes_of``, and does the work itself if nobody did it before.
    """

    def __call__(self, data: "Data", metrics: Sequence[str], /, *, report: bool) -> "BlockWork | None":
        """Return the work; None if nothing is needed. ``metrics`` are those of the results.

        With ``report``, a report will be written. Otherwise, there is only an answer. The work must not raise an error
        for frames that can be scored.
        """


class Similar(Interface):
    """Finds frames that are alike, for ``mapgauge frames --like`` and for ``mapgauge view``."""

    def __call__(self, truth: "MapFrames", protocol: "Protocol", /) -> Nearest:
        """Prepare the frames of a truth."""


class Documented(Interface):
    """A value that has a form for JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as a document."""


class MeasurePrior(Interface):
    """Measures what methods make of a prior."""

    def __call__(
        self, results: "Sequence[Results]", names: Sequence[str], prior: Path, *, workers: int | None
    ) -> Mapping[str, Documented]:
        """Return what each method makes of it, by name."""


class PriorText(Interface):
    """Says what ``MeasurePrior`` returned."""

    def __call__(self, measured: Any, /) -> "Iterable[Piece]":
        """Return tables and sentences, in the order in which they are read."""


@dataclass(frozen=True)
class PriorTables:
    """What ``mapgauge evaluate --prior`` adds."""

    measure: MeasurePrior
    text: PriorText
    key: str = "prior"  # of what is measured, in the JSON of each method


def sentences() -> list[Sentence]:
    """Return the functions of all features that say something about a method."""
    return [loaded for _, loaded in each_object("sentences")]


def expect_ahead(data: "Data", metrics: Sequence[str], *, report: bool) -> None:
    """Let the next pass over some frames do what the answer, and a report if there is one, will need."""
    for _, loaded in each_object("ahead"):
        work = loaded(data, metrics, report=report)
        if work is not None:
            data.expect(work)


def similar() -> Similar | None:
    """Return the function that finds frames that are alike; None if no feature has one."""
    found: Similar | None = only_object("similar")
    return found


def prior_tables() -> PriorTables | None:
    """Return what ``evaluate --prior`` adds; None if no feature adds something."""
    found: PriorTables | None = only_object("priors")
    return found
