"""Logs results to a run of Weights & Biases."""

from typing import Any

from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput
from mapgauge.loggers.content import attempts, check_arguments, pictures_of, report_file, scalars_of
from mapgauge.results.results import Results


def log_wandb(
    results: Results,
    run: Any = None,
    step: int | None = None,
    *,
    worst: int = 3,
    report: bool = True,
    prefix: str = "",
) -> None:
    """Log results to Weights & Biases: scalars, curves, pictures of the worst frames, and the report.

    Scalars and pictures are logged in one step. The report is an artifact of type ``report`` with the name
    ``mapgauge-report-`` and the id of the run. Every call adds a version. It needs ``pip install 'mapgauge[wandb]'``.

    Args:
        results: From ``evaluate``, ``Accumulator.results`` or ``load_results``.
        run: The run. If None, the run of ``wandb.init``.
        step: The step. If None, the next step of the run.
        worst: Number of worst frames to draw. Results without geometry have no pictures of frames.
        report: Whether to log the report.
        prefix: Text before all names, such as ``"val/"``.
    """
    check_arguments(results, worst)
    wandb = require("wandb", "logging to Weights & Biases", "wandb")
    run = wandb.run if run is None else run
    if run is None:
        raise InvalidInput("there is no run of Weights & Biases", remedy="Call wandb.init() first, or pass run=")
    with attempts() as attempt:
        content: dict[str, Any] = dict(scalars_of(results, attempt, prefix.__add__))
        for picture in pictures_of(results, worst, attempt):
            with attempt(picture.name):
                content[prefix + picture.name] = wandb.Image(picture.image(), caption=picture.caption)
        with attempt("values and pictures"):
            run.log(content, step=step)
        if report:
            with attempt("report"), report_file(results) as path:
                artifact = wandb.Artifact(f"mapgauge-report-{run.id}", type="report")
                artifact.add_file(str(path))
                run.log_artifact(artifact)
