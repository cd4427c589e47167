"""The gate of ``mapgauge compare --fail-if``: conditions under which a pipeline stops.

A condition is ``KEY > LIMIT``, ``KEY < LIMIT`` or ``KEY not within MARGIN``. Keys are as in ``results.flat``:
``pld/divider``, ``pld/mean/missed``, ``ap_chamfer/divider/0.5``. A key without a class means the mean: ``pld``. A limit
with a sign is a difference from the first file; a limit without a sign is a value. ``and decided`` requires that the
difference is decided: with five scenes or more, and a confidence interval of the difference that does not contain 0.

``not within MARGIN`` fails unless the interval of the difference shows that the loss is at most the margin (see
``planning.margin_verdict``). So it also fails if too few scenes cannot tell.

If the findings of a file say that its numbers are wrong, no condition can be checked.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from mapgauge.errors import InvalidInput
from mapgauge.metrics.settings import no_such
from mapgauge.metrics.table import METRICS, flat_key
from mapgauge.results.comparison import Comparison
from mapgauge.results.flat import flat
from mapgauge.results.intervals import Difference, bracket
from mapgauge.results.planning import MarginVerdict, margin_verdict
from mapgauge.results.results import Results

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DECIDED = r"\s+and\s+decided"
_WITHIN = re.compile(rf"(?P<key>[^<>]+?)\s+not\s+within\s+(?P<margin>{_NUMBER})")
_CONDITION = re.compile(rf"(?P<key>[^<>]+?)\s*(?P<sign>[<>])\s*(?P<limit>{_NUMBER})(?P<apart>{_DECIDED})?")


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One condition: its text and its meaning."""

    text: str
    key: str  # as in ``results.flat``
    above: bool  # whether a value above the limit fails
    limit: float
    relative: bool  # whether the limit is a difference from the first file
    decided: bool  # whether the difference must be decided
    margin: float | None = None  # the loss that does not matter, of a condition "not within"
    has_margin: bool = True  # whether a margin of its key means something: not of a part


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The result of a condition for one file."""

    condition: Condition
    name: str
    value: float
    baseline: float | None  # value of the first file; None if it is the only one
    difference: Difference | None  # with its interval; None if it has no interval
    fails: bool
    shown: MarginVerdict | None = None  # of a condition "not within"

    @property
    def undecided(self) -> bool:
        """Whether the condition cannot fail, because there are too few scenes to decide."""
        return self.condition.decided and self.difference is not None and self.difference.decided is None

    @property
    def passes_undecided(self) -> bool:
        """Whether the value is beyond the limit, and the condition passes because the difference is not decided."""
        if not self.condition.decided or self.fails or self.difference is None or self.baseline is None:
            return False
        return self.difference.decided is False and _beyond(self.condition, self.value - self.baseline)

    @property
    def passes_untold(self) -> str:
        """Why a difference beyond the limit is not excluded, although the condition passes; "" if it is excluded.

        The measured difference is within the limit then, but its interval is not.
        """
        if self.fails or not self.condition.relative or self.shown is not None or self.difference is None:
            return ""
        if self.undecided or self.passes_undecided:
            return ""  # which are told in other words
        if self.difference.decided is None:
            return "there are too few scenes to tell"
        if self.condition.above:
            end = self.difference.high
        else:
            end = self.difference.low
        if not _beyond(self.condition, end):
            return ""
        return f"its interval {bracket(self.difference.low, self.difference.high, '+.4f')} reaches beyond the limit"

    @property
    def caveat(self) -> str:
        """Why a pass does not exclude what the condition is about; "" if it does, or if the condition fails."""
        if self.fails:
            return ""
        if self.undecided:
            return "there are too few scenes to decide"
        if self.passes_undecided:
            return "the difference cannot be decided"
        return self.passes_untold

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values for JSON."""
        document = {
            "condition": self.condition.text,
            "name": self.name,
            "key": self.condition.key,
            "value": self.value,
            "baseline": self.baseline,
            "decided": None if self.difference is None else self.difference.decided,
            "fails": self.fails,
            "caveat": self.caveat or None,
        }
        if self.shown is not None:
            document["verdict"] = self.shown
        return document


def parse(text: str) -> Condition:
    """Parse a condition.

    >>> condition = parse("pld > +0.005")
    >>> condition.key, condition.above, condition.limit, condition.relative
    ('pld/mean', True, 0.005, True)
    """
    within = _WITHIN.fullmatch(text.strip())
    if within:
        return _parse_within(text.strip(), within["key"], float(within["margin"]))
    parsed = _CONDITION.fullmatch(text.strip())
    if not parsed:
        raise InvalidInput(
            f'must be KEY > LIMIT, KEY < LIMIT or KEY not within MARGIN, such as "pld > +0.005", "ap_chamfer < 0.6" or '
            f'"pld not within 0.005", got {text!r}',
        )
    metric, rest = _split(text, parsed["key"])
    above = parsed["sign"] == ">"
    relative = parsed["limit"][0] in "+-"
    apart = parsed["apart"] is not None
    row = METRICS[metric]
    part = any(word == value.part for word in rest[1:] for value in row.values)  # a smaller part is not always better
    if not part and above != row.lower_is_better:
        if row.lower_is_better:
            better = "lower"
            other = ">"
        else:
            better = "higher"
            other = "<"
        raise InvalidInput(f"{text!r} fails for good results: {better} {metric} is better. Write {metric} {other} ...")
    if apart and not relative:
        raise InvalidInput(f"{text!r}: only a difference can be decided. Give the limit a sign, such as +0.005")
    return Condition(
        text=text.strip(),
        key="/".join([metric, *(rest or ["mean"])]),
        above=above,
        limit=float(parsed["limit"]),
        relative=relative,
        decided=apart,
        has_margin=not part,
    )


def _split(text: str, key: str) -> tuple[str, list[str]]:
    """Return the metric of a key, and the words after it."""
    metric, *rest = key.strip().split("/")
    if metric not in METRICS:
        raise no_such(f"{text!r}: unknown metric", metric, list(METRICS))
    return metric, rest


def _parse_within(text: str, key: str, margin: float) -> Condition:
    """Return a condition that the loss is not shown to be at most a margin.

    >>> parse("pld not within 0.005").margin
    0.005
    """
    metric, rest = _split(text, key)
    if margin <= 0:
        raise InvalidInput(f"{text!r}: the margin must be above 0, such as 0.005, got {margin:g}")
    row = METRICS[metric]
    if any(word == value.part for word in rest[1:] for value in row.values):
        raise InvalidInput(f"{text!r}: a smaller part is not always better, so it has no margin. Name the metric alone")
    return Condition(
        text=text,
        key="/".join([metric, *(rest or ["mean"])]),
        above=row.lower_is_better,
        limit=margin,
        relative=True,
        decided=False,
        margin=margin,
    )


def conditions_of(texts: Sequence[str] | None, files: int) -> list[Condition]:
    """Parse all conditions of a command that compares ``files`` files."""
    conditions = [parse(text) for text in texts or ()]
    for condition in conditions:
        if condition.relative and files < 2:
            raise InvalidInput(f"{condition.text!r} is a difference from the first file, but there is only one file")
    return conditions


def judge(conditions: Sequence[Condition], comparison: Comparison, methods: Sequence[Results]) -> list[Verdict]:
    """Check the conditions for each file but the first, or for the first if it is the only one."""
    values = [flat(method) for method in methods]
    first = 0
    if len(methods) > 1:
        first = 1
    verdicts = []
    for condition in conditions:
        for k in range(first, len(methods)):
            for i in (0, k):
                if condition.key not in values[i]:
                    near = ", ".join(get_close_matches(condition.key, values[i], 4, 0.0))
                    raise InvalidInput(f"{comparison.names[i]}: {condition.key} not found; similar keys: {near}")
            verdicts.append(
                _verdict(condition, comparison, k, value=values[k][condition.key], baseline=values[0][condition.key])
            )
    return verdicts


def _verdict(condition: Condition, comparison: Comparison, k: int, value: float, baseline: float) -> Verdict:
    if k:
        by_class = comparison.differences[comparison.names[0], comparison.names[k]]
    else:
        by_class = {}
    differences = {flat_key(key, name): value for name, values in by_class.items() for key, value in values.items()}
    difference = differences.get(condition.key)
    if difference is None and (condition.decided or condition.margin is not None):
        if condition.decided:
            remedy = "Remove 'and decided' from the condition"
        else:
            remedy = f"Compare the values: {condition.key} {'>' if condition.above else '<'} LIMIT"
        raise InvalidInput(f"{condition.text!r}: {condition.key} has no confidence interval", remedy=remedy)
    shown = None
    if condition.margin is not None and difference is not None:
        shown = margin_verdict(difference, condition.margin, lower_is_better=condition.above)
        fails = shown in ("worse", "cannot tell")
    elif condition.relative:
        fails = _beyond(condition, value - baseline)
    else:
        fails = _beyond(condition, value)
    if condition.decided and difference is not None:
        fails = fails and difference.decided is True
    return Verdict(
        condition=condition,
        name=comparison.names[k],
        value=value,
        baseline=baseline if k else None,
        difference=difference,
        fails=fails,
        shown=shown,
    )


def _beyond(condition: Condition, measured: float) -> bool:
    """Whether a value, or a difference from the first file, is beyond the limit of a condition."""
    if condition.above:
        return measured > condition.limit
    return measured < condition.limit


def reason(verdict: Verdict, baseline: str) -> str:
    """Return why a condition fails, with its numbers."""
    condition = verdict.condition
    text = f"{verdict.name}: {condition.key} is {verdict.value:.4f}"
    if verdict.baseline is not None:
        change = verdict.value - verdict.baseline
        text += f", {change:+.4f} from {verdict.baseline:.4f} of {baseline}"
        if verdict.difference is not None:
            text += f" {bracket(verdict.difference.low, verdict.difference.high, '+.4f')}"
    if verdict.shown == "cannot tell":
        return f"{text}; it cannot be told whether the loss is at most {condition.margin:g}; fails if {condition.text}"
    return f"{text}; fails if {condition.text}"
