"""Subsets of frames in commands: the option ``--by``, tables of tags, and lists of tokens with names."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mapgauge.cli.emit import Line, Piece
from mapgauge.cli.inputs import named_file, options_of
from mapgauge.cli.output import Table, printable
from mapgauge.cli.parsing import file_names, refuse
from mapgauge.words import did_you_mean

if TYPE_CHECKING:
    from mapgauge.results.families import Correction
    from mapgauge.results.results import Results
    from mapgauge.results.slices import Slices
    from mapgauge.results.tags import Tags


def tags_of(files: Sequence[Path], by: str | None = None) -> "Tags | None":
    """Return the tags that the first file with the option ``tags`` names; None if there is none.

    A column of --by that cannot exist is a usage error.
    """
    from mapgauge.results.tags import read_tags

    named = next((file for path in files if (file := named_file(path, "tags")) is not None), None)
    if named is None:
        tags = None
    else:
        tags = read_tags(named)
    known = ["scene", *(tags.kinds if tags else ())]
    if by not in (None, "class", *known):
        if tags:
            more = ""
        else:
            more = ". Tags come from a table: FILE,tags=TABLE"
        refuse("--by", f"must be one of {', '.join(known)}, got {by!r}{more}{did_you_mean(by or '', known)}")
    return tags


def slices_of(
    results: Sequence["Results"], by: str | None, lists: Sequence[Path], tags: "Tags | None", correction: str
) -> "list[Slices]":
    """Return the slices of each of some results: by a column, or by lists of tokens if there are several or a name.

    The differences of all results are counted and corrected together.
    """
    from mapgauge.io.files.source import read_tokens
    from mapgauge.results.slices import Slices

    if by is None and not are_slices(lists):
        return []
    key = by or {name: read_tokens(file) for name, file in zip(file_names(lists), lists, strict=True)}
    chosen = cast("Correction", correction)
    return Slices.together([method.by(key, tags=tags, correction=chosen) for method in results])


def are_slices(lists: Sequence[Path]) -> bool:
    """Whether lists of tokens are slices: there are several, or one has a name."""
    return len(lists) > 1 or any("name" in options_of(file) for file in lists)


def each_slice(
    names: Sequence[str], methods: Sequence["Results"], by: str, tags: "Tags | None"
) -> "dict[str, list[Results]]":
    """Return the results of all methods on the frames of each slice."""
    from mapgauge.results.comparison import check_comparable

    check_comparable(methods, names, metrics=False)
    places = [{token: frame for frame, token in enumerate(method.tokens)} for method in methods]
    return {
        str(name): [
            method.of_frames([place[token] for token in part.tokens])
            for method, place in zip(methods, places, strict=True)
        ]
        for name, part in methods[0].by(by, tags=tags).items()
    }


def slice_pieces(names: Sequence[str], sliced: "Sequence[Slices]") -> Iterator[Piece]:
    """Yield the means over classes of the slices of each method, and their differences."""
    for name, of_method in zip(names, sliced, strict=False):
        title = f"means over classes by {of_method.by}"
        if len(names) > 1:
            title = f"{name}: {title}"
        (header, rows), *differences = of_method.tables()
        yield Table(title=title, header=header, rows=rows, fixed=1)
        for header, rows in differences:
            yield Table(title="", header=header, rows=rows, fixed=2)
        for note in of_method.notes:
            yield Line(printable(note), indent="  ")
    if sliced and sliced[0].tests:
        yield Line(sliced[0].tests)
