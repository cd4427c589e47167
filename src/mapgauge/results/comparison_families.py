"""One count of tests, and one correction, over everything that is compared together: causes, and slices of frames."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mapgauge.results.comparison import Comparison, Differences
from mapgauge.results.families import Correction, Tested, correct_together, count_tests
from mapgauge.results.intervals import FEWEST, Difference
from mapgauge.results.slices import OVER


def with_causes(
    comparison: Comparison, by_cause: Differences, correction: Correction
) -> tuple[Comparison, Differences]:
    """Return a comparison and its differences by cause, with one count of tests and one correction over both."""
    if by_cause:
        over = "classes, values and causes"
    else:
        over = "classes and values"
    differences = comparison.differences
    family = Tested(count_tests(differences, by_cause), correction, comparison.level, over=over)
    if correction == "holm":
        differences, by_cause = correct_together(differences, by_cause, level=comparison.level)
    return replace(comparison, differences=differences, correction=correction, family=family), by_cause


def of_slices(compared: Mapping[str, Comparison], correction: Correction) -> dict[str, Comparison]:
    """Return the comparisons of slices, with one count of tests and one correction over all of them."""
    tables = {name: comparison.differences for name, comparison in compared.items()}
    level = next(iter(compared.values())).level
    family = Tested(count_tests(tables), correction, level, over=OVER)
    if correction == "holm":
        (tables,) = correct_together(tables, level=level)
    return {
        name: _without_few(replace(comparison, differences=tables[name], correction=correction, family=family))
        for name, comparison in compared.items()
    }


def _without_few(comparison: Comparison) -> Comparison:
    """Return the comparison of a slice without the intervals of too few scenes, as tables of slices have none."""

    def difference(of: Difference) -> Difference:
        if of.decided is not None:
            return of
        return of._replace(low=math.nan, high=math.nan, p=math.nan)

    differences = {
        pair: {name: {key: difference(of) for key, of in by_key.items()} for name, by_key in by_class.items()}
        for pair, by_class in comparison.differences.items()
    }
    estimates: Any = comparison.estimates
    if comparison.units < FEWEST:
        estimates = tuple(
            {
                name: {key: of._replace(low=math.nan, high=math.nan) for key, of in by_key.items()}
                for name, by_key in by_class.items()
            }
            for by_class in estimates
        )
    return replace(comparison, differences=differences, estimates=estimates)
