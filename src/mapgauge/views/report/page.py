"""Writes the report: one HTML file that needs neither network nor server.

``page.html`` is the template of the page. Python writes the tables at the top. The scripts beside it show the list of
frames and the drawings, from arrays inside the page (``pack``).
"""

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from importlib.resources import files
from itertools import count
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.frames.links import LINK_STATES
from mapgauge.io.files.writing import save
from mapgauge.metrics.metric import Metric, SumRows
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import METRICS, colours_of, part_colours, setting_of
from mapgauge.results.comparison import check_comparable, compare, method_names
from mapgauge.results.results import Results
from mapgauge.results.values import lists_of_frames
from mapgauge.typing import Progress
from mapgauge.views.report.drawings import drawings, has_shares, is_map
from mapgauge.views.report.frames import choose, column_keys, frame_numbers, is_first
from mapgauge.views.report.pack import Arrays, pack
from mapgauge.views.report.sections import SECTIONS
from mapgauge.views.report.summary import summary

FRAMES = 200
# Joined to one script in this order.
SCRIPTS = ("inflate", "data", "list", "histogram", "drawing", "causes", "view", "frame", "export", "explorer")


def write_report(
    results: Results | Sequence[Results],
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    frames: int = FRAMES,
    title: str | None = None,
    causes: bool | None = None,
    progress: Progress | None = None,
) -> None:
    """Write results as one self-contained HTML page.

    Args:
        results: Results of one method, or of several methods on the same frames with the same protocol.
        path: The file to write.
        names: Names of the methods; None uses the file names.
        frames: Number of frames that can be drawn. They are the worst by each value and by each of its parts, the
            frames with the largest differences between methods, and a random quarter. If T-PLD was computed, up to half
            of them are whole scenes with the worst T-PLD. The page states the reasons, and has the values of all
            frames. Drawing needs the geometry, which results from a file have only if they are loaded with predictions
            and truth.
        title: Title of the page.
        causes: Whether to compute the metrics ``causes`` and ``completeness`` from the geometry. The page then has the
            causes of PLD as bars, lists frames by each cause, and shows the instances of a cause in the drawings. If
            None, ``causes`` is computed if all results have PLD of order 1 and the geometry, and if there are at most
            1,200,000 instances. That takes less time than the evaluation.
        progress: Called with the number of frames prepared so far and their total, over all methods.

    >>> import pathlib, tempfile
    >>> import mapgauge as mg
    >>> from mapgauge.demo import demo_world
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(mg.evaluate(*demo_world(2)), page)
    >>> page.stat().st_size < 150_000
    True
    """
    methods = [results] if isinstance(results, Results) else list(results)
    if isinstance(frames, bool) or not isinstance(frames, int) or frames < 0:
        raise InvalidInput(f"frames must be an integer of at least 0, got {frames!r}")
    notes = []
    for section in SECTIONS:
        methods, note = section.prepared(methods, causes)
        notes.append(note)
    called = method_names(methods, names)
    check_comparable(methods, called)
    ordered = [methods[0], *(_in_order_of(methods[0], method) for method in methods[1:])]
    with ThreadPoolExecutor(1) as pool:  # the comparison runs mostly in kernels, and the rest mostly in Python
        comparing = pool.submit(compare, methods, names=called)
        explorer = _explorer(ordered, called, frames, causes, progress)
        comparison = comparing.result()
    about = " ".join(filter(None, [explorer.about, *notes]))
    page = _page(title or "mapgauge report", summary(ordered, comparison), about, explorer)
    # File names may contain bytes that are not valid text. They are written as numeric character references.
    save(Path(path), page.encode("utf-8", "xmlcharrefreplace"))


class _Explorer(NamedTuple):
    """The list of frames and the drawings."""

    meta: dict[str, Any]
    data: str  # the arrays
    resources: list[str]  # names of scripts, styles and elements of sections
    about: str  # which frames can be drawn, in words


def _explorer(
    methods: Sequence[Results], names: Sequence[str], frames: int, causes: bool | None, progress: Progress | None
) -> _Explorer:
    """Return what the list and the drawings show. The arguments are as in ``write_report``."""
    first, numbers = methods[0], [frame_numbers(method) for method in methods]
    metrics = [metric for metric, _ in lists_of_frames(first.metrics)]
    scenes = [some for section in SECTIONS for some in section.scenes(methods)]
    chosen = choose(metrics, names, numbers, frames, scenes=scenes)
    drawn = list(chosen) if all(method.geometry is not None for method in methods) else []
    reasons = list(dict.fromkeys(reason for frame in drawn for reason in chosen[frame]))
    steps = count(1)

    def advance() -> None:
        if progress is not None:
            progress(next(steps), len(drawn) * len(methods))

    arrays: Arrays = {}
    world = bool(drawn) and is_map(first)
    for k, (method, table) in enumerate(zip(methods, numbers, strict=True)):
        columns = {f"value.{key}": column for key, column in table.items()}
        if drawn:
            some = method.of_frames(drawn)
            columns |= drawings(some, advance, centred=world)
            for section in SECTIONS:
                columns |= section.columns(some, causes)
        arrays |= {f"{k}.{key}": column for key, column in columns.items()}
    additions = {section: section.added(methods, drawn, causes) for section in SECTIONS}
    for added in additions.values():
        arrays |= added.arrays
    directory, data = pack(arrays)
    colour = colours_of(first.class_names)
    linked = any(metric.frame_links is not None and metric.settings(first.protocol) for metric in METRICS.values())
    meta = {
        "methods": names,
        "classes": first.class_names,
        "colours": [colour[name] for name in first.class_names],
        "columns": column_keys(first),
        "metrics": [_described(metric, rows, first) for metric, rows in lists_of_frames(first.metrics)],
        "tokens": first.tokens,
        "scenes": next((method.scenes for method in methods if method.scenes is not None), None),
        "shares": PLD.title if has_shares(first) else None,
        "drawn": drawn,
        "reasons": reasons,
        "why": [[reasons.index(reason) for reason in chosen[frame]] for frame in drawn],
        "matched": bool(first.protocol.cutoffs),
        "linkStates": LINK_STATES if linked else [],
        "region": None if world else first.protocol.region,
        "ego": not world,
        "arrays": directory,
    }
    for added in additions.values():
        meta |= added.meta
    moved = "The data are in world coordinates. Each frame is drawn around its centre, without an ego." if world else ""
    said = [_about_drawings(methods, drawn), moved, *(added.about for added in additions.values())]
    resources = [section.resource for section, added in additions.items() if section.resource and added.meta]
    return _Explorer(meta, data, resources, " ".join(filter(None, said)))


def _in_order_of(first: Results, method: Results) -> Results:
    """Return the results of a method with the frames in the order of the first method."""
    if method.tokens == first.tokens:
        return method
    place = {token: i for i, token in enumerate(method.tokens)}
    return method.of_frames([place[token] for token in first.tokens])


def _described(metric: Metric, rows: SumRows, results: Results) -> dict[str, Any]:
    """Return what the page needs to know about a metric: its main value, the headline values, and its parts."""
    computed = rows.values(np.zeros(len(rows.columns)), results.protocol)
    return {
        "key": metric.main.key,
        "title": metric.title + setting_of(metric.main.key, results.protocol),
        "lower": metric.lower_is_better,
        "caption": is_first(metric, results.metrics),
        "headlines": [value.key for value in metric.with_role("headline") if value.key in computed],
        "parts": [{"key": key, "colour": colour} for key, colour in part_colours(metric).items() if key in computed],
    }


def _about_drawings(methods: Sequence[Results], drawn: Sequence[int]) -> str:
    """Return a sentence about the frames that the page can draw."""
    total = len(methods[0].tokens)
    if any(method.geometry is None for method in methods):
        return (
            "No frame can be drawn, because the results were loaded from a file without the geometry. "
            "Write the report again: in Python with load_results(path, predictions, truth), in the shell with "
            "mapgauge report RESULTS,predictions=FILE,truth=FILE. "
            f"The list has the values of all {total:,} frames."
        )
    if len(drawn) == total:
        return f"All {total:,} frames can be drawn."
    ranked = any(True for _ in lists_of_frames(methods[0].metrics))
    how = (
        "the worst by each value and its parts, "
        + ("those with the largest differences between methods, " if len(methods) > 1 else "")
        + "and a random sample"
        if ranked
        else "a random sample"
    )
    return (
        f"{len(drawn):,} of {total:,} frames can be drawn: {how}. They have a dot in the list, and the page says why "
        "each was chosen. The list has the values of all frames. To draw more, pass frames= to write_report, or "
        "--frames to mapgauge report or mapgauge evaluate."
    )


def _page(heading: str, top: str, about: str, explorer: _Explorer) -> str:
    """Fill the template of the page. Its security policy allows only its own script, and no loading."""
    script = "\n" + "\n".join(_resource(f"{name}.js") for name in (*explorer.resources, *SCRIPTS))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_resource("page.html")).substitute(
        title=escape(heading),
        policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'",
        style=_resource("page.css") + "".join(_resource(f"{name}.css") for name in explorer.resources),
        strip="".join("\n" + _resource(f"{name}.html").rstrip() for name in explorer.resources),
        summary=top,
        drawing=escape(about),
        meta=json.dumps(explorer.meta).replace("<", "\\u003c"),
        data=explorer.data,
        script=script,
    )


def _resource(name: str) -> str:
    return files("mapgauge.views.report").joinpath(name).read_text(encoding="utf-8")


__all__ = ["write_report"]
