"""Which metrics are computed, and titles and keys of their values."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import MISSING, fields
from itertools import pairwise
from typing import Any, TypeVar

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.markup import CLASS_COLOURS, COLOURS, colours_of
from mapgauge.metrics.colours import cause_colours, family_colours, part_colours
from mapgauge.metrics.metric import CombinedRows, HitRows, Metric, Role, SumRows, Value, ValueKey
from mapgauge.metrics.rows import METRICS
from mapgauge.metrics.settings import as_text, fields_of, hints_of, no_such, type_in_words
from mapgauge.protocols import NO_SETTINGS, Protocol, changes, full_name

AnyRows = TypeVar("AnyRows", SumRows, HitRows, CombinedRows)
_CHOOSE = "Choose a protocol of this metric; mapgauge list protocols names them"


def chosen_metrics(protocol: Protocol, metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Return the metrics to compute, in the order of results: as given, or all that the protocol has settings for."""
    if isinstance(metrics, str):
        metrics = (metrics,)
    known = ", ".join(METRICS)
    if metrics is not None and not isinstance(metrics, Sequence):
        raise InvalidInput(f"metrics must be a sequence of names, got {metrics!r}. Known: {known}")
    possible = tuple(name for name in METRICS if _has_settings(name, protocol))
    if metrics is None:
        return in_order([name for name in possible if METRICS[name].default or name in protocol.headline], protocol)
    unknown = [name for name in metrics if name not in METRICS]
    if not metrics:
        raise InvalidInput(f"metrics must have at least one name, got (). Known: {known}")
    if unknown:
        raise no_such("unknown metric", unknown[0], list(METRICS))
    for name in metrics:
        if name not in possible:
            raise _without_settings(name, protocol)
    wanted = {*metrics, *(other for _, rows in combined_metrics(metrics) for other in rows.of if other in possible)}
    return in_order(wanted, protocol)


def in_order(metrics: Collection[str], protocol: Protocol) -> tuple[str, ...]:
    """Return metrics in the order of results: those of the headline of a protocol, then those of the table."""
    return tuple(name for name in dict.fromkeys((*protocol.headline, *METRICS)) if name in metrics)


def _without_settings(name: str, protocol: Protocol) -> InvalidInput:
    """Return the error for a metric that the protocol has no settings for."""
    metric = METRICS[name]
    base = f'mg.protocol("{protocol.name}", '
    if metric.settings_type is not None and name not in protocol.settings:
        field = fields(metric.settings_type)[0]
        lacking = field.name
        default = field.default
        if default is MISSING:
            python = "..."
            shell = "VALUE"
        else:
            python = repr(default)
            shell = as_text(default)
        remedy = Remedy(
            f'Set it: {base}settings={{"{name}": {{"{lacking}": {python}}}}})',
            f"Give one: --set {name}.{lacking}={shell}",
        )
    elif metric.at_cutoffs:
        lacking = "cutoffs"
        remedy = Remedy(f"Pass them: {base}cutoffs=(...))", "Give them: --cutoff with numbers, separated by commas")
    else:
        return InvalidInput(f"the protocol {full_name(protocol)} has no settings for {name}", remedy=_CHOOSE)
    return InvalidInput(f"the protocol {full_name(protocol)} has no {lacking} for {name}", remedy=remedy)


def _has_settings(name: str, protocol: Protocol) -> bool:
    """Whether the protocol has settings for a metric. A combined metric needs the settings of all its metrics."""
    rows = METRICS[name].rows
    if isinstance(rows, CombinedRows):
        needed = rows.of
    else:
        needed = (name,)
    return all(METRICS[other].settings(protocol) for other in needed)


def settings_rows() -> list[dict[str, Any]]:
    """Return all settings that ``with_settings`` takes.

    Each has ``name``, ``type``, ``unit``, ``default`` and ``help``. Settings of metrics are named ``metric.setting``.
    The default is the recommended value; it is ``dataclasses.MISSING`` if there is none.
    """
    kinds = [("", Protocol), *((f"{row.name}.", row.settings_type) for row in METRICS.values())]
    return [
        {
            "name": f"{prefix}{name}",
            "type": type_in_words(hints_of(kind)[name]),
            "unit": field.metadata.get("unit", ""),
            "default": field.default,
            "help": field.metadata.get("help", ""),
        }
        for prefix, kind in kinds
        if kind is not None
        for name, field in fields_of(kind).items()
        if prefix or name not in NO_SETTINGS
    ]


def sum_metrics(metrics: Sequence[str]) -> Iterator[tuple[Metric, SumRows]]:
    """Yield the metrics whose rows are sums, with their rows."""
    return _with_rows(metrics, SumRows)


def hit_metrics(metrics: Sequence[str]) -> Iterator[tuple[Metric, HitRows]]:
    """Yield the metrics whose rows are hits, with their rows."""
    return _with_rows(metrics, HitRows)


def combined_metrics(metrics: Sequence[str]) -> Iterator[tuple[Metric, CombinedRows]]:
    """Yield the metrics whose value is computed from other metrics, with their rows."""
    return _with_rows(metrics, CombinedRows)


def _with_rows(metrics: Sequence[str], kind: type[AnyRows]) -> Iterator[tuple[Metric, AnyRows]]:
    return ((metric, metric.rows) for metric in map(METRICS.__getitem__, metrics) if isinstance(metric.rows, kind))


def value_named(name: str) -> tuple[Metric, Value] | None:
    """Return the metric and the value of a name in a key; None if there is none.

    >>> metric, value = value_named("detection")
    >>> metric.name, value.title
    ('pld', 'Det')
    """
    for metric in METRICS.values():
        values = list(metric.values)
        if isinstance(metric.rows, SumRows) and metric.rows.frame_mean:
            values.append(metric.rows.frame_mean.value)
        for value in values:
            if value.key == name:
                return metric, value
    return None


def title_of(key: str | ValueKey, *, full: bool = False, protocol: Protocol | None = None) -> str:
    """Return the title of a key, short for columns or in full.

    With a protocol, the title names the setting of a value at the first of several settings, or at a setting that is
    not the protocol's own.

    >>> title_of("localisation"), title_of("localisation", full=True), title_of("ap_chamfer@0.5")
    ('Loc', 'localisation', 'Chamfer-AP@0.5')
    >>> title_of("pld:0-10m"), title_of("hits:ap_chamfer@0.5"), title_of("truth")
    ('PLD 0-10m', 'hits of Chamfer-AP@0.5', 'truth')
    >>> from mapgauge.protocols import protocol
    >>> title_of("pld", protocol=protocol("paper-60x30", cutoffs=[0.5, 1.5]))
    'PLD (1.5 m)'
    """
    parsed = ValueKey.parse(key)
    named = value_named(parsed.name)
    if named is None:
        title = parsed.name.replace("_", " ")
    elif full:
        title = named[1].words
    else:
        title = named[1].title
    if parsed.hits:
        title = f"hits of {title}"
    title = f"{title}{'@' if parsed.setting else ''}{parsed.setting}{' ' if parsed.ring else ''}{parsed.ring}"
    return title + setting_of(parsed, protocol)


def setting_of(key: str | ValueKey, protocol: Protocol | None) -> str:
    """Return the setting of a value as it follows a title, `` (1.5 m)``.

    The text is "" if the key names the setting, or if readers know it: the only one, and the protocol's own.
    """
    parsed = ValueKey.parse(key)
    metric, _ = value_named(parsed.name) or (None, None)
    if protocol is None or metric is None or metric.setting is None or not isinstance(metric.rows, SumRows):
        return ""
    settings = metric.settings(protocol)
    if metric.at_cutoffs:
        changed = metric.setting.field
    else:
        changed = f"{metric.name}.{metric.setting.field}"
    if not parsed.plain or not settings or (len(settings) == 1 and changed not in changes(protocol)):
        return ""
    return f" ({settings[0]:g} {metric.setting.unit})"


def heading(key: str, protocol: Protocol | None = None, unit: str = "") -> str:
    """Return the head of a column beside other metrics, with an arrow in the direction of better values.

    Only a main value names its setting, as ``title_of`` does. The others stand beside it.

    >>> heading("pld"), heading("localisation"), heading("median_offset")
    ('PLD ↓', 'Loc', 'median offset m ↓')
    """
    metric, value = value_named(key) or (None, None)
    if metric is None or value is None:
        return title_of(key) + unit
    return title_of(key, protocol=protocol if value.role == "main" else None) + unit + metric.arrow_of(value)


def flat_key(key: str | ValueKey, class_name: str) -> str:
    """Return the key of a value in a flat dictionary: metric, class, then part, then setting or ring.

    >>> flat_key("localisation@0.5", "divider"), flat_key("pld_frame_mean", "mean"), flat_key("pld:0-10m", "mean")
    ('pld/divider/localisation/0.5', 'pld/mean/frame_mean', 'pld/mean/0-10m')
    """
    parsed = ValueKey.parse(key)
    named = value_named(parsed.name)
    if named is None:
        metric = parsed.name
        part = ""
    else:
        metric = named[0].name
        part = named[1].part
    return "/".join(word for word in (metric, class_name, part, parsed.setting, parsed.ring) if word)


def value_keys(metric: Metric, protocol: Protocol, ranges: Sequence[float], *roles: Role) -> list[ValueKey]:
    """Return the keys of a metric in tables: values with some roles, the main value at each setting and in each ring.

    The value of a metric with sums has the first setting, and further settings have their own keys. An average
    precision is the mean over its settings, each of which has a key.
    """
    settings: tuple[float, ...] = ()
    if metric.setting is not None:
        settings = metric.settings(protocol)
    several = isinstance(metric.rows, HitRows) or len(settings) > 1
    ringed = isinstance(metric.rows, SumRows) and metric.rows.rings
    return [
        *(ValueKey(value.key) for value in metric.with_role(*roles)),
        *(ValueKey(metric.main.key, setting) for setting in sorted(settings) if several),
        *(ValueKey(metric.main.key, ring=ring) for ring in pairwise(ranges) if ringed),
    ]


def column_title(key: str | ValueKey, protocol: Protocol | None = None) -> str:
    """Return the title of a column in the table of its metric, with an arrow in the direction of better values.

    With a protocol, the main value names its setting, as ``title_of`` does.

    >>> column_title("pld"), column_title("localisation"), column_title("ap_chamfer@0.5"), column_title("pld:0-10m")
    ('PLD ↓', 'Loc', 'AP 0.5 m', 'PLD 0-10m')
    """
    parsed = ValueKey.parse(key)
    named = value_named(parsed.name)
    if named is None or parsed.hits:
        return title_of(parsed)
    metric, value = named
    if parsed.ring:
        return f"{metric.symbol} {parsed.ring}"
    if parsed.setting:
        if metric.setting is not None and metric.setting.unit:
            unit = f" {metric.setting.unit}"
        else:
            unit = ""
        return f"{metric.symbol if value.role == 'main' else value.title} {parsed.setting}{unit}"
    if value.role == "main":
        title = f"{metric.symbol}{setting_of(parsed, protocol)}"
    else:
        title = value.title
    return title + metric.arrow_of(value)


__all__ = [
    "CLASS_COLOURS",
    "COLOURS",
    "METRICS",
    "NO_SETTINGS",
    "cause_colours",
    "colours_of",
    "family_colours",
    "part_colours",
]
