"""Tables of the reference, generated from the rows of metrics and protocols. Tests compare the pages with them."""

from dataclasses import MISSING

from mapgauge.frames.lane_classes import TRAFFIC_ELEMENTS
from mapgauge.metrics.metric import CombinedRows, HitRows, Metric, Value
from mapgauge.metrics.settings import fields_of
from mapgauge.metrics.table import METRICS, NO_SETTINGS, settings_rows
from mapgauge.protocols import PROTOCOLS

_ROLES = {"headline": "beside it", "part": "parts", "other": "also"}


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
    """Return the keys of the values of all metrics in JSON and CSV as a Markdown table, with a row for each metric."""
    lines = ["| metric, and key of its value | what | other keys |", "| --- | --- | --- |"]
    for metric in METRICS.values():
        (main,) = metric.with_role("main")
        others = []
        for role, word in _ROLES.items():
            keys = [_key(metric, value) for value in metric.values if value.role == role]
            if keys:
                others.append(f"{word}: {', '.join(keys)}")
        lines.append(f"| {_key(metric, main)} | {_meaning(metric)} | {'; '.join(others)} |")
    return "\n".join(lines)


def _key(metric: Metric, value: Value) -> str:
    return f"`{value.key}`{metric.arrow_of(value)}"


def _meaning(metric: Metric) -> str:
    """What the value is, and of which of several settings. The page says how the keys of the others are made."""
    title = f"{metric.title}, in {metric.unit}" if metric.unit else metric.title
    if isinstance(metric.rows, CombinedRows):
        return f"{title}, from {', '.join(f'`{name}`' for name in metric.rows.of)}"
    if isinstance(metric.rows, HitRows):
        return f"{title}, mean over thresholds"
    if metric.also_at:
        return f"{title}, over all {metric.also_at}"
    if metric.setting is not None:
        return f"{title}, at the first {metric.setting.word}"
    return title


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
