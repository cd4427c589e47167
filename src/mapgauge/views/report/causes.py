"""The causes in the report: a sentence, the metric, and the instances of each cause in the drawings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mapgauge.evaluation.evaluate import with_metrics
from mapgauge.frames.content import by_row
from mapgauge.frames.instances import is_box
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.causes import CAUSES, CAUSES_OF_PLD, family_of, label_of
from mapgauge.metrics.explaining import EXPLAINING
from mapgauge.metrics.groups import Block
from mapgauge.metrics.metric import Metric
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import family_colours, part_colours
from mapgauge.protocols import Protocol
from mapgauge.results.causes import causes, compare_causes
from mapgauge.results.instance_costs import check_settings, instances_of_block
from mapgauge.results.intervals import Difference
from mapgauge.results.results import Results
from mapgauge.scoring.data import by_class
from mapgauge.typing import Floats
from mapgauge.views.pictograms import PICTURES
from mapgauge.views.report.frames import all_numbers
from mapgauge.views.report.pack import Added, Arrays, Section


def has_causes(results: Results) -> bool:
    """Whether the causes of single instances can be computed: from the geometry, for PLD of order 1."""
    protocol = results.protocol
    return PLD.name in results.metrics and protocol.order == 1 and results.geometry is not None


def cause_columns(block: Block, protocol: Protocol) -> Arrays:
    """Return the costs of the instances of a block by cause, in the order of the drawings.

    An instance has few causes, so the columns have the causes that cost something, and how many each instance has.
    """
    instances = instances_of_block(block, protocol, check_settings(protocol))
    x, y = map(by_class, block.sides)
    sides = {"predictions": (x, instances.predicted), "truth": (y, instances.true)}
    return {
        f"{name}.{key}": column
        for name, (side, costs) in sides.items()
        for key, column in _columns(costs[drawn_order(side)]).items()
    }


def cause_numbers(methods: Sequence[Results]) -> Arrays:
    """Return the causes of all frames, by the names of the scripts. Empty if a method has none.

    The page gets them with the other columns if they were computed before.
    """
    if not all(map(has_causes, methods)):
        return {}
    arrays: Arrays = {}
    for k, method in enumerate(methods):
        known = replace(with_metrics(method, EXPLAINING), metrics=(CAUSES_OF_PLD.name,))
        numbers = all_numbers(known)
        for value in CAUSES_OF_PLD.with_role("part"):
            arrays[f"{k}.value.{value.key}"] = numbers[value.key]
    return arrays


def drawn_order(side: MapFrames) -> Any:
    """Return the instances frame by frame and class by class, without boxes in images."""
    order = by_row(side)
    return order[~is_box(side)[order]]


def _columns(costs: Floats) -> Arrays:
    instance, cause = np.nonzero(costs)
    return {
        "causes": np.bincount(instance, minlength=len(costs)).astype(np.uint8),
        "cause": cause.astype(np.uint8),
        "cost": costs[instance, cause].astype(np.float32),
    }


def described_causes() -> list[dict[str, Any]]:
    """Return what the page needs to know about causes: key of the column, name, colour, family and so on."""
    colours = part_colours(CAUSES_OF_PLD)
    return [
        {
            "key": value.key,
            "name": label_of(cause),
            "about": about,
            "colour": colours[value.key],
            "family": family_of(cause),
            "picture": PICTURES[cause],
        }
        for value, (cause, about) in zip(CAUSES_OF_PLD.with_role("part"), CAUSES.items(), strict=True)
    ]


class CausesSection(Section):
    """Bars of the causes, lists of frames by each cause, and the instances of a cause in the drawings."""

    order = 10
    about: Mapping[str, str] = dict(
        zip((value.key for value in CAUSES_OF_PLD.with_role("part")), CAUSES.values(), strict=True)
    )

    def prepared(self, methods: list[Results], wanted: bool | None) -> list[Results]:
        """Return the results with the metric ``causes``, and with ``completeness`` if it is wanted.

        If ``wanted`` is None, ``causes`` is computed if all results have PLD of order 1 and the geometry. What an
        evaluation has scored along is not computed again.
        """
        if wanted:
            return [with_metrics(method, EXPLAINING) for method in methods]
        if wanted is False or not all(map(has_causes, methods)):
            return methods
        for method in methods:
            # The answer needs both: they are scored together and kept with the data.
            with_metrics(method, EXPLAINING)
        return [with_metrics(method, [CAUSES_OF_PLD.name]) for method in methods]

    def columns(self, block: Block, results: Results, wanted: bool | None) -> Arrays:
        """Return the causes of the instances of a block."""
        if wanted is not False and has_causes(results):
            return cause_columns(block, results.protocol)
        return {}

    def added(self, methods: Sequence[Results], drawn: Sequence[int], wanted: bool | None) -> Added:
        """Return what the page needs to know about causes."""
        shown = drawn and wanted is not False and all(map(has_causes, methods))
        return Added(meta={"causes": described_causes() if shown else [], "families": family_colours()})

    def differences(self, first: Results, second: Results, **draws: Any) -> dict[str, dict[str, Difference]]:
        """Return the causes of the difference in PLD by class and label, the largest first."""
        if not all(CAUSES_OF_PLD.name in method.metrics and method.protocol.order == 1 for method in (first, second)):
            return {}
        changes = compare_causes(first, second, **draws)
        order = sorted(CAUSES, key=lambda cause: -abs(changes["mean"][cause].value))
        return {name: {label_of(cause): row[cause] for cause in order} for name, row in changes.items()}

    def sentence(self, results: Results, metric: Metric) -> str:
        """Return the largest causes in words."""
        if metric is not CAUSES_OF_PLD:
            return ""
        return causes(results).sentence()


SECTION = CausesSection()
