"""``answer``: what results say, in a few sentences with their figures."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from mapgauge.answers.facts import MethodFacts, explained, facts_of, measure_of
from mapgauge.answers.pairs import MANY, PairFacts, pairs_of, ranked
from mapgauge.answers.sentences import about_method, about_methods, named
from mapgauge.arguments import check_workers
from mapgauge.errors import InvalidInput
from mapgauge.hooks import sentences
from mapgauge.markup import block, element
from mapgauge.metrics.causes import CAUSES_OF_PLD
from mapgauge.metrics.metric import CombinedRows, Metric
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import hit_metrics, value_named
from mapgauge.results.comparison import Comparison, check_comparable, compare, method_names
from mapgauge.results.results import Results, check_results, totals_of
from mapgauge.results.statement import Statement


@dataclass(frozen=True)
class Answer:
    """What results say. The statements in their order are the answer; methods and pairs have the figures."""

    methods: tuple[MethodFacts, ...]
    pairs: tuple[PairFacts, ...]
    statements: tuple[Statement, ...]
    comparison: Comparison | None = field(default=None, compare=False)  # of all methods, if it was made for the answer

    def __str__(self) -> str:
        """The statements, one on a line."""
        return "\n".join(statement.text for statement in self.statements)

    def __repr__(self) -> str:
        """Return the names of the methods in one line."""
        return f"<Answer about {', '.join(facts.name for facts in self.methods)}>"

    def _repr_html_(self) -> str:
        return block(*(element("div", statement.text) for statement in self.statements))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values."""
        return {
            "methods": [facts.to_dict() for facts in self.methods],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "statements": [statement.to_dict() for statement in self.statements],
        }

    def about(self, name: str) -> "Answer":
        """Return the part of the answer that is about one method: its facts, its pairs and what is said of it."""
        return Answer(
            methods=tuple(facts for facts in self.methods if facts.name == name),
            pairs=tuple(pair for pair in self.pairs if name in (pair.first, pair.second)),
            statements=tuple(said for said in self.statements if said.method in ("", name)),
        )


class Told(NamedTuple):
    """One method with its facts, which may be kept after its geometry was released."""

    name: str
    results: Results  # with the metrics that explain PLD, if they were scored in every frame
    facts: MethodFacts
    added: tuple[Statement, ...]  # what features say


def answer(
    results: Results | Sequence[Results], *, names: Sequence[str] | None = None, workers: int | None = None
) -> Answer:
    """Say in a few sentences what results mean: how much is found, why PLD is what it is, and which method is better.

    Metrics that explain PLD (``completeness``, ``causes``) are computed if they were not, from the geometry. Without
    it, nothing is said about them.

    Args:
        results: Results of one method, or of several methods on the same frames with the same protocol and metrics.
        names: Names of the methods. If None, the names of their files.
        workers: Number of threads. If None, the number of processors.

    Returns:
        Facts about each method and each two methods, and statements. Nothing is said about a method whose findings
        have an error, except the error.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({f"t{i}": {"divider": [[[0, i], [9, i]]]} for i in range(8)})
    >>> settings = mg.protocol("paper-60x30", classes=["divider"])
    >>> print(mg.answer(mg.evaluate(truth.with_confidence(0.9), truth, settings)))
    Finds 100 % of the map (72 of 72 m), 0.00 m beside it (median).
    Weighted by confidence, 0 % of its length is over 1.5 m off, 0 % is repeated.
    Main family of causes: confidence 100 %...
    """
    if isinstance(results, Results):
        methods = [results]
    elif isinstance(results, Sequence) and results:
        methods = list(results)
    else:
        raise InvalidInput("results must be results, or a list of them")
    for method in methods:
        check_results(method)
    called = method_names(methods, names)
    check_comparable(methods, called, metrics=False)
    return tell(methods, called, check_workers(workers))


def tell(
    methods: Sequence[Results], names: Sequence[str], workers: int | None, comparison: Comparison | None = None
) -> Answer:
    """Return the answer about methods that can be compared. A comparison of them saves drawing samples again."""
    told = [explain(method, name, workers) for name, method in zip(names, methods, strict=True)]
    return combined(told, comparison)


def explain(results: Results, name: str, workers: int | None = None) -> Told:
    """Return what is said about one method."""
    facts = facts_of(results, name)
    if facts.refused is not None:
        return Told(name, results, facts, added=())
    more = explained(results, workers)
    facts = facts_of(more, name)
    said = (sentence(more, workers) for sentence in sentences())
    # A streamed evaluation keeps only the sums of metrics that explain PLD. Comparisons need a value of every frame.
    has_rows = more.geometry is not None or not set(more.metrics) & set(more.extra)
    compared = more if has_rows else results
    return Told(name, compared, facts, added=tuple(statement for statement in said if statement is not None))


def combined(methods: Sequence[Told], comparison: Comparison | None = None) -> Answer:
    """Return the answer about methods that were explained one by one. The comparison is as in ``tell``."""
    protocol = methods[0].results.protocol
    facts = tuple(method.facts for method in methods)
    if len(methods) == 1:
        said = [*about_method(facts[0], protocol), *methods[0].added]
        return Answer(facts, (), tuple(said))
    trusted = [method for method in methods if method.facts.refused is None]
    compared = _alike([method.results for method in trusted])
    if comparison is None and 1 < len(compared) < MANY:
        comparison = compare(compared, names=[method.name for method in trusted])
    pairs = pairs_of([method.facts for method in trusted], compared, comparison)
    order = ranked([method.name for method in trusted], [method.results for method in trusted]) if trusted else []
    said = [
        *about_methods(facts, pairs, order, protocol=protocol),
        *(named(statement, method.name) for method in methods for statement in method.added),
    ]
    return Answer(facts, tuple(pairs), tuple(said), comparison=comparison)


def _alike(methods: Sequence[Results]) -> list[Results]:
    """Return results with the metrics that comparisons need, if all of them have these metrics."""
    if not methods:
        return []
    first = methods[0].metrics
    measure = value_named(measure_of(methods[0]))
    compared = {PLD.name, CAUSES_OF_PLD.name, *(metric.name for metric, _ in hit_metrics(first))}
    if measure is not None:
        compared |= _parts_of(measure[0])
    shared = tuple(name for name in first if name in compared and all(name in method.metrics for method in methods))
    return [_with_only(method, shared) for method in methods]


def _parts_of(metric: Metric) -> set[str]:
    """Return the names of a metric and of those that it combines."""
    if isinstance(metric.rows, CombinedRows):
        return {metric.name, *metric.rows.of}
    return {metric.name}


def _with_only(results: Results, metrics: tuple[str, ...]) -> Results:
    """Return results with some of their metrics."""
    if results.metrics == metrics:
        return results
    totals = totals_of(results.rows, metrics, results.protocol)
    return replace(results, metrics=metrics, totals_from=totals, geometry=None)
