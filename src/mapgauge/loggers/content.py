"""What all loggers log: scalars, pictures of curves, pictures of the worst frames, and the report."""

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mapgauge.arguments import check_whole
from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import hit_metrics, title_of
from mapgauge.plot import frame, histogram, parts, precision_recall, ranges
from mapgauge.report import write_report
from mapgauge.results.flat import flat
from mapgauge.results.results import Results
from mapgauge.results.values import lists_of_frames

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESOLUTION = 150  # dots per inch


class Picture(NamedTuple):
    """A figure with the name under which it is logged."""

    name: str  # "parts", "precision_recall/ap_chamfer", "worst/1"
    caption: str
    figure: "Figure"


def check_arguments(results: Results, worst: int) -> None:
    """Refuse anything but results and a number of frames, before something is logged."""
    if not isinstance(results, Results):
        raise InvalidInput(f"results: expected Results from evaluate(), got {type(results).__name__}")
    check_whole("worst", worst, 0)


def scalars_of(results: Results, prefix: str) -> dict[str, float]:
    """Return all values by their keys, as ``mapgauge.results.flat`` names them, after the prefix."""
    return {f"{prefix}{key}": value for key, value in flat(results).items()}


def curves_of(results: Results) -> Iterator[Picture]:
    """Yield precision over recall, the parts of PLD, PLD over the distance from the ego, and PLD over frames."""
    if _is_empty(results):
        return
    for metric, _ in hit_metrics(results.metrics):
        figure = precision_recall(results, metric=metric.name, names=["results"])
        yield Picture(f"precision_recall/{metric.name}", f"precision over recall, {metric.title}", figure)
    if PLD.name in results.metrics:
        if results.protocol.order == 1:
            yield Picture("parts", "the parts of PLD", parts(results, names=["results"]))
        if results.ranges:
            yield Picture("ranges", "PLD over the distance from the ego", ranges(results, names=["results"]))
        yield Picture("histogram", "PLD of the frames", histogram(results, names=["results"]))


def worst_of(results: Results, count: int) -> Iterator[Picture]:
    """Yield pictures of the worst frames, the worst first. Results without geometry have none."""
    # The first metric with values of single frames ranks them, as in the report.
    metric = next((metric for metric, _ in lists_of_frames(results.metrics)), None)
    if not count or metric is None or results.data is None or _is_empty(results):
        return
    key, called = metric.main.key, title_of(metric.main.key, protocol=results.protocol)
    there = [row for row in results.frames(sort=key) if row[key] is not None]
    for k, row in enumerate(there[:count], 1):
        token = row["token"]
        figure = frame(
            results.assignment(token), values={called: row[key]}, title=token, region=results.protocol.region
        )
        yield Picture(f"worst/{k}", f"{token}: {called} {row[key]:.3f}", figure)


def _is_empty(results: Results) -> bool:
    return len(results.without_value) == len(results.class_names)


def image_of(figure: "Figure") -> Any:
    """Return a figure as a Pillow image. Pillow comes with matplotlib."""
    images = require("PIL.Image", "drawing figures", "plot")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=RESOLUTION)
    with images.open(buffer) as image:
        return image.convert("RGB")


@contextmanager
def report_file(results: Results) -> Iterator[Path]:
    """Write the report to a temporary file, which is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mapgauge-report.html"
        write_report(results, path)
        yield path
