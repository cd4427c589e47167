"""What ``mapgauge compare`` prints beside a comparison: power, verdicts with a margin, ranks with ties, and seeds."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mapgauge.cli.emit import Line, Piece
from mapgauge.cli.output import Table, printable
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.results.comparison import Comparison
    from mapgauge.results.planning import Planned
    from mapgauge.results.runs import RunComparison


@dataclass(frozen=True)
class PlanView:
    """Plans of a comparison, as far as they were asked for."""

    comparison: "Comparison"
    power: float | None = None  # a difference that should be decided
    margin: float | None = None  # a loss that does not matter
    runs: "RunComparison | None" = None  # of methods with several seeds
    corrected: bool = False  # whether the verdicts of the tables have a correction

    def text(self, classes: Sequence[str]) -> Iterator[Piece]:
        """Return the tables that were asked for, ranks if there are several methods, and what seeds do."""
        for class_name in classes:
            for first, second in self.comparison.differences:
                if self.margin is not None:
                    yield self._margins(first, second, class_name, margin=self.margin)
                if self.power is not None:
                    yield self._power(first, second, class_name, named=self.power)
            if self._is_ranked():
                yield self._ranks(class_name)
            yield from self._seeds(class_name)
        if self.corrected and (self.margin is not None or self.power is not None):
            yield Line("Verdicts with a margin and plans are without the correction")

    def to_dict(self) -> dict[str, Any]:
        """Return the same for all classes."""
        document: dict[str, Any] = {}
        if self.margin is not None:
            document["margin"] = {"margin": self.margin, "verdicts": self._all_margins(self.margin)}
        if self.power is not None:
            document["power"] = {"difference": self.power, "plans": self._all_plans(self.power)}
        if self._is_ranked():
            document["ranks"] = self._all_ranks()
        if self.runs is not None:
            document["runs"] = dict(zip(self.runs.names, self.runs.runs, strict=True))
            document["seeds"] = self._all_seeds(self.runs)
        return document

    def _is_ranked(self) -> bool:
        from mapgauge.results.ranks import can_rank

        return can_rank(self.comparison)

    def _margins(self, first: str, second: str, class_name: str, margin: float) -> Table:
        from mapgauge.metrics.table import title_of
        from mapgauge.results.planning import margin_verdict
        from mapgauge.results.ranks import directed_keys

        changes = self.comparison.differences[first, second][class_name]
        rows = [
            [
                title_of(key, protocol=self.comparison.protocol),
                changes[key].numbers,
                margin_verdict(changes[key], margin, lower_is_better=lower),
            ]
            for key, lower in directed_keys(self.comparison, class_name)
            if key in changes
        ]
        title = f"{printable(second)} against {printable(first)}, {class_name}: a loss of {margin:g} does not matter"
        return Table(title=title, header=["", "difference", printable(second)], rows=rows)

    def _power(self, first: str, second: str, class_name: str, named: float) -> Table:
        from mapgauge.metrics.table import title_of
        from mapgauge.results.planning import POWER, plan
        from mapgauge.results.ranks import directed_keys

        planned = plan(self.runs or self.comparison, named)[first, second][class_name]
        rows = []
        for key, _ in directed_keys(self.comparison, class_name):
            if key not in planned:
                continue
            smallest = planned[key].smallest
            rows.append(
                [
                    title_of(key, protocol=self.comparison.protocol),
                    "-" if math.isnan(smallest) else f"{smallest:.4f}",
                    _scenes_in_words(planned[key]),
                ]
            )
        drawn = self.comparison.drawn
        today = counted(self.comparison.units, drawn)
        title = (
            f"{printable(second)} minus {printable(first)}, {class_name}: what is decided with a probability of "
            f"{POWER:.0%}"
        )
        return Table(title=title, header=["", f"smallest with {today}", f"{drawn}s for {named:g}"], rows=rows)

    def _ranks(self, class_name: str) -> Table:
        from mapgauge.metrics.table import heading
        from mapgauge.results.ranks import TIES, ranks, title_of_ranks

        key = self._ranked_key(class_name)
        rows = [
            ["-" if row.rank is None else str(row.rank), row.name, str(row.estimate), ", ".join(row.ties)]
            for row in ranks(self.comparison, key, class_name)
        ]
        header = ["rank", "name", heading(key, self.comparison.protocol), TIES]
        return Table(title=title_of_ranks(class_name), header=header, rows=rows, fixed=2)

    def _ranked_key(self, class_name: str) -> str:
        from mapgauge.results.ranks import directed_keys

        return next(key for key, _ in directed_keys(self.comparison, class_name))

    def _seeds(self, class_name: str) -> Iterator[Line]:
        """Yield what seeds do to the first value."""
        if self.runs is None:
            return
        from mapgauge.metrics.table import title_of

        for (first, second), by_class in self.runs.spreads.items():
            key = self._ranked_key(class_name)
            spread = by_class.get(class_name, {}).get(key)
            if spread is None:
                continue
            title = title_of(key, protocol=self.comparison.protocol)
            one = printable(first)
            other = printable(second)
            counts = dict(zip(self.runs.names, self.runs.runs, strict=True))
            yield Line(
                f"{other} against {one}, {class_name}: another seed moves {title} by {spread.seed[0]:.4f} ({one}, from "
                f"{counts[first]} runs) and {spread.seed[1]:.4f} ({other}, from {counts[second]}), as a standard "
                f"deviation. {spread}",
                gap=True,
            )

    def _all_margins(self, margin: float) -> list[dict[str, Any]]:
        from mapgauge.results.planning import margin_verdict
        from mapgauge.results.ranks import directed_keys

        found = []
        for (first, second), by_class in self.comparison.differences.items():
            classes = {
                name: {
                    key: margin_verdict(changes[key], margin, lower_is_better=lower)
                    for key, lower in directed_keys(self.comparison, name)
                    if key in changes
                }
                for name, changes in by_class.items()
            }
            found.append({"first": first, "second": second, "classes": classes})
        return found

    def _all_plans(self, named: float) -> list[dict[str, Any]]:
        from mapgauge.results.planning import plan
        from mapgauge.results.ranks import directed_keys

        found = []
        for (first, second), by_class in plan(self.runs or self.comparison, named).items():
            classes = {
                name: {
                    key: {"smallest": finite(by_key[key].smallest), "scenes": by_key[key].scenes}
                    for key, _ in directed_keys(self.comparison, name)
                    if key in by_key
                }
                for name, by_key in by_class.items()
            }
            found.append({"first": first, "second": second, "classes": classes})
        return found

    def _all_ranks(self) -> dict[str, Any]:
        from mapgauge.results.ranks import ranks

        found = {}
        for class_name in self.comparison.estimates[0]:
            key = self._ranked_key(class_name)
            rows = ranks(self.comparison, key, class_name)
            found[class_name] = [
                {"name": row.name, "rank": row.rank, "key": key, "value": finite(row.estimate.value), "ties": row.ties}
                for row in rows
            ]
        return found

    def _all_seeds(self, runs: "RunComparison") -> list[dict[str, Any]]:
        return [
            {
                "first": first,
                "second": second,
                "classes": {
                    name: {key: spread._asdict() for key, spread in by_key.items()} for name, by_key in by_class.items()
                },
            }
            for (first, second), by_class in runs.spreads.items()
        ]


def _scenes_in_words(planned: "Planned") -> str:
    """Return how many scenes are needed; a dash if it is not known."""
    if math.isnan(planned.smallest):
        return "-"
    if planned.scenes is None:
        return "no number is enough"
    return f"{planned.scenes:,}"


def finite(value: float) -> float | None:
    """Return a number, or None in the place of one that JSON does not have."""
    if math.isfinite(value):
        return value
    return None
