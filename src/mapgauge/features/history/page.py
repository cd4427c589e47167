"""The page of a history: one file with the answer, the curves and the tables. ``history.js`` draws the curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mapgauge.features.history.curves import HistoryCurve, HistoryEvent, direction_of
from mapgauge.features.history.nights import Night, day_in_words, moment_of, skipped_by_reason
from mapgauge.features.history.sentences import listed
from mapgauge.features.history.steps import FEWEST
from mapgauge.markup import Html, colours_of, element, joined, number, shortened
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.table import title_of, value_named
from mapgauge.protocols import full_name
from mapgauge.results.drawn_values import MEAN
from mapgauge.results.statement import Statement
from mapgauge.views.report.explorer import STYLES, filled, meta_text, resource
from mapgauge.views.report.page import policy_of
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.features.history.history import History

_PACKAGE = "mapgauge.features.history"
_DIGITS = 5  # of the values in the page
_LONGEST = 80  # letters of a note in a table
_MOST_INPUTS = 1  # in a row of the table of changes; the section on inputs has all of them
_KINDS = {"step": "step", "night": "one night", "slow": "slow"}
_DETAILS = ("detail", "last", "more", "errors")  # statements that are printed small


def page(history: "History", title: str) -> Html:
    """Return the page. It needs neither network nor server, and its policy allows only its own script."""
    script = joined(["", resource("failure.js"), resource("history.js", _PACKAGE)], "\n")
    keys = _keys(history)
    first = history.labels[0]
    last = history.labels[-1]
    count = len(history.nights)
    span = first if first == last else f"{first} to {last}"
    return filled(
        resource("history.html", _PACKAGE),
        title=title,
        policy=policy_of(script),
        style=joined([*(resource(f"{name}.css") for name in STYLES), resource("history.css", _PACKAGE)]),
        subtitle=f"{counted(count, 'night')}, {span}, protocol {full_name(history.protocol)}",
        answer=joined(map(_sentence, history.statements)),
        values=joined(element("option", _title(history, key), value=str(k)) for k, key in enumerate(keys)),
        last=str(count - 1),
        about=_about(history),
        switch=_switch(history),
        changes=_changes(history, keys),
        same=_same_inputs(history),
        inputs=_inputs(history),
        nights=_nights(history),
        left=_left_out(history),
        meta=meta_text(_meta(history, keys)),
        script=script,
    )


def _sentence(statement: Statement) -> Html:
    kind = statement.about
    if kind in ("worse", "better"):
        kind = f"what {kind}"
    elif kind not in _DETAILS:
        kind = "what"
    return element("p", statement.text, class_=kind)


def _about(history: "History") -> str:
    if len(history.nights) < FEWEST:
        return f"With fewer than {FEWEST} nights, no steps are searched."
    return (
        "Thick lines are the levels that were found. A step must exceed the noise from night to night. The interval of "
        "a night is wider: it says how much other scenes would change the value, and nights share their scenes. Dotted "
        "lines are nights with other inputs."
    )


def _switch(history: "History") -> Html:
    if history.only_worse:
        return element("p", "Only what got worse is listed.")
    box = element("input", type="checkbox", id="only-worse")
    return element("form", element("label", box, " Only what got worse"))


def _title(history: "History", key: str) -> str:
    return title_of(ValueKey.parse(key), full=True, protocol=history.protocol)


def _keys(history: "History") -> list[str]:
    """Return the keys of all values, in the order of tables, the main ones first."""
    keys = list(dict.fromkeys(curve.key for curve in history.curves))
    mains = [metric.main.key for metric in history.metrics if metric.main.key in keys]
    return [*mains, *(key for key in keys if key not in mains)]


def _class_title(name: str) -> str:
    return "mean over classes" if name == MEAN else name


def _table(header: Sequence[str], rows: Sequence[Html], label: str, numbers: range) -> Html:
    """Return a table that can be scrolled with the keyboard. Columns of numbers are aligned to the right."""
    cells = [element("th", name, scope="col", class_=None if k in numbers else "text") for k, name in enumerate(header)]
    head = element("tr", cells)
    table = element("table", element("thead", head), element("tbody", rows), aria_label=label)
    return element("div", table, class_="wide", tabindex="0", role="region", aria_label=label)


def _text(text: str) -> Html:
    return element("td", text, class_="text")


def _changes(history: "History", keys: Sequence[str]) -> Html:
    """Return the table of changes, the newest first. Parts are in the curves only."""
    shown = [event for event in history.events if _is_listed(event.key)]
    if not shown:
        return element("p", "There is no step and no slow change.")
    place = {key: k for k, key in enumerate(keys)}
    order = {name: k for k, name in enumerate([*history.class_names, MEAN])}
    shown.sort(key=lambda event: (-event.change.night, place[event.key], order[event.class_name]))
    rows = [_change(history, event, str(place[event.key])) for event in shown]
    header = ["night", "class", "value", "kind", "before", "after", "change", "shared scenes", "metadata", "inputs"]
    return _table(header, rows, "Changes", numbers=range(4, 8))


def _is_listed(key: str) -> bool:
    found = value_named(ValueKey.parse(key).name)
    return found is not None and found[1].role in ("main", "headline")


def _change(history: "History", event: HistoryEvent, value: str) -> Html:
    change = event.change
    night = history.labels[change.night]
    if change.last > change.night:
        night += f" to {history.labels[change.last]}"
    name = _class_title(event.class_name)
    title = _title(history, event.key)
    label = f"Show {title} of {name} on {night}"
    button = element("button", night, type="button", data_value=value, data_night=str(change.night), aria_label=label)
    scenes = "" if event.on_scenes is None else str(event.on_scenes.difference)
    noted = ", ".join(f"{key} {shortened(text, _LONGEST)}" for key, text in event.metadata.items())
    cells = [
        element("th", button, scope="row"),
        _text(name),
        _text(title),
        _text(_KINDS[change.kind]),
        element("td", number(change.before)),
        element("td", number(change.after)),
        element("td", f"{change.size:+.3f}", class_="change"),
        element("td", scenes),
        _text(noted),
        element("td", listed([one.text for one in event.inputs], _MOST_INPUTS) or "the same", class_="text inputs"),
    ]
    state = {True: "is-worse", False: "is-better", None: None}[event.worse]
    return element("tr", cells, class_=state)


def _same_inputs(history: "History") -> Html:
    """Return a sentence that names the inputs with one value, which have no curve; "" if there are none."""
    same = [f"{one.title} {one.said}" for one in _input_curves(history) if not one.varies]
    if not same:
        return Html("")
    where = "In this night" if len(history.nights) == 1 else "The same in all nights that have them"
    return element("p", f"{where}: {'; '.join(same)}.")


def _inputs(history: "History") -> Html:
    if not history.inputs:
        return element(
            "p", "No night has other frames, or another number, length or content of the truth, as far as files say."
        )
    rows = [
        element(
            "tr",
            element("th", history.labels[change.night], scope="row"),
            _text(change.class_name or "all"),
            _text(change.text),
        )
        for change in reversed(history.inputs)
    ]
    return _table(["night", "class", "what changed"], rows, "Changes of the inputs", numbers=range(0))


def _nights(history: "History") -> Html:
    """Return a row for each night, the newest first."""
    noted = list(dict.fromkeys(key for night in history.nights for key in night.metadata))
    mains = [metric.main.key for metric in history.metrics]
    header = ["night", *(_title(history, key) for key in mains), "frames", "without truth", "file", *noted]
    rows = []
    for label, night in reversed(list(zip(history.labels, history.nights, strict=True))):
        share = night.share_without_truth
        cells = [
            element("th", label, scope="row"),
            *(element("td", _with_interval(night, key)) for key in mains),
            element("td", f"{night.pooled.frames.get('evaluated', 0):,}"),
            element("td", "-" if share is None else f"{100 * share:.1f} %"),
            _text(shortened(night.name, _LONGEST)),
            *(_text(shortened(night.metadata.get(key, ""), _LONGEST)) for key in noted),
        ]
        rows.append(element("tr", cells))
    return _table(header, rows, "Values of all nights", numbers=range(1, 3 + len(mains)))


def _with_interval(night: Night, key: str) -> str:
    bounds = night.interval(MEAN, key)
    value = number(night.value(MEAN, key))
    if bounds is None:
        return value
    return f"{value} [{bounds[0]:.3f}, {bounds[1]:.3f}]"


def _left_out(history: "History") -> Html:
    """Return the files that are not in the history, with the reason."""
    items = [
        element("li", f"{listed([file.name for file in files])}: {reason}")
        for reason, files in skipped_by_reason(history.skipped).items()
    ]
    items += [element("li", remark) for remark in history.remarks]
    if not items:
        return Html("")
    return joined([element("h3", "Left out, and remarks"), element("ul", items)])


def _meta(history: "History", keys: Sequence[str]) -> dict[str, Any]:
    """Return what the script draws."""
    changed = {event.class_name for event in history.main_events}
    names = [MEAN, *sorted(history.class_names, key=lambda name: name not in changed)]
    colours = colours_of(history.class_names)
    curves: dict[str, dict[str, Any]] = {}
    for curve in history.curves:
        curves.setdefault(curve.class_name, {})[curve.key] = _curve(curve, history.events)
    return {
        "labels": history.labels,
        "days": [day_in_words(night.date, year=False) for night in history.nights],
        "times": [round(moment_of(night.date).timestamp()) for night in history.nights],
        "notes": [
            ", ".join(f"{key} {shortened(text, _LONGEST)}" for key, text in night.metadata.items())
            for night in history.nights
        ],
        "values": [{"key": key, "title": _title(history, key), "lower": direction_of(key)} for key in keys],
        "classes": [
            {"name": name, "title": _class_title(name), "colour": colours.get(name, "")}
            for name in names
            if name in curves
        ],
        "curves": curves,
        "inputs": [curve.to_dict() for curve in _input_curves(history) if curve.varies],
        "inputNights": sorted({change.night for change in history.inputs}),
    }


def _curve(curve: HistoryCurve, events: Sequence[HistoryEvent]) -> dict[str, Any]:
    drawn: dict[str, Any] = {"values": [_rounded(value) for value in curve.values]}
    if any(bounds is not None for bounds in curve.intervals):
        drawn["low"] = [None if bounds is None else _rounded(bounds[0]) for bounds in curve.intervals]
        drawn["high"] = [None if bounds is None else _rounded(bounds[1]) for bounds in curve.intervals]
    drawn["stretches"] = [[part.begin, part.end, _rounded(part.first), _rounded(part.last)] for part in curve.stretches]
    drawn["changes"] = [
        {
            "kind": event.change.kind,
            "night": event.change.night,
            "last": event.change.last,
            "size": _rounded(event.change.size),
            "worse": event.worse,
        }
        for event in events
        if (event.class_name, event.key) == (curve.class_name, curve.key)
    ]
    return drawn


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


@dataclass(frozen=True)
class _InputCurve:
    """A property of the inputs over all nights."""

    title: str
    unit: str
    values: Sequence[float | None]
    digits: int = 0  # that are printed

    @property
    def varies(self) -> bool:
        """Whether two nights have different values."""
        return len({value for value in self.values if value is not None}) > 1

    @property
    def said(self) -> str:
        """The first value, with its unit, as ``5.0 %`` or ``1,200 m``."""
        value = next(value for value in self.values if value is not None)
        return f"{value:,.{self.digits}f}{_UNITS.get(self.unit, '')}"

    def to_dict(self) -> dict[str, Any]:
        """Return what the script draws."""
        return {"title": self.title, "unit": self.unit, "values": self.values, "digits": self.digits}


_UNITS = {"in %": " %", "polylines": " polylines", "in metres": " m"}  # after a value


def _input_curves(history: "History") -> list[_InputCurve]:
    """Return the curves of the inputs that any night has."""
    known = [night.pooled for night in history.nights]
    without = [_in_unit(night.share_without_truth, scale=100, digits=2) for night in history.nights]
    found = [
        _InputCurve("frames", "evaluated", [one.frames.get("evaluated") for one in known]),
        _InputCurve("frames without truth", "in %", without, digits=1),
    ]
    for name in history.class_names:
        counts = []
        metres = []
        for one in known:
            _, count = one.instances.get(name, (None, None))
            counts.append(count)
            metres.append(_in_unit((one.truth_lengths or {}).get(name)))
        found.append(_InputCurve(f"true {name}", "polylines", counts))
        found.append(_InputCurve(f"length of true {name}", "in metres", metres))
    return [curve for curve in found if any(value is not None for value in curve.values)]


def _in_unit(value: float | None, scale: float = 1, digits: int | None = None) -> float | None:
    """Return a value in another unit, rounded; None if there is none."""
    if value is None:
        return None
    return round(scale * value, digits)
