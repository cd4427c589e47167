"""``mapgauge frames``: lists the frames of results, the worst first, or the frames that meet a condition."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit
from mapgauge.cli.methods import load_all, one_results, with_data
from mapgauge.cli.output import Table, printable, settle, width_of
from mapgauge.cli.parsing import file_names, refuse, valid
from mapgauge.cli.slices import tags_of
from mapgauge.markup import columns_of, number
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.results.frame_query import FrameTable
    from mapgauge.results.query import FrameColumn, Query
    from mapgauge.results.results import Results

LISTED = 10  # frames in text
WIDTH = 100  # columns of text that is not for a terminal
_NAMED = 5  # frames without predictions or truth in text
_SORT_HELP = "Column to sort by, the worst first. Default: the first column of values, usually pld."
_LIKE_HELP = "List the frames whose truth is most similar to the truth of this frame, by PLD."
_TOKENS_HELP = "Print the whole tokens only, one per line, for `evaluate --tokens`."


@contextmanager
def pointing(option: str) -> Iterator[None]:
    """Turn the error of a condition into a usage error that points at the character."""
    from mapgauge.results.query import InvalidQuery

    try:
        yield
    except InvalidQuery as error:
        if error.remedy:
            remedy = f"\n{error.remedy.shell}"
        else:
            remedy = ""
        refuse(option, error.pointer + remedy)


def frames_of(text: str | None) -> int | str | None:
    """Return the frames that a report draws: a number, or a condition, which is read once to find its errors.

    None is for as many as a page has room for.
    """
    from mapgauge.results.query import parse

    if text is None:
        return None
    if text.strip().lstrip("+-").isdecimal():
        if int(text) < 0:
            refuse("--frames", f"must be at least 0, got {text}")
        return int(text)
    with pointing("--frames"):
        parse(text)
    return text


@dataclass(frozen=True, kw_only=True)
class FramesOptions(Printing):
    """The options of ``mapgauge frames``."""

    result: Annotated[Path, o.files_argument("RESULT", "A file written by `mapgauge evaluate -o`.")]
    where: o.WhereOption = None
    by: o.ByOption = None
    sort: Annotated[str | None, o.option("--sort COLUMN", o.WRITTEN, _SORT_HELP)] = None
    like: Annotated[str | None, o.option("--like TOKEN", o.COMPUTED, _LIKE_HELP)] = None
    worst: Annotated[
        int | None, o.worst_option(f"a frame. Default: {LISTED} in text, otherwise all", least=1, show_default=False)
    ] = None
    json: o.JsonOption = False
    csv: o.CsvOption = False
    tokens: Annotated[bool, o.option("--tokens", o.WRITTEN, _TOKENS_HELP)] = False
    quiet: o.QuietOption = False


@command
def frames(options: FramesOptions) -> None:
    """List the frames of results, the worst first.

    Frames without predictions or without truth are listed apart, after the others. Long tokens are shortened; every
    command that takes a token accepts them so.
    """
    if options.tokens and options.form != "text":
        refuse("--tokens", f"only one of --tokens and --{options.form} can be given")
    if options.like is not None and options.sort is not None:
        refuse("--sort", "with --like, the most similar frames come first")

    from mapgauge.results.query import parse

    with pointing("--where"):
        if options.where is None:
            query = None
        else:
            query = parse(options.where)
    file = one_results("RESULT", options.result)
    results = load_all([file], file_names([file]))[0]
    listed = _listed(options, file, results, query=query)
    if options.tokens:
        settle()
        for frame in listed.each:
            sys.stdout.write(f"{printable(results.tokens[frame])}\n")
        return
    emit(options, listed)


def _listed(options: FramesOptions, file: Path, results: "Results", query: "Query | None") -> "FramesListed":
    """Return the frames that the options ask for, the worst first, or the most similar."""
    from mapgauge.frames.tokens import token_meant
    from mapgauge.results.frame_query import FrameTable

    added: dict[str, FrameColumn] = {}
    like = options.like
    if like is not None:
        like = valid("--like", token_meant, str(file), like, results.tokens)
        added["like"] = _similarity(results, file, like)
    table = FrameTable(results, tags_of([file], options.by), added)
    with pointing("--where"):
        if query is None:
            kept = None
        else:
            kept = table.where(query)
    ordered = table.ranked(options.sort, kept)
    if like is not None:
        others = (frame for frame in ordered if results.tokens[frame] != like)
        ordered = sorted(others, key=added["like"].values.__getitem__)
    more = [*added]
    if query is not None:
        more += query.names
    if options.sort is not None:
        more.append(options.sort)
    if options.by is None:
        groups: Mapping[str, Sequence[int]] = {"": ordered}
    else:
        groups = table.groups(options.by)
    parts = {}
    for name, some in groups.items():
        members = set(some)
        parts[name] = _Apart(*table.apart([frame for frame in ordered if frame in members]))
    return FramesListed(table, parts, options.worst, more=list(dict.fromkeys(more)), is_sliced=options.by is not None)


def _similarity(results: "Results", path: Path, token: str) -> "FrameColumn":
    """Return a column with the PLD between the truth of a frame and the truth of each frame."""
    from mapgauge.hooks import similar
    from mapgauge.metrics.pld import with_pld
    from mapgauge.results.query import FrameColumn

    prepare = similar()
    if prepare is None:
        refuse("--like", "no feature that compares frames is installed")
    _, truth = with_data(results, path).need_data().all_sides
    tokens, distances = prepare(truth, with_pld(results.protocol, order=1))(token, len(truth) - 1)
    distance = {token: 0.0} | dict(zip(tokens, distances.tolist(), strict=True))
    return FrameColumn("number", [distance[other] for other in results.tokens])


class _Apart(NamedTuple):
    """The frames of a list: those with both sides, without predictions, and with predictions but without truth."""

    ranked: Sequence[int]
    without_predictions: Sequence[int]
    without_truth: Sequence[int]


@dataclass(frozen=True)
class FramesListed(Document):
    """Frames of results in an order, in one list, or in one for each group of frames."""

    table: "FrameTable"
    parts: Mapping[str, _Apart]  # by the name of the group
    worst: int | None  # how many of each list
    more: Sequence[str]  # columns that are asked for
    is_sliced: bool = False

    @property
    def each(self) -> list[int]:
        """All listed frames, for tokens and CSV."""
        return [frame for part in self.parts.values() for frame in [*chain(*part)][: self.worst]]

    @property
    def columns(self) -> list[str]:
        """The columns of CSV."""
        return list(self.table.columns)

    def rows(self) -> list[dict[str, Any]]:
        """Return all columns of the listed frames."""
        return self.table.rows(self.each, self.more)

    def to_dict(self) -> dict[str, Any]:
        """Return all columns of frames with both sides, and the tokens of the others."""
        documents = {name: self._document(part) for name, part in self.parts.items()}
        if self.is_sliced:
            return {"slices": documents}
        return documents[""]

    def _document(self, part: _Apart) -> dict[str, Any]:
        tokens = self.table.results.tokens
        return {
            "frames": self.table.rows(part.ranked[: self.worst], self.more),
            "without_predictions": [tokens[frame] for frame in part.without_predictions],
            "without_truth": [tokens[frame] for frame in part.without_truth],
        }

    def text(self) -> Iterator[Piece]:
        """Return a table of each list that is not wider than the terminal, and some of the other frames."""
        width = width_of(sys.stdout) or WIDTH
        left_out: dict[str, None] = {}
        for name, part in self.parts.items():
            title = f"{name}: " if name else ""
            frames = part.ranked[: self.worst or LISTED]
            if frames:
                cells = self._cells(frames)
                shown = _fitting(cells, width, kept=[*self._first, *self.more, "token"])
                left_out |= dict.fromkeys(key for key in cells if key not in shown)
                about = f"{title}{len(frames)} of {len(part.ranked)} frames with predictions and truth"
                lines = list(zip(*(cells[key] for key in shown), strict=True))
                yield Table(
                    title=about, header=shown, rows=lines, fixed=0, ids=sum(key in ("scene", "token") for key in shown)
                )
            elif not (part.without_predictions or part.without_truth):
                yield Line(f"{printable(title)}no frames")
            yield from self._without("predictions", part.without_predictions)
            yield from self._without("truth, but with predictions", part.without_truth)
        if left_out:
            names = ", ".join(map(printable, left_out))
            yield Line(
                f"Not shown, for lack of room: {names}. --csv and --json have all columns, and --sort COLUMN shows one"
            )

    @property
    def _first(self) -> list[str]:
        """The first value of frames, by which they are sorted by default."""
        from mapgauge.results.frame_tables import worst_first

        first = worst_first(self.table.results.metrics)
        if first in self.table.columns:
            return [first]
        return []

    def _cells(self, frames: Sequence[int]) -> dict[str, list[str]]:
        """Return the cells of the columns that text may show: values, counts and tags, and then what names a frame."""
        from mapgauge.metrics.table import METRICS

        table = self.table
        main = [value.key for name in table.results.metrics for value in METRICS[name].with_role("main", "headline")]
        flags = [name for name, (kind, _) in table.columns.items() if kind == "flag"]
        if table.tags:
            tags = list(table.tags.kinds)
        else:
            tags = []
        counts = ["missed", "false", "truth", "predictions"]
        rows = table.rows(frames, self.more)
        keys = [*self._first, *self.more, *main, *counts, *flags, *tags]
        named = [key for key in dict.fromkeys(keys) if key not in ("scene", "token") and key in rows[0]]
        cells = {key: [_cell(row[key]) for row in rows] for key in named}
        if "scene" in rows[0] and any(not row["token"].startswith(row["scene"]) for row in rows):
            cells["scene"] = [row["scene"] for row in rows]
        cells["token"] = [self._short[frame] for frame in frames]
        return {key: [printable(cell) for cell in column] for key, column in cells.items()}

    @cached_property
    def _short(self) -> list[str]:
        from mapgauge.frames.tokens import short_tokens

        return short_tokens(self.table.results.tokens)

    def _without(self, what: str, frames: Sequence[int]) -> Iterator[Line]:
        """Return a line about the frames without something, with the first of them."""
        if not frames:
            return
        tokens = ", ".join(printable(self._short[frame]) for frame in frames[:_NAMED])
        if len(frames) > _NAMED:
            left = f" and {len(frames) - _NAMED} more"
        else:
            left = ""
        yield Line(f"{counted(len(frames), 'frame')} without {what}: {tokens}{left}", indent="  ")


# What text shows if there is room, the most useful first. Other columns, such as tags, come before the last four.
_USEFUL = ("missed", "false", "truth", "predictions")
_SPARE = ("localisation", "detection")


def _fitting(cells: Mapping[str, Sequence[str]], width: int, kept: Sequence[str]) -> list[str]:
    """Return the columns that fit a width, in their order. Those that are ``kept`` come first, whatever their width."""
    tags = [key for key in cells if key not in (*kept, *_USEFUL, *_SPARE)]
    shown = [key for key in cells if key in kept]
    room = width - sum(_width(key, cells[key]) for key in shown) - 2 * (len(shown) - 1)
    for key in (*_USEFUL[:2], *tags, *_USEFUL[2:], *_SPARE):
        if key in shown or key not in cells:
            continue
        needed = _width(key, cells[key]) + 2
        if needed <= room:
            shown.append(key)
            room -= needed
    return [key for key in cells if key in shown]


def _width(title: str, cells: Sequence[str]) -> int:
    """Return the number of columns of a terminal that a column of a table takes."""
    return max(map(columns_of, (title, *cells)))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | None):
        return number(value)
    return str(value)
