"""Logs results with a writer of TensorBoard."""

from pathlib import Path
from typing import Any

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.loggers.content import attempts, check_arguments, pictures_of, scalars_of
from mapgauge.report import write_report
from mapgauge.results.results import Results

NEEDED = ("add_scalar", "add_image", "add_text")


def log_tensorboard(
    results: Results,
    writer: Any,
    step: int | None = None,
    *,
    worst: int = 3,
    report: bool = True,
    prefix: str = "",
) -> None:
    """Log results to TensorBoard: scalars, curves, pictures of the worst frames, and the report.

    TensorBoard cannot show HTML. The report is written as ``mapgauge-report.html`` or ``mapgauge-report-STEP.html``
    into the folder of the writer, and its name is logged as text beside the table of the results.

    Args:
        results: From ``evaluate``, ``Accumulator.results`` or ``load_results``.
        writer: A ``SummaryWriter`` of ``torch.utils.tensorboard`` or ``tensorboardX``.
        step: The step.
        worst: Number of worst frames to draw. Results without geometry have no pictures of frames.
        report: Whether to write the report.
        prefix: Text before all names, such as ``"val/"``.
    """
    check_arguments(results, worst)
    lacking = [name for name in NEEDED if not callable(getattr(writer, name, None))]
    if lacking:
        raise InvalidInput(
            f"writer: expected a SummaryWriter, got {type(writer).__name__} without {', '.join(lacking)}",
            remedy="Pass torch.utils.tensorboard.SummaryWriter(folder)",
        )
    folder = next((getattr(writer, name) for name in ("log_dir", "logdir") if getattr(writer, name, None)), None)
    if report and folder is None:
        raise InvalidInput("writer: it has no folder for the report", remedy="Pass report=False")
    with attempts() as attempt:
        for name, value in scalars_of(results, attempt, prefix.__add__).items():
            with attempt(name):
                writer.add_scalar(name, value, step)
        for picture in pictures_of(results, worst, attempt):
            with attempt(picture.name):
                writer.add_image(prefix + picture.name, np.asarray(picture.image()), step, dataformats="HWC")
        note = ""
        if report and folder is not None:
            with attempt("report"):
                file = "mapgauge-report.html" if step is None else f"mapgauge-report-{step}.html"
                write_report(results, Path(folder) / file)
                note = f"\n\nThe report is {file}, in the folder of this run."
        with attempt("table"):
            text = "\n".join(
                f"    {line}" for line in results.table().splitlines()
            )  # indented text is code in Markdown
            writer.add_text(f"{prefix}results", text + note, step)
            writer.flush()
