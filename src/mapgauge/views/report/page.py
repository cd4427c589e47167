"""Writes the report: one HTML file that needs neither network nor server.

``page.html`` is the template of the page. Python writes the tables at the top. The scripts beside it show the list of
frames and the drawings, from arrays inside the page (``pack``).
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count as counting
from pathlib import Path
from typing import Any, NamedTuple

from mapgauge.answers.answer import Answer, combined, explain
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.io.files.writing import save
from mapgauge.markup import Html, html, joined
from mapgauge.results.comparison import check_comparable, compare, method_names
from mapgauge.results.frame_query import FrameTable
from mapgauge.results.query import Query, parse
from mapgauge.results.results import Results
from mapgauge.results.slices import Slices
from mapgauge.results.tags import Tags
from mapgauge.results.values import InputRecords, lists_of_frames
from mapgauge.typing import Progress
from mapgauge.views.report.card import write_card
from mapgauge.views.report.drawings import is_map, least_drawn
from mapgauge.views.report.explorer import (
    STYLES,
    described,
    explorer_elements,
    filled,
    geometry_arrays,
    in_order_of,
    joined_script,
    meta_text,
    resource,
    scene_arrays,
    script_hash,
    section_resource,
)
from mapgauge.views.report.first import first_elements, first_meta, panel_of_sections
from mapgauge.views.report.frames import all_numbers, choose, frame_numbers
from mapgauge.views.report.further import LIMITS, FurtherFrames, Limits
from mapgauge.views.report.pack import Arrays, Section, pack
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
            differences between methods, and a random quarter. If T-PLD was computed, up to half of them are whole
            scenes with the worst T-PLD. The page states the reasons, and has the values of all frames. Drawing needs
            the geometry, which results from a file have only if they are loaded with predictions and truth. A
            condition, such as ``"pld > 0.8 and missed.boundary > 2"``, draws the frames of the first
            method that meet it; ``Results.where`` has the columns.
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
        write_card(card, made.heading, made.subtitle, made.sentences, made.meta)


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
    methods, called = prepared(methods, names, causes)
    if answer is not None:
        _check_answer(answer, called)
    ordered = [methods[0], *(in_order_of(methods[0], method) for method in methods[1:])]
    with ThreadPoolExecutor(2) as pool:  # the comparison runs mostly in kernels, and the rest mostly in Python
        comparing = pool.submit(compare, methods, names=called)
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
    explorer.meta.update(first_meta(ordered, called, comparison, said))
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


def prepared(
    methods: list[Results], names: Sequence[str] | None, causes: bool | None
) -> tuple[list[Results], Sequence[str]]:
    """Return methods with the metrics that the page shows, and their names. They must be comparable."""
    for section in sections():
        methods = section.prepared(methods, causes)
    called = method_names(methods, names)
    check_comparable(methods, called)
    return methods, called


class ExplorerPart(NamedTuple):
    """The list of frames and the drawings."""

    meta: dict[str, Any]
    data: str  # the arrays
    later: list[str]  # arrays of further frames, which the page reads later
    sections: list[Section]  # that have scripts, styles and elements
    about: str  # which frames can be drawn, in words


def explorer_part(
    methods: Sequence[Results],
    names: Sequence[str],
    frames: int | Query | None,
    causes: bool | None,
    tags: Tags | None,
    progress: Progress | None,
    limits: Limits = LIMITS,
) -> ExplorerPart:
    """Return what the list and the drawings show. The arguments are as in ``write_report``."""
    first = methods[0]
    every = [all_numbers(method) for method in methods]
    numbers = [frame_numbers(method, table) for method, table in zip(methods, every, strict=True)]
    columns = FrameTable(first, tags).columns
    metrics = [metric for metric, _ in lists_of_frames(first.metrics)]
    scenes = [some for section in sections() for some in section.scenes(methods)]

    def ranked(count: int) -> dict[int, list[str]]:
        """Return so many frames, and why each was chosen."""
        return choose(metrics, names, numbers, count=count, classes=first.class_names, scenes=scenes)

    if isinstance(frames, Query):
        chosen = {frame: [frames.text] for frame in FrameTable(first, tags).where(frames)}
    elif frames is None:
        chosen = ranked(limits.frames)
    else:
        chosen = ranked(frames)
    total = len(first.tokens)
    if all(method.geometry is not None for method in methods):
        drawn = list(chosen)
    else:
        drawn = []
    if drawn and frames is None:
        others = sorted(set(range(total)) - set(drawn))
    else:
        others = []
    further = FurtherFrames(others, limits)
    steps = counting(1)

    def advance() -> None:
        if progress is not None:
            progress(next(steps), (len(drawn) + further.expected) * len(methods))

    arrays: Arrays = scene_arrays(methods)
    world = bool(drawn) and is_map(first)
    for k, (method, table) in enumerate(zip(methods, numbers, strict=True)):
        arrays |= {f"{k}.value.{key}": column for key, column in table.items()}
        arrays |= {f"{k}.where.{name}": column for name, column in every[k].items()}
        if drawn:
            arrays |= geometry_arrays(k, method.of_frames(drawn), causes, advance=advance, centred=world)

    def drawings(some: Sequence[int]) -> Arrays:
        """Return the drawings of some further frames, without what is faint."""
        found: Arrays = {}
        for k, method in enumerate(methods):
            part = method.of_frames(some)
            found |= geometry_arrays(k, part, causes, advance=advance, centred=world, least=limits.faint)
        return found

    def worst(room: int) -> set[int]:
        """Return the worst frames that are not drawn yet, as many as there is room for."""
        known = {*drawn, *further.drawn}
        return set(ranked(len(known) + room)) - known

    further.draw(drawings, worst)
    additions = {section: section.added(methods, drawn, causes) for section in sections()}
    for added in additions.values():
        arrays |= added.arrays
    directory, data = pack(arrays)
    reasons = list(dict.fromkeys(reason for frame in drawn for reason in chosen[frame]))
    meta = described(methods, names, world=world) | {
        "where": list(columns),
        "tags": {name: columns[name]._asdict() for name in (tags.kinds if tags else ())},
        "drawn": drawn,
        "reasons": reasons,
        "later": further.blocks,
        "why": [[reasons.index(reason) for reason in chosen[frame]] for frame in drawn],
        "least": least_drawn(methods) if drawn else 0.0,
        "arrays": directory,
    }
    for added in additions.values():
        meta |= added.meta
    about = [_about_drawings(methods, drawn, frames, further=further)]
    if world:
        about.append("The data are a map. Each frame is drawn around its centre, without an ego.")
    about += [added.about for added in additions.values() if added.about]
    scripted = [section for section, added in additions.items() if section.resource and added.meta]
    return ExplorerPart(meta, data, further.texts, sections=scripted, about=" ".join(about))


def _about_drawings(
    methods: Sequence[Results], drawn: Sequence[int], frames: int | Query | None, further: FurtherFrames
) -> str:
    """Return sentences about the frames that the page can draw."""
    total = len(methods[0].tokens)
    later = len(further.drawn)
    if any(method.geometry is None for method in methods):
        return (
            "No frame can be drawn, because the results were loaded from a file without the geometry. "
            "Write the report again: in Python with load_results(path, predictions, truth), in the shell with "
            "mapgauge report RESULTS,predictions=FILE,truth=FILE. "
            f"The list has the values of all {total:,} frames."
        )
    if len(drawn) == total:
        if total == 1:
            return "The frame can be drawn."
        return f"All {total:,} frames can be drawn."
    if later:
        faint = (
            f"In {later:,} of them, predictions that are not matched and have a confidence "
            f"below {further.limits.faint:g} are left out."
        )
        if len(drawn) + later == total:
            return f"All {total:,} frames can be drawn. {faint}"
        return (
            f"{len(drawn) + later:,} of {total:,} frames can be drawn, which take about "
            f"{further.limits.megabytes:g} MB. They have a "
            f"dot in the list, which has the values of all frames. {faint}"
        )
    if isinstance(frames, Query):
        return f"{len(drawn):,} of {total:,} frames can be drawn, for which {frames.text}. They have a dot in the list."
    ranked = any(True for _ in lists_of_frames(methods[0].metrics))
    if ranked:
        how = (
            "the worst by each value and its parts, "
            + ("those with the largest differences between methods, " if len(methods) > 1 else "")
            + "and a random sample"
        )
    else:
        how = "a random sample"
    return (
        f"{len(drawn):,} of {total:,} frames can be drawn: {how}. They have a dot in the list, and the page says why "
        "each was chosen. The list has the values of all frames. To draw more, pass frames= to write_report, or "
        "--frames to mapgauge report."
    )


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
