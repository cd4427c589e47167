"""How many differences are tested, and Holm's correction over all of them, in whatever tables they stand."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from mapgauge.errors import InvalidInput
from mapgauge.metrics.table import METRICS, value_named
from mapgauge.results.intervals import LEVEL, Difference

Correction: TypeAlias = Literal["none", "holm"]
Path: TypeAlias = tuple[Any, ...]  # the keys that lead to a difference
CORRECTIONS = ("none", "holm")
_SAME = 1e-9  # differences and p-values that are this near are computed twice from the same sums


@dataclass(frozen=True)
class Tested:
    """The number of differences that have a verdict, and how the verdicts are corrected for it."""

    count: int
    correction: Correction
    level: float
    over: str = "classes and values"

    def __str__(self) -> str:
        """In words; empty if nothing was tested."""
        if not self.count:
            return ""
        if self.correction == "holm":
            how = "The verdicts have Holm's correction for this number; the intervals are not corrected"
        else:
            how = f"If all were equal, about {self.count * (1 - self.level):.1f} would be decided by chance"
        if self.count == 1:
            tested = "1 difference"
        else:
            tested = f"{self.count} differences"
        return f"{tested} tested, over all {self.over}. {how}"


class TestedDifferences:
    """What tables of differences share: how many differences are tested, and with which correction."""

    over: ClassVar[str] = "classes and values"  # what is tested
    correction: Correction
    level: float
    family: Tested | None  # all differences that are tested together, if there are others than those of the table

    @property
    def _all_differences(self) -> Mapping[Any, Any]:
        """The differences of the table."""
        raise NotImplementedError

    @property
    def tested(self) -> int:
        """Number of differences that have a verdict, over everything in the table.

        If others were corrected together with them, they count too.
        """
        return self._tests.count

    @property
    def tests(self) -> str:
        """How many differences were tested and with which correction, in words; empty if none was tested."""
        return str(self._tests)

    @property
    def _tests(self) -> Tested:
        if self.family is not None:
            return self.family
        return Tested(count_tests(self._all_differences), self.correction, self.level, over=self.over)


def check_correction(correction: str) -> None:
    """Refuse an unknown correction."""
    if correction not in CORRECTIONS:
        raise InvalidInput(f"correction must be 'none' or 'holm', got {correction!r}")


def repeated(key: str) -> str | None:
    """Return the key of the main value that a key has again; None if there is none."""
    metric, value = value_named(key) or (None, None)
    if metric is None or value is not metric.main or not metric.repeats:
        return None
    return METRICS[metric.repeats].main.key


def count_tests(*tables: Mapping[Any, Any]) -> int:
    """Return how many different differences of some tables have a verdict."""
    p_values, _ = _tests_of(tables)
    return len(p_values)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method. NaN stays, and does not count.

    The smallest of m p-values is multiplied by m, the next one by m - 1, and so on; none becomes smaller than the one
    before it (S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
    1979).

    >>> [round(value, 6) for value in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    corrected = [math.nan] * len(p)
    order = sorted((k for k in range(len(p)) if not math.isnan(p[k])), key=lambda k: p[k])
    largest = 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min((len(order) - rank) * p[k], 1.0))
        corrected[k] = largest
    return corrected


def correct_together(*tables: Mapping[Any, Any], level: float = LEVEL) -> tuple[Any, ...]:
    """Correct p-values and verdicts for the number of differences in several tables, by Holm's method.

    The probability that any difference of equal methods is decided is then at most ``1 - level``, over all tables.
    A difference that stands in two tables counts once: the same keys lead to the same numbers.

    Args:
        tables: ``Comparison.differences``, ``Slices.differences`` or what ``compare_causes`` returns, uncorrected; or
            mappings of these by name, to any depth.
        level: The level with which the tables were computed.

    Returns:
        A tuple of the same tables with corrected p-values and verdicts. The intervals stay.

    >>> import mapgauge as mg
    >>> one = {"mean": {"pld": mg.Difference(-0.02, -0.03, -0.01, True, 0.03)}}
    >>> other = {"mean": {"missed": mg.Difference(-0.01, -0.02, 0.0, True, 0.04)}}
    >>> [table["mean"] for table in mg.correct_together(one, other)][0]["pld"].p
    0.06
    """
    p_values, test_at = _tests_of(tables)
    corrected = holm(p_values)

    def changed(number: int, node: Any, path: Path) -> Any:
        if not isinstance(node, Difference):
            return {key: changed(number, below, (*path, key)) for key, below in node.items()}
        test = test_at.get((number, path))
        if test is None:
            return node
        return node._replace(p=corrected[test], decided=corrected[test] < 1 - level)

    return tuple(changed(number, table, ()) for number, table in enumerate(tables))


def _tests_of(tables: Sequence[Mapping[Any, Any]]) -> tuple[list[float], dict[tuple[int, Path], int]]:
    """Return the p-value of each test, and by table and path which test a difference is."""
    p_values: list[float] = []
    test_at: dict[tuple[int, Path], int] = {}
    seen: dict[Path, list[tuple[Difference, int]]] = {}  # the tests that some path leads to
    again: list[tuple[int, Path, Path]] = []  # differences that a table has under two keys
    for number, table in enumerate(tables):
        for path, first_path, difference in _each(table, ()):
            if difference.decided is None:
                continue
            if first_path != path:
                again.append((number, path, first_path))
                continue
            of_path = seen.setdefault(path, [])
            test = next((test for other, test in of_path if _same(difference, other)), None)
            if test is None:
                test = len(p_values)
                p_values.append(difference.p)
                of_path.append((difference, test))
            test_at[number, path] = test
    for number, path, first_path in again:
        test_at[number, path] = test_at[number, first_path]
    return p_values, test_at


def _each(node: Mapping[Any, Any], path: Path) -> Iterator[tuple[Path, Path, Difference]]:
    """Yield the differences of a table, with the path of each, and the path of the one that it repeats or its own.

    The difference of PLD is one, also if PLD is split by cause.
    """
    for key, below in node.items():
        own = (*path, key)
        if not isinstance(below, Difference):
            yield from _each(below, own)
            continue
        if isinstance(key, str):
            main = repeated(key)
        else:
            main = None
        repeats = main in node and node[main].decided is not None
        yield own, (*path, main) if repeats else own, below


def _same(one: Difference, other: Difference) -> bool:
    near = abs(one.value - other.value) <= _SAME
    return near and math.isclose(one.p, other.p, rel_tol=1e-6, abs_tol=_SAME)
