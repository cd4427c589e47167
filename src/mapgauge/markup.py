"""Tables, HTML and SVG as text."""

import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from string import Formatter
from typing import TYPE_CHECKING, LiteralString, NamedTuple

if TYPE_CHECKING:  # numpy is slow to import, and tables and help do not need it
    from mapgauge.typing import Points

# Okabe and Ito's palette: distinct with every kind of colour vision.
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
# The last four come from Tol's muted scheme, which has the same aim. Yellow is left out: it is too pale for lines.
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#882255", "#332288", "#999933", "#44AA99")

# Classes have no orange and no red: in drawings, these are predictions far from the truth, and missed truth.
VIOLET = "#9A6BFF"
CLASSES = (BLUE, VIOLET, GREEN, PURPLE, "#828C07", "#365AD9", "#089CA6", "#A95AA1", "#577334", "#4CA64B")
CLASS_COLOURS = {"ped_crossing": BLUE, "divider": VIOLET, "boundary": GREEN, "centerline": PURPLE}


def colours_of(class_names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each class. Well-known classes have fixed colours; others get the rest in order of name.

    >>> colours_of(["divider", "arrow", "boundary"])
    {'divider': '#9A6BFF', 'boundary': '#009E73', 'arrow': '#0072B2'}
    """
    names = dict.fromkeys(class_names)
    known = {name: CLASS_COLOURS[name] for name in names if name in CLASS_COLOURS}
    left = [colour for colour in CLASSES if colour not in known.values()]
    others = sorted(name for name in names if name not in known)
    return known | {name: left[k % len(left)] for k, name in enumerate(others)}


def number(value: float | None, digits: int = 3) -> str:
    """Return a number as text; None becomes a dash."""
    if value is None:
        return "-"
    return f"{value:.{digits}f}"


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for a letter of Chinese, none for a combining accent.

    >>> columns_of("divider"), columns_of("車線"), columns_of("e\u0301")
    (7, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(_columns_of_letter(letter) for letter in text)


def _columns_of_letter(letter: str) -> int:
    # Combining accents, and letters without a width such as a joiner.
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    if unicodedata.east_asian_width(letter) in ("W", "F"):
        return 2
    return 1


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    fixed: int = 1,
    ids: int = 0,
    bars: Collection[int] = (),
    width: int | None = None,
) -> str:
    """Return a table as text.

    The ``fixed`` columns name a row. They are aligned to the left, the others to the right. The last ``ids`` columns
    and the columns of ``bars`` are aligned to the left, too. A table that is wider than ``width`` is split into
    several, one below the other, each with the fixed columns.

    >>> print(text_table(["class", "PLD", "Loc"], [["mean", "0.790", "0.267"]], width=14))
    class    PLD
    mean   0.790
    <BLANKLINE>
    class    Loc
    mean   0.267
    """
    lines = [header, *rows]
    widths = [max(columns_of(line[k]) for line in lines) for k in range(len(header))]
    left = {*range(fixed), *range(len(header) - ids, len(header)), *bars}
    parts = [list(range(fixed))]
    for k in range(fixed, len(widths)):
        if width and len(parts[-1]) > fixed and sum(widths[i] + 2 for i in parts[-1]) + widths[k] > width:
            parts.append(list(range(fixed)))
        parts[-1].append(k)

    def cell(text: str, k: int) -> str:
        space = " " * (widths[k] - columns_of(text))
        if k in left:
            return text + space
        return space + text

    def aligned(line: Sequence[str], part: list[int]) -> str:
        return "  ".join(cell(line[k], k) for k in part).rstrip()

    return "\n\n".join("\n".join(aligned(line, part) for line in lines) for part in parts)


LONGEST = 80  # characters of a name in a notebook or a repr


class Html(str):
    """Text that is HTML already, and is not escaped again.

    Only ``html``, ``element`` and ``joined`` make it, and a test holds the package to that. Every other text is escaped
    where it is put into HTML. So text from a file cannot become markup, and an f-string of markup is seen at once,
    because the page shows its tags.
    """

    __slots__ = ()


_VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}  # elements without an end


def escaped(value: object) -> Html:
    """Return a value as HTML: HTML as it is, nothing for None, a sequence one after the other, all else escaped.

    >>> escaped("a < b"), escaped(Html("<b>x</b>")), escaped(["<", None, 3])
    ('a &lt; b', '<b>x</b>', '&lt;3')
    """
    if isinstance(value, Html):
        return value
    if value is None:
        return Html("")
    if isinstance(value, str):
        # Names of files may have bytes that are not text, which no page and no notebook can store.
        return Html(escape(value).encode("utf-8", "xmlcharrefreplace").decode())
    if isinstance(value, Iterable):
        return Html("".join(map(escaped, value)))
    return Html(escape(str(value)))


def html(template: LiteralString, *values: object, **named: object) -> Html:
    """Return a template with its fields filled as ``str.format`` does. Every value is escaped unless it is ``Html``.

    >>> html("<b>{}</b> {:.1f}", "a < b", 0.25)
    '<b>a &lt; b</b> 0.2'
    """
    return Html(_Escaping().vformat(template, values, named))


class _Escaping(Formatter):
    """Formats a template for ``html``."""

    def format_field(self, value: object, format_spec: str) -> str:
        if format_spec:
            return escaped(format(value, format_spec))
        return escaped(value)


def element(name: LiteralString, *children: object, **attributes: object) -> Html:
    """Return an element with its children and attributes. All of them are escaped unless they are ``Html``.

    Underscores in names of attributes stand for hyphens, and one at the end is left out: ``class_``, ``aria_label``.
    An attribute with the value None or False is left out, and one with the value True has no value. Numbers have at
    most two digits after the point.

    >>> element("a", "A & B", href="#of=x&y", class_="near", hidden=None)
    '<a href="#of=x&amp;y" class="near">A &amp; B</a>'
    >>> element("rect", x=1.0, width=2.345)
    '<rect x="1" width="2.35"></rect>'
    """
    said = []
    for key, value in attributes.items():
        called = key.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            said.append(f" {called}")
        elif isinstance(value, float):
            said.append(f' {called}="{round(value, 2):g}"')
        else:
            said.append(f' {called}="{escaped(value)}"')
    start = f"<{name}{''.join(said)}>"
    if name in _VOID:
        return Html(start)
    return Html(f"{start}{escaped(children)}</{name}>")


def joined(pieces: Iterable[object], separator: str = "") -> Html:
    """Return pieces one after the other. All of them are escaped unless they are ``Html``.

    >>> joined(["<", element("b", "x")], ", ")
    '&lt;, <b>x</b>'
    """
    return Html(escaped(separator).join(map(escaped, pieces)))


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return text in one line, with its middle left out if it is long.

    >>> shortened("a" * 20, 9), shortened("two  words")
    ('aaaa…aaaa', 'two words')
    """
    line = " ".join(text.split())
    half = (longest - 1) // 2
    if len(line) <= longest:
        return line
    return f"{line[:half]}…{line[-half:]}"


def cell(content: str) -> Html:
    """Return the HTML of a cell: text is shortened and escaped.

    >>> cell("<b>"), cell(Html("<b>x</b>"))
    ('&lt;b&gt;', '<b>x</b>')
    """
    if isinstance(content, Html):
        return content
    return escaped(shortened(content))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, heads: int = 1, caption: str = "") -> Html:
    """Return a table. The first ``heads`` cells of a row are its heads, on the left. The header can be empty."""

    def line(cells: Sequence[str], scope: str, other: str) -> str:
        first = [f'<th scope="{scope}" style="text-align:left">{cell(text)}</th>' for text in cells[:heads]]
        rest = [f"<{other}>{cell(text)}</{other[:2]}>" for text in cells[heads:]]
        return f"<tr{' class=mean' if cells[0] == 'mean' else ''}>{''.join([*first, *rest])}</tr>"

    if caption:
        above = f"<caption><span>{cell(caption)}</span></caption>"
    else:
        above = ""
    if header:
        head = ["<thead>", line(header, "col", 'th scope="col"'), "</thead>"]
    else:
        head = []
    body = [line(row, "row", "td") for row in rows]
    return Html("".join(["<table>", above, *head, "<tbody>", *body, "</tbody></table>"]))


def legend(colours: Mapping[str, str]) -> Html:
    """Return names with a square of their colour."""
    entries = []
    for name, colour in colours.items():
        # Drawn, because a pale square of text has too little contrast.
        square = element(
            "svg", element("rect", width=10, height=10, fill=colour), width=10, height=10, aria_hidden="true"
        )
        entries.append(element("span", square, " ", cell(name), style="white-space: nowrap"))
    return element("div", joined(entries, html("&ensp; ")))


def facts(title: str, about: Mapping[str, object]) -> str:
    """Return a title, and a table with a row for each name and its value.

    >>> "<td>0.25, 1</td>" in facts("Protocol", {"cutoffs": (0.25, 1.0)})
    True
    """
    return block(line(title), table([], [[name, value_text(value)] for name, value in about.items()]))


def value_text(value: object) -> str:
    """Return a setting as text. One without a value becomes a dash."""
    if isinstance(value, tuple | list):
        return ", ".join(map(value_text, value)) or "-"
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def line(text: str) -> Html:
    """Return a line of text."""
    return Html(f"<div>{cell(text)}</div>")


def note(text: str) -> Html:
    """Return a remark. It is escaped, but not shortened."""
    return element("div", element("em", text))


def block(*pieces: str) -> Html:
    """Return pieces of HTML below each other, as one element."""
    return Html(f"<div>{''.join(cell(piece) for piece in pieces)}</div>")


# Pixels.
WIDTH = 420.0
TALLEST = 420.0
MARGIN = 8.0
NEAR = 50.0  # metres
# A notebook stores every drawing that it shows.
MOST_LINES = 300
MOST_POINTS = 60


# Of a prediction in every drawing, as multiples of the thinnest line: with confidence 0, and with confidence 1.
THINNEST = 1.0
WIDEST = 3.2


def stroke_width(confidence: float | None) -> float:
    """Return how wide a prediction is drawn, as a multiple of the thinnest line.

    >>> stroke_width(0.0), stroke_width(1.0), stroke_width(None)
    (1.0, 3.2, 3.2)
    """
    if confidence is None:
        return WIDEST
    return THINNEST + (WIDEST - THINNEST) * confidence


class Stroke(NamedTuple):
    """A polyline of a drawing, in metres."""

    points: "Points"
    colour: str
    width: float = 1.3
    dashed: bool = False
    closed: bool = False


def is_around_origin(low: "Points", high: "Points") -> bool:
    """Whether a box ``(x, y)`` lies around the origin, or no farther from it than 50 m and its own size."""
    import numpy as np

    return bool((np.maximum(low, -high) <= high - low + NEAR).all())


def drawing(strokes: Sequence[Stroke], title: str) -> Html:
    """Return polylines as a drawing, x to the right and y upwards, with a ring at the origin if it is near.

    Only the last strokes are drawn if there are very many, and long ones with fewer points. The title is for screen
    readers and must be plain words of the package, because it is not escaped.
    """
    import numpy as np

    finite = [stroke for stroke in strokes if len(stroke.points) and np.isfinite(stroke.points[:, :2]).all()]
    kept = finite[-MOST_LINES:]
    if not kept:
        return Html("")
    every = np.concatenate([stroke.points[:, :2] for stroke in kept])
    low = every.min(axis=0)
    high = every.max(axis=0)
    around = is_around_origin(low, high)
    if around:
        low = np.minimum(low, 0)
        high = np.maximum(high, 0)
    size = np.maximum(high - low, 1.0)
    scale = float(min((WIDTH - 2 * MARGIN) / size[0], (TALLEST - 2 * MARGIN) / size[1]))
    width, height = (size * scale + 2 * MARGIN).tolist()
    origin = _pixels(np.zeros((1, 2)), low, scale, height=height)[0].tolist()
    lines = [_polyline(stroke, _pixels(stroke.points, low, scale, height=height)) for stroke in kept]
    ring = f'<circle cx="{origin[0]:.1f}" cy="{origin[1]:.1f}" r="3.5" fill="none" stroke="#808080"/>'
    if around:
        pieces = [*lines, ring]
    else:
        pieces = lines
    return _svg(width, height, title, pieces=pieces)


def bars(parts: Sequence[tuple[float, str]], length: float = 160.0) -> Html:
    """Return a stacked bar of values with their colours. A value of 1 fills the length in pixels."""
    left = 0.0
    pieces = []
    for value, colour in parts:
        pieces.append(f'<rect x="{left:.1f}" y="1" width="{value * length:.1f}" height="10" fill="{colour}"/>')
        left += value * length
    return _svg(length, height=12.0, title="parts", pieces=pieces)


def interval(value: float, low: float, high: float, span: tuple[float, float], length: float = 160.0) -> Html:
    """Return a dot with a line from low to high, on an axis that covers the span. Bounds may be NaN."""
    across = max(span[1] - span[0], 1e-12)
    place = [6 + (length - 12) * (x - span[0]) / across for x in (low, high, value)]
    pieces = [f'<circle cx="{place[2]:.1f}" cy="6" r="3.5" fill="currentColor"/>']
    if all(map(math.isfinite, place[:2])):
        pieces.append(
            f'<line x1="{place[0]:.1f}" x2="{place[1]:.1f}" y1="6" y2="6" stroke="currentColor" stroke-width="1.5"/>'
        )
    return _svg(length, height=12.0, title="interval", pieces=pieces)


def _pixels(points: "Points", low: "Points", scale: float, height: float) -> "Points":
    """Return metres as pixels, which are counted downwards. Of long lines, some points are left out."""
    import numpy as np

    if len(points) > MOST_POINTS:
        points = points[np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(np.int64)]
    moved: Points = (points[:, :2] - low) * scale + MARGIN
    return np.column_stack([moved[:, 0], height - moved[:, 1]])


def _polyline(stroke: Stroke, pixels: "Points") -> str:
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in pixels.tolist())
    dashes = ""
    if stroke.dashed:
        dashes = ' stroke-dasharray="4 3"'
    return (
        f'<{"polygon" if stroke.closed else "polyline"} points="{corners}" fill="none" stroke="{stroke.colour}" '
        f'stroke-width="{stroke.width:g}" stroke-linecap="round"{dashes}/>'
    )


def _svg(width: float, height: float, title: str, pieces: Sequence[str]) -> Html:
    return Html(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}" role="img"><title>{title}</title>{"".join(pieces)}</svg>'
    )
