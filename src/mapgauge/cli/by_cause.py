"""The differences between methods by cause, which ``compare`` and ``why`` print."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from mapgauge.cli.emit import Line, Piece
from mapgauge.cli.output import Table, printable
from mapgauge.markup import number

if TYPE_CHECKING:
    from mapgauge.results.causes import Lengths
    from mapgauge.results.comparison import Differences
    from mapgauge.results.results import Results


@dataclass(frozen=True, slots=True)
class ByCause:
    """The differences of all pairs of methods by class and cause, and lengths of each method by class."""

    differences: "Differences"
    lengths: "Mapping[str, Mapping[str, Lengths]]"

    def to_dict(self) -> dict[str, Any]:
        """Return the lengths of each method and class as plain values."""
        return {
            called: {class_name: lengths._asdict() for class_name, lengths in by_class.items()}
            for called, by_class in self.lengths.items()
        }

    def text(self, first: str, second: str, class_name: str) -> Iterator[Piece]:
        """Return the difference in PLD between two methods by cause, the largest first. ``"pld"`` is the sum."""
        names = printable(first), printable(second)
        both = [by_class[class_name] for name in (first, second) if class_name in (by_class := self.lengths[name])]
        yield self._table(first, second, class_name)
        if not both:
            yield Line("Evaluate with the metric completeness to see costs per km of truth, offsets and completeness")
            return
        yield Line(
            "All parts of PLD are divided by the same number, which grows with every cost. So a part can fall although "
            "its cost is the same. Costs per km of truth do not have this effect (a missed line = 0.5)"
        )
        if class_name == "mean":  # the answer of ``evaluate`` has the same values over all classes together
            means = " (means over classes)"
        else:
            means = ""
        for name, lengths in zip(names, both, strict=True):
            yield Line(f"{name}: {_in_words(lengths)}{means}")

    def _table(self, first: str, second: str, class_name: str) -> Table:
        from mapgauge.metrics.causes import label_of
        from mapgauge.results.comparison import verdict_of

        names = printable(first), printable(second)
        changes = self.differences[first, second][class_name]
        both = [by_class[class_name] for name in (first, second) if class_name in (by_class := self.lengths[name])]
        rows = []
        for key in sorted((key for key in changes if key != "pld"), key=lambda key: -abs(changes[key].value)):
            if changes[key].value == 0:
                continue
            verdict = verdict_of(changes[key], f"due_to_{key}", *names)
            costs = [number(of.per_km[key]) for of in both]
            rows.append([label_of(key), changes[key].numbers, verdict, *costs])
        sums = [number(sum(of.per_km.values())) for of in both]
        rows.append(["PLD", changes["pld"].numbers, verdict_of(changes["pld"], "pld", *names), *sums])
        if both:
            per_km = [f"{name} per km" for name in names]
        else:
            per_km = []
        title = f"{names[1]} minus {names[0]}, {printable(class_name)}: causes of the difference in PLD"
        return Table(title=title, header=["cause", "difference", "", *per_km], rows=rows)


def _in_words(lengths: "Lengths") -> str:
    """Return how far off a method is, and how much it finds."""
    offset, completeness, _ = lengths
    words = []
    if not isnan(offset):
        words.append(f"matched points lie {offset:.2f} m beside the true line (median)")
    if not isnan(completeness):
        words.append(f"{100 * completeness:.0f} % of the true length found")
    return ", ".join(words) or "nothing to compare"


def differences_by_cause(
    names: Sequence[str], methods: Sequence["Results"], pairs: Iterable[tuple[str, str]], **settings: Any
) -> ByCause:
    """Return the differences of pairs of methods by class and cause; none if the causes were not evaluated."""
    from mapgauge.metrics.causes import CAUSES_OF_PLD
    from mapgauge.results.causes import compare_causes, lengths_of

    if CAUSES_OF_PLD.name not in methods[0].metrics:
        return ByCause({}, {})
    of = dict(zip(names, methods, strict=True))
    differences = {pair: compare_causes(of[pair[0]], of[pair[1]], **settings) for pair in pairs}
    return ByCause(differences, {name: lengths_of(method) for name, method in of.items()})
