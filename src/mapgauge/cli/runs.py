"""Evaluates several methods by several protocols, in memory or streamed, and writes their results and reports.

``mapgauge evaluate`` is ``evaluate_runs`` and ``write_reports`` with a ``Watch`` that prints.
"""

import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mapgauge.evaluation.evaluate import evaluate, evaluate_frames
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.protocols import Protocol, full_name
from mapgauge.results.metadata import DATE
from mapgauge.results.results import Results
from mapgauge.scoring.data import Data
from mapgauge.scoring.prepare import check_rings, has_rings
from mapgauge.typing import Degenerate, Progress

if TYPE_CHECKING:
    from mapgauge.answers.answer import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One method by one protocol."""

    name: str  # of the method
    label: str  # of the run, for files and messages
    protocol: Protocol
    metrics: tuple[str, ...]
    rings: tuple[float, ...] = ()
    target: Path | None = None  # the file of results
    work: Path | None = None  # the folder of finished chunks


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """All runs: each method by each protocol, protocol by protocol for each method."""

    names: Sequence[str]
    protocols: Sequence[Protocol]
    metrics: Sequence[tuple[str, ...]]  # of each protocol
    rings: tuple[float, ...] = ()
    unknown: Literal["error", "ignore"] = "error"
    workers: int | None = None
    noted: tuple[str, dict[str, str]] | None = None  # the date of all runs and their metadata
    targets: Sequence[Path | None] = ()  # the file of results of each run
    folders: Sequence[Path | None] = ()  # the folder of finished chunks of each run

    @cached_property
    def labels(self) -> list[str]:
        """The names of the runs: of the method, and of the protocol if there are several."""
        return self._names(lambda name, protocol: f"{name}-{protocol.name}")

    @cached_property
    def titles(self) -> list[str]:
        """The names of the runs in words."""
        return self._names(lambda name, protocol: f"{name}, {full_name(protocol)}")

    def _names(self, text: Callable[[str, Protocol], str]) -> list[str]:
        if len(self.protocols) == 1:
            return list(self.names)
        return [text(name, protocol) for name, protocol in product(self.names, self.protocols)]

    def runs(self) -> list[Run]:
        """Return all runs. Rings are for all protocols, or of several for those whose metrics have values in rings."""
        several = len(self.protocols) > 1
        nowhere = [None] * len(self.labels)
        targets = self.targets or nowhere
        folders = self.folders or nowhere
        runs = []
        pairs = product(self.names, zip(self.protocols, self.metrics, strict=True))
        for k, (name, (protocol, metrics)) in enumerate(pairs):
            run = Run(
                name=name,
                label=self.labels[k],
                protocol=protocol,
                metrics=metrics,
                rings=self.rings,
                target=targets[k],
                work=folders[k],
            )
            if several and not has_rings(metrics):
                run = replace(run, rings=())
            runs.append(run)
        return runs


@dataclass(frozen=True)
class InMemory:
    """How to read both sides. The truth is read once, and predictions once for all protocols."""

    truth: Callable[[], MapFrames]
    predictions: Sequence[Callable[[MapFrames], MapFrames]]  # of each method, for the truth


@dataclass(frozen=True)
class Streamed:
    """Parquet data sets, which are read in chunks."""

    truth: str | Path
    predictions: Sequence[str | Path]  # of each method
    engine: str | None = None
    resume: bool = False
    on_error: Literal["stop", "skip"] = "stop"
    degenerate: Degenerate = "strict"


class RunWatch(typing.Protocol):
    """Callbacks during runs. A method that a subclass does not define does nothing."""

    def read(self, side: str, frames: MapFrames) -> None:
        """Take frames that were read: ``"truth"`` or ``"predictions"``."""

    def read_in_chunks(self, results: Results) -> None:
        """Take the first results of data sets that were read in chunks."""

    def evaluated(self, run: Run, results: Results) -> None:
        """Take the results of a run, after they were saved, while their geometry is in memory."""

    def extra(self, run: Run) -> tuple[str, ...]:
        """Return further metrics to score in the same pass, which tables and files leave out."""
        return ()

    def aligned(self, run: Run, data: Data) -> None:
        """Take the aligned frames of a run before they are scored."""

    def new_findings(self, findings: Sequence[Finding]) -> None:
        """Take findings that no earlier run had."""

    def wrote(self, what: str, path: Path) -> None:
        """Take the name of a file that was written."""

    def progress(self, what: str, unit: str = "frames") -> AbstractContextManager[Progress | None]:
        """Return what shows the progress of some work."""
        return nullcontext()

    def attempt(self) -> AbstractContextManager[None]:
        """Return what handles errors of writing a file."""
        return nullcontext()


def evaluate_runs(
    plan: RunPlan,
    sides: InMemory | Streamed,
    watch: RunWatch,
    *,
    geometry: Literal["original"] | None = None,
    keep: bool = False,
) -> list[Results]:
    """Evaluate all methods by all protocols, and save the results of runs that have a file for them.

    With ``keep``, all results keep their geometry, for a report. Otherwise only the last do.
    """
    runs = plan.runs()
    done: list[Results] = []
    reported: set[Finding] = set()
    if isinstance(sides, Streamed):
        evaluated = _streamed(plan, runs, sides, watch=watch)
    else:
        evaluated = _in_memory(plan, runs, sides, watch=watch)
    for run, results in zip(runs, evaluated, strict=True):
        with watch.attempt():
            watch.new_findings([finding for finding in results.findings if finding not in reported])
        reported.update(results.findings)
        if run.target is not None:
            with watch.attempt():
                results.save(run.target, geometry=geometry)
                watch.wrote("results", run.target)
        watch.evaluated(run, results)
        is_last = len(done) == len(runs) - 1
        if not keep and not is_last and isinstance(sides, InMemory):
            results = results.without_data()
        done.append(results)
    return done


def _in_memory(plan: RunPlan, runs: Sequence[Run], sides: InMemory, watch: RunWatch) -> Iterator[Results]:
    truth = sides.truth()
    watch.read("truth", truth)
    for k, run in enumerate(runs):
        if k % len(plan.protocols) == 0:
            predictions = sides.predictions[k // len(plan.protocols)](truth)
            watch.read("predictions", predictions)
        if len(runs) > 1:
            which = f" ({k + 1} of {len(runs)})"
        else:
            which = ""
        with watch.progress(f"evaluating {run.label}{which}") as advance:
            results = evaluate_frames(
                predictions,
                truth,
                run.protocol,
                metrics=run.metrics,
                extra=watch.extra(run),
                rings=check_rings(run.rings, run.metrics),
                unknown=plan.unknown,
                workers=plan.workers,
                progress=advance,
                noted=plan.noted,
                before=partial(watch.aligned, run),
            )
        yield results


def _streamed(plan: RunPlan, runs: Sequence[Run], sides: Streamed, watch: RunWatch) -> Iterator[Results]:
    metadata = None
    if plan.noted is not None:
        date, noted = plan.noted
        metadata = noted | {DATE: date}
    for k, run in enumerate(runs):
        predictions = sides.predictions[k // len(plan.protocols)]
        if len(runs) > 1:
            label = f"{run.label} ({k + 1} of {len(runs)})"
        else:
            label = str(predictions)
        with watch.progress(f"evaluating {label}", "rows") as advance:
            results = evaluate(
                predictions,
                sides.truth,
                run.protocol,
                metrics=run.metrics,
                extra=watch.extra(run),
                ranges=run.rings,
                unknown=plan.unknown,
                degenerate=sides.degenerate,
                workers=plan.workers,
                engine=sides.engine,
                work=run.work,
                resume=sides.resume and run.work is not None and run.work.exists(),
                on_error=sides.on_error,
                progress=advance,
                metadata=metadata,
            )
        if k % len(plan.protocols) == 0:
            watch.read_in_chunks(results)
        yield results


def write_reports(
    plan: RunPlan,
    results: Sequence[Results],
    pages: Sequence[Path | None],
    watch: RunWatch,
    *,
    answers: "Sequence[Answer]" = (),
    **settings: Any,
) -> None:
    """Write a report of all methods for each protocol that has a page.

    Args:
        plan: The runs.
        results: Their results.
        pages: The file of each protocol, or None.
        watch: Called for each file.
        answers: What is said of each protocol. Without them, the reports compute it.
        **settings: Further arguments of ``write_report``.
    """
    if not any(pages):
        return

    from mapgauge.report import write_report

    for k, page in enumerate(pages):
        if page is None:
            continue
        answer = None
        if answers:
            answer = answers[k]
        with watch.attempt():
            with watch.progress("writing the report") as advance:
                write_report(
                    results[k :: len(plan.protocols)],
                    page,
                    names=plan.names,
                    answer=answer,
                    progress=advance,
                    **settings,
                )
            watch.wrote("report", page)
