"""Logs results to a run of MLflow."""

import re
from typing import Any

from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput
from mapgauge.loggers.content import attempts, check_arguments, pictures_of, report_file, scalars_of
from mapgauge.results.results import Results

MOST = 1000  # metrics of one request; a server refuses more
REFUSED = re.compile(r"[^\w\-. :/]", re.ASCII)  # in names of metrics and files; a server of Windows refuses colons too


def log_mlflow(
    results: Results,
    run_id: str | None = None,
    step: int | None = None,
    *,
    worst: int = 3,
    report: bool = True,
    prefix: str = "",
) -> None:
    """Log results to MLflow: scalars as metrics; curves, pictures of the worst frames and the report as artifacts.

    Artifacts are in the folder ``mapgauge``, or in ``mapgauge/step-STEP`` if a step is given. Metrics have names such
    as ``pld/mean`` and ``pld/divider.missed``: one slash, then dots, because a metric cannot be a folder of others.
    Characters that MLflow refuses become underscores. It needs ``pip install 'mapgauge[mlflow]'``.

    Args:
        results: From ``evaluate``, ``Accumulator.results`` or ``load_results``.
        run_id: The id of the run. If None, the active run.
        step: The step.
        worst: Number of worst frames to draw. Results without geometry have no pictures of frames.
        report: Whether to log the report.
        prefix: Text before all names of metrics, such as ``"val/"``.
    """
    check_arguments(results, worst)
    mlflow: Any = require("mlflow", "logging to MLflow", "mlflow")
    if run_id is None:
        run = mlflow.active_run()
        if run is None:
            raise InvalidInput("there is no active run of MLflow", remedy="Call mlflow.start_run() first")
        run_id = run.info.run_id
    folder = "mapgauge" if step is None else f"mapgauge/step-{step}"
    with attempts() as attempt:
        metrics = list(scalars_of(results, attempt, lambda key: _accepted(key, prefix)).items())
        for start in range(0, len(metrics), MOST):
            with attempt(f"{metrics[start][0]} and others"):
                mlflow.log_metrics(dict(metrics[start : start + MOST]), step=step, run_id=run_id)
        for picture in pictures_of(results, worst, attempt):
            with attempt(picture.name):
                mlflow.MlflowClient().log_image(run_id, picture.image(), f"{folder}/{picture.name}.png")
        if report:
            with attempt("report"), report_file(results) as path:
                mlflow.MlflowClient().log_artifact(run_id, str(path), folder)


def _accepted(key: str, prefix: str) -> str:
    """Return a name that MLflow accepts.

    Its file store has a file for each metric and a folder for each slash. So there is only one slash after the prefix:
    ``pld/mean`` and ``pld/mean/missed`` could not both be stored.
    """
    metric, _, rest = key.partition("/")
    return REFUSED.sub("_", f"{prefix}{metric}/{rest.replace('/', '.')}")
