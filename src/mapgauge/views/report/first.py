"""The first screen of the report and of ``mapgauge view``: the answer, and the panels what, where and why.

Python makes the document of the answer, and what sections put into a panel. ``first.js`` draws the panels.
"""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from mapgauge.markup import Html, element, joined
from mapgauge.metrics.causes import CAUSES, CAUSES_OF_PLD, FAMILIES
from mapgauge.metrics.colours import family_colours
from mapgauge.metrics.table import METRICS, setting_of, title_of
from mapgauge.results.comparison import Comparison
from mapgauge.results.results import Results
from mapgauge.results.values import lists_of_frames
from mapgauge.typing import Progress
from mapgauge.views.report.explorer import filled, resource
from mapgauge.views.report.frames import is_first

if TYPE_CHECKING:
    from mapgauge.answers.answer import Answer
from mapgauge.views.report.sections import sections

DIGITS = 5  # of the values in the page


def panel_of_sections(
    panel: str, methods: Sequence[Results], names: Sequence[str], progress: Progress | None = None
) -> Html:
    """Return what the first section with data for a panel puts there. Empty if no section has any."""
    for section in sections():
        if section.panel != panel:
            continue
        body = section.in_panel(methods, names, progress)
        if body:
            return body
    return Html("")


def first_elements(answer: "Answer | None", where: Html, worries: Html) -> Html:
    """Return the elements of the first screen.

    Args:
        answer: Its sentences stand on top. None if it comes later.
        where: What stands in the panel *where*; empty for the ranges.
        worries: Findings that are errors.
    """
    if answer is None:
        sentences = element("p", "Computing the answer ...")
    else:
        sentences = joined(element("p", statement.text) for statement in answer.statements)
    return filled(resource("first.html"), answer=sentences, where=where, worries=worries)


def first_meta(
    methods: Sequence[Results],
    names: Sequence[str],
    comparison: Comparison | None = None,
    answer: "Answer | None" = None,
) -> dict[str, Any]:
    """Return what the panels show: values of all methods and classes, and differences with their intervals.

    The comparison and the answer may come later.
    """
    return {
        "answer": answer and answer.to_dict(),
        "mains": _mains(methods[0]),
        "intervals": {} if comparison is None else intervals(names, comparison),
        "files": [f"{name}.mg" for name in names],
        **values_and_families(methods),
    }


def values_and_families(methods: Sequence[Results]) -> dict[str, Any]:
    """Return the values of all methods and classes, and the families of causes, which are none if a method has none."""
    has_causes = all(CAUSES_OF_PLD.name in method.metrics for method in methods)
    return {"values": [_values(method) for method in methods], "groups": _families() if has_causes else []}


def _values(results: Results) -> dict[str, dict[str, float]]:
    """Return the main values and the parts of the metrics of frames, by class (or ``"mean"``) and key."""
    keys = [value.key for metric, _ in lists_of_frames(results.metrics) for value in metric.with_role("main", "part")]
    keys += [METRICS[name].main.key for name in results.metrics]
    rows = {"mean": results.mean, **results.classes}
    return {
        name: {key: round(value, DIGITS) for key in keys if (value := row.get(key)) is not None}
        for name, row in rows.items()
    }


def _mains(results: Results) -> list[dict[str, Any]]:
    """Return the metrics that stand on the first screen: key of the main value, title, and whether low is good."""
    return [
        {
            "key": metric.main.key,
            "title": title_of(metric.main.key, full=True) + setting_of(metric.main.key, results.protocol),
            "lower": metric.lower_is_better,
        }
        for metric in map(METRICS.__getitem__, results.metrics)
        if is_first(metric, results.metrics)
    ]


def intervals(names: Sequence[str], comparison: Comparison) -> dict[str, Any]:
    """Return all differences by the numbers of the methods, class and key.

    A difference is its value, the low and the high end of its interval, and whether it is decided; null if there are
    too few scenes to say.
    """
    place = {name: k for k, name in enumerate(names)}
    return {
        f"{place[first]}-{place[second]}": {
            name: {
                key: [*map(_finite, (found.value, found.low, found.high)), found.decided] for key, found in row.items()
            }
            for name, row in by_class.items()
        }
        for (first, second), by_class in comparison.differences.items()
    }


def _finite(value: float) -> float | None:
    if isfinite(value):
        return round(value, DIGITS)
    return None


def _families() -> list[dict[str, Any]]:
    """Return the families of causes: name, colour, and the keys of their causes."""
    colours = family_colours()
    keys = {cause: value.key for cause, value in zip(CAUSES, CAUSES_OF_PLD.with_role("part"), strict=True)}
    return [
        {"name": family, "colour": colours[family], "causes": [keys[cause] for cause in causes]}
        for family, causes in FAMILIES.items()
    ]
