"""Logs results to a run of MLflow."""

import re
from typing import Any

from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput
from mapgauge.loggers.content import check_arguments, curves_of, image_of, report_file, worst_of
from mapgauge.results.flat import flat
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
    metrics = _accepted(flat(results), prefix)
    for start in range(0, len(metrics), MOST):
        some = dict(list(metrics.items())[start : start + MOST])
        mlflow.log_metrics(some, step=step, run_id=run_id)
    folder = "mapgauge" if step is None else f"mapgauge/step-{step}"
    client = mlflow.MlflowClient()
    for picture in (*curves_of(results), *worst_of(results, worst)):
        client.log_image(run_id, image_of(picture.figure), f"{folder}/{picture.name}.png")
    if report:
        with report_file(results) as path:
            client.log_artifact(run_id, str(path), folder)


def _accepted(scalars: dict[str, float], prefix: str) -> dict[str, float]:
    """Return scalars with names that MLflow accepts.

    Its file store has a file for each metric and a folder for each slash. So there is only one slash after the prefix:
    ``pld/mean`` and ``pld/mean/missed`` could not both be stored.
    """
    accepted: dict[str, float] = {}
    for key, value in scalars.items():
        metric, _, rest = key.partition("/")
        name = REFUSED.sub("_", f"{prefix}{metric}/{rest.replace('/', '.')}")
        if name in accepted:
            raise InvalidInput(
                f"two values have the name {name!r} in MLflow, one of them {key!r}", remedy="Rename a class"
            )
        accepted[name] = value
    return accepted
