"""Writes the parts of each metric as stacked bars and as numbers. A part links to the frames with most of it."""

from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

from mapgauge.causes.anatomy import anatomy
from mapgauge.display.colours import part_colours
from mapgauge.display.tables import number
from mapgauge.metrics.causes import CAUSES, PLD_BY_CAUSE
from mapgauge.metrics.metric import Metric
from mapgauge.metrics.table import METRICS, setting_of
from mapgauge.results.results import Results


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
    said = [anatomy(method).sentence() for method in methods]
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
