"""Tables of the reference, generated from the rows of metrics and protocols. Tests compare the pages with them."""

import textwrap
from dataclasses import MISSING

from mapgauge.frames.lane_classes import TRAFFIC_ELEMENTS
from mapgauge.metrics.metric import CombinedRows, HitRows, Metric, Value
from mapgauge.metrics.settings import fields_of
from mapgauge.metrics.table import METRICS, NO_SETTINGS, settings_rows
from mapgauge.protocols import PROTOCOLS

_OTHER = {"part": "part", "headline": "beside it"}


def metrics_listed(width: int = 120, indent: str = " " * 12) -> str:
    """Return the names of the package's metrics as they stand in the docstring of ``evaluate``."""
    names = ", ".join(f"``{name}``" for name in METRICS)
    return textwrap.fill(f"{names}.", width, initial_indent=indent, subsequent_indent=indent)


def settings_table() -> str:
    """Return the settings of all metrics as a Markdown table. Metrics with the same settings share their rows."""
    owners: dict[tuple[str, ...], list[str]] = {}
    for row in settings_rows():
        metric, dot, name = row["name"].partition(".")
        if dot:
            default = "none recommended" if row["default"] is MISSING else f"`{row['default']!r}`"
            key = (name, row["type"], default, row["unit"], row["help"])
            owners.setdefault(key, []).append(metric)
    rows = [
        f"| {', '.join(f'`{metric}`' for metric in metrics)} | `{name}` | {kind} | {default} | {unit} | {text} |"
        for (name, kind, default, unit, text), metrics in sorted(
            owners.items(), key=lambda item: [list(METRICS).index(item[1][0])]
        )
    ]
    return "\n".join(
        ["| metrics | setting | type | recommended | unit | what |", "| --- | --- | --- | --- | --- | --- |", *rows]
    )


def fields_table() -> str:
    """Return the fields of ``Protocol`` as a Markdown table."""
    rows = [
        f"| `{row['name']}` | {row['type']} | `{row['default']!r}` | {row['unit']} | {row['help']} |"
        for row in settings_rows()
        if "." not in row["name"]
    ]
    return "\n".join(["| setting | type | default | unit | what |", "| --- | --- | --- | --- | --- |", *rows])


def keys_table() -> str:
    """Return the keys of the values of all metrics in JSON and CSV as a Markdown table."""
    lines = ["| metric | key | what | better |", "| --- | --- | --- | --- |"]
    for metric in METRICS.values():
        for value in metric.values:
            what = _what(metric, value)
            better = {" ↓": "lower", " ↑": "higher", "": ""}[metric.arrow_of(value)]
            lines.append(f"| `{metric.name}` | `{value.key}` | {what} | {better} |")
    return "\n".join(lines)


def _what(metric: Metric, value: Value) -> str:
    unit = f", in {metric.unit}" if metric.unit else ""
    if value.role != "main":
        kind = f", {_OTHER[value.role]}" if value.role in _OTHER else ""
        return f"{value.words}{kind}"
    if isinstance(metric.rows, CombinedRows):
        return f"{metric.title}{unit}, from {', '.join(f'`{name}`' for name in metric.rows.of)}"
    if isinstance(metric.rows, HitRows):
        return f"{metric.title}, mean over thresholds; `{value.key}@0.5` and so on at each"
    if metric.also_at:
        return f"{metric.title}{unit}, over all {metric.also_at}; `{value.key}@1.0` and so on at each"
    if metric.setting is not None:
        return (
            f"{metric.title}{unit}, at the first {metric.setting.word}; `{value.key}@...` at each, if there are several"
        )
    return f"{metric.title}{unit}"


def protocols_table() -> str:
    """Return the protocols and their settings as a Markdown table.

    Of the settings of a metric, the first is shown, and those that are not recommended.
    """
    lines = ["| protocol | what | settings other than the default |", "| --- | --- | --- |"]
    for name, protocol in PROTOCOLS.items():
        shown = {
            field: getattr(protocol, field)
            for field, about in fields_of(protocol).items()
            if field not in NO_SETTINGS and getattr(protocol, field) != about.default
        }
        for metric, own in protocol.settings.items():
            for k, (field, about) in enumerate(fields_of(own).items()):
                if k == 0 or getattr(own, field) != about.default:
                    shown[f"{metric}.{field}"] = getattr(own, field)
        text = ", ".join(f"`{field}={value!r}`" for field, value in shown.items())
        text = text.replace(", ".join(map(repr, TRAFFIC_ELEMENTS)), "*TRAFFIC_ELEMENTS")
        lines.append(f"| `{name}` | {protocol.about} | {text} |")
    return "\n".join(lines)
