"""The list of frames and the drawings: what their scripts need. The report and ``mapgauge view`` share them."""

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from mapgauge.frames.links import LINK_STATES
from mapgauge.markup import THINNEST, WIDEST, Html, escaped, joined
from mapgauge.metrics.colours import FAR
from mapgauge.metrics.groups import Block
from mapgauge.metrics.metric import Metric, SumRows
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import COLOURS, colours_of, part_colours, setting_of, title_of
from mapgauge.results.drawn_links import drawn_links
from mapgauge.results.marks import NEAR, STEPS
from mapgauge.results.results import Results
from mapgauge.results.values import lists_of_frames
from mapgauge.views.report.drawings import drawings, has_shares
from mapgauge.views.report.frames import column_keys, frame_numbers, is_first, scene_numbers
from mapgauge.views.report.pack import Arrays, Section
from mapgauge.views.report.sections import sections

# Joined to one script: the first, a source of arrays, these, the scripts of sections, and the last.
FIRST = "failure"
SCRIPTS = (
    *("data", "list", "histogram", "drawing", "causes", "marks", "view", "frame", "export", "command", "picture"),
    *("first", "thumbs", "scenes", "compare", "help"),
)
STYLES = ("page", "first")
LAST = "explorer"
RESOURCES = "mapgauge.views.report"  # the package with scripts, styles and elements


def described(methods: Sequence[Results], names: Sequence[str], *, world: bool) -> dict[str, Any]:
    """Return what the scripts need to know about the methods. With ``world``, the data are a map without an ego."""
    first = methods[0]
    protocol = first.protocol
    colour = colours_of(first.class_names)
    shares = None
    if has_shares(first):
        shares = PLD.title
    cutoff = None
    if protocol.cutoffs:
        cutoff = protocol.cutoffs[0]
    link_states: Sequence[str] = ()
    if any(links.are_compared(protocol) for links in drawn_links()):
        link_states = LINK_STATES
    region = None
    if not world:
        region = protocol.region
    return {
        "methods": names,
        "methodColours": [COLOURS[k % len(COLOURS)] for k in range(len(names))],
        "classes": first.class_names,
        "colours": [colour[name] for name in first.class_names],
        "columns": column_keys(first),
        "metrics": [_described(metric, rows, first) for metric, rows in lists_of_frames(first.metrics)],
        "tokens": first.tokens,
        "scenes": scenes_of(methods),
        "shares": shares,
        "matched": bool(protocol.cutoffs),
        "ignored": any(finding.code == "truth-ignored" for method in methods for finding in method.findings),
        "cutoff": cutoff,
        "marks": {"steps": STEPS, "near": NEAR, "far": FAR, "thinnest": THINNEST, "widest": WIDEST},
        "linkStates": link_states,
        "region": region,
        "ego": not world,
    }


def _described(metric: Metric, rows: SumRows, results: Results) -> dict[str, Any]:
    """Return what the page needs to know about a metric: its main value, the headline values, and its parts."""
    computed = rows.values(np.zeros(len(rows.columns)), results.protocol)
    return {
        "key": metric.main.key,
        "title": title_of(metric.main.key, full=True) + setting_of(metric.main.key, results.protocol),
        "lower": metric.lower_is_better,
        "caption": is_first(metric, results.metrics),
        "headlines": [value.key for value in metric.with_role("headline") if value.key in computed],
        "parts": [{"key": key, "colour": colour} for key, colour in part_colours(metric).items() if key in computed],
    }


def in_order_of(first: Results, method: Results) -> Results:
    """Return the results of a method with the frames in the order of the first method."""
    if method.tokens == first.tokens:
        return method
    place = {token: i for i, token in enumerate(method.tokens)}
    return method.of_frames([place[token] for token in first.tokens])


def value_arrays(method: int, results: Results) -> Arrays:
    """Return the values of all frames, by the names of the scripts. ``method`` is its number."""
    return {f"{method}.value.{key}": column for key, column in frame_numbers(results).items()}


def scene_arrays(methods: Sequence[Results]) -> Arrays:
    """Return the first value of all scenes and methods, by the names of the scripts. Empty without scenes."""
    scenes = scenes_of(methods)
    arrays: Arrays = {}
    for k, method in enumerate(methods):
        numbers = scene_numbers(method, scenes)
        if numbers is not None:
            arrays[f"{k}.scenes"] = numbers
    return arrays


def scenes_of(methods: Sequence[Results]) -> tuple[str, ...] | None:
    """Return the scene of each frame, from the first method that knows it."""
    return next((method.scenes for method in methods if method.scenes is not None), None)


def geometry_arrays(
    method: int,
    results: Results,
    causes: bool | None,
    advance: Callable[[], None],
    *,
    centred: bool,
    least: float = 0.0,
) -> Arrays:
    """Return the geometry of all frames, by the names of the scripts. The results must have their data.

    Unmatched predictions with a confidence below ``least`` are left out. The other arguments are those of
    ``drawings``, and ``causes`` as in ``write_report``.
    """

    def of_sections(block: Block) -> Arrays:
        columns: Arrays = {}
        for section in sections():
            columns |= section.columns(block, results, causes)
        return columns

    columns, kept = drawings(results, advance, centred=centred, least=least, more=of_sections)
    if "predictions.causes" in columns:
        costs = np.repeat(kept, columns["predictions.causes"])
        columns["predictions.causes"] = columns["predictions.causes"][kept]
        columns["predictions.cause"] = columns["predictions.cause"][costs]
        columns["predictions.cost"] = columns["predictions.cost"][costs]
    return {f"{method}.{key}": column for key, column in columns.items()}


def resource(name: str, package: str = RESOURCES) -> Html:
    """Return the text of a script, a style or elements. It is written by hand, so it goes into pages as it is."""
    return Html(files(package).joinpath(name).read_text(encoding="utf-8"))


def section_resource(section: Section, suffix: str) -> Html:
    """Return the script (``js``), the style (``css``) or the elements (``html``) of a section."""
    return Html(resource(f"{section.resource}.{suffix}", section.package).rstrip())


def filled(template: Html, **texts: str) -> Html:
    """Fill a template, a resource. Every text is escaped unless it is ``Html``."""
    return Html(Template(template).substitute({name: escaped(text) for name, text in texts.items()}))


def explorer_elements(about: str, panes: Sequence[Html]) -> Html:
    """Return the elements of the list and the drawings. ``panes`` are elements that take the place of the list."""
    elements = filled(
        resource("explorer.html"), drawing=about, panes=joined(["", *panes], "\n"), help=resource("help.html")
    )
    return Html(elements.rstrip())


def joined_script(source: Sequence[Html], added: Sequence[Html]) -> Html:
    """Return the whole script from the texts of the source of arrays and of the scripts of sections."""
    own = [resource(f"{name}.js") for name in SCRIPTS]
    first = resource(f"{FIRST}.js")
    return joined(["", first, *source, *own, *added, resource(f"{LAST}.js")], "\n")


def script_hash(script: str) -> str:
    """Return the hash by which a security policy allows a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def meta_text(meta: dict[str, Any]) -> Html:
    """Return JSON that no text can leave, for a script element."""
    return Html(json.dumps(meta, separators=(",", ":")).replace("<", "\\u003c"))
