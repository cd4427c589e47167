"""The gate of ``mapgauge compare --fail-if``: conditions under which a pipeline is to stop.

A condition is ``KEY > LIMIT`` or ``KEY < LIMIT``. Keys are those of ``mapgauge.flat``, and the mean if no class is
named: ``pld``, ``pld/divider``, ``pld/mean/missed``, ``ap_chamfer/divider/0.5``. A limit with a sign is a difference
from the first file, one without is a value. ``and told apart`` asks that the interval of the difference leaves out 0.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from mapgauge.cli.options import refuse
from mapgauge.cli.output import warn
from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from mapgauge.results.comparison import Comparison, Difference
    from mapgauge.results.results import Results

FAILED = 3  # the exit status of a gate that fails: neither an error of the input nor one of usage
OPTION = "--fail-if"

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_CONDITION = re.compile(rf"(?P<key>[^<>]+?)\s*(?P<sign>[<>])\s*(?P<limit>{_NUMBER})(?P<apart>\s+and\s+told\s+apart)?")


@dataclass(frozen=True)
class Condition:
    """One condition, as it was written and what it means."""

    text: str
    key: str  # of mapgauge.flat
    above: bool  # whether values above the limit fail
    limit: float
    relative: bool  # whether the limit is a difference from the first file
    told_apart: bool  # whether only a difference whose interval leaves out 0 fails


@dataclass(frozen=True)
class Verdict:
    """What a condition says of one file."""

    condition: Condition
    name: str
    value: float
    baseline: float | None  # of the first file; None if there is no other
    difference: "Difference | None"  # with its interval, where there is one
    fails: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "condition": self.condition.text,
            "name": self.name,
            "key": self.condition.key,
            "value": self.value,
            "baseline": self.baseline,
            "told_apart": None if self.difference is None else self.difference.told_apart,
            "fails": self.fails,
        }


def parse(text: str) -> Condition:
    """A condition; what is none is an error of usage.

    >>> parse("pld > +0.005")
    Condition(text='pld > +0.005', key='pld/mean', above=True, limit=0.005, relative=True, told_apart=False)
    """
    from mapgauge.metrics.table import METRICS

    found = _CONDITION.fullmatch(text.strip())
    if not found:
        refuse(
            OPTION,
            f'must be KEY > LIMIT or KEY < LIMIT, such as "pld > +0.005" or "ap_chamfer < 0.6", got {text!r}',
        )
    metric, *rest = found["key"].strip().split("/")
    if metric not in METRICS:
        refuse(OPTION, f"{text!r}: no metric {metric!r}. Known: {', '.join(METRICS)}")
    above, relative, apart = found["sign"] == ">", found["limit"][0] in "+-", found["apart"] is not None
    row = METRICS[metric]
    part = any(word == value.part for word in rest[1:] for value in row.values)  # less of a part is not always better
    if not part and above != row.lower_is_better:
        better, other = ("lower", ">") if row.lower_is_better else ("higher", "<")
        refuse(OPTION, f"{text!r} would fail on what is good: {better} {metric} is better. Write {metric} {other} ...")
    if apart and not relative:
        refuse(OPTION, f"{text!r}: only a difference can be told apart. Give the limit a sign, such as +0.005")
    return Condition(
        text.strip(), "/".join([metric, *(rest or ["mean"])]), above, float(found["limit"]), relative, apart
    )


def conditions_of(texts: Sequence[str] | None, files: int) -> list[Condition]:
    """All conditions of a command that compares so many files."""
    conditions = [parse(text) for text in texts or ()]
    for condition in conditions:
        if condition.relative and files < 2:
            refuse(OPTION, f"{condition.text!r} is a difference from the first file, and there is no second one")
    return conditions


def judge(conditions: Sequence[Condition], comparison: "Comparison", methods: Sequence["Results"]) -> list[Verdict]:
    """What the conditions say of each file but the first; of the first if it is alone."""
    from mapgauge.results.flat import flat

    values = [flat(method) for method in methods]
    first = 1 if len(methods) > 1 else 0
    verdicts = []
    for condition in conditions:
        for k in range(first, len(methods)):
            for i in (0, k):
                if condition.key not in values[i]:
                    near = ", ".join(get_close_matches(condition.key, values[i], 4, 0.0))
                    raise InvalidInput(f"{comparison.names[i]}: no value {condition.key}. The nearest are: {near}")
            verdicts.append(_verdict(condition, comparison, k, values[k][condition.key], values[0][condition.key]))
    return verdicts


def _verdict(condition: Condition, comparison: "Comparison", k: int, value: float, baseline: float) -> Verdict:
    difference = _differences(comparison, k).get(condition.key) if k else None
    if condition.told_apart and difference is None:
        raise InvalidInput(f"{condition.key} has no interval. Leave out 'and told apart' from {condition.text!r}")
    measured = value - baseline if condition.relative else value
    fails = measured > condition.limit if condition.above else measured < condition.limit
    if condition.told_apart and difference is not None:
        fails = fails and difference.told_apart
    return Verdict(condition, comparison.names[k], value, baseline if k else None, difference, fails)


def _differences(comparison: "Comparison", k: int) -> dict[str, "Difference"]:
    """The differences of a method from the first, by their flat keys."""
    from mapgauge.metrics.table import flat_key

    found = comparison.differences[comparison.names[0], comparison.names[k]]
    return {flat_key(key, name): value for name, values in found.items() for key, value in values.items()}


def report(verdicts: Sequence[Verdict], baseline: str) -> bool:
    """Say on stderr which conditions fail, one line each, or that none does; whether the gate holds."""
    failed = [verdict for verdict in verdicts if verdict.fails]
    for verdict in failed:
        warn(f"gate: {_reason(verdict, baseline)}")
    if not failed:
        checked = dict.fromkeys(verdict.condition.text for verdict in verdicts)
        warn(f"gate passed: no condition was met ({'; '.join(checked)})")
    return not failed


def _reason(verdict: Verdict, baseline: str) -> str:
    """Why a condition fails, with its numbers."""
    condition = verdict.condition
    text = f"{verdict.name}: {condition.key} is {verdict.value:.4f}"
    if verdict.baseline is not None:
        change = verdict.value - verdict.baseline
        text += f", {change:+.4f} from {verdict.baseline:.4f} of {baseline}"
        if verdict.difference is not None:
            text += f" [{verdict.difference.low:+.4f}, {verdict.difference.high:+.4f}]"
    return f"{text}; fails if {condition.text}"
