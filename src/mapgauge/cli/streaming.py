"""Runs the streamed evaluation of Parquet data sets, on this machine or on a Dask cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from mapgauge.cli.inputs import options_of
from mapgauge.cli.output import progress, warn
from mapgauge.cli.parsing import Texts, place, refuse
from mapgauge.cli.reading import check_classes

if TYPE_CHECKING:
    from mapgauge.evaluation.streaming.run import OnError
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results


@dataclass(frozen=True, slots=True)
class Streaming:
    """The options that say where the work is done and what is kept."""

    engine: str | None  # a name, or the address of a scheduler
    work: Path | None
    resume: bool
    on_error: "OnError"

    @classmethod
    def of(cls, engine: str | None, work: Path | None, resume: bool, on_error: str) -> "Streaming":
        """Check the options against each other."""
        if resume and work is None:
            refuse("--resume", "needs the folder of the interrupted run: --work FOLDER")
        return cls(engine, work, resume, cast("OnError", on_error))

    def suit(self, format: str | None, paths: Sequence[Path], *, whole: bool) -> bool:
        """Whether all files are Parquet, and nothing needs them in memory as a whole."""
        from mapgauge.io.files.places import streams

        dropped = {options_of(path).get("degenerate", "strict") for path in paths}
        changed = format is not None or len(dropped) > 1
        changed = changed or any(set(options_of(path)) - {"name", "degenerate"} for path in paths)
        wanted = self.engine is not None or self.work is not None or self.on_error != "stop"
        parquet = all(streams(place(path)) for path in paths)
        if wanted and (changed or whole or not parquet):
            refuse(
                "--engine, --work, --resume, --on-error",
                "need Parquet on both sides, without options after the names. Convert the files first: mapgauge "
                "convert IN,rotate=-90,scenes=FILE OUT/"
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
