"""Prints what a command found, as text, JSON, CSV or LaTeX. No other module chooses between these forms."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from mapgauge.cli.output import Table, say, say_columns, settle, show_table, write_csv, write_json
from mapgauge.cli.parsing import Form, form_of


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text. ``painted`` is its beginning and the name of a style, such as ``"note"``."""

    text: str
    indent: str = ""  # of its further lines in a terminal
    painted: str = ""
    gap: bool = False  # an empty line before it, unless it comes first


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows of text without a header."""

    rows: Sequence[Sequence[str]]


Piece: TypeAlias = Table | Line | Listing


class Document(Protocol):
    """What a command prints. A form that the command has no option for need not be defined."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns of CSV that come first, and that are there without any row."""
        return ()

    def text(self) -> Iterable[Piece]:
        """Return tables and sentences, in the order in which they are read."""
        raise TypeError(f"{type(self).__name__} has no text")

    def to_dict(self) -> Any:
        """Return plain values for JSON: a mapping, or a list of several."""
        raise TypeError(f"{type(self).__name__} has no JSON")

    def rows(self) -> Sequence[dict[str, Any]]:
        """Return rows for CSV."""
        raise TypeError(f"{type(self).__name__} has no CSV")

    def latex(self) -> str:
        """Return one LaTeX table."""
        raise TypeError(f"{type(self).__name__} has no LaTeX")


class Printing:
    """Options of a command that prints a document: its fields ``json``, ``csv`` and ``latex``, if it has them."""

    def __post_init__(self) -> None:
        """Refuse two forms."""
        _ = self.form

    @property
    def form(self) -> Form:
        """The form that the options ask for."""
        asked = {form: getattr(self, form, False) for form in ("json", "csv", "latex")}
        return form_of(**asked)


def emit(options: Printing, document: Document) -> None:
    """Print a document in the form that the options ask for."""
    if options.form == "json":
        write_json(document.to_dict())
    elif options.form == "csv":
        write_csv(document.rows(), keys=document.columns)
    elif options.form == "latex":
        settle()
        sys.stdout.write(document.latex())
    else:
        show(document.text())


def show(pieces: Iterable[Piece]) -> None:
    """Print tables and sentences. A table has an empty line before it, unless it comes first."""
    for k, piece in enumerate(pieces):
        apart = k > 0
        if isinstance(piece, Table):
            show_table(piece, gap=apart and piece.gap)
        elif isinstance(piece, Listing):
            say_columns(piece.rows)
        else:
            if apart and piece.gap:
                say()
            say(piece.text, indent=piece.indent, painted=piece.painted)


def one_or_all(documents: Sequence[Any]) -> Any:
    """Return the only one of some documents, or the list of several."""
    if len(documents) == 1:
        return documents[0]
    return list(documents)
