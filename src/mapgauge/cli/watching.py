"""What happens during ``mapgauge evaluate``: progress, findings, files that were written, interrupts."""

from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mapgauge.cli import INTERRUPTED, Attempts
from mapgauge.cli.output import (
    can_rewrite,
    distrust,
    inform,
    interrupted,
    printable,
    progress,
    rewrite,
    settle,
    warn,
    warn_of,
)
from mapgauge.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mapgauge.answers.answer import Told
    from mapgauge.cli.runs import Run
    from mapgauge.frames.findings import Finding
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.results.results import Results
    from mapgauge.scoring.data import Data
    from mapgauge.typing import Progress


class EvaluationWatch:
    """Watches the runs of ``mapgauge evaluate``. It is a ``RunWatch`` of ``cli.runs``.

    It keeps what the text at the end needs: the findings in their order, what is said of each run, and which files
    were written. Nothing is printed on stdout.
    """

    def __init__(
        self, *, is_text: bool, explains: bool, has_report: bool, keeps_data: bool, workers: int | None
    ) -> None:
        """Begin with nothing. If the document is no text, errors and warnings go to stderr as they come."""
        self.is_text = is_text
        self.explains = explains  # whether the document has an answer
        self.has_report = has_report
        self.keeps_data = keeps_data  # whether the geometry of all runs stays in memory in any case
        self.workers = workers
        self.is_streamed = False
        self.findings: list[Finding] = []
        self.told: list[Told] = []  # what is said of each run, in the order of the runs
        self.saved: list[Path] = []
        self.outputs: Attempts = Attempts()
        self.attempt: Callable[[], AbstractContextManager[None]] = self.outputs.attempt

    def read(self, side: str, frames: "MapFrames") -> None:
        """Take frames that were read."""
        if can_rewrite():
            rewrite(printable(f"read {side}: {counted(len(frames), 'frame', form=',')} ..."))

    def read_in_chunks(self, results: "Results") -> None:
        """Take the first results of data that was read in chunks."""

    def extra(self, run: "Run") -> tuple[str, ...]:
        """Return the metrics that explain PLD: the answer and the report need them."""
        from mapgauge.metrics.explaining import explaining

        if self.explains or self.keeps_data:
            return explaining(run.protocol, run.metrics)
        return ()

    def aligned(self, run: "Run", data: "Data") -> None:
        """Let the pass that scores the frames do what the answer and the report need from them."""
        from mapgauge.hooks import expect_ahead

        if self.explains or self.has_report:
            expect_ahead(data, run.metrics, report=self.has_report)

    def new_findings(self, findings: "Sequence[Finding]") -> None:
        """Take findings that no earlier run had."""
        settle()
        self.findings += findings
        if not self.is_text:
            warn_of(findings)

    def evaluated(self, run: "Run", results: "Results") -> None:
        """Say what a run means, while its geometry is in memory."""
        if not self.explains:
            return
        from mapgauge.answers.answer import explain

        with self.progress(f"explaining {run.label}"):
            told = explain(results, run.name, self.workers)
        if not self.keeps_data:
            # ``evaluate_runs`` releases the frames of the inputs. That takes their hashes, which only some forms need.
            told = told._replace(results=replace(told.results, geometry=None))
        self.told.append(told)

    def wrote(self, what: str, path: Path) -> None:
        """Name a file. Results are named after the text."""
        if what == "results":
            self.saved.append(path)
        else:
            inform(f"{what} in {path}")

    def end_of_text(self) -> None:
        """Say whether to trust the numbers, and where the results are."""
        if self.is_text:
            distrust(self.findings)
        for target in self.saved:
            inform(f"results in {target}")

    def progress(self, what: str, unit: str = "frames") -> "AbstractContextManager[Progress | None]":
        """Show progress, and remember it for an interrupt."""
        return progress(what, unit)

    @contextmanager
    def interrupts(self) -> "Iterator[None]":
        """End the command after Ctrl-C with a line that says how far it was, and what was written."""
        try:
            yield
        except KeyboardInterrupt as error:
            settle()
            warn(self._interrupted(error))
            raise typer.Exit(INTERRUPTED) from error
        except Exception:
            settle()  # the message of the error has a line of its own
            raise

    def _interrupted(self, error: KeyboardInterrupt) -> str:
        """Return how far the work was. A streamed evaluation says how it is continued."""
        if error.args and self.is_streamed:
            return f"interrupted: {error}"
        return interrupted()
