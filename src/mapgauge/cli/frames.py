"""``mapgauge frames``: lists the frames of results, the worst first, or the frames that meet a condition."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mapgauge.cli import options as o
from mapgauge.cli.methods import load_all, one_results, with_data
from mapgauge.cli.output import Table, printable, say, show_table, write_csv, write_json
from mapgauge.cli.parsing import file_names, form_of, refuse
from mapgauge.cli.slices import tags_of
from mapgauge.markup import number
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.results.frame_query import FrameTable
    from mapgauge.results.query import FrameColumn
    from mapgauge.results.results import Results

LISTED = 10  # frames in text
_APART = ("without_predictions", "without_truth")
_NAMED = 5  # frames without predictions or truth in text
_SORT_HELP = "FrameColumn to sort by, the worst first. Default: the first value of frames, usually pld."
_LIKE_HELP = "List the frames whose truth is most similar to the truth of this frame, by PLD."
_TOKENS_HELP = "Print the tokens only, one per line, for `evaluate --tokens`."


@contextmanager
def pointing(option: str) -> Iterator[None]:
    """Turn the error of a condition into a usage error that points at the character."""
    from mapgauge.results.query import InvalidQuery

    try:
        yield
    except InvalidQuery as error:
        remedy = f"\n{error.remedy.shell}" if error.remedy else ""
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


def frames(
    result: Annotated[Path, o.files_argument("RESULT", "A file written by `mapgauge evaluate -o`.")],
    where: o.WhereOption = None,
    by: o.ByOption = None,
    sort: Annotated[str | None, o.option("--sort COLUMN", o.WRITTEN, _SORT_HELP)] = None,
    like: Annotated[str | None, o.option("--like TOKEN", o.COMPUTED, _LIKE_HELP)] = None,
    worst: Annotated[
        int | None, o.worst_option(f"frames. Default: {LISTED} in text, otherwise all", 1, show_default=False)
    ] = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    tokens: Annotated[bool, o.option("--tokens", o.WRITTEN, _TOKENS_HELP)] = False,
    quiet: o.QuietOption = False,
) -> None:
    """List the frames of results, the worst first.

    Frames without predictions or without truth are listed apart, after the others.
    """
    form = form_of(json=json, csv=csv)
    if tokens and form != "text":
        refuse("--tokens", f"only one of --tokens and --{form} can be given")

    from mapgauge.results.frame_query import FrameTable
    from mapgauge.results.query import parse

    with pointing("--where"):
        query = None if where is None else parse(where)
    files = [one_results("RESULT", result)]
    if like is not None and sort is not None:
        refuse("--sort", "with --like, the most similar frames come first")
    results = load_all(files, file_names(files))[0]
    added = {} if like is None else {"like": _similarity(results, files[0], like)}
    table = FrameTable(results, tags_of(files, by), added)
    with pointing("--where"):
        ordered = table.ranked(sort, None if query is None else table.where(query))
    if like is not None:
        ordered = sorted((k for k in ordered if results.tokens[k] != like), key=added["like"].values.__getitem__)
    groups: dict[str, Sequence[int]] = {"": ordered} if by is None else {**table.groups(by)}
    members = {name: set(some) for name, some in groups.items()}
    parts = {name: table.apart([frame for frame in ordered if frame in some]) for name, some in members.items()}
    more = [*added, *(query.names if query else ()), *([sort] if sort else ())]
    if form == "json":
        documents = {name: _document(table, some, worst, more) for name, some in parts.items()}
        write_json(documents[""] if by is None else {"slices": documents})
        return
    listed = [frame for groups in parts.values() for frame in [*chain(*groups)][:worst]]
    if form == "csv":
        write_csv(table.rows(listed, more), keys=list(table.columns))
    elif tokens:
        sys.stdout.write("".join(f"{printable(table.results.tokens[frame])}\n" for frame in listed))
    else:
        for k, (name, (some, *without)) in enumerate(parts.items()):
            _show(table, f"{name}: " if name else "", some, without, worst or LISTED, more, gap=k > 0)


def _similarity(results: "Results", path: Path, token: str) -> "FrameColumn":
    """Return a column with the PLD between the truth of a frame and the truth of each frame."""
    from mapgauge.hooks import similar
    from mapgauge.metrics.pld import with_pld
    from mapgauge.results.query import FrameColumn

    prepare = similar()
    if prepare is None:
        refuse("--like", "no feature that compares frames is installed")
    if token not in results.tokens:
        refuse("--like", f"no frame {token!r}. Tokens are listed by `mapgauge frames RESULT`")
    _, truth = with_data(results, path).need_data().all_sides
    tokens, distances = prepare(truth, with_pld(results.protocol, order=1))(token, len(truth) - 1)
    distance = {token: 0.0} | dict(zip(tokens, distances.tolist(), strict=True))
    return FrameColumn("number", [distance[other] for other in results.tokens])


def _document(
    table: "FrameTable", parts: Sequence[Sequence[int]], worst: int | None, more: Sequence[str]
) -> dict[str, Any]:
    """Return the rows of frames, and the tokens of frames without predictions or truth."""
    ranked, *without = parts
    tokens = {key: [table.results.tokens[k] for k in others] for key, others in zip(_APART, without, strict=True)}
    return {"frames": table.rows(ranked[:worst], more)} | tokens


def _show(
    table: "FrameTable",
    title: str,
    ranked: Sequence[int],
    without: Sequence[Sequence[int]],
    count: int,
    more: Sequence[str],
    *,
    gap: bool,
) -> None:
    """Print the first frames as a table, and some of the frames without predictions or truth."""
    from mapgauge.metrics.table import METRICS

    main = [value.key for name in table.results.metrics for value in METRICS[name].with_role("main", "headline")]
    named = [name for name, (kind, _) in table.columns.items() if kind in ("text", "flag")]
    tags = list(table.tags.kinds) if table.tags else []
    counts = ["predictions", "truth", "missed", "false"]
    rows = table.rows(ranked[:count], more)
    keys = [key for key in dict.fromkeys((*named, *tags, *counts, *main, *more)) if rows and key in rows[0]]
    if rows:
        cells = [[_cell(row[key]) for key in keys] for row in rows]
        title += f"{len(rows)} of {len(ranked)} frames with predictions and truth"
        show_table(Table(title, keys, cells, len(named)), gap=gap)
    elif not any(without):
        say(f"{printable(title)}no frames")
    for frames, what in zip(without, ("predictions", "truth, but with predictions"), strict=True):
        if frames:
            tokens = ", ".join(printable(table.results.tokens[frame]) for frame in frames[:_NAMED])
            left = f" and {len(frames) - _NAMED} more" if len(frames) > _NAMED else ""
            say(f"{counted(len(frames), 'frame')} without {what}: {tokens}{left}", indent="  ")


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else number(value) if isinstance(value, float | None) else str(value)
