"""Writes the parts of the page that need no script: the scoreboard above the frames, and the sections below them."""

from collections.abc import Mapping, Sequence
from itertools import chain
from math import ceil, floor, isfinite, isnan
from typing import NamedTuple
from urllib.parse import urlencode

from mapgauge.errors import with_remedy
from mapgauge.frames.findings import Finding
from mapgauge.markup import Html, element, escaped, html, joined, number, table, value_text
from mapgauge.metrics.causes import FAMILIES, label_of
from mapgauge.metrics.metric import Metric, SumRows
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import METRICS, column_title, heading, part_colours, setting_of, title_of, value_keys
from mapgauge.protocols import full_name
from mapgauge.results.comparison import Comparison
from mapgauge.results.intervals import Difference, Estimate, bracket
from mapgauge.results.ranks import TIES, can_rank, directed_keys, ranks, title_of_ranks
from mapgauge.results.results import Results
from mapgauge.results.slices import Slices
from mapgauge.views.report.frames import is_first, is_repeated
from mapgauge.views.report.sections import sections
from mapgauge.words import counted

FEW_NOTES = 3  # more notes are folded, because the values should be on the first screen
LEVELS = ("error", "warning", "note")


def _about_parts() -> dict[str, str]:
    """Return what the parts of metrics are, by their keys. The page can show these in the drawings."""
    return {key: text for section in sections() for key, text in section.about.items()}


class StaticPage(NamedTuple):
    """The parts of the page that need no script, as HTML."""

    subtitle: str
    overview: Html  # the scoreboard, and how many findings there are
    worries: Html  # the findings that are errors, for the top of the page
    links: Html  # to the sections
    sections: Html  # below the list of frames


def summary(methods: Sequence[Results], comparison: Comparison, sliced: Sequence[Slices] = ()) -> StaticPage:
    """Return the parts above and below the list of frames. ``sliced`` are the slices of each method, if any."""
    names = comparison.names
    added = [section.bodies(methods, names) for section in sections()]
    bodies: dict[str, tuple[str, Html]] = {
        "values": ("Values", _values(methods, comparison)),
        **{name: section for each in added for name, section in each.items()},
        "slices": (f"Values by {sliced[0].by}", _slices(names, sliced)) if sliced else ("", Html("")),
        "parts": ("Parts of the error", bars(methods, names)),
        "findings": ("Findings", _findings(methods, names, LEVELS)),
        "inputs": ("Inputs and settings", _inputs(methods, names)),
    }
    shown = {name: section for name, section in bodies.items() if section[0]}
    titles = {"first": "Answer", "explorer": "Frames", "overview": "Overview"} | {
        name: title for name, (title, _) in shown.items()
    }
    return StaticPage(
        subtitle=_subtitle(methods),
        overview=joined([_scoreboard(methods, comparison), _ranks(comparison), _other_findings(methods)]),
        worries=_worries(methods, names),
        links=joined(element("a", title, href=f"#{name}") for name, title in titles.items()),
        sections=joined([_section(title, name, body) for name, (title, body) in shown.items()], "\n"),
    )


def _scoreboard(methods: Sequence[Results], comparison: Comparison) -> Html:
    """Return a table with a row for each method: the main values, the first with its interval and its parts drawn."""
    shown = _shown_metrics(methods[0], comparison)
    if not shown:
        return Html("")
    several = len(methods) > 1
    metric = shown[0]
    keys = [row.main.key for row in shown]
    main = keys[0]
    estimates = [by_class["mean"] for by_class in comparison.estimates]
    bounds = _axis([bound for bound in chain.from_iterable(values[main] for values in estimates) if isfinite(bound)])
    best = {row.main.key: _best(comparison, row) for row in shown}
    colours = part_colours(metric)
    words = {value.key: value.words for value in metric.values}

    rows = []
    for k, (name, method, values) in enumerate(zip(comparison.names, methods, estimates, strict=True)):
        scores = []
        for key in keys:
            text = _estimate(values[key], method, "mean", key=key)
            if several and k in best[key]:
                text = html('<span class="best">{} <b title="no value is decided to be better">best</b></span>', text)
            scores.append(text)
        about_main = [_whisker(values[main], bounds)]
        if colours:
            # The parts of a bar lead to frames. The page shows those of the first method unless another one is chosen.
            chosen = {"method": str(k)} if k else {}
            about_main.append(_bar(method.mean, colours, words, chosen=chosen))
        if several:
            about_main.append(_against_first(comparison, k, metric))
        rows.append([element("strong", name), scores[0], *about_main, *scores[1:]])

    titles = [title_of(key, full=True) + setting_of(key, methods[0].protocol) for key in keys]
    arrows = [title + column.arrow_of(column.main) for title, column in zip(titles, shown, strict=True)]
    about_header: list[str] = [html('<span class="axis"><span>{:g}</span><span>{:g}</span></span>', *bounds)]
    if colours:
        about_header.append(f"parts of {titles[0]} from 0 to 1")
    if several:
        about_header.append(f"{titles[0]} against {comparison.names[0]}")
    header = ["method", arrows[0], *about_header, *arrows[1:]]
    drawn = f"{counted(comparison.units, comparison.drawn, form=',')}"
    caption = f"Means over classes, with {comparison.level:.0%} intervals over {drawn}"
    table = _table(caption, header, rows)
    if not colours:
        return table
    return joined([table, _legend(colours, words)])


def _shown_metrics(first: Results, comparison: Comparison) -> list[Metric]:
    """Return the metrics whose main values the scoreboard has."""
    shown = []
    for name in first.metrics:
        metric = METRICS[name]
        if is_first(metric, first.metrics) and metric.main.key in comparison.estimates[0]["mean"]:
            shown.append(metric)
    return shown


def _against_first(comparison: Comparison, k: int, metric: Metric) -> Html:
    """Return whether the method ``k`` is better than the first one. Empty for the first one itself."""
    if k == 0:
        return Html("")
    of_classes = comparison.differences.get((comparison.names[0], comparison.names[k]), {})
    return _verdict(of_classes.get("mean", {}).get(metric.main.key), metric)


def _ranks(comparison: Comparison) -> Html:
    """Return the ranks of three or more methods by the first value. Empty if there are none."""
    if not can_rank(comparison):
        return Html("")
    key, _ = directed_keys(comparison, "mean")[0]
    rows = [
        ["-" if row.rank is None else str(row.rank), row.name, str(row.estimate), ", ".join(row.ties)]
        for row in ranks(comparison, key)
    ]
    return _table(title_of_ranks("mean"), ["rank", "method", heading(key, comparison.protocol), TIES], rows, heads=2)


def _axis(values: Sequence[float]) -> tuple[float, float]:
    """Return the bounds of an axis that contains values, at steps of 0.05."""
    low = min(values, default=0.0)
    high = max(values, default=1.0)
    return round(floor(low * 20) / 20, 2), round(max(ceil(high * 20), floor(low * 20) + 1) / 20, 2)


def _best(comparison: Comparison, metric: Metric) -> set[int]:
    """Return the methods with the best mean, to the digits that are shown, and those that are as good.

    As good is what is not decided to be worse. With too few scenes to decide anything, it is nothing more.
    """
    key = metric.main.key
    values = [by_class["mean"][key].value for by_class in comparison.estimates]
    signed = [round(value if metric.lower_is_better else -value, 3) for value in values]
    lowest = min((value for value in signed if not isnan(value)), default=0.0)
    best = {k for k, value in enumerate(signed) if value == lowest}
    leader = min(best, default=0)
    for k, value in enumerate(values):
        pair = (comparison.names[min(k, leader)], comparison.names[max(k, leader)])
        found = comparison.differences.get(pair, {}).get("mean", {}).get(key)
        if found is not None and not isnan(value) and found.decided is False:
            best.add(k)
    return best


def _whisker(estimate: Estimate, bounds: tuple[float, float]) -> Html:
    """Return an interval as a line with a dot at the value. Screen readers have the numbers instead."""
    if isnan(estimate.value):
        return Html("")
    value, low, high = (100 * (bound - bounds[0]) / (bounds[1] - bounds[0]) for bound in estimate)
    if isfinite(low) and isfinite(high):
        interval = html('<line x1="{:.2f}" x2="{:.2f}" y1="8" y2="8"/>', low, high)
    else:
        interval = Html("")
    return html(
        '<svg class="whisker" viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="16"/>{}<path d="M{:.2f} 8h0"/></svg>',
        interval,
        value,
    )


def _verdict(difference: Difference | None, metric: Metric) -> Html:
    """Return whether a method is better or worse than the first one, in words."""
    if difference is None or not difference.decided:
        if difference is None:
            return escaped("-")
        return html("{} <em>{}</em>", difference.numbers, difference.verdict)
    if (difference.value < 0) == metric.lower_is_better:
        word = "better"
    else:
        word = "worse"
    return html('{} <strong class="{word}">{word}</strong>', difference.numbers, word=word)


def _worries(methods: Sequence[Results], names: Sequence[str]) -> Html:
    """Return the findings that are errors. Empty if there are none."""
    if not any(finding.level == "error" for method in methods for finding in method.findings):
        return Html("")
    return _findings(methods, names, LEVELS[:1])


def _other_findings(methods: Sequence[Results]) -> Html:
    """Return how many warnings and notes there are, in words."""
    parts = []
    for level in LEVELS[1:]:
        texts = {finding.text for method in methods for finding in method.findings if finding.level == level}
        if texts:
            parts.append(counted(len(texts), level))
    others = " and ".join(parts)
    if not others:
        return Html("")
    return html('<p><a href="#findings">{}</a> about the inputs.</p>', others)


def _slices(names: Sequence[str], sliced: Sequence[Slices]) -> Html:
    """Return a table of the slices of each method, and their differences."""
    parts = []
    for name, of_method in zip(names, sliced, strict=True):
        for titles, cells in of_method.tables():
            parts.append(_table(f"{name}, means over classes", list(titles), [list(row) for row in cells]))
        parts += [element("p", note) for note in of_method.notes]
    if sliced and sliced[0].tests:
        parts.append(html("<p>{}.</p>", sliced[0].tests))
    return joined(parts)


def _subtitle(methods: Sequence[Results]) -> str:
    """Return truth, frames and protocol in a sentence."""
    first = methods[0]
    scenes = next((method.scenes for method in methods if method.scenes is not None), None)
    if scenes is None:
        of = ""
    else:
        of = f" of {counted(len(set(scenes)), 'scene', form=',')}"
    settings = first.protocol
    added = [row for row in map(METRICS.__getitem__, first.metrics) if isinstance(row.rows, SumRows)]
    stated = dict.fromkeys(part for row in added for part in row.stated(settings).split(", "))
    truths = " and ".join(dict.fromkeys(method.inputs[1].name or "truth in memory" for method in methods))
    about = ", ".join([settings.sampling_in_words, *filter(None, stated)])
    return f"{counted(len(first.tokens), 'frame', form=',')}{of} of {truths}. Protocol {full_name(settings)}: {about}."


def _section(title: str, name: str, body: Html) -> Html:
    heading = element("h2", title, id=f"{name}-title")
    return element("section", heading, body, id=name, aria_labelledby=f"{name}-title")


def _values(methods: Sequence[Results], comparison: Comparison) -> Html:
    """Return one table per metric with intervals, and one for the differences between each two methods."""
    first = methods[0]
    several = len(methods) > 1
    tables: list[Html] = []
    about = (
        f"In brackets: {comparison.level:.0%} intervals from {comparison.samples:,} bootstrap samples of "
        f"{counted(comparison.units, comparison.drawn, form=',')}."
    )
    if comparison.tests:
        about += f" {comparison.tests}."
    text = [
        element("p", about),
        *_meaning(first),
        *(element("p", note, class_="finding warning") for note in comparison.notes),
    ]
    shown = [METRICS[name] for name in first.metrics if not is_repeated(METRICS[name], first.metrics)]
    for metric in shown:
        keys = _keys(first, metric)
        rows = [
            [
                name,
                *[called] * several,
                *(_estimate(estimates.get(name, {}).get(key), result, name, key=key) for key in keys),
            ]
            for name, _ in first.rows_of(metric.name)
            for called, estimates, result in zip(comparison.names, comparison.estimates, methods, strict=True)
        ]
        header = ["class", *["method"] * several, *(column_title(key, first.protocol) for key in keys)]
        tables.append(_table(f"{metric.title} ({metric.better})", header, rows, heads=1 + several))
    for (first_name, second_name), by_class in comparison.differences.items():
        keys = [metric.main.key for metric in shown if metric.main.key in by_class["mean"]]
        if keys:
            rows = [
                [name, *(_difference(by_class[name].get(key)) for key in keys)]
                for name in (*first.class_names, "mean")
                if name in by_class and any(by_class[name].get(key) for key in keys)
            ]
            caption = f"{second_name} minus {first_name}, on the same samples"
            tables.append(_table(caption, ["class", *(title_of(key, protocol=first.protocol) for key in keys)], rows))
        both = [methods[comparison.names.index(name)] for name in (first_name, second_name)]
        for section in sections():
            changes = section.differences(*both, samples=comparison.samples, level=comparison.level)
            labels = changes.get("mean", {})
            rows = [[label, *(_difference(row[label], verdict=False) for row in changes.values())] for label in labels]
            if rows:
                caption = f"{second_name} minus {first_name}: causes of the difference in PLD"
                tables.append(_table(caption, ["cause", *changes], rows))
    return joined([*text, element("div", tables, class_="tables")])


def _meaning(results: Results) -> list[Html]:
    """Return a paragraph with values of PLD for maps with one simple error, if PLD was computed."""
    if PLD.name not in results.metrics or results.protocol.order != 1:
        return []
    cutoff = results.protocol.cutoffs[0]
    near = [metres for metres in (0.1, 0.3, 0.5) if metres < cutoff]
    shifted = ", ".join(f"{4 * metres / (cutoff + 3 * metres):.2f} for {metres:g} m" for metres in near)
    if not near:
        return []
    return [
        html(
            "<p>What a PLD means: a map that is right but shifted sideways has the PLD {} at the cutoff of {:g} m. A "
            "map of which 10 % or 30 % is missing has 0.10 or 0.30.</p>",
            shifted,
            cutoff,
        )
    ]


def _keys(results: Results, metric: Metric) -> list[str]:
    """Return the keys of the table of a metric: main value, headline values, further settings, rings."""
    keys = value_keys(metric, results.protocol, results.ranges, "main", "headline")
    return [str(key) for key in keys if results.mean.get(str(key)) is not None or key.name == metric.main.key]


def _estimate(estimate: Estimate | None, results: Results, name: str, key: str) -> Html:
    """Return a value with its interval, if it has one."""
    if estimate is None or isnan(estimate.value):
        return escaped(number((results.mean if name == "mean" else results.classes[name]).get(key)))
    return html("{:.3f} <small>{}</small>", estimate.value, bracket(estimate.low, estimate.high))


def _difference(difference: Difference | None, *, verdict: bool = True) -> Html:
    """Return a difference with its interval, and the verdict if it is not decided which method is better."""
    if difference is None or isnan(difference.value):
        return escaped(number(None))
    text = html("{:+.3f} <small>{}</small>", difference.value, bracket(difference.low, difference.high, "+.3f"))
    if difference.decided or not verdict:
        return text
    return joined([text, html('<br><em class="unsure">{}</em>', difference.verdict)])


def _findings(methods: Sequence[Results], names: Sequence[str], levels: Sequence[str]) -> Html:
    """Return the findings of some levels, errors first. A finding that several methods share is listed once."""
    owners: dict[tuple[str, str], list[str]] = {}  # by level and text
    for called, result in zip(names, methods, strict=True):
        for finding in (finding for finding in result.findings if finding.level in levels):
            of_text = owners.setdefault((finding.level, with_remedy(finding.text, _advice(finding))), [])
            of_text += [called] * (called not in of_text)
    items: dict[str, list[Html]] = {level: [] for level in LEVELS}
    for (level, text), of_text in owners.items():
        if len(names) > 1:
            whose = html(" <small>({})</small>", ", ".join(of_text))
        else:
            whose = Html("")
        items[level].append(
            html('<li class="finding {level}"><strong>{level}</strong> {}{}</li>', text, whose, level=level)
        )
    errors, warnings, notes = (items[level] for level in LEVELS)
    lists = [element("ul", rows, class_="findings") for rows in ([*errors, *warnings], notes) if rows]
    if len(notes) > FEW_NOTES:
        lists[-1] = html('<details class="notes"><summary>{} notes</summary>{}</details>', len(notes), lists[-1])
    return joined(lists) or html("<p>The checks found no problems.</p>")


def _advice(finding: Finding) -> str | None:
    """Return the remedy of a finding. Readers of the page may use Python or the shell, so it has both."""
    remedy = finding.remedy
    if remedy is None or remedy.python == remedy.shell:
        if remedy is None:
            return None
        return remedy.python
    return f"In Python: {remedy.python}. In the shell: {remedy.shell}"


def _inputs(methods: Sequence[Results], names: Sequence[str]) -> Html:
    """Return files, frames and instances of each side, and all settings of the protocol."""
    first = methods[0]
    rows = []
    for called, result in zip(names, methods, strict=True):
        for side, given in zip(("predictions", "truth"), result.inputs, strict=True):
            counts = ", ".join(f"{count:,} {name}" for name, count in given.counts.items())
            cells = [called, side, given.name or "in memory", given.format or "-", f"{given.frames:,}", counts or "-"]
            rows.append([*map(_breakable, cells), element("code", given.hash[:12])])
    header = ["method", "side", "file", "format", "frames", "instances", "hash"]
    text = [_table("Inputs", header, rows, heads=2)]
    empty = int((first.scores.true.sum(axis=1) == 0).sum())
    if empty:
        text.append(
            html(
                "<p>{} no truth. All predictions there are false.</p>",
                counted(empty, "frame has", "frames have", form=","),
            )
        )
    for called, result in zip(names, methods, strict=True):
        for count, about in (
            (result.frames_missing, "frames have no predictions and count as empty"),
            (result.frames_ignored, "predicted frames are not in the truth and are ignored"),
        ):
            if count:
                text.append(html("<p>{}: {:,} {}.</p>", called, count, about))
    if first.without_value:
        text.append(
            html(
                "<p>Classes without a value, because they have neither predictions nor truth: {}.</p>",
                ", ".join(first.without_value),
            )
        )
    settings = [[key, value_text(value)] for key, value in first.protocol.flat().items()]
    text.append(
        html(
            "<details><summary>Protocol {}: all settings</summary>{}</details><p>mapgauge {}.</p>",
            full_name(first.protocol),
            _table("Settings", ["setting", "value"], settings),
            first.version,
        )
    )
    return joined(text)


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, heads: int = 1) -> Html:
    """Return a table that scrolls if it is wide."""
    cells = [[*map(_breakable, row[:heads]), *map(escaped, row[heads:])] for row in rows]
    # Cells of ``table`` are shortened in a notebook. On a page they are whole.
    body = table([*map(escaped, header)], cells, heads=heads, caption=escaped(caption))
    return element("div", body, class_="wide", tabindex=0, role="region", aria_label=caption)


def _breakable(text: str) -> Html:
    """Return a name that a narrow screen may break after an underscore."""
    if isinstance(text, Html):
        return text
    return joined(text.split("_"), html("_<wbr>"))


def bars(methods: Sequence[Results], names: Sequence[str]) -> Html:
    """Return the parts of each metric that has parts, as stacked bars and as numbers."""
    split = [metric for metric in map(METRICS.__getitem__, methods[0].metrics) if metric.with_role("part")]
    if not split:
        return html("<p>None of the computed metrics splits into parts.</p>")
    return joined([_parts_and_causes(split), *(_bars_of(metric, methods, names) for metric in split)])


def _parts_and_causes(split: Sequence[Metric]) -> Html:
    """Return how the parts of PLD and its causes differ, if both are shown. Some have the same names."""
    if PLD not in split or not any(is_repeated(metric, [PLD.name]) for metric in split):
        return Html("")
    families = "; ".join(
        f"{family} is {', '.join(label_of(cause) for cause in causes)}"
        for family, causes in FAMILIES.items()
        if len(causes) > 1
    )
    return html(
        "<p>PLD is split in two ways, and each adds up to it. Its <em>parts</em> say where the assignment has the "
        "costs. Its <em>causes</em> say why they occur. The part <em>missed</em> is the cost of true lines without a "
        "match. The cause <em>missed</em> leaves out what a fragment, a merge, a displaced line or a line of another "
        "class explains, and has the true lines of matches in which the two lines do not lie along each other. The "
        "part <em>confidence</em> is the missing confidence of all matches. The causes count that of matches that do "
        "not fit as an error of their geometry. Families of causes on the first screen: {}.</p>",
        families,
    )


def _bars_of(metric: Metric, methods: Sequence[Results], names: Sequence[str]) -> Html:
    first = methods[0]
    several = len(methods) > 1
    title = metric.title + setting_of(metric.main.key, first.protocol)
    colours = part_colours(metric)
    if all(first.mean[part] is None for part in colours) and first.mean[metric.main.key] is not None:
        return html("<p>{} of order {:g} does not split into parts.</p>", title, first.protocol.order)
    words = {value.key: value.title if value.key in _about_parts() else value.words for value in metric.values}
    cells = []
    for name, _ in first.rows_of(metric.name):
        for k, (called, result) in enumerate(zip(names, methods, strict=True)):
            if name == "mean":
                values = result.mean
            else:
                values = result.classes[name]
            chosen = {}
            if k:
                chosen["method"] = str(k)
            if name != "mean":
                chosen["of"] = name
            heads = [name, *[called] * several]
            bar = _bar(values, colours, words, chosen=chosen)
            cells.append([*heads, bar, *(number(values[part]) for part in colours)])
    header = ["class", *["method"] * several, f"{title} from 0 to 1", *(words[part] for part in colours)]
    if is_repeated(metric, first.metrics):
        caption = f"{title}; the causes add up to PLD"
    else:
        caption = f"Parts of {title}; they add up to it"
    said = _sentences(methods, names, metric)
    return joined([said, _legend(colours, words), _table(caption, header, cells, heads=1 + several)])


def _legend(colours: Mapping[str, str], words: Mapping[str, str]) -> Html:
    """Return the colours of parts. Each is a link to the frames with most of it."""
    items = [
        element("li", _swatch(colour), " ", element("a", words[part], href=_frames_with(part), title=_hint(part)))
        for part, colour in colours.items()
    ]
    return element("ul", items, class_="legend")


def _swatch(colour: str) -> Html:
    return html(
        '<svg width="12" height="12" aria-hidden="true"><rect class="part" width="12" height="12" fill="{}"/></svg>',
        colour,
    )


def _sentences(methods: Sequence[Results], names: Sequence[str], metric: Metric) -> Html:
    """Return what sections say about the parts of a metric, for each method."""
    said = [text for section in sections() for method in methods if (text := section.sentence(method, metric))]
    if len(said) > 1:
        lines = [f"{name}: {text}" for name, text in zip(names, said, strict=True)]
    else:
        lines = said
    if len(said) == 1:
        lines = [line[0].upper() + line[1:] for line in lines]
    return joined(html("<p>{}.</p>", line) for line in lines)


def _frames_with(part: str, chosen: dict[str, str] | None = None) -> str:
    """Return the address of the frames with most of a part. A part of a section is also shown in the drawings."""
    if part in _about_parts():
        shown = {"cause": part}
    else:
        shown = {}
    return f"#{urlencode({'sort': f'-{part}'} | shown | (chosen or {}))}"


def _hint(part: str) -> str:
    if part not in _about_parts():
        return "Frames with most of it"
    about = _about_parts()[part]
    return f"{about[0].upper()}{about[1:]}. Click for the frames with most of it, and to see it in the drawing"


def _bar(
    values: dict[str, float | None], colours: dict[str, str], words: dict[str, str], chosen: dict[str, str]
) -> Html:
    """Return one stacked bar from 0 to 1. It is hidden from screen readers, because the numbers are beside it.

    Its links are not reached by the keyboard, because the legend has the same.
    """
    parts = {part: values[part] for part in colours}
    if any(part is None for part in parts.values()):
        return escaped(number(None))
    at = 0.0
    boxes = []
    for part, value in parts.items():
        width = 100 * (value or 0)
        title = element("title", f"{words[part]} {value:.3f}")
        box = element("rect", title, class_="part", x=at, y=1, width=width, height=14, fill=colours[part])
        boxes.append(element("a", box, href=_frames_with(part, chosen), tabindex=-1))
        at += width
    return html(
        '<svg class="bar" viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="16"/>{}</svg>',
        boxes,
    )
