"""Logs results to Weights & Biases, TensorBoard or MLflow."""

import io
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from mapgauge.arguments import check_whole
from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import hit_metrics, title_of
from mapgauge.report import write_report
from mapgauge.results.flat import named_values
from mapgauge.results.results import Results, check_results
from mapgauge.results.values import lists_of_frames

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESOLUTION = 150  # dots per inch
MOST = 5  # things that a warning names
LONGEST = 200  # letters of the error of each
METRICS_OF_A_REQUEST = 1000  # a server of MLflow refuses more
REFUSED = re.compile(r"[^\w\-. :/]", re.ASCII)  # in names of metrics and files; a server of Windows refuses colons too

Attempt: TypeAlias = Callable[[str], AbstractContextManager[None]]


class Picture(NamedTuple):
    """A picture with the name under which it is logged. It is drawn when it is needed."""

    name: str  # "parts", "precision_recall/ap_chamfer", "worst/1"
    caption: str
    draw: "Callable[[], Figure]"

    def image(self) -> Any:
        """Draw it as a Pillow image. Pillow comes with matplotlib."""
        images = require("PIL.Image", "drawing figures", "plot")
        buffer = io.BytesIO()
        self.draw().savefig(buffer, format="png", dpi=RESOLUTION)
        with images.open(buffer) as image:
            return image.convert("RGB")


@contextmanager
def attempts(results: Results, worst: int) -> Iterator[Attempt]:
    """Yield a context for each thing that is logged. A picture or a server that fails must not end a training.

    An exception ends its context only. One warning at the end names all that was not logged. Wrong arguments are
    refused before something is logged.
    """
    check_results(results)
    check_whole("worst", worst, 0)
    failed: list[str] = []

    @contextmanager
    def attempt(what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # of the drawing, of a disk or of any client of a logger
            failed.append(f"{what} ({type(error).__name__}: {' '.join(str(error).split())[:LONGEST]})")

    yield attempt
    if failed:
        if len(failed) > MOST:
            more = f" and {len(failed) - MOST} more"
        else:
            more = ""
        warnings.warn(f"mapgauge did not log {', '.join(failed[:MOST])}{more}", RuntimeWarning, stacklevel=4)


def scalars_of(results: Results, attempt: Attempt, name_of: Callable[[str], str]) -> dict[str, float]:
    """Return all values by the names that a logger has for the keys of ``mapgauge.results.flat``."""
    scalars: dict[str, float] = {}
    for key, value, class_name in named_values(results):
        name = name_of(key)
        with attempt(key):
            if name in scalars:
                raise InvalidInput(f"two values have the name {name!r}", remedy=f"Rename the class {class_name!r}")
            scalars[name] = value
    return scalars


def pictures_of(results: Results, worst: int, attempt: Attempt) -> Iterator[Picture]:
    """Yield precision over recall, the parts of PLD, PLD over the distance and over frames, and the worst frames.

    Results without geometry and protocols without a cutoff have no pictures of frames.
    """
    from mapgauge.plot import histogram, parts, precision_recall, ranges

    names = ["results"]
    for metric, _ in hit_metrics(results.metrics):
        if results.mean[metric.main.key] is not None:
            about = f"precision over recall, {metric.title}"
            draw: Callable[[], Figure] = partial(precision_recall, results, metric=metric.name, names=names)
            yield Picture(f"precision_recall/{metric.name}", about, draw)
    if PLD.name in results.metrics and results.mean[PLD.main.key] is not None:
        if results.protocol.order == 1:
            yield Picture("parts", "the parts of PLD", partial(parts, results, names=names))
        if results.ranges:
            yield Picture("ranges", "PLD over the distance from the ego", partial(ranges, results, names=names))
        yield Picture("histogram", "PLD of the frames", partial(histogram, results, names=names))
    # The first metric with values of single frames ranks them, as in the report.
    first = next((metric for metric, _ in lists_of_frames(results.metrics)), None)
    can_be_drawn = results.geometry is not None and results.protocol.cutoffs
    if not (worst and can_be_drawn) or first is None or results.mean[first.main.key] is None:
        return
    key = first.main.key
    rows = list[dict[str, Any]]()
    title = title_of(key, protocol=results.protocol)
    with attempt("worst frames"):
        rows = [row for row in results.frames(sort=key) if row[key] is not None]
    for k, row in enumerate(rows[:worst], 1):
        token = row["token"]
        value = row[key]
        yield Picture(f"worst/{k}", f"{token}: {title} {value:.3f}", partial(_frame, results, token, {title: value}))


def _frame(results: Results, token: str, values: dict[str, float]) -> "Figure":
    from mapgauge.plot import frame

    return frame(results.assignment(token), values=values, title=token, region=results.protocol.region)


@contextmanager
def report_file(results: Results) -> Iterator[Path]:
    """Write the report to a temporary file, which is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mapgauge-report.html"
        write_report(results, path)
        yield path


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
    require("matplotlib", "logging to MLflow", "mlflow")
    mlflow: Any = require("mlflow", "logging to MLflow", "mlflow")
    if run_id is None:
        run = mlflow.active_run()
        if run is None:
            raise InvalidInput("there is no active run of MLflow", remedy="Call mlflow.start_run() first")
        run_id = run.info.run_id
    folder = "mapgauge" if step is None else f"mapgauge/step-{step}"

    def name_of(key: str) -> str:
        # The file store has a file for each metric and a folder for each slash. ``pld/mean`` and ``pld/mean/missed``
        # could not both be stored, so there is only one slash after the prefix.
        metric, _, rest = key.partition("/")
        return REFUSED.sub("_", f"{prefix}{metric}/{rest.replace('/', '.')}")

    with attempts(results, worst) as attempt:
        metrics = list(scalars_of(results, attempt, name_of).items())
        for start in range(0, len(metrics), METRICS_OF_A_REQUEST):
            with attempt(f"{metrics[start][0]} and others"):
                mlflow.log_metrics(dict(metrics[start : start + METRICS_OF_A_REQUEST]), step=step, run_id=run_id)
        for picture in pictures_of(results, worst, attempt):
            with attempt(picture.name):
                mlflow.MlflowClient().log_image(run_id, picture.image(), f"{folder}/{picture.name}.png")
        if report:
            with attempt("report"), report_file(results) as path:
                mlflow.MlflowClient().log_artifact(run_id, str(path), folder)


def log_tensorboard(
    results: Results, writer: Any, step: int | None = None, *, worst: int = 3, report: bool = True, prefix: str = ""
) -> None:
    """Log results to TensorBoard: scalars, curves, pictures of the worst frames, and the report.

    TensorBoard cannot show HTML. The report is written as ``mapgauge-report.html`` or ``mapgauge-report-STEP.html``
    into the folder of the writer, and its name is logged as text beside the table of the results.

    ``writer`` is a ``SummaryWriter`` of ``torch.utils.tensorboard`` or ``tensorboardX``. The other arguments are as in
    ``log_mlflow``.
    """
    require("matplotlib", "logging to TensorBoard", "tensorboard")
    lacking = [name for name in ("add_scalar", "add_image", "add_text") if not callable(getattr(writer, name, None))]
    if lacking:
        raise InvalidInput(
            f"writer: expected a SummaryWriter, got {type(writer).__name__} without {', '.join(lacking)}",
            remedy="Pass torch.utils.tensorboard.SummaryWriter(folder)",
        )
    folder = next((getattr(writer, name) for name in ("log_dir", "logdir") if getattr(writer, name, None)), None)
    if report and folder is None:
        raise InvalidInput("writer: it has no folder for the report", remedy="Pass report=False")
    with attempts(results, worst) as attempt:
        for name, value in scalars_of(results, attempt, prefix.__add__).items():
            with attempt(name):
                writer.add_scalar(name, value, step)
        for picture in pictures_of(results, worst, attempt):
            with attempt(picture.name):
                writer.add_image(prefix + picture.name, np.asarray(picture.image()), step, dataformats="HWC")
        note = ""
        if report and folder is not None:
            with attempt("report"):
                if step is None:
                    file = "mapgauge-report.html"
                else:
                    file = f"mapgauge-report-{step}.html"
                write_report(results, Path(folder) / file)
                note = f"\n\nThe report is {file}, in the folder of this run."
        with attempt("table"):
            table = indent(results.table(), "    ", lambda line: True)  # indented text is code in Markdown
            writer.add_text(f"{prefix}results", table + note, step)
            writer.flush()


def log_wandb(
    results: Results, run: Any = None, step: int | None = None, *, worst: int = 3, report: bool = True, prefix: str = ""
) -> None:
    """Log results to Weights & Biases: scalars, curves, pictures of the worst frames, and the report.

    Scalars and pictures are logged in one step. The report is an artifact of type ``report`` with the name
    ``mapgauge-report-`` and the id of the run. Every call adds a version. It needs ``pip install 'mapgauge[wandb]'``.

    Without ``run``, the run of ``wandb.init`` is used, and without ``step`` its next step. The other arguments are as
    in ``log_mlflow``.
    """
    require("matplotlib", "logging to Weights & Biases", "wandb")
    wandb = require("wandb", "logging to Weights & Biases", "wandb")
    run = wandb.run if run is None else run
    if run is None:
        raise InvalidInput("there is no run of Weights & Biases", remedy="Call wandb.init() first, or pass run=")
    with attempts(results, worst) as attempt:
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
