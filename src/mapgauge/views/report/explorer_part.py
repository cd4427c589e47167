"""The list of frames and the drawings of the page: their values, which frames are drawn, and what is said of them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count as counting
from typing import Any, NamedTuple

from mapgauge.results.frame_query import FrameTable
from mapgauge.results.query import Query
from mapgauge.results.results import Results
from mapgauge.results.tags import Tags
from mapgauge.results.values import lists_of_frames
from mapgauge.typing import Progress
from mapgauge.views.report.drawings import is_map, least_drawn
from mapgauge.views.report.explorer import described, geometry_arrays, scene_arrays
from mapgauge.views.report.frames import all_numbers, choose, frame_numbers
from mapgauge.views.report.further import LIMITS, FurtherFrames, Limits
from mapgauge.views.report.pack import Added, Arrays, Section, pack
from mapgauge.views.report.sections import sections


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
    values = _FrameValues(methods, names)
    table = FrameTable(methods[0], tags)
    chosen = _chosen(values, table, frames, limits=limits)
    if any(method.geometry is None for method in methods):
        chosen = {}
    drawn = list(chosen)
    further = FurtherFrames(_others(values, drawn, frames), limits)
    drawer = _Drawer(methods, causes, is_world=bool(drawn) and is_map(methods[0]))
    if progress is not None:
        drawer.tell(progress, lambda: len(drawn) + further.expected)

    arrays = values.arrays()
    if drawn:
        arrays |= drawer.arrays(drawn)
    further.draw(
        partial(drawer.arrays, least=limits.faint), lambda room: values.worst_beside([*drawn, *further.drawn], room)
    )
    additions = {section: section.added(methods, drawn, causes) for section in sections()}
    for added in additions.values():
        arrays |= added.arrays
    directory, data = pack(arrays)
    meta = described(methods, names, world=drawer.is_world)
    meta |= {"where": list(table.columns), "tags": _described_tags(table, tags)}
    meta |= _described_drawings(methods, chosen, further)
    meta["arrays"] = directory
    for added in additions.values():
        meta |= added.meta

    about = _about_drawings(methods, drawn, frames, further=further)
    if drawer.is_world:
        about += " The data are a map. Each frame is drawn around its centre, without an ego."
    return ExplorerPart(
        meta=meta,
        data=data,
        later=further.texts,
        sections=[section for section, added in additions.items() if section.resource and added.meta],
        about=_with_sentences(about, list(additions.values())),
    )


class _FrameValues:
    """The values of all frames of the methods, and rankings of frames by them."""

    def __init__(self, methods: Sequence[Results], names: Sequence[str]) -> None:
        """Collect the values."""
        self.methods = methods
        self.names = names
        self.total = len(methods[0].tokens)
        self.scenes = [scene for section in sections() for scene in section.scenes(methods)]  # to draw as a whole
        self.of_conditions = [all_numbers(method) for method in methods]
        self.of_list = [frame_numbers(method, known) for method, known in zip(methods, self.of_conditions, strict=True)]

    def arrays(self) -> Arrays:
        """Return the values by the names of the scripts."""
        arrays: Arrays = scene_arrays(self.methods)
        for k in range(len(self.methods)):
            arrays |= {f"{k}.value.{key}": column for key, column in self.of_list[k].items()}
            arrays |= {f"{k}.where.{name}": column for name, column in self.of_conditions[k].items()}
        return arrays

    def ranked(self, count: int) -> dict[int, list[str]]:
        """Return so many frames, and why each was chosen."""
        first = self.methods[0]
        return choose(
            [metric for metric, _ in lists_of_frames(first.metrics)],
            self.names,
            self.of_list,
            count=count,
            classes=first.class_names,
            scenes=self.scenes,
        )

    def worst_beside(self, known: Sequence[int], count: int) -> set[int]:
        """Return so many of the worst frames beside those that are known."""
        return set(self.ranked(len(known) + count)) - set(known)


class _Drawer:
    """Draws frames of all methods."""

    def __init__(self, methods: Sequence[Results], causes: bool | None, *, is_world: bool) -> None:
        """Keep the methods. ``is_world`` says whether the data are a map without an ego."""
        self.methods = methods
        self.causes = causes
        self.is_world = is_world
        self._tell: Progress | None = None
        self._expected: Callable[[], int] = lambda: 0
        self._steps = counting(1)

    def tell(self, progress: Progress, expected: Callable[[], int]) -> None:
        """Call ``progress`` after each frame of a method. ``expected`` returns how many frames there will be."""
        self._tell = progress
        self._expected = expected

    def arrays(self, frames: Sequence[int], least: float = 0.0) -> Arrays:
        """Return the drawings of some frames, without unmatched predictions whose confidence is below ``least``."""
        arrays: Arrays = {}
        for k, method in enumerate(self.methods):
            part = method.of_frames(frames)
            arrays |= geometry_arrays(k, part, self.causes, advance=self._advance, centred=self.is_world, least=least)
        return arrays

    def _advance(self) -> None:
        if self._tell is not None:
            self._tell(next(self._steps), self._expected() * len(self.methods))


def _chosen(
    values: _FrameValues, table: FrameTable, frames: int | Query | None, limits: Limits
) -> dict[int, list[str]]:
    """Return the frames that are drawn with all their predictions, and why each was chosen."""
    if isinstance(frames, Query):
        return {frame: [frames.text] for frame in table.where(frames)}
    if frames is None:
        return values.ranked(limits.frames)
    return values.ranked(frames)


def _others(values: _FrameValues, drawn: Sequence[int], frames: int | Query | None) -> list[int]:
    """Return the frames that are drawn if there is room: all others, unless the caller chose frames."""
    if not drawn or frames is not None:
        return []
    return sorted(set(range(values.total)) - set(drawn))


def _described_tags(table: FrameTable, tags: Tags | None) -> dict[str, Any]:
    """Return the tags that conditions can name."""
    if not tags:
        return {}
    return {name: table.columns[name]._asdict() for name in tags.kinds}


def _described_drawings(
    methods: Sequence[Results], chosen: Mapping[int, Sequence[str]], further: FurtherFrames
) -> dict[str, Any]:
    """Return which frames can be drawn, why these were chosen, and the confidence of the faintest lines."""
    reasons = list(dict.fromkeys(reason for why in chosen.values() for reason in why))
    return {
        "drawn": list(chosen),
        "reasons": reasons,
        "why": [[reasons.index(reason) for reason in why] for why in chosen.values()],
        "later": further.blocks,
        "least": least_drawn(methods) if chosen else 0.0,
    }


def _with_sentences(about: str, additions: Sequence[Added]) -> str:
    """Return what is said about the drawings, with the sentences of sections."""
    return " ".join([about, *(added.about for added in additions if added.about)])


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
