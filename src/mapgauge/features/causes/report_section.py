"""The causes in the report: bars, columns of frames, and instances in the drawings."""

from collections.abc import Sequence
from html import escape
from typing import Any
from urllib.parse import urlencode

import numpy as np

from mapgauge.evaluation.more_metrics import with_metrics
from mapgauge.features.causes.causes import causes
from mapgauge.features.causes.instances import instances_of
from mapgauge.features.causes.metric import CAUSES, PLD_BY_CAUSE
from mapgauge.frames.boxes import is_box
from mapgauge.frames.content import by_row
from mapgauge.frames.map_frames import MapFrames
from mapgauge.markup import number
from mapgauge.metrics.completeness import COMPLETENESS
from mapgauge.metrics.metric import Metric
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import METRICS, part_colours, setting_of
from mapgauge.results.results import Results
from mapgauge.typing import Floats
from mapgauge.views.report.pack import Arrays

# Instances of all methods up to which causes are computed unless they are switched off. Together with
# completeness, an instance takes about 5 us: 2.5 s of one core for a method on the 6,019 frames of the nuScenes
# validation set.
LIMIT = 1_200_000


def with_causes(methods: Sequence[Results], wanted: bool | None) -> tuple[list[Results], str]:
    """Return results with the metric ``causes``, and a sentence if it would take long.

    Args:
        methods: The results.
        wanted: Whether to compute it, together with ``completeness``. If None, only ``causes`` is computed, and only if
            all results have PLD of order 1 and the geometry, and there are at most ``LIMIT`` instances.
    """
    found = list(methods)
    if wanted:
        return [with_metrics(method, [COMPLETENESS.name, PLD_BY_CAUSE.name]) for method in found], ""
    if wanted is False or not all(map(has_causes, found)):
        return found, ""
    lacking = [method for method in found if PLD_BY_CAUSE.name not in method.metrics]
    count = sum(int(method.scores.predicted.sum() + method.scores.true.sum()) for method in lacking)
    if count > LIMIT:
        return found, (
            f"The causes of PLD are not computed for all frames, because there are {count:,} instances. To compute "
            "them, pass causes=True to write_report, or use mapgauge report --causes."
        )
    return [with_metrics(method, [PLD_BY_CAUSE.name]) for method in found], ""


def has_causes(results: Results) -> bool:
    """Whether the causes of single instances can be computed: from the geometry, for PLD of order 1."""
    protocol = results.protocol
    return PLD.name in results.metrics and protocol.order == 1 and results.geometry is not None


def is_pld_again(metric: Metric, metrics: Sequence[str]) -> bool:
    """Whether the main value of a metric is that of PLD, which is among the metrics."""
    return metric is PLD_BY_CAUSE and PLD.name in metrics


def is_first(metric: Metric, metrics: Sequence[str]) -> bool:
    """Whether a metric is shown where there is room for few. With PLD, its causes and the offsets are not."""
    return PLD.name not in metrics or metric not in (PLD_BY_CAUSE, COMPLETENESS)


def cause_columns(results: Results) -> Arrays:
    """Return the costs of all instances by cause, in the order of the drawings. The results must have their data.

    An instance has few causes, so the columns have the causes that cost something, and how many each instance has.
    """
    found, (x, y) = instances_of(results), results.need_data().sorted_sides
    sides = {"predictions": (x, found.predicted), "truth": (y, found.true)}
    return {
        f"{name}.{key}": column
        for name, (side, costs) in sides.items()
        for key, column in _columns(costs[_drawn_order(side)]).items()
    }


def _drawn_order(side: MapFrames) -> Any:
    """Return the instances frame by frame and class by class, without boxes in images."""
    order = by_row(side)
    return order[~is_box(side)[order]]


def _columns(costs: Floats) -> Arrays:
    instance, cause = np.nonzero(costs)
    return {
        "causes": np.bincount(instance, minlength=len(costs)).astype(np.uint8),
        "cause": cause.astype(np.uint8),
        "cost": costs[instance, cause].astype(np.float32),
    }


def described_causes() -> list[dict[str, str]]:
    """Return what the page needs to know about causes: the key of the column, name, explanation and colour."""
    colours = part_colours(PLD_BY_CAUSE)
    return [
        {"key": value.key, "name": cause.replace("_", " "), "about": about, "colour": colours[value.key]}
        for value, (cause, about) in zip(PLD_BY_CAUSE.with_role("part"), CAUSES.items(), strict=True)
    ]


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, heads: int = 1) -> str:
    """Return a table. Cells must be HTML already; the first ``heads`` cells of a row are its heads."""
    top = "".join(f'<th scope="col"{" class=text" if k < heads else ""}>{cell}</th>' for k, cell in enumerate(header))
    body = "".join(
        f"<tr{' class=mean' if row[0] == 'mean' else ''}>"
        + "".join(f'<th scope="row">{cell}</th>' if k < heads else f"<td>{cell}</td>" for k, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}"><table>'
        f"<caption><span>{caption}</span></caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def bars(methods: Sequence[Results], names: Sequence[str]) -> str:
    """Return the parts of each metric that has parts, as stacked bars and as numbers."""
    split = [metric for metric in map(METRICS.__getitem__, methods[0].metrics) if metric.with_role("part")]
    if not split:
        return "<p>None of the computed metrics splits into parts.</p>"
    return "".join(_bars_of(metric, methods, names) for metric in split)


def _bars_of(metric: Metric, methods: Sequence[Results], names: Sequence[str]) -> str:
    first, several = methods[0], len(methods) > 1
    title = escape(metric.title + setting_of(metric.main.key, first.protocol))
    colours = part_colours(metric)
    if all(first.mean[part] is None for part in colours) and first.mean[metric.main.key] is not None:
        return f"<p>{title} of order {first.protocol.order:g} does not split into parts.</p>"
    words = {value.key: escape(value.words) for value in metric.values}
    about: dict[str, str] = {}
    if metric is PLD_BY_CAUSE:
        words |= {part: cause.replace("_", " ") for part, cause in zip(colours, CAUSES, strict=True)}
        about = dict(zip(colours, CAUSES.values(), strict=True))
    legend = "".join(
        f'<li><svg width="12" height="12" aria-hidden="true"><rect class="part" width="12" height="12" '
        f'fill="{colour}"/></svg> <a href="{_frames_with(part)}" title="{_hint(about.get(part))}">{words[part]}</a>'
        "</li>"
        for part, colour in colours.items()
    )
    cells = []
    for name, _ in first.summary.rows_of(metric.name):
        for k, (called, result) in enumerate(zip(names, methods, strict=True)):
            values = result.mean if name == "mean" else result.classes[name]
            chosen = ({"method": str(k)} if k else {}) | ({} if name == "mean" else {"of": name})
            heads = [escape(name), *([escape(called)] if several else [])]
            bar = _bar(values, colours, words, chosen)
            cells.append([*heads, bar, *(number(values[part]) for part in colours)])
    header = ["class", *(["method"] if several else []), f"{title} from 0 to 1", *(words[part] for part in colours)]
    caption = f"Parts of {title}; they add up to it"
    said = _sentences(methods, names) if metric is PLD_BY_CAUSE else ""
    return f'{said}<ul class="legend">{legend}</ul>' + table(caption, header, cells, heads=1 + several)


def _sentences(methods: Sequence[Results], names: Sequence[str]) -> str:
    """Return the largest causes of each method in words."""
    said = [causes(method).sentence() for method in methods]
    lines = [f"{name}: {text}" for name, text in zip(names, said, strict=True)] if len(said) > 1 else said
    return "".join(f"<p>{escape(line[0].upper() + line[1:] if len(said) == 1 else line)}.</p>" for line in lines)


def _frames_with(part: str, chosen: dict[str, str] | None = None) -> str:
    """Return the address of the frames with most of a part. A cause is also shown in the drawings."""
    caused = part in {value.key for value in PLD_BY_CAUSE.with_role("part")}
    return escape(f"#{urlencode({'sort': f'-{part}'} | ({'cause': part} if caused else {}) | (chosen or {}))}")


def _hint(about: str | None) -> str:
    if about is None:
        return "Frames with most of it"
    return escape(f"{about[0].upper()}{about[1:]}. Click for the frames with most of it, and to see it in the drawing")


def _bar(
    values: dict[str, float | None], colours: dict[str, str], words: dict[str, str], chosen: dict[str, str]
) -> str:
    """Return one stacked bar from 0 to 1. It is hidden from screen readers, because the numbers are beside it.

    Its links are not reached by the keyboard, because the legend has the same.
    """
    parts = {part: values[part] for part in colours}
    if any(part is None for part in parts.values()):
        return number(None)
    at = 0.0
    boxes = []
    for part, value in parts.items():
        width = 100 * (value or 0)
        boxes.append(
            f'<a href="{_frames_with(part, chosen)}" tabindex="-1"><rect class="part" x="{at:.2f}" y="1" '
            f'width="{width:.2f}" height="14" fill="{colours[part]}"><title>{words[part]} {value:.3f}</title></rect>'
            "</a>"
        )
        at += width
    return (
        '<svg class="bar" viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="100" height="16"/>{"".join(boxes)}</svg>'
    )
