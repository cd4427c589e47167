"""Sentences about one or several methods, with the numbers that they say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from mapgauge.answers.facts import MethodFacts, rings_in_words, worst_of
from mapgauge.answers.pairs import DifferenceFacts, PairFacts, lower_is_better
from mapgauge.metrics.completeness import lengths_in_words
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import title_of
from mapgauge.protocols import Protocol
from mapgauge.results.intervals import bracket
from mapgauge.results.statement import Statement

Rings: TypeAlias = Sequence[Mapping[str, float | None]]

# Families of causes as the subject of a difference.
_NOUNS = {
    "place": "misplaced lines",
    "missing": "missing lines",
    "extra": "extra lines",
    "confidence": "too low confidences",
    "class": "wrong classes",
}
_MOST_BY_DISTANCE = 3  # methods that are told by distance from the vehicle
_MOST_NAMED = 3  # rings around the vehicle that are named one by one
_NEGLIGIBLE = 0.0005  # differences below it would be 0.000
_SMALLEST = 0.005  # shares of PLD below it are not named: they would be 0 %


def percent(share: float) -> str:
    """Return a share in per cent, without digits that mean nothing. What is not all is not called 100 %.

    >>> percent(0.834), percent(0.001), percent(0.999), percent(1.0), percent(0.0)
    ('83 %', 'less than 1 %', 'more than 99 %', '100 %', '0 %')
    """
    if 0 < share < 0.005:
        return "less than 1 %"
    if 0.995 <= share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def about_method(facts: MethodFacts, protocol: Protocol) -> Iterator[Statement]:
    """Yield what is said about the only method."""
    if facts.refused is not None:
        yield refusal(facts)
        return
    if facts.value is None:
        yield Statement("value", "There is nothing to compare: no class has predictions or truth.")
        return
    if facts.pld is None or facts.measure != PLD.main.key:
        title = title_of(facts.measure, protocol=protocol)
        over = " (mean over classes)" if facts.classes else ""  # a metric that combines others has no classes
        text = f"{title} is {facts.value:.3f}{over}."
        yield Statement("value", text, {"key": facts.measure, "value": facts.value})
        yield from _worst(facts)
        return
    yield from _found(facts)
    yield from _by_distance([facts])
    yield from _extra(facts, protocol)
    yield from _causes(facts)
    yield from _worst(facts)


def refusal(facts: MethodFacts) -> Statement:
    """Return why nothing is said about a method."""
    reason = f"{facts.refused}".rstrip(".")
    return Statement("refused", f"Do not trust these numbers: {reason}.", {"reason": facts.refused})


def _found(facts: MethodFacts) -> Iterator[Statement]:
    if facts.found is None:
        return
    length = lengths_in_words(facts.found_length or 0.0, facts.true_length or 0.0)
    text = f"Finds {percent(facts.found)} of the map ({length})"
    if facts.beside is not None:
        text += f", {facts.beside:.2f} m beside it (median)"
    values = {"found": facts.found, "found_length": facts.found_length, "true_length": facts.true_length}
    yield Statement("found", f"{text}.", values | {"beside": facts.beside})


def _by_distance(methods: Sequence[MethodFacts]) -> Iterator[Statement]:
    """Yield how much is found near the vehicle and far from it, if there is truth in two rings or more.

    Nothing is said where all or nothing is found. Several methods are compared with the same truth, so they have the
    same rings.
    """
    told = [facts for facts in methods if facts.distances is not None]
    if not told or len(told) > _MOST_BY_DISTANCE:
        return
    rings = [ring for ring in told[0].distances or () if ring["found"] is not None]
    if len(rings) < 2:
        return
    values: dict[str, float | str | None] = {}
    found: dict[str, list[str]] = {}
    for facts in told:
        by_start = {ring["from"]: ring["found"] or 0.0 for ring in facts.distances or ()}
        found[facts.name] = [percent(by_start[ring["from"]]) for ring in rings]
        prefix = f"{facts.name} " if len(methods) > 1 else ""
        values |= {f"{prefix}found from {ring['from']:g} m": by_start[ring["from"]] for ring in rings}
    if set(values.values()) in ({0.0}, {1.0}):
        return
    if len(methods) == 1:
        text = _shares_by_distance(rings, found[told[0].name])
    else:
        text = _methods_by_distance(rings, found)
    yield Statement("distance", text, values)


def _shares_by_distance(rings: Rings, shares: Sequence[str]) -> str:
    """Return what the only method finds in each ring, as a sentence."""
    width = _width_of_many(rings)
    if width is not None:
        *inner, outer = shares
        return f"Finds {', '.join(inner)} in rings of {width:g} m from the vehicle, {outer} beyond."
    parts = [f"{share} {place}" for share, place in zip(shares, _places(rings), strict=True)]
    if len(parts) == 2:
        return f"Finds {_listed(parts)}."
    return f"Finds {', '.join(parts)}."


def _methods_by_distance(rings: Rings, found: Mapping[str, Sequence[str]]) -> str:
    """Return what each of some methods finds in each ring, as a sentence."""
    width = _width_of_many(rings)
    if width is not None:
        where = f"In rings of {width:g} m from the vehicle and beyond"
    else:
        where = _listed(_places(rings))
    verb = "finds "
    said = []
    for name, shares in found.items():
        said.append(f"{name} {verb}{_listed(shares)}")
        verb = ""  # said once
    return f"{where[:1].upper()}{where[1:]}, {'; '.join(said)}."


def _width_of_many(rings: Rings) -> float | None:
    """Return the width of rings that are too many to be named: all of one width, each where the one before ends.

    None if they are named one by one.
    """
    if len(rings) <= _MOST_NAMED or rings[0]["from"] != 0 or rings[-1]["to"] is not None:
        return None
    starts = [ring["from"] or 0.0 for ring in rings]
    width = starts[1]
    if starts != [width * k for k in range(len(rings))]:
        return None
    return width


def _places(rings: Rings) -> list[str]:
    """Return rings around the vehicle in words.

    >>> _places([{"from": 0.0, "to": 10.0}, {"from": 10.0, "to": 20.0}, {"from": 20.0, "to": None}])
    ['up to 10 m from the vehicle', 'from 10 to 20 m', 'beyond']
    >>> _places([{"from": 0.0, "to": 10.0}, {"from": 20.0, "to": None}])
    ['up to 10 m from the vehicle', 'beyond 20 m']
    """
    places = [_ring_in_words(ring) for ring in rings]
    places[0] += " from the vehicle"
    is_last_adjacent = rings[-1]["to"] is None and rings[-2]["to"] == rings[-1]["from"]
    if is_last_adjacent:
        places[-1] = "beyond"
    return places


def _ring_in_words(ring: Mapping[str, float | None]) -> str:
    """Return a ring around the vehicle in words; the last one has no end."""
    if ring["to"] is None:
        return f"beyond {ring['from']:g} m"
    if ring["from"] == 0:
        return f"up to {ring['to']:g} m"
    return f"from {ring['from']:g} to {ring['to']:g} m"


def _extra(facts: MethodFacts, protocol: Protocol) -> Iterator[Statement]:
    if facts.far is None or facts.repeated is None:
        if facts.found is not None and not facts.predicted_length:
            yield Statement(
                "extra", "Predicts no length with a confidence above 0.", {"predicted_length": facts.predicted_length}
            )
        return
    text = (
        f"Weighted by confidence, {percent(facts.far)} of its length is over {protocol.cutoffs[0]:g} m off, "
        f"{percent(facts.repeated)} is repeated."
    )
    values = {"far": facts.far, "other_class": facts.other_class, "repeated": facts.repeated, "pieces": facts.pieces}
    yield Statement("extra", text, values)


def _causes(facts: MethodFacts) -> Iterator[Statement]:
    if facts.families is None or facts.pld is None:
        return
    if facts.pld <= 0:
        yield Statement("causes", "PLD is 0: there is no error to explain.", {"pld": facts.pld})
        return
    shares = {family: part / facts.pld for family, part in facts.families.items()}
    order = sorted(shares, key=lambda family: -shares[family])
    first, *others = [family for family in order if shares[family] >= _SMALLEST][:2] or order[:1]
    named = {family: shares[family] for family in (first, *others)}
    # `mapgauge why` names single causes, whose shares are others.
    kind = "families" if others else "family"
    parts = [f"{family} {percent(share)}" for family, share in named.items()]
    text = f"Main {kind} of causes: {', '.join(parts)}"
    yield Statement("causes", f"{text}.", {"pld": facts.pld, **named})


def _worst(facts: MethodFacts) -> Iterator[Statement]:
    """Yield the worst class and the worst range, where there is one."""
    if facts.measure != PLD.main.key:
        return
    said = []
    values: dict[str, float | str | None] = {}
    by_class = {name: of_class["pld"] for name, of_class in facts.classes.items()}
    worst = worst_of(by_class)
    if worst is not None:
        said.append(f"Worst class: {worst}.")
        values |= {"class": worst, "class_pld": by_class[worst]}
    rings = {(ring["from"], ring["to"]): ring["pld"] for ring in facts.ranges or ()}
    ring = worst_of(rings)
    if ring is not None:
        said.append(f"Worst range: {rings_in_words(ring)}.")
        values |= {"from": ring[0], "to": ring[1], "range_pld": rings[ring]}
    if said:
        yield Statement("worst", " ".join(said), values)


def about_methods(
    methods: Sequence[MethodFacts], pairs: Sequence[PairFacts], order: Sequence[str], protocol: Protocol
) -> Iterator[Statement]:
    """Yield what is said about several methods, of which the ones that are not refused are in their ``order``."""
    if len(order) == 2:
        pair = next(pair for pair in pairs if {pair.first, pair.second} == set(order))
        yield from _of_two(pair, protocol)
    elif len(order) > 2:
        yield _of_many(methods, pairs, order, protocol=protocol)
    yield from _all_found(methods)
    if len(order) > 1:
        yield from _by_distance(methods)
    for facts in methods:
        if facts.refused is not None:
            said = refusal(facts)
            yield Statement("refused", f"{facts.name}: {_lowered(said.text)}", said.values, method=facts.name)
        elif len(order) == 1:
            yield from (named(said, facts.name) for said in about_method(facts, protocol))


def named(said: Statement, name: str) -> Statement:
    """Return a statement about one of several methods, which begins with its name."""
    return replace(said, text=f"{name}: {_lowered(said.text)}", method=name)


def _lowered(text: str) -> str:
    """Return text with a small letter at the beginning, unless the first word is an abbreviation."""
    if text[1:2].isupper():
        return text
    return text[:1].lower() + text[1:]


def _of_two(pair: PairFacts, protocol: Protocol) -> Iterator[Statement]:
    """Yield which of two methods is better."""
    title = title_of(pair.measure, protocol=protocol)
    values = _values(pair)
    if pair.verdict == "identical":
        text = f"{pair.first} and {pair.second} are identical: their predictions are the same."
        yield Statement("comparison", text, values, method=pair.second)
        return
    if pair.verdict == "cannot tell":
        text = f"Whether {pair.second} or {pair.first} is better cannot be told"
        yield Statement("comparison", f"{text}: {_undecided(pair, title)}.", values, method=pair.second)
        return
    if pair.gap is None:
        return
    if pair.verdict == "disagree":
        yield Statement("comparison", _disagreement(pair, title), values, method=pair.second)
        return
    text = f"{pair.second} is {pair.verdict} than {pair.first} by {_size(pair.gap)} {title} (over {_units(pair)})."
    why = _why(pair)
    if why:
        text += f" {why}"
    yield Statement("comparison", text, values, method=pair.second)


def _values(pair: PairFacts) -> dict[str, float | str | None]:
    """Return the numbers that a sentence about two methods rests on."""
    values: dict[str, float | str | None] = {"first": pair.first, "second": pair.second, "verdict": pair.verdict}
    values["key"] = pair.measure
    if pair.gap is not None:
        values |= {"value": pair.gap.value, "low": pair.gap.low, "high": pair.gap.high}
    family = family_of_difference(pair)
    if family is not None:
        values |= {"family": family, "family_difference": pair.families[family].value}
    return values


def _size(gap: DifferenceFacts) -> str:
    """Return the size of a difference with its interval, both without a sign if all are on one side of 0.

    >>> _size(DifferenceFacts(-0.0001, -0.0003, -0.00005))
    'less than 0.001'
    >>> _size(DifferenceFacts(-0.054, -0.062, -0.047)), _size(DifferenceFacts(-0.01, -0.03, 0.01))
    ('0.054 [0.047, 0.062]', '0.010 [-0.010, 0.030]')
    >>> _size(DifferenceFacts(0.054, None, None))
    '0.054'
    """
    if gap.value < 0:
        gap = gap.turned()
    if gap.value > 0 and max(gap.value, gap.high or 0.0, -(gap.low or 0.0)) < _NEGLIGIBLE:
        return "less than 0.001"  # all digits would be 0
    if gap.low is None or gap.high is None:
        return f"{gap.value:.3f}"
    return f"{gap.value:.3f} {bracket(gap.low, gap.high)}"


def _units(pair: PairFacts) -> str:
    """Return what the interval of a pair is over."""
    plural = "" if pair.units == 1 else "s"
    unknown = " of unknown scenes" if pair.drawn == "frame" else ""
    return f"{pair.units:,} {pair.drawn}{plural}{unknown}"


def _undecided(pair: PairFacts, title: str) -> str:
    """Return why it is not decided which method is better."""
    if pair.gap is None:
        return pair.why_not
    lower = pair.second if pair.gap.value < 0 else pair.first
    if pair.gap.value == 0:
        differ = f"{title} is the same"
    elif pair.why_not:  # an interval of too few scenes says nothing
        differ = f"{title} of {lower} is lower by {abs(pair.gap.value):.3f}"
    else:
        differ = f"{title} of {lower} is lower by {_size(pair.gap)}"
    if pair.why_not:
        return f"{pair.why_not}; {differ}"
    return f"{differ} (over {_units(pair)})"


def _disagreement(pair: PairFacts, title: str) -> str:
    """Return which method PLD and which one average precision finds better."""
    assert pair.gap is not None  # a difference without a value is not decided
    ahead, behind = (pair.second, pair.first) if pair.gap.value < 0 else (pair.first, pair.second)
    said = [f"{_listed([title, *(title_of(key) for key, _ in pair.against)])} disagree"]
    said.append(f"by {title}, {ahead} is better than {behind} by {_size(pair.gap)}")
    said += [f"by {title_of(key)}, {behind} is better by {_size(gap)}" for key, gap in pair.against]
    return f"{said[0]}: {'; '.join(said[1:])} (over {_units(pair)})."


def _listed(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def family_of_difference(pair: PairFacts) -> str | None:
    """Return the family of causes that makes most of a difference in PLD, in its direction; None if there is none."""
    if pair.pld is None or pair.pld.value == 0:
        return None
    sign = 1 if pair.pld.value > 0 else -1
    family = max(pair.families, key=lambda name: sign * pair.families[name].value, default=None)
    if family is None or sign * pair.families[family].value < _NEGLIGIBLE:
        return None
    return family


def _why(pair: PairFacts) -> str:
    """Return what most of a difference in PLD is due to, and in which class most of all; "" if it is not known."""
    family = family_of_difference(pair)
    if family is None or pair.pld is None:
        return ""
    sign = 1 if pair.pld.value > 0 else -1
    part = pair.families[family].value
    rest = pair.pld.value - part
    text = f"Largest part: {_NOUNS[family]} ({part:+.3f}"
    if sign * rest < -_NEGLIGIBLE:  # the part is larger than the difference
        text += f", others {rest:+.3f}"
    text += ")"
    of_classes = {name: sign * gaps[family].value for name, gaps in pair.families_of_classes.items() if family in gaps}
    worst = worst_of(dict(of_classes))
    if worst is not None and of_classes[worst] >= _NEGLIGIBLE:
        text += f", most in {worst} ({sign * of_classes[worst]:+.3f})"
    return f"{text}."


def _of_many(
    methods: Sequence[MethodFacts], pairs: Sequence[PairFacts], order: Sequence[str], protocol: Protocol
) -> Statement:
    """Return how the methods compare with the best of them."""
    of = {facts.name: facts for facts in methods}
    best = of[order[0]]
    title = title_of(best.measure, protocol=protocol)
    if best.value is None:
        return Statement("comparison", "There is nothing to compare: no method has a value.")
    extreme = "lowest" if lower_is_better(best.measure) else "highest"
    said = [f"{best.name} has the {extreme} {title}, {best.value:.3f} (over {_units(pairs[0])})."]
    values: dict[str, float | str | None] = {"best": best.name, "key": best.measure, "value": best.value}
    undecided: dict[str, list[str]] = {}  # the methods of which it cannot be told, by the reason
    for name in order[1:]:
        pair = _against_best(pairs, best.name, name)
        if pair is None:
            continue
        values[name] = None if pair.gap is None else pair.gap.value
        if pair.verdict == "cannot tell" and pair.why_not:
            undecided.setdefault(pair.why_not, []).append(_with_size(pair))
        else:
            said.append(_than_best(pair))
    for reason, names in undecided.items():
        said.append(f"Whether it is better than {_listed(names)} cannot be told: {reason}.")
    return Statement("comparison", " ".join(said), values, method=best.name)


def _against_best(pairs: Sequence[PairFacts], best: str, name: str) -> PairFacts | None:
    """Return the pair of a method and the best one, which is first."""
    for pair in pairs:
        if (pair.first, pair.second) == (best, name):
            return pair
        if (pair.second, pair.first) == (best, name):
            return pair.turned()
    return None


def _with_size(pair: PairFacts) -> str:
    """Return a method, and by how much its value differs from the best one."""
    if pair.gap is None:
        return pair.second
    return f"{pair.second} ({pair.gap.value:+.3f})"


def _than_best(pair: PairFacts) -> str:
    """Return how a method compares with the best one, which is the first of the pair, as a sentence."""
    if pair.verdict == "identical":
        return f"{pair.second} is identical to it."
    if pair.gap is None:
        return f"{pair.second} has no value."
    if pair.verdict == "disagree":
        others = _listed([title_of(key) for key, _ in pair.against])
        return f"{pair.second} is worse by {_size(pair.gap)}, but better by {others}."
    if pair.verdict == "cannot tell":
        return f"Whether {pair.second} is worse cannot be told: {_size(pair.gap)}."
    by_how_much = f"{pair.second} is {pair.verdict} by {_size(pair.gap)}"
    family = family_of_difference(pair)
    if family is None:
        return f"{by_how_much}."
    return f"{by_how_much}; the largest part is {_NOUNS[family]}."


def _all_found(methods: Sequence[MethodFacts]) -> Iterator[Statement]:
    """Yield how much each method finds, in one sentence."""
    told = [facts for facts in methods if facts.found is not None]
    if len(told) < 2:
        return
    said: list[str] = []
    values: dict[str, float | str | None] = {}
    for facts in told:
        share = percent(facts.found or 0.0)
        if said:
            text = f"{facts.name} {share}"
            beside = ""
        else:
            text = f"{facts.name} finds {share} of the map"
            beside = " beside it"  # said once
        if facts.beside is not None:
            text += f", {facts.beside:.2f} m{beside}"
        said.append(text)
        values[f"{facts.name} found"] = facts.found
        values[f"{facts.name} beside"] = facts.beside
    sentence = "; ".join(said)
    if any(facts.beside is not None for facts in told):
        sentence += " (medians)"
    yield Statement("found", f"{sentence}.", values)
