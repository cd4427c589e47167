"""The report: one HTML file to read and to explore, without network or server.

``page.html`` is the frame of the page, the scripts next to it run in it. Python writes the tables, the scripts the
list of frames and the drawings, from arrays inside the page (``pack``).
"""

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from mapgauge.display.colours import colours_of, part_colours
from mapgauge.errors import InvalidInput
from mapgauge.files.writing import save
from mapgauge.metrics.metric import Metric, SumRows
from mapgauge.metrics.table import title_of
from mapgauge.report.columns import column_keys, first_value, frame_numbers
from mapgauge.report.drawings import Arrays, choose, drawings
from mapgauge.report.pack import pack
from mapgauge.report.summary import summary
from mapgauge.results.comparison import compare
from mapgauge.results.results import Results
from mapgauge.results.values import lists_of_frames

FRAMES = 200
SCRIPTS = ("data.js", "list.js", "histogram.js", "drawing.js", "explorer.js")  # one scope, in this order


def write_report(
    results: Results | Sequence[Results],
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    frames: int = FRAMES,
    title: str | None = None,
) -> None:
    """Write results as one self-contained HTML page.

    Args:
        results: Of one method, or of several on the same frames and by the same protocol.
        path: The file to write.
        names: What to call the methods; the names of their files if None.
        frames: How many frames can be looked at: a quarter each of the worst, the best, the median and random ones, by
            PLD of the first method. The values of all frames are always there. Drawing needs the data; results from a
            file have it if they are loaded with predictions and truth.
        title: Of the page.

    >>> import pathlib, tempfile
    >>> import mapgauge as mg
    >>> from mapgauge.demo import demo_world
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(mg.evaluate(*demo_world(2)), page)
    >>> page.stat().st_size < 100_000
    True
    """
    methods = [results] if isinstance(results, Results) else list(results)
    if isinstance(frames, bool) or not isinstance(frames, int) or frames < 0:
        raise InvalidInput(f"frames must be a whole number of at least 0, got {frames!r}")
    comparison = compare(methods, names=names)  # refuses what does not compare
    first = methods[0]
    methods = [first, *(_in_order_of(first, method) for method in methods[1:])]
    chosen = choose(first, frames)
    drawn = list(chosen) if all(method.data is not None for method in methods) else []
    arrays: Arrays = {}
    for k, method in enumerate(methods):
        columns = {f"value.{key}": column for key, column in frame_numbers(method).items()}
        columns |= drawings(method, drawn) if drawn else {}
        arrays |= {f"{k}.{key}": column for key, column in columns.items()}
    directory, data = pack(arrays)
    heading, colour = title or "mapgauge report", colours_of(first.class_names)
    meta = {
        "title": heading,
        "methods": comparison.names,
        "classes": first.class_names,
        "colours": [colour[name] for name in first.class_names],
        "columns": column_keys(first),
        "metrics": [_described(metric, rows, first) for metric, rows in lists_of_frames(first.metrics)],
        "tokens": first.tokens,
        "scenes": next((method.scenes for method in methods if method.scenes is not None), None),
        "sort": first_value(first),
        "shares": "pld" in first.metrics and first.protocol.order == 1,
        "drawn": drawn,
        "kinds": [chosen[frame] for frame in drawn],
        "matched": bool(first.protocol.cutoffs),
        "region": first.protocol.region,
        "arrays": directory,
    }
    page = _page(
        heading, summary(methods, comparison), _said_of_drawings(methods, comparison.names[0], drawn), meta, data
    )
    # A name from a file system may hold what is no text; it is shown as numbers rather than refused.
    save(Path(path), page.encode("utf-8", "xmlcharrefreplace"))


def _in_order_of(first: Results, method: Results) -> Results:
    """Results with their frames in the order of the first."""
    if method.tokens == first.tokens:
        return method
    place = {token: i for i, token in enumerate(method.tokens)}
    return method.of_frames([place[token] for token in first.tokens])


def _described(metric: Metric, rows: SumRows, results: Results) -> dict[str, Any]:
    """What the page needs to know about a metric: its main value, what is shown beside it, and its parts."""
    there = rows.values(np.zeros(len(rows.columns)), results.protocol)
    return {
        "key": metric.main.key,
        "title": metric.title,
        "lower": metric.lower_is_better,
        "headlines": [value.key for value in metric.with_role("headline") if value.key in there],
        "parts": [{"key": key, "colour": colour} for key, colour in part_colours(metric).items() if key in there],
    }


def _said_of_drawings(methods: Sequence[Results], name: str, drawn: Sequence[int]) -> str:
    """What the page says of the frames that it can draw."""
    total = len(methods[0].tokens)
    if any(method.data is None for method in methods):
        return (
            "No frame can be drawn, because these results came from a file, which does not hold the geometry. "
            "Load them with load_results(path, predictions, truth) and write the report again. "
            f"The values of all {total:,} frames are here."
        )
    if len(drawn) == total:
        return f"All {total:,} frames can be drawn."
    key = first_value(methods[0])
    how = (
        "chosen at random"
        if key is None
        else f"a quarter each of the worst, the best, the median and random ones, by {title_of(key)} of {name}"
    )
    return (
        f"{len(drawn):,} of {total:,} frames can be drawn: {how}. They have a dot in the list. The values of all "
        "frames are here. write_report(..., frames=...) draws more."
    )


def _page(heading: str, top: str, drawing: str, meta: dict[str, Any], data: str) -> str:
    """The parts of the page put together. Its policy lets only its own script run, and nothing be loaded."""
    script = "\n" + "\n".join(_resource(name) for name in SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_resource("page.html")).substitute(
        title=escape(heading),
        policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'",
        style=_resource("page.css"),
        summary=top,
        drawing=escape(drawing),
        meta=json.dumps(meta).replace("<", "\\u003c"),
        data=data,
        script=script,
    )


def _resource(name: str) -> str:
    return files("mapgauge.report").joinpath(name).read_text(encoding="utf-8")


__all__ = ["write_report"]
