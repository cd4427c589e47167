"""Draws the causes of PLD."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from mapgauge.evaluation.evaluate import with_metrics
from mapgauge.metrics.causes import CAUSES_OF_PLD
from mapgauge.results.results import Results
from mapgauge.views.figures.curves import stacked
from mapgauge.views.figures.style import GivenAxes, Style, several, styled


@styled
def causes(
    results: Results | Sequence[Results],
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw the causes of PLD as stacked bars, for each class and the mean.

    Args:
        results: Results with the metric ``causes`` or with their data; one for each method.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into; None makes a new figure.
    """
    methods = {name: with_metrics(method, [CAUSES_OF_PLD.name]) for name, method in several(results, names).items()}
    return stacked(methods, CAUSES_OF_PLD, title, ax=ax)


def needs_data(results: Sequence[Results], options: Mapping[str, object]) -> bool:
    """Whether some results lack the causes, so that their data are needed to compute them."""
    return any(CAUSES_OF_PLD.name not in method.metrics for method in results)
