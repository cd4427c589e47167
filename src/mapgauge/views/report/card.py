"""The card of a report: the first screen as one picture of 1200 x 630 pixels, for a pull request or a chat.

It needs matplotlib (the extra ``plot``), and no browser.
"""

import os
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from mapgauge.dependencies import matplotlib_module

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (4.0, 2.1)  # inches: 1200 x 630 pixels at the resolution of figures
LETTERS = 92  # of a line of the answer
LINES = 6  # of the answer
MOST_VALUES = 2  # methods up to which the values are written
# The colours of the page, as in its styles.
INK = "#1b1f24"
QUIET = "#57606a"
RAIL = "#d0d7de"
TRACK = "#f0f2f5"


def write_card(
    path: str | os.PathLike[str], title: str, subtitle: str, sentences: list[str], meta: dict[str, Any]
) -> None:
    """Write the first screen as a picture.

    Args:
        path: The file to write; its suffix is png, svg or pdf.
        title: The names of the methods.
        subtitle: Frames and protocol.
        sentences: The answer.
        meta: What the page knows, from ``first_meta`` and ``described``.
    """
    matplotlib_module()
    from matplotlib.figure import Figure

    from mapgauge.views.figures.style import own_settings, save

    with own_settings():
        figure = Figure(figsize=SIZE)
        figure.text(0.025, 0.955, _cut(title, most=52), size=7.5, weight="bold", va="top", color=INK)
        figure.text(0.025, 0.885, _cut(subtitle, most=130), size=3.9, va="top", color=QUIET)
        lines = [line for sentence in sentences for line in wrap(sentence, LETTERS)]
        if len(lines) > LINES:
            lines = [*lines[: LINES - 1], f"{lines[LINES - 1]} ..."]
        figure.text(0.025, 0.835, "\n".join(lines), size=5.3, va="top", linespacing=1.35, color=INK)
        top = 0.80 - 0.055 * max(len(lines), 1)
        _draw_classes(figure.add_axes((0.15, 0.07, 0.28, top - 0.11)), meta)
        _draw_families(figure.add_axes((0.67, 0.07, 0.31, top - 0.11)), meta)
        save(figure, path)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most - 3]}..."


def _plain(axes: "Axes", title: str) -> None:
    axes.set_title(title, size=4.6, color=QUIET, loc="left", pad=3)
    axes.tick_params(labelsize=4.6, length=0, pad=2, colors=INK)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_classes(axes: "Axes", meta: dict[str, Any]) -> None:
    """Draw a row for each class, at most eight, the worst first: a dot for each method."""
    if not meta["metrics"]:
        axes.set_axis_off()
        return
    metric = meta["metrics"][0]
    rows = {name: [values.get(name, {}).get(metric["key"]) for values in meta["values"]] for name in meta["classes"]}
    known = {name: row for name, row in rows.items() if any(value is not None for value in row)}

    def worst_value(name: str) -> float:
        """Return the worst value of a class, so that a larger number is worse."""
        there: list[float] = [value for value in known[name] if value is not None]
        if metric["lower"]:
            return max(there)
        return -min(there)

    shown = ["mean", *sorted(known, key=worst_value, reverse=True)[:7]]
    known["mean"] = [values["mean"].get(metric["key"]) for values in meta["values"]]
    for y, name in enumerate(shown):
        row = known[name]
        there = [value for value in row if value is not None]
        if not there:
            continue
        axes.plot([min(there), max(there)], [y, y], color=QUIET, linewidth=0.6, zorder=1)
        for k, value in enumerate(row):
            if value is not None:
                axes.plot([value], [y], "o", markersize=3.2, color=meta["methodColours"][k], zorder=2)
        if len(row) > MOST_VALUES:
            continue
        axes.text(
            1.02,
            y,
            "  ".join(f"{value:.3f}" for value in there),
            size=4.4,
            va="center",
            color=INK,
            transform=axes.get_yaxis_transform(),
        )
    axes.set_yticks(range(len(shown)), [_cut(name, most=20) for name in shown])
    axes.set_ylim(len(shown) - 0.5, -0.6)
    axes.grid(visible=True, axis="x", linewidth=0.3, color=RAIL)
    axes.margins(x=0.08)
    if metric["lower"]:
        good = "low"
    else:
        good = "high"
    _plain(axes, f"{metric['title']} of each class ({good} is good)")


def _draw_families(axes: "Axes", meta: dict[str, Any]) -> None:
    """Draw a bar for each method, at most six: the parts of its first metric."""
    if not meta["metrics"]:
        axes.set_axis_off()
        return
    metric = meta["metrics"][0]
    parts = list(meta["groups"])
    if not parts:  # without causes, the parts of the metric itself
        for part in metric["parts"]:
            name = part["key"].replace("_", " ")
            parts.append({"name": name, "colour": part["colour"], "causes": [part["key"]]})
    if not parts:
        axes.set_axis_off()
        return
    names = meta["methods"][:6]
    for y, _ in enumerate(names):
        at = 0.0
        for part in parts:
            width = sum(meta["values"][y]["mean"].get(key) or 0.0 for key in part["causes"])
            axes.barh([y], [width], left=at, height=0.55, color=part["colour"], edgecolor="white", linewidth=0.3)
            at += width
    axes.set_yticks(range(len(names)), [_cut(name, most=14) for name in names])
    axes.set_xlim(0, 1)
    axes.set_ylim(len(names) + 0.6 * ((len(parts) - 1) // 2) + 0.5, -0.6)
    _plain(axes, f"Why: parts of {metric['title']}")
    for k, part in enumerate(parts):
        left = (k % 2) / 2
        below = len(names) + 0.05 + 0.6 * (k // 2)
        axes.plot([left + 0.02], [below], "s", markersize=3, color=part["colour"], clip_on=False)
        axes.text(left + 0.055, below, part["name"], size=4.4, va="center", color=INK)
