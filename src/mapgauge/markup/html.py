"""HTML for notebooks: tables, legends and text. Everything from a file or a caller is escaped."""

from collections.abc import Mapping, Sequence
from html import escape

LONGEST = 80  # characters of a name in a notebook or a repr


class Html(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return text in one line, with its middle left out if it is long.

    >>> shortened("a" * 20, 9), shortened("two  words")
    ('aaaa…aaaa', 'two words')
    """
    line = " ".join(text.split())
    half = (longest - 1) // 2
    return line if len(line) <= longest else f"{line[:half]}…{line[-half:]}"


def cell(content: str) -> str:
    """Return the HTML of a cell: text is shortened and escaped.

    >>> cell("<b>"), cell(Html("<b>x</b>"))
    ('&lt;b&gt;', '<b>x</b>')
    """
    if isinstance(content, Html):
        return content
    # Names of files may have bytes that are not text, which no notebook can store.
    return escape(shortened(content)).encode("utf-8", "xmlcharrefreplace").decode()


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    """Return a table. The first cell of each row is its head, and is aligned to the left. The header can be empty."""
    top = "".join(f"<th{_left(k)}>{cell(text)}</th>" for k, text in enumerate(header))
    head = f"<thead><tr>{top}</tr></thead>" if top else ""
    body = "".join(
        "<tr>" + "".join(f"<{_tag(k)}{_left(k)}>{cell(text)}</{_tag(k)}>" for k, text in enumerate(row)) + "</tr>"
        for row in rows
    )
    return Html(f"<table>{head}<tbody>{body}</tbody></table>")


def legend(colours: Mapping[str, str]) -> Html:
    """Return names with a square of their colour."""
    entries = (f'<span style="color:{colour}">&#9632;</span> {cell(name)}' for name, colour in colours.items())
    return Html(f"<div>{'&ensp;'.join(entries)}</div>")


def facts(title: str, about: Mapping[str, object]) -> str:
    """Return a title, and a table with a row for each name and its value.

    >>> "<td>0.25, 1</td>" in facts("Protocol", {"cutoffs": (0.25, 1.0)})
    True
    """
    return block(line(title), table([], [[name, _text(value)] for name, value in about.items()]))


def _text(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_text, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def line(text: str) -> Html:
    """Return a line of text."""
    return Html(f"<div>{cell(text)}</div>")


def note(text: str) -> Html:
    """Return a remark. It is escaped, but not shortened."""
    return Html(f"<div><em>{escape(text).encode('utf-8', 'xmlcharrefreplace').decode()}</em></div>")


def block(*pieces: str) -> str:
    """Return pieces of HTML below each other, as one element."""
    return f"<div>{''.join(cell(piece) for piece in pieces)}</div>"


def _tag(k: int) -> str:
    return "td" if k else "th"


def _left(k: int) -> str:
    return "" if k else ' style="text-align:left"'
