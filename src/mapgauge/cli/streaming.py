"""Streamed evaluation of Parquet data sets as the options ask for it, on this machine or on a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from mapgauge.cli.options import Texts, refuse
from mapgauge.cli.output import paint, progress, say, warn
from mapgauge.cli.reading import Reading, check_classes, place
from mapgauge.cli.words import printable

if TYPE_CHECKING:
    from mapgauge.evaluation.streaming.run import OnError
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results


@dataclass(frozen=True, slots=True)
class Streaming:
    """How the work is spread, and what is kept of it."""

    engine: str | None  # a name, or the address of a scheduler
    work: Path | None
    resume: bool
    on_error: "OnError"

    @classmethod
    def of(
        cls, engine: str | None, scheduler: str | None, work: Path | None, resume: bool, on_error: str
    ) -> "Streaming":
        """From options as they were given."""
        if scheduler is not None and engine not in (None, "dask"):
            refuse("--scheduler", f"is for --engine dask, not {engine}")
        if scheduler is not None and "://" not in scheduler:
            refuse("--scheduler", f"must be an address such as tcp://HOST:8786, got {scheduler!r}")
        if resume and work is None:
            refuse("--resume", "needs the folder to go on with: --work FOLDER")
        return cls(scheduler or engine, work, resume, cast("OnError", on_error))

    def suit(self, reading: Reading, paths: Sequence[Path], *, whole: bool) -> bool:
        """Whether all files are Parquet and nothing was asked for that needs them in memory as a whole."""
        from mapgauge.files.places import streams

        changed = reading != Reading(degenerate=reading.degenerate)
        wanted = self.engine is not None or self.work is not None or self.on_error != "stop"
        parquet = all(streams(place(path)) for path in paths)
        if wanted and (changed or whole or not parquet):
            refuse(
                "--engine, --scheduler, --work, --resume, --on-error",
                "are for Parquet on both sides, read in pieces. Write it first, with --rotate, --rename, --planar, "
                "--certain and --scenes as needed: mapgauge convert IN OUT/"
                + (". A report needs everything in memory: make it from a part" if whole and parquet else ""),
            )
        return parquet and not changed and not whole

    def evaluate(
        self,
        predictions: Path,
        truth: Path,
        name: str,
        protocol: "Protocol",
        *,
        classes: Texts,
        **settings: Any,
    ) -> "Results":
        """Evaluate two data sets; with several predictions, each has a folder of its name."""
        from mapgauge import evaluate
        from mapgauge.io.dataset import open_dataset

        sides = place(predictions), place(truth)
        if classes:
            check_classes(classes, str(sides[0]), *(open_dataset(side).classes for side in sides))
        folder = None if self.work is None else self.work / name.replace("/", "-")
        try:
            with progress(f"evaluating {name or sides[0]}", "rows") as advance:
                return evaluate(
                    *(sides[0], sides[1], protocol),
                    engine=self.engine,
                    work=folder,
                    resume=self.resume and folder is not None and folder.exists(),
                    on_error=self.on_error,
                    progress=advance,
                    **settings,
                )
        except KeyboardInterrupt as error:
            warn(f"interrupted: {error}")
            raise typer.Exit(130) from error


def tell_inputs(results: "Results") -> None:
    """What was read."""
    for side, read in zip(("truth", "predictions"), reversed(results.inputs), strict=True):
        counts = ", ".join(f"{count} {name}" for name, count in read.counts.items())
        say(f"{paint(side, 'bold')} {printable(read.name)} ({read.format}, in pieces)")
        say(f"  {read.frames} frames, {sum(read.counts.values())} instances: {printable(counts)}", indent="    ")
