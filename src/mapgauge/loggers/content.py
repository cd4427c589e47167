"""What all loggers log: scalars, pictures of curves, pictures of the worst frames, and the report.

Wrong arguments are refused before anything is logged. What fails later becomes a warning.
"""

import io
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mapgauge.arguments import check_whole
from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import hit_metrics, title_of
from mapgauge.plot import frame, histogram, parts, precision_recall, ranges
from mapgauge.report import write_report
from mapgauge.results.flat import named_values
from mapgauge.results.results import Results
from mapgauge.results.values import lists_of_frames

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESOLUTION = 150  # dots per inch
MOST, LONGEST = 5, 200  # things that a warning names, and letters of the error of each

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
def attempts() -> Iterator[Attempt]:
    """Yield a function for the context in which one thing is logged.

    An exception in such a context ends it, and one warning at the end names all that was not logged: a picture or a
    server that fails must not end a training.
    """
    failed: list[str] = []

    @contextmanager
    def attempt(what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # of the drawing, of a disk or of any client of a logger
            failed.append(f"{what} ({type(error).__name__}: {' '.join(str(error).split())[:LONGEST]})")

    yield attempt
    if failed:
        more = f" and {len(failed) - MOST} more" if len(failed) > MOST else ""
        warnings.warn(f"mapgauge did not log {', '.join(failed[:MOST])}{more}", RuntimeWarning, stacklevel=4)


def check_arguments(results: Results, worst: int) -> None:
    """Refuse anything but results and a number of frames, before something is logged."""
    if not isinstance(results, Results):
        raise InvalidInput(f"results: expected Results from evaluate(), got {type(results).__name__}")
    check_whole("worst", worst, 0)


def scalars_of(results: Results, attempt: Attempt, name_of: Callable[[str], str]) -> dict[str, float]:
    """Return all values by the names that a logger has for the keys of ``mapgauge.results.flat``."""
    found: dict[str, float] = {}
    for key, value, class_name in named_values(results):
        name = name_of(key)
        with attempt(key):
            if name in found:
                raise InvalidInput(f"two values have the name {name!r}", remedy=f"Rename the class {class_name!r}")
            found[name] = value
    return found


def pictures_of(results: Results, worst: int, attempt: Attempt) -> Iterator[Picture]:
    """Yield precision over recall, the parts of PLD, PLD over the distance and over frames, and the worst frames.

    Results without geometry and protocols without a cutoff have no pictures of frames.
    """
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
    if not worst or first is None or results.mean[first.main.key] is None:
        return
    if results.data is None or not results.protocol.cutoffs:
        return
    key, there = first.main.key, list[dict[str, Any]]()
    called = title_of(key, protocol=results.protocol)
    with attempt("worst frames"):
        there = [row for row in results.frames(sort=key) if row[key] is not None]
    for k, row in enumerate(there[:worst], 1):
        draw = partial(_frame, results, row["token"], {called: row[key]})
        yield Picture(f"worst/{k}", f"{row['token']}: {called} {row[key]:.3f}", draw)


def _frame(results: Results, token: str, values: dict[str, float]) -> "Figure":
    return frame(results.assignment(token), values=values, title=token, region=results.protocol.region)


@contextmanager
def report_file(results: Results) -> Iterator[Path]:
    """Write the report to a temporary file, which is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mapgauge-report.html"
        write_report(results, path)
        yield path
