"""Runs the streamed evaluation of Parquet data sets, on this machine or on a Dask cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer

from mapgauge.cli.inputs import options_of
from mapgauge.cli.output import progress, warn
from mapgauge.cli.parsing import Texts, one_of, place, refuse
from mapgauge.cli.reading import Reading, check_classes
from mapgauge.evaluation.engines import ENGINES

if TYPE_CHECKING:
    from mapgauge.evaluation.streaming.run import OnError
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results


def _engine(name: str | None) -> str | None:
    if name is not None and name not in ENGINES:
        refuse("--engine", f"must be one of {', '.join(ENGINES)}, got {name!r}. For a cluster, pass --scheduler")
    return name


EngineOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help=f"How Parquet is evaluated on this machine: {', '.join(ENGINES)}.",
        callback=_engine,
        autocompletion=lambda: list(ENGINES),
        show_default=False,
    ),
]
SchedulerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="URL", help="Address of a Dask cluster, such as tcp://HOST:8786.", show_default=False
    ),
]
WorkOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--work",
        metavar="FOLDER",
        help="Folder for finished chunks, to resume or to load the results.",
        show_default=False,
    ),
]
ResumeOption: TypeAlias = Annotated[
    bool, typer.Option("--resume", help="Continue an interrupted run from the folder of --work.")
]
OnErrorOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--on-error",
        metavar="stop|skip",
        help="What to do when a part cannot be read: stop, or skip it with a warning.",
        callback=one_of("--on-error", "stop", "skip"),
        autocompletion=lambda: ["stop", "skip"],
    ),
]


@dataclass(frozen=True, slots=True)
class Streaming:
    """The options that say where the work is done and what is kept."""

    engine: str | None  # a name, or the address of a scheduler
    work: Path | None
    resume: bool
    on_error: "OnError"

    @classmethod
    def of(
        cls, engine: str | None, scheduler: str | None, work: Path | None, resume: bool, on_error: str
    ) -> "Streaming":
        """Check the options against each other."""
        if scheduler is not None and engine not in (None, "dask"):
            refuse("--scheduler", f"needs --engine dask, got {engine}")
        if scheduler is not None and "://" not in scheduler:
            refuse("--scheduler", f"must be an address such as tcp://HOST:8786, got {scheduler!r}")
        if resume and work is None:
            refuse("--resume", "needs the folder of the interrupted run: --work FOLDER")
        return cls(scheduler or engine, work, resume, cast("OnError", on_error))

    def suit(self, reading: Reading, paths: Sequence[Path], *, whole: bool) -> bool:
        """Whether all files are Parquet and no option needs them in memory as a whole."""
        from mapgauge.io.files.places import streams

        changed = reading != Reading(degenerate=reading.degenerate) or any(
            set(options_of(path)) - {"name"} for path in paths
        )
        wanted = self.engine is not None or self.work is not None or self.on_error != "stop"
        parquet = all(streams(place(path)) for path in paths)
        if wanted and (changed or whole or not parquet):
            refuse(
                "--engine, --scheduler, --work, --resume, --on-error",
                "need Parquet on both sides. Convert the files first, with --rotate, --rename, --planar, --certain and "
                "--scenes as needed, and without --auto-axes: mapgauge convert IN OUT/"
                + (". A report needs all data in memory: make it from a part of the data" if whole and parquet else ""),
            )
        return parquet and not changed and not whole

    def evaluate(
        self,
        predictions: Path,
        truth: Path,
        name: str,
        folder: Path | None,
        protocol: "Protocol",
        *,
        classes: Texts,
        **settings: Any,
    ) -> "Results":
        """Evaluate two data sets. Finished chunks are kept in the folder, if one is given."""
        from mapgauge import evaluate
        from mapgauge.io.dataset import open_dataset

        sides = place(predictions), place(truth)
        if classes:
            check_classes(classes, str(sides[0]), *(open_dataset(side).classes for side in sides))
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
            warn(f"interrupted: {error}" if error.args else "interrupted")
            raise typer.Exit(130) from error
