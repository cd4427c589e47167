"""Protocols by name, changes of settings, and the names of protocols with changed settings."""

from collections.abc import Collection, Iterable
from dataclasses import Field, fields
from typing import Any

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.metrics.rows import METRICS, SELECTIONS
from mapgauge.metrics.settings import as_text, fields_of, from_text, hints_of, no_such, word_of
from mapgauge.protocols.names import PROTOCOLS
from mapgauge.protocols.protocol import NO_SETTINGS, Protocol, settings_type


def protocol(base: str | Protocol | None = None, /, **fields: Any) -> Protocol:
    """Return a protocol by its name, with some settings changed.

    Args:
        base: One of ``mapgauge.protocols.PROTOCOLS``, or a ``Protocol``. It can also be given as ``name=``. Some
            protocols can be restricted to a part of the instances by an ending of the name, such as ``-near``.
        fields: Fields of ``Protocol`` to change. After a base, ``name=`` gives the changed protocol another name. The
            cutoff of the base stays the first if it is among several. ``settings=`` has values by metric and name. It
            changes these values and keeps all others; None removes a metric.

    >>> import mapgauge as mg
    >>> mg.protocol("paper-60x30", spacing=0.25, cutoffs=[0.5, 1.0, 1.5]).cutoffs
    (1.5, 0.5, 1.0)
    >>> mg.protocol("paper-60x30", settings={"ap_frechet": {"thresholds": [2.0]}}).settings["ap_frechet"].thresholds
    (2.0,)
    """
    if base is None:
        base = fields.pop("name", None)
    if not isinstance(base, Protocol):
        if not isinstance(base, str):
            known_names = ", ".join(PROTOCOLS)
            raise InvalidInput(
                f"a protocol must be given by its name, or be a Protocol, got {base!r}. Known: {known_names}"
            )
        known = named(base)
        if known is None:
            raise no_such("unknown protocol", base, list(PROTOCOLS))
        base = known
    if fields:
        return base.replace(**fields)
    return base


def named(name: str) -> Protocol | None:
    """Return a protocol of the table, or one for a part of the instances; None if there is none of this name."""
    row = PROTOCOLS.at_hand(name)
    if row is not None:
        return row
    whole, _, part = name.rpartition("-")
    selection = SELECTIONS.get(part)
    if selection is not None:
        base = PROTOCOLS.get(whole)
        if base is not None and set(selection.metrics) & set(base.settings):
            return base.replace(name=name, part=part)
    return PROTOCOLS.get(name)


def with_settings(protocol: Protocol, texts: Iterable[str]) -> Protocol:
    """Return a protocol with settings changed by texts.

    ``"metric.setting=value"`` is for a setting of a metric, ``"field=value"`` for a field of ``Protocol``. Commas
    separate several values. Settings of a further metric are added with recommended values.

    >>> import mapgauge as mg
    >>> full_name(with_settings(mg.protocol("paper-60x30"), ["ap_chamfer.strict=yes", "spacing=0.25"]))
    'paper-60x30, spacing 0.25 m, strict of Chamfer-AP'
    """
    changed: dict[str, Any] = {}
    settings: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise InvalidInput(
                f"{text!r} is no setting, expected NAME=VALUE",
                remedy=Remedy('Write "ap_chamfer.strict=yes"', "Write --set ap_chamfer.strict=yes"),
            )
        metric, dot, key = name.partition(".")
        if not dot:
            hints = hints_of(Protocol)
            if name not in hints or name in NO_SETTINGS:
                protocol.replace(**{name: None})  # raises the error for this name
            if name == "region":
                value = value.lower().replace("x", ",")
            changed[name] = from_text(name, hints[name], value.strip())
            continue
        hints = hints_of(settings_type(metric, f"{text}: "))
        if key not in hints:
            raise no_such(f"{text}: the metric {metric} has no setting", key, list(hints))
        settings.setdefault(metric, {})[key] = from_text(name, hints[key], value.strip())
    return protocol.replace(**changed, settings=settings)


_MOST = 4  # values of one setting that are listed


def changes(protocol: Protocol) -> dict[str, Any]:
    """Return what differs from the protocol of this name in the table: fields by name, settings as ``metric.setting``.

    A protocol with a name of its own has no changes: the name stands for its settings. For a metric that
    the base lacks, the changes are its first setting and all settings that are not recommended; a metric that was
    removed is None.
    """
    base = named(protocol.name)
    if base is None:
        return {}
    keys = [field.name for field in fields(protocol) if field.name not in NO_SETTINGS]
    changed = {key: getattr(protocol, key) for key in keys if getattr(protocol, key) != getattr(base, key)}
    if protocol.settings == base.settings:
        return changed
    for name in METRICS:
        own = protocol.settings.get(name)
        other = base.settings.get(name)
        if own is not None:
            changed |= {f"{name}.{key}": value for key, value in _changes_of(own, other).items()}
        elif other is not None:
            changed[name] = None
    return changed


def _changes_of(own: Any, other: Any) -> dict[str, Any]:
    """Return the settings of a metric that differ from those of the base, which has None if it lacks the metric."""
    changed = {}
    for k, field in enumerate(fields(own)):
        value = getattr(own, field.name)
        if other is not None:
            differs = value != getattr(other, field.name)
        else:
            differs = k == 0 or value != field.default
        if differs:
            changed[field.name] = value
    return changed


def full_name(protocol: Protocol, *, without: Collection[str] = ()) -> str:
    """Return the name of a protocol with the settings that were changed, ``without`` some that a table names.

    >>> import mapgauge as mg
    >>> full_name(mg.protocol("paper-60x30")), full_name(mg.protocol("paper-60x30", cutoffs=[0.5], count=20))
    ('paper-60x30', 'paper-60x30, count 20, cutoff 0.5 m')
    >>> full_name(mg.protocol("paper-60x30", cutoffs=[0.5, 1.0, 1.5], crop=True))
    'paper-60x30, cropped, cutoff 1.5 m, also 0.5 and 1 m'
    >>> full_name(mg.protocol("paper-60x30", settings={"ap_chamfer": {"strict": True}}))
    'paper-60x30, strict of Chamfer-AP'
    """
    changed = {key: value for key, value in changes(protocol).items() if key not in without}
    for key_set, key_removed in (("spacing", "count"), ("count", "spacing")):
        if changed.get(key_set) is not None:
            changed.pop(key_removed, None)  # setting one removes the other
    return ", ".join(
        dict.fromkeys([protocol.name, *(_in_words(key, value, protocol) for key, value in changed.items())])
    )


def _in_words(key: str, value: Any, protocol: Protocol) -> str:
    metric, dot, name = key.partition(".")
    if not dot and metric in METRICS:
        return f"no {word_of(next(iter(fields_of(METRICS[metric].settings_type).values())))}"
    if key == "classes" and value is None:
        return "all classes"
    if not dot:
        return _setting_in_words(fields_of(protocol)[key], value, first=key == "cutoffs")
    row = METRICS[metric]
    field = fields_of(row.settings_type)[name]
    first = row.shows_first and row.setting is not None and row.setting.field == name
    alike = {
        getattr(values, own.name)
        for values in protocol.settings.values()
        for own in fields(values)
        if word_of(own) == word_of(field)
    }
    text = _setting_in_words(field, value, first=first)
    if len(alike) == 1:
        return text
    return f"{text} of {row.title}"


def _setting_in_words(field: "Field[Any]", value: Any, *, first: bool) -> str:
    """Return a setting and its value in words. Of several values, ``first`` says that tables show the first."""
    if first:
        word = word_of(field).removesuffix("s")
    else:
        word = word_of(field)
    unit = ""
    if field.metadata["unit"] == "m":
        unit = " m"
    if value is None or value == ():
        return f"no {word}"
    if isinstance(value, bool):
        if value:
            return word
        return f"{word} off"
    if not isinstance(value, tuple):
        return f"{word} {as_text(value)}{unit}"
    texts = list(map(as_text, value))
    if field.name == "region":
        return f"{word} {'x'.join(texts)}{unit}"
    if not first and len(texts) > _MOST:
        return f"{len(texts)} values of {word}"
    if not first:
        return f"{word} {'/'.join(texts)}{unit}"
    shown, *others = texts
    if not others:
        return f"{word} {shown}{unit}"
    *before, last = others
    listed = last
    if before:
        listed = f"{', '.join(before)} and {last}"
    return f"{word} {shown}{unit}, also {listed}{unit}"
