"""What a history says, in sentences: what got worse, in which night, and what else changed in that night."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING

from mapgauge.features.history.curves import HistoryEvent, around
from mapgauge.features.history.inputs import same_truth
from mapgauge.features.history.nights import moment_of
from mapgauge.features.history.scenes import on_scenes
from mapgauge.features.history.steps import FEWEST, HistoryChange
from mapgauge.markup import shortened
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.table import title_of
from mapgauge.results.drawn_values import MEAN
from mapgauge.results.intervals import FEWEST as FEWEST_SCENES
from mapgauge.results.intervals import bracket
from mapgauge.results.statement import Statement
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.features.history.history import History

MOST = 5  # groups of changes that get a sentence; the others are in the table
_MOST_NAMED = 4  # inputs, scenes or notes that a sentence lists
_GAP = timedelta(days=2)  # without a night, from which a sentence names the night before
_LONGEST = 60  # letters of a note
_MEAN = "the mean over classes"


def said(history: "History") -> Iterator[Statement]:
    """Yield the statements about a history, the most important first."""
    yield from _mixed(history)
    groups = _by_night(history.main_events)
    worse = [group for group in groups if any(event.worse for event in group)]
    others = [group for group in groups if group not in worse]
    chosen = _newest_and_largest(worse, MOST)
    for group in [*chosen, *_newest_and_largest(others, MOST - len(chosen))]:
        yield from _about_group(history, group)
    if not worse:
        yield _nothing_worse(history)
    if len(groups) > MOST:
        text = f"{counted(len(groups) - MOST, 'further change is', 'further changes are')} in the table."
        yield Statement("more", text, {"count": float(len(groups) - MOST)})
    yield _last(history)
    yield from _errors(history)


def _by_night(events: Sequence[HistoryEvent]) -> list[list[HistoryEvent]]:
    """Return the events of each night, kind and direction, in the order of nights."""
    found: dict[tuple[int, int, str, bool | None], list[HistoryEvent]] = {}
    for event in events:
        change = event.change
        found.setdefault((change.night, change.last, change.kind, event.worse), []).append(event)
    return [found[key] for key in sorted(found, key=lambda key: (key[0], bool(key[3])))]


def _newest_and_largest(groups: Sequence[list[HistoryEvent]], most: int) -> list[list[HistoryEvent]]:
    """Return the newest and the largest of some groups, at most so many, the newest first."""
    if not groups:
        return []
    newest = len(groups) - 1
    by_size = sorted(range(newest), key=lambda k: -max(abs(event.change.size) for event in groups[k]))
    kept = [newest, *by_size][:most]
    return [groups[k] for k in sorted(kept, reverse=True)]


def _about_group(history: "History", group: Sequence[HistoryEvent]) -> Iterator[Statement]:
    """Yield what is said about the changes of one night that have one direction: what it is, then the details."""
    first_key = next(metric.main.key for metric in history.metrics if any(e.key == metric.main.key for e in group))
    leading = [event for event in group if event.key == first_key]
    classes = sorted((e for e in leading if e.class_name != MEAN), key=lambda e: -abs(e.change.size))
    named = classes or leading
    event = named[0]
    details = [
        *_later(history, event),
        *_wrong(history, event),
        *_mean(history, leading, classes),
        *_other_metrics(history, group, first_key),
        *_parts(history, event),
        *_scenes(history, event),
        *_memory(history, event),
        *_inputs(history, event),
    ]
    values: dict[str, float | str | None] = {
        "class": event.class_name,
        "key": event.key,
        "kind": event.change.kind,
        "date": history.nights[event.change.night].date,
        "before": event.change.before,
        "after": event.change.after,
        "change": event.change.size,
    }
    if event.change.kind == "slow":
        values["until"] = history.nights[event.change.last].date
    about = {True: "worse", False: "better", None: "changed"}[event.worse]
    noted = {f"metadata:{key}": text for key, text in event.metadata.items()}
    yield Statement(about, _what(history, named), values | noted)
    if details:
        yield Statement("detail", " ".join(details), _numbers_of_scenes(event))


def _numbers_of_scenes(event: HistoryEvent) -> dict[str, float | str | None]:
    found = event.on_scenes
    if found is None:
        return {}
    numbers: dict[str, float | str | None] = {
        "difference": found.difference.value,
        "low": found.difference.low,
        "high": found.difference.high,
        "scenes": float(found.scenes),
    }
    return numbers | {f"group:{name}": value for name, value in found.groups.items()}


def _what(history: "History", named: Sequence[HistoryEvent]) -> str:
    """Return the sentence that names classes, sizes, the night and what was noted."""
    event = named[0]
    change = event.change
    direction = {True: "worse", False: "better", None: "different"}[event.worse]
    subject = f"{_name(event)} {_verb(change.kind, direction)} by {abs(change.size):.3f}"
    subject += "".join(f", {_name(other)} by {abs(other.change.size):.3f}" for other in named[1:])
    if event.class_name == MEAN:
        subject = f"T{subject[1:]}"  # the names of classes are not changed
    values = _title(history, event.key)
    if len(named) == 1:
        values += f" {change.before:.3f} to {change.after:.3f}"
    return f"{subject} {_when(history, change)} ({values}){_noted(history, event)}."


def _when(history: "History", change: HistoryChange) -> str:
    label = history.labels[change.night]
    if change.kind == "slow":
        return f"between {label} and {history.labels[change.last]}, without a step"
    if change.kind == "night":
        if change.last > change.night:
            return f"from {label} to {history.labels[change.last]} only"
        return f"on {label} only"
    before, after = (moment_of(night.date) for night in history.nights[change.night - 1 : change.night + 1])
    if after - before > _GAP:
        return f"on {label}, the first night since {history.labels[change.night - 1]}"
    return f"on {label}"


def _verb(kind: str, direction: str) -> str:
    if kind == "slow":
        return f"got slowly {direction}"
    if kind == "night":
        return f"was {direction}"
    return f"got {direction}"


def _name(event: HistoryEvent) -> str:
    return _MEAN if event.class_name == MEAN else event.class_name


def _title(history: "History", key: str) -> str:
    return title_of(ValueKey.parse(key), full=True, protocol=history.protocol)


def _noted(history: "History", event: HistoryEvent) -> str:
    """Return what was noted in a night and not in the night before, as ``, with commit 4f2a``."""
    if event.change.kind == "slow":
        return ""
    items = [f"{key} {shortened(value, _LONGEST)}" for key, value in event.metadata.items()]
    if not items:
        before, after = history.nights[event.change.night - 1 : event.change.night + 1]
        if after.metadata and after.metadata == before.metadata:
            return ", with the same metadata as the night before"
        return ""
    return f", with {listed(items)}"


def listed(items: Sequence[str], most: int = _MOST_NAMED) -> str:
    """Return the first items in a line, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e", "f"])
    ('a, b', 'a, b, c, d and 2 more')
    """
    text = ", ".join(items[:most])
    if len(items) > most:
        text += f" and {len(items) - most} more"
    return text


def _later(history: "History", event: HistoryEvent) -> Iterator[str]:
    """Yield the level of the last night, if the value changed again since."""
    if event.change.kind == "night":
        return
    curve = history.curve(event.class_name, event.key)
    if any(change.night > event.change.last and change.kind != "night" for change in curve.changes):
        yield f"It changed again later; the level of the last night is {curve.stretches[-1].last:.3f}."


def _wrong(history: "History", event: HistoryEvent) -> Iterator[str]:
    """Yield that the night of a change has errors among its findings."""
    if event.change.kind != "slow" and history.nights[event.change.night].pooled.has_errors:
        yield "There are errors among the findings of this night, so this need not be a change of the model."


def _mean(history: "History", leading: Sequence[HistoryEvent], classes: Sequence[HistoryEvent]) -> Iterator[str]:
    """Yield the change of the mean over classes, beside those of classes."""
    for event in leading:
        if event.class_name == MEAN and classes:
            yield f"The mean over classes changed from {event.change.before:.3f} to {event.change.after:.3f}."


def _other_metrics(history: "History", group: Sequence[HistoryEvent], first: str) -> Iterator[str]:
    """Yield the changes of other metrics in the same night and direction."""
    items = [
        f"{_title(history, event.key)} of {_name(event)} {event.change.before:.3f} to {event.change.after:.3f}"
        for event in group
        if event.key != first
    ]
    if items:
        yield f"Also {listed(items)}."


def _parts(history: "History", event: HistoryEvent) -> Iterator[str]:
    """Yield the part that changed most in the direction of the value."""
    metric = next(metric for metric in history.metrics if metric.main.key == event.key)
    changes_of_value = history.curve(event.class_name, event.key).changes
    before, after = around(event.change, changes_of_value, len(history.nights))
    changes = {}
    for value in metric.with_role("part"):
        curve = history.by_place.get((event.class_name, value.key))
        if curve is None:
            continue
        first = [number for number in curve.values[before] if number is not None]
        second = [number for number in curve.values[after] if number is not None]
        if first and second:
            changes[value.words] = sum(second) / len(second) - sum(first) / len(first)
    if not changes:
        return
    rises = event.change.size > 0
    words = max(changes, key=lambda name: changes[name] if rises else -changes[name])
    if changes[words] * event.change.size > 0:
        of = "" if event.class_name == MEAN else f" of {event.class_name}"
        yield f"Of the parts{of}, {words} {'rose' if rises else 'fell'} most ({changes[words]:+.3f})."


def _scenes(history: "History", event: HistoryEvent) -> Iterator[str]:
    """Yield the paired difference on shared scenes, and in which of them or in which groups the value changed."""
    found = event.on_scenes
    if found is None:
        return
    difference = found.difference
    rises = event.change.size > 0
    scenes = counted(found.scenes, "scene")
    if event.class_name != MEAN:
        scenes += f" with {event.class_name}"
    text = f"on the {scenes} that the nights share, the difference is {difference.value:+.3f}"
    if event.change.kind == "slow":
        text = f"Between its first and its last third, {text}"
    else:
        text = f"O{text[1:]}"
    if found.scenes >= FEWEST_SCENES:
        text += f" {bracket(difference.low, difference.high, '+.3f')}"
    if event.worse is not None:
        alike = found.rose if rises else found.fell  # scenes that changed in the direction of the value
        text += f"; {'worse' if event.worse else 'better'} in {alike} of them"
    yield f"{text}."
    if not difference.decided:
        yield (
            f"These {found.scenes} scenes alone do not decide whether others would change too. The change was found in "
            "the curve over nights, where it exceeds the noise from night to night."
        )
    if not found.groups:
        return
    by = history.by.replace("_", " ")
    items = ", ".join(f"{name} {value:+.3f}" for name, value in found.groups.items())
    if len(found.groups) > 1 and all(value > 0 if rises else value < 0 for value in found.groups.values()):
        yield f"This holds for each {by}: {items}."
    else:
        yield f"By {by}: {items}."


def _memory(history: "History", event: HistoryEvent) -> Iterator[str]:
    """Yield that the noise of the curve is not independent, so that changes may be found where there are none."""
    curve = history.curve(event.class_name, event.key)
    if not curve.noise_stays:
        return
    yield (
        "Deviations of successive nights from the levels that were found are more alike than those of independent "
        f"noise are (autocorrelation {curve.autocorrelation:.2f}, standard error {curve.autocorrelation_error:.2f}). "
        "If noise of one night stays in the next, changes are found too often, so this one may be false."
    )


def _inputs(history: "History", event: HistoryEvent) -> Iterator[str]:
    """Yield what changed in the inputs, or that the truth is the same."""
    change = event.change
    if change.kind == "slow":
        nights = history.nights[change.night : change.last + 1]
        when = "in this time"
        before = "at the beginning"
    else:
        nights = history.nights[change.night - 1 : change.night + 1]
        when = "in the same night"
        before = "in the night before"
    if event.inputs:
        changed = listed([one.text for one in event.inputs])
        yield f"The inputs changed {when} ({changed}), so this need not be a change of the model."
    elif all(same_truth(one, other) for one, other in pairwise(nights)):
        yield f"The truth is the same as {before}."


def _mixed(history: "History") -> Iterator[Statement]:
    """Yield that predictions of several names take turns, as those of several methods in one folder do."""
    names = [PurePath(night.pooled.predictions.name).name for night in history.nights]
    counts = {name: count for name, count in Counter(names).items() if name and count > 1}
    known = [name for name in names if name in counts]
    switches = sum(one != other for one, other in pairwise(known))
    # A file that got another name is one switch, and two if it gets its first name again.
    if len(counts) < 2 or switches < 2 * len(counts):
        return
    items = [f"{shortened(name, _LONGEST)} in {count}" for name, count in counts.items()]
    items[0] += " nights"
    yield Statement(
        "mixed",
        f"The nights have predictions of {len(counts)} names in turn: {listed(items)}. If these are methods, give the "
        "files of one of them, because methods in turn look like a model that changes.",
        {"names": float(len(counts))},
    )


def _nothing_worse(history: "History") -> Statement:
    """Return that nothing got worse, what would have been found, and where no steps were searched."""
    nights = len(history.nights)
    span = _span(history)
    if nights < FEWEST:
        text = f"{counted(nights, 'night is', 'nights are')} too few to look for steps: {FEWEST} are needed ({span})."
        return Statement("few", text, {"nights": float(nights)})
    searched = []
    short = []
    detectable: float | None = None
    for metric in history.metrics:
        title = _title(history, metric.main.key)
        curve = history.by_place.get((MEAN, metric.main.key))
        if curve is None:
            continue
        if curve.detectable is None:
            known = sum(value is not None for value in curve.values)
            short.append(
                f"{title} has values in {counted(known, 'night')}, too few to look for steps: {FEWEST} are needed."
            )
            continue
        searched.append(title)
        if detectable is None:
            detectable = curve.detectable
            jump = f"A jump of the mean {title} by more than {detectable:.3f} in the last night would have been found."
    values: dict[str, float | str | None] = {"nights": float(nights)}
    if not searched:
        text = " ".join(short) or f"None of the {nights} nights ({span}) has a value."
        return Statement("few", text, values)
    where = listed(searched) if short else "the main values"
    text = f"In {where} of {nights} nights ({span}), nothing was found that got worse by a step or slowly. {jump}"
    return Statement("steady", " ".join([text, *short]), values | {"detectable": detectable})


def _span(history: "History") -> str:
    first = history.labels[0]
    last = history.labels[-1]
    return first if first == last else f"{first} to {last}"


def _last(history: "History") -> Statement:
    """Return the value of the last night."""
    night = history.nights[-1]
    items = []
    lacking = []
    values: dict[str, float | str | None] = {"date": night.date}
    for metric in history.metrics:
        key = metric.main.key
        value = night.value(MEAN, key)
        if value is None:
            lacking.append(_title(history, key))
            continue
        bounds = night.interval(MEAN, key)
        items.append(f"{_title(history, key)} {value:.3f}" + (f" {bracket(*bounds)}" if bounds else ""))
        values[key] = value
    noted = ", ".join(f"{key} {shortened(text, _LONGEST)}" for key, text in list(night.metadata.items())[:_MOST_NAMED])
    with_notes = f", {noted}" if noted else ""
    text = f"Last night ({history.labels[-1]}{with_notes}), mean over classes: {'; '.join(items) or 'no value'}."
    if items and lacking:
        text += f" It has no {listed(lacking)}."
    return Statement("last", f"{text}{_since_the_night_before(history)}", values)


def _since_the_night_before(history: "History") -> str:
    """Return how much the mean of the first metric changed from the night before, on shared scenes; "" if not known."""
    if len(history.nights) < 2 or not history.metrics:
        return ""
    metric = history.metrics[0]
    found = on_scenes(history.nights[-2:-1], history.nights[-1:], MEAN, key=metric.main.key, groups={})
    if found is None:
        return ""
    title = _title(history, metric.main.key)
    start = f" On the {counted(found.scenes, 'scene')} that it shares with the night before,"
    if found.rose == found.fell == 0:
        return f"{start} {title} is the same."
    text = f"{start} the change of {title} is {found.difference}"
    if found.difference.decided:
        is_worse = (found.difference.value > 0) == metric.lower_is_better
        text += f", which is {'worse' if is_worse else 'better'}"
    return f"{text}."


def _errors(history: "History") -> Iterator[Statement]:
    wrong = [label for night, label in zip(history.nights, history.labels, strict=True) if night.pooled.has_errors]
    if wrong:
        yield Statement(
            "errors",
            f"Do not trust the values of {counted(len(wrong), 'night')} ({listed(wrong)}): there are errors among the "
            "findings.",
            {"nights": float(len(wrong))},
        )
