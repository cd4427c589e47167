"""Writes the report: one HTML file that needs neither network nor server.

``page.html`` is the template of the page. Python writes the tables at the top. The scripts beside it show the list of
frames and the drawings, from arrays inside the page (``pack``).
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from mapgauge.answers.answer import Answer, combined, explain
from mapgauge.answers.pairs import fits
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.evaluation.evaluate import must_score
from mapgauge.hooks import expect_ahead
from mapgauge.io.files.writing import save
from mapgauge.markup import Html, html, joined
from mapgauge.metrics.explaining import EXPLAINING
from mapgauge.metrics.table import METRICS
from mapgauge.results.comparison import Comparison, check_comparable, compare, method_names
from mapgauge.results.intervals import Estimate
from mapgauge.results.query import Query, parse
from mapgauge.results.results import Results
from mapgauge.results.slices import Slices
from mapgauge.results.tags import Tags
from mapgauge.results.values import InputRecords
from mapgauge.typing import Progress
from mapgauge.views.report.card import write_card
from mapgauge.views.report.causes import has_causes
from mapgauge.views.report.explorer import (
    STYLES,
    explorer_elements,
    filled,
    in_order_of,
    joined_script,
    meta_text,
    resource,
    script_hash,
    section_resource,
)
from mapgauge.views.report.explorer_part import ExplorerPart, explorer_part
from mapgauge.views.report.first import first_elements, first_meta, panel_of_sections
from mapgauge.views.report.further import LIMITS, Limits
from mapgauge.views.report.sections import sections
from mapgauge.views.report.summary import StaticPage, summary

SOURCE = ("inflate", "block")  # scripts that read the arrays from the page
FILTER = ("query", "condition")  # scripts that filter the list by a condition


def write_report(
    results: Results | Sequence[Results],
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    frames: int | str | None = None,
    title: str | None = None,
    causes: bool | None = None,
    by: str | None = None,
    tags: Tags | None = None,
    with_paths: bool = False,
    card: str | os.PathLike[str] | None = None,
    answer: Answer | None = None,
    progress: Progress | None = None,
) -> None:
    """Write results as one self-contained HTML page.

    Args:
        results: Results of one method, or of several methods on the same frames with the same protocol.
        path: The file to write.
        names: Names of the methods; None uses the file names.
        frames: Which frames can be drawn. If None, all of them, up to 40 MB of drawings: 200 with all predictions, the
            others without unmatched predictions whose confidence is below 0.1. A number draws so many: the worst by
            each value and by each of its parts, over all classes and of each class, the frames with the largest
            differences between methods, and a random quarter. If a metric of tracks was computed, up to half of them
            are whole scenes. The page states the reasons, and has the values of all frames. Drawing needs the geometry,
            which results from a file have only if they are loaded with predictions and truth. A condition, such as
            ``"pld > 0.8 and missed.boundary > 2"``, draws the frames of the first method that meet it;
            ``Results.where`` has the columns.
        title: Title of the page. If None, the names of the methods.
        causes: Whether to compute the metrics ``causes`` and ``completeness`` from the geometry. The page then has the
            causes of PLD as bars, lists frames by each cause, and shows the instances of a cause in the drawings. If
            None, ``causes`` is computed if all results have PLD of order 1 and the geometry. What was scored as
            ``extra`` of ``evaluate`` is not computed again.
        by: A column, ``"scene"`` or one of the tags. The page then has the values of its slices; see ``Results.by``.
        tags: Tags of frames or scenes, from ``read_tags``.
        with_paths: Whether the page names the inputs by their whole paths. By default it has the names of the files
            only, as a paper under double-blind review needs.
        card: A picture to write besides: the first screen as 1200 x 630 pixels, for a pull request or a chat. Its
            suffix is png, svg or pdf. It needs matplotlib (the extra ``plot``), and no browser.
        answer: What ``mg.answer`` said about these results, under the same names. If None, it is computed.
        progress: Called with the number of frames prepared so far and their total, over all methods.

    >>> import pathlib, tempfile
    >>> import mapgauge as mg
    >>> from mapgauge.demo import demo_world
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(mg.evaluate(*demo_world(2)), page)
    >>> page.stat().st_size < 400_000
    True
    """
    if isinstance(results, Results):
        methods = [results]
    else:
        methods = list(results)
    made = made_report(
        methods,
        names=names,
        frames=_checked_frames(frames),
        title=title,
        causes=causes,
        by=by,
        tags=tags,
        with_paths=with_paths,
        answer=answer,
        progress=progress,
    )
    # File names may contain bytes that are not valid text. They are written as numeric character references.
    save(Path(path), made.page.encode("utf-8", "xmlcharrefreplace"))
    if card is not None:
        write_card(card, made.heading, made.subtitle, sentences=made.sentences, meta=made.meta)


def _checked_frames(frames: int | str | None) -> int | Query | None:
    """Return which frames shall be drawn: a number, a condition, or None for all."""
    if isinstance(frames, str):
        return parse(frames)
    if frames is None:
        return None
    if isinstance(frames, bool) or not isinstance(frames, int) or frames < 0:
        raise InvalidInput(f"frames must be an integer of at least 0, got {frames!r}", remedy="Or pass a condition")
    return frames


class MadeReport(NamedTuple):
    """A report, and what its card says."""

    page: Html
    heading: str
    subtitle: str
    sentences: list[str]
    meta: dict[str, Any]


def made_report(
    methods: list[Results],
    *,
    names: Sequence[str] | None = None,
    frames: int | Query | None = None,
    title: str | None = None,
    causes: bool | None = None,
    by: str | None = None,
    tags: Tags | None = None,
    with_paths: bool = False,
    answer: Answer | None = None,
    progress: Progress | None = None,
    limits: Limits = LIMITS,
) -> MadeReport:
    """Return the report of methods. The arguments are as in ``write_report``."""
    _expect(methods, causes)
    methods, called = prepared(methods, names, causes)
    if answer is not None:
        _check_answer(answer, called)
    ordered = [methods[0], *(in_order_of(methods[0], method) for method in methods[1:])]
    with ThreadPoolExecutor(2) as pool:  # the comparison runs mostly in kernels, and the rest mostly in Python
        comparing = pool.submit(_comparison_of, methods, called, answer)
        explaining = []
        if answer is None:
            explaining = [pool.submit(explain, method, name) for method, name in zip(methods, called, strict=True)]
        explorer = explorer_part(ordered, called, frames, causes=causes, tags=tags, progress=progress, limits=limits)
        comparison = comparing.result()
        if answer is None:
            said = combined([told.result() for told in explaining], comparison)
        else:
            said = answer
    if by is None:
        sliced = []
    else:
        sliced = Slices.together([method.by(by, tags=tags) for method in methods])
    if with_paths:
        named = ordered
    else:
        named = [_without_folders(method) for method in ordered]
    top = summary(named, comparison, sliced)
    heading = title or ", ".join(called)
    explorer.meta.update(first_meta(ordered, called, comparison, answer=said))
    first = first_elements(said, panel_of_sections("where", ordered, called), top.worries)
    return MadeReport(
        page=page_of(heading, top, explorer.about, explorer=explorer, first=first),
        heading=heading,
        subtitle=top.subtitle,
        sentences=[statement.text for statement in said.statements],
        meta=explorer.meta,
    )


def _check_answer(answer: Answer, names: Sequence[str]) -> None:
    """Refuse an answer about other methods."""
    if not isinstance(answer, Answer):
        raise InvalidInput(f"answer must be what mg.answer returns, got {type(answer).__name__}")
    about = [facts.name for facts in answer.methods]
    if about != list(names):
        raise InvalidInput(f"answer is about {', '.join(about)}, expected one about {', '.join(names)}")


def _comparison_of(methods: Sequence[Results], names: Sequence[str], answer: Answer | None) -> Comparison:
    """Return the comparison that the answer was made from if it has what the page shows, and otherwise a new one."""
    if answer is not None and answer.comparison is not None:
        known = answer.comparison
        if fits(known, names) and all(map(_has_values, known.estimates, methods)):
            return known
    return compare(methods, names=names)


def _has_values(estimates: Mapping[str, Mapping[str, Estimate]], results: Results) -> bool:
    """Whether estimates are those of results, with all their metrics."""
    for metric in results.metrics:
        key = METRICS[metric].main.key
        if key not in estimates["mean"] or estimates["mean"][key].value != results.mean.get(key):
            return False
    return True


def _expect(methods: Sequence[Results], causes: bool | None) -> None:
    """Let the pass that scores the causes, if there is one, do what the answer and the panels need."""
    if causes is False or not all(map(has_causes, methods)):
        return
    for method in methods:
        if must_score(method, EXPLAINING):
            expect_ahead(method.need_data(), method.metrics, report=True)


def prepared(
    methods: list[Results], names: Sequence[str] | None, causes: bool | None
) -> tuple[list[Results], Sequence[str]]:
    """Return methods with the metrics that the page shows, and their names. They must be comparable."""
    for section in sections():
        methods = section.prepared(methods, causes)
    called = method_names(methods, names)
    check_comparable(methods, called)
    return methods, called


def _without_folders(results: Results) -> Results:
    """Return results whose inputs and findings have the names of files in place of their paths."""
    names = {side.name: Path(side.name).name for side in results.inputs if side.name}

    def short(text: str) -> str:
        for path, name in names.items():
            text = text.replace(path, name)
        return text

    findings = [
        replace(
            finding,
            message=short(finding.message),
            remedy=finding.remedy and Remedy(short(finding.remedy.python), short(finding.remedy.shell)),
        )
        for finding in results.findings
    ]
    predictions, truth = (side._replace(name=names.get(side.name, "")) for side in results.inputs)
    return replace(results, records=InputRecords.known(predictions, truth), findings=tuple(findings))


def page_of(
    heading: str, top: StaticPage, about: str, explorer: ExplorerPart, first: Html, styles: Sequence[str] = STYLES
) -> Html:
    """Fill the template of the page. Its security policy allows only its own script, and no loading."""
    source = [resource(f"{name}.js") for name in SOURCE]
    added = [resource(f"{name}.js") for name in FILTER]
    added += [section_resource(section, "js") for section in explorer.sections]
    script = joined_script(source, added)
    return filled(
        resource("page.html"),
        title=heading,
        policy=policy_of(script),
        style=joined(
            [
                *(resource(f"{name}.css") for name in styles),
                *(section_resource(section, "css") for section in explorer.sections),
            ]
        ),
        subtitle=top.subtitle,
        links=top.links,
        first=first,
        overview=top.overview,
        later=joined(
            html('<script type="application/octet-stream" id="later-{}">{}</script>\n', k, text)
            for k, text in enumerate(explorer.later)
        ),
        sections=top.sections,
        explorer=explorer_elements(about, [section_resource(section, "html") for section in explorer.sections]),
        meta=meta_text(explorer.meta),
        data=explorer.data,
        script=script,
    )


def policy_of(script: str) -> str:
    """Return the security policy of the page. Images are those that the page itself makes, to save a panel as PNG."""
    allowed = f"default-src 'none'; script-src {script_hash(script)}; style-src 'unsafe-inline'; img-src data:"
    return f"{allowed}; base-uri 'none'"


__all__ = ["write_report"]
