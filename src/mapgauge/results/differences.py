"""What differs between two evaluations: settings, frames, inputs, readings of files and versions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mapgauge.frames.findings import shortened
from mapgauge.frames.tokens import short_tokens
from mapgauge.protocols.protocol import flat_settings

if TYPE_CHECKING:
    from mapgauge.frames.history import History
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results
    from mapgauge.results.values import Input

_HASH = 12  # digits of a content hash that are shown
_FEW = 3  # tokens that are named
_NAMED = 4  # differences that an error names
_NOT_COMPARED = ("about", "headline")  # fields of protocols; metrics are compared by themselves
_Row: TypeAlias = tuple[str, str, Any, Any]  # kind, name and both values


class Mismatch(NamedTuple):
    """Something in which two evaluations differ, with both values as text."""

    kind: str  # "setting", "frames", "truth", "predictions" or "version"
    name: str
    first: str
    second: str


def differences(first: "Results", second: "Results") -> list[Mismatch]:
    """Return everything in which two evaluations differ, except their values.

    Args:
        first: The results of the one evaluation.
        second: The results of the other.

    Returns:
        Settings, metrics and rings; frames that only one has; for the truth and then the predictions the content hash,
        the number of instances per class, and how the files were read; the version of mapgauge.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    >>> settings = mg.protocol("paper-60x30", classes=["divider"])
    >>> first = mg.evaluate(truth.with_confidence(1), truth, settings)
    >>> second = mg.evaluate(truth.with_confidence(1), truth, settings.replace(spacing=0.25))
    >>> differences(first, second)
    [Mismatch(kind='setting', name='spacing', first='0.5', second='0.25')]
    """
    settings = settings_apart(
        _settings(first.protocol),
        _settings(second.protocol),
        metrics=(first.metrics, second.metrics),
        ranges=(first.ranges, second.ranges),
    )
    rows: list[_Row] = [
        ("frames", "frames in one only", _only(first.tokens, second.tokens), _only(second.tokens, first.tokens)),
        *_of_inputs("truth", first.inputs[1], second.inputs[1]),
        *_of_inputs("predictions", first.inputs[0], second.inputs[0]),
        ("predictions", "frames without predictions", first.frames_missing, second.frames_missing),
        ("predictions", "frames that the truth lacks", first.frames_ignored, second.frames_ignored),
        ("version", "mapgauge", first.version, second.version),
    ]
    return settings + _unequal(rows)


def _settings(protocol: "Protocol") -> dict[str, Any]:
    """Return all settings of a protocol, also the one that ``to_dict`` may leave out."""
    return protocol.to_dict() | {"has_ego": protocol.has_ego}


def settings_apart(settings: Mapping[str, Any], others: Mapping[str, Any], **more: tuple[Any, Any]) -> list[Mismatch]:
    """Return the settings of two protocols (``Protocol.to_dict``) and others that differ.

    If only one of them has settings of a metric, they are one row.

    >>> apart = settings_apart({"name": "a", "cutoffs": (1.5,)}, {"name": "a", "cutoffs": [0.5, 1.0]}, metrics=("", ""))
    >>> in_words(apart)
    'cutoffs: 1.5 and (0.5, 1.0)'
    """
    own = flat_settings(settings)
    other = flat_settings(others)
    pairs: dict[str, tuple[Any, Any]] = {}
    for key in dict.fromkeys((*own, *other)):
        if key not in _NOT_COMPARED:
            pairs[key] = (own.get(key), other.get(key))
    pairs |= more
    rows: dict[str, tuple[Any, Any]] = {}
    for key, both in pairs.items():
        metric, dot, _ = key.partition(".")
        if dot and (key in own) != (key in other):
            if key in own:
                rows[f"settings of {metric}"] = ("some", "none")
            else:
                rows[f"settings of {metric}"] = ("none", "some")
        elif key == "name":
            rows["protocol"] = both
        elif dot:
            rows[key] = both
        else:
            rows[key.replace("_", " ")] = both
    return _unequal(("setting", name, *both) for name, both in rows.items())


def in_words(apart: Iterable[Mismatch]) -> str:
    """Return differences as one text."""
    return "; ".join(f"{row.name}: {row.first} and {row.second}" for row in apart)


def not_comparable(first: "Results", second: "Results") -> str:
    """Return in words why values of two results differ for other reasons than their predictions: the first of them."""
    rows = []
    for row in differences(first, second):
        if row.kind == "predictions" or row.name == "protocol":
            continue
        if row.kind == "frames":  # numbers without tokens, which can be long
            row = row._replace(first=row.first.partition(" ")[0], second=row.second.partition(" ")[0])
        rows.append(row)
    text = in_words(rows[:_NAMED])
    if len(rows) > _NAMED:
        return f"{text}; and {len(rows) - _NAMED} more"
    return text


def _of_inputs(side: str, first: "Input", second: "Input") -> Iterator[_Row]:
    """Yield what may differ between the records of one side. Names of files are told if their content differs."""
    if first.hash != second.hash:
        yield side, f"content of the {side}", first.hash[:_HASH] or "unknown", second.hash[:_HASH] or "unknown"
        yield side, f"file of the {side}", first.name or "in memory", second.name or "in memory"
    yield side, f"frames of the {side}", first.frames, second.frames
    for name in dict.fromkeys((*first.counts, *second.counts)):
        yield side, f"{name} of the {side}", first.counts.get(name, 0), second.counts.get(name, 0)
    yield side, f"reading of the {side}", _reading(first.history), _reading(second.history)


def _reading(history: "History") -> str:
    """Return in words how a side was read and changed. What has its default value is left out."""
    if history is None:
        return "in memory"
    steps = []
    for step in history:
        given = {key: value for key, value in step.arguments.items() if key != "path" and value not in (None, {}, [])}
        given = {key: value for key, value in given.items() if (key, value) != ("degenerate", "strict")}
        if step is history[0] or given or not step.arguments:  # a renaming of nothing changes nothing
            steps.append(" ".join([step.name, *(f"{key} {_few_of(value)}" for key, value in given.items())]))
    return ", ".join(steps)


def _few_of(value: Any) -> str:
    """Return a value as text, and of a long list its length and the first items."""
    if not isinstance(value, tuple | list):
        return text_of(value)
    items = [shortened(item) if isinstance(item, str) else item for item in value]  # they may be tokens
    if len(items) <= 2 * _FEW:
        return text_of(items)
    return f"{len(items)} ({', '.join(map(text_of, items[:_FEW]))}, ...)"


def _only(tokens: Sequence[str], others: Sequence[str]) -> str:
    """Return the number of tokens that are not among others, and the first of them, shortened as in tables."""
    only = set(tokens).difference(others)
    if not only:
        return "none"
    short = dict(zip(tokens, short_tokens(tokens), strict=True))
    shown = [short[token] for token in sorted(only)[:_FEW]]
    if len(only) > _FEW:
        shown.append("...")
    return f"{len(only)} ({', '.join(shown)})"


def _unequal(rows: Iterable[_Row]) -> list[Mismatch]:
    texts = (Mismatch(kind, name, text_of(first), second=text_of(second)) for kind, name, first, second in rows)
    return [row for row in texts if row.first != row.second]


def text_of(value: Any) -> str:
    """Return a value as text. A list is the same as a tuple, because JSON has no tuples."""
    if isinstance(value, tuple | list):
        text = ", ".join(map(text_of, value)) or "none"
        if len(value) > 1:
            return f"({text})"
        return text
    if value is None:
        return "none"
    return str(value)
