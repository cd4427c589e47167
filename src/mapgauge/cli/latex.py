r"""Makes one LaTeX table for a paper: a row per method, a column per value.

Average precisions are in percent, as papers print them. The best main values of a column are bold, by the direction of
their metric. Headline values such as Loc and Det are never bold: a smaller part is not always better.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from mapgauge.cli.output import printable

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol

_ESCAPED = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"↓": r"$\downarrow$", "↑": r"$\uparrow$"}
)
_SHORT = 8  # letters of a title that is not broken
_BREAKS = re.compile(r"(?<=\w)-(?=\w)|\s+(?![$\[]|[^(]*\))")  # a hyphen, or a space before a word or a bracket


class LatexColumn(NamedTuple):
    """A column: a key of ``Results.mean``, and a class or ``"mean"``."""

    key: str
    class_name: str


def escaped(text: str) -> str:
    r"""Return text on one line, with the special characters of LaTeX escaped.

    >>> escaped("ped_crossing")
    'ped\\_crossing'
    """
    return printable(text).translate(_ESCAPED)


def titled(key: str, protocol: "Protocol | None" = None) -> str:
    """Return the title of a key: its setting, its unit if it is in percent, an arrow in the direction that is better.

    >>> titled("ap_chamfer"), titled("localisation")
    ('Chamfer-AP [%] ↑', 'Loc')
    """
    from mapgauge.metrics.table import heading

    unit = ""
    if _is_percent(key):
        unit = " [%]"
    return heading(key, protocol, unit)


def number(key: str, value: float | None) -> str:
    """Return the digits of a value; average precisions in percent.

    >>> number("ap_chamfer", 0.7371), number("pld", 0.7917), number("pld", None)
    ('73.7', '0.792', '--')
    """
    if value is None:
        return "--"
    if _is_percent(key):
        return f"{100 * value:.1f}"
    return f"{value:.3f}"


def cells(
    key: str, values: Sequence[float | None], bounds: Sequence[tuple[float, float] | None] | None = None
) -> list[str]:
    r"""Return the cells of a column. All values that are printed like the best one are bold, if there are several.

    >>> cells("pld", [0.79, 0.7901, 0.85])
    ['$\\mathbf{0.790}$', '$\\mathbf{0.790}$', '$0.850$']
    """
    best = _best(key, values)
    texts = [number(key, value) for value in values]
    shown = []
    for text, limits in zip(texts, bounds or [None] * len(texts), strict=True):
        if text == best:
            cell = rf"$\mathbf{{{text}}}$"
        elif text == "--":
            cell = text
        else:
            cell = f"${text}$"
        if limits is not None:
            low, high = limits
            cell += rf" {{\scriptsize [{number(key, low)}, {number(key, high)}]}}"
        shown.append(cell)
    return shown


def tabular(header: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], captions: Sequence[str]) -> str:
    """Return a tabular with the rules of booktabs, in small letters. All cells must be valid LaTeX.

    Equal neighbours in all lines of the header but the last are joined over their columns. Long titles in the last are
    broken into two lines, so that means over classes fit into a column of a paper. Captions are comments above the
    table. Each is kept on one line, because a line break would end the comment.
    """
    width = len(header[-1])
    lines = [
        *(f"% {printable(caption)}" for caption in captions),
        r"{\footnotesize\setlength{\tabcolsep}{3pt}%",
        rf"\begin{{tabular}}{{@{{}}l{'c' * (width - 1)}@{{}}}}",
        r"\toprule",
    ]
    for upper in header[:-1]:
        lines += _spanning(upper)
    titles = [part for part in zip(*map(_broken, header[-1]), strict=True) if any(part)]
    lines += [" & ".join(part) + r" \\" for part in titles]
    body = [r"\midrule", *(" & ".join(row) + r" \\" for row in rows), r"\bottomrule", r"\end{tabular}}"]
    return "\n".join([*lines, *body]) + "\n"


def _broken(title: str) -> tuple[str, str]:
    r"""Return a title in two lines, of which the second may be empty. Arrows and units stay with the word before them.

    >>> _broken(r"Chamfer-AP [\%] $\uparrow$"), _broken(r"PLD $\downarrow$")
    (('Chamfer-', 'AP [\\%] $\\uparrow$'), ('PLD $\\downarrow$', ''))
    """
    length = {end: _letters(title[:end]) for end in (match.end() for match in _BREAKS.finditer(title))}
    if _letters(title) <= _SHORT or not length:
        return title, ""
    end = min(length, key=lambda end: max(length[end], _letters(title) - length[end]))
    return title[:end].rstrip(), title[end:]


def _letters(text: str) -> int:
    """Return the number of letters that LaTeX prints."""
    return len(re.sub(r"\$\\\w+\$", "x", text).replace("\\", ""))


def methods_table(
    names: Sequence[str],
    methods: Sequence[Mapping[str, Mapping[str, float | None]]],
    columns: Sequence[LatexColumn],
    captions: Sequence[str],
    bounds: Sequence[Mapping[str, Mapping[str, tuple[float, float] | None]]] | None = None,
    *,
    protocol: "Protocol | None" = None,
) -> str:
    """Return the table of several methods, from their values, and intervals beside them, by class and key.

    Neighbouring columns with the same key have a common title if there are values of classes.
    """
    from mapgauge.metrics.table import title_of

    body = [
        cells(key, [of[name].get(key) for of in methods], [of[name].get(key) for of in bounds or ()] or None)
        for key, name in columns
    ]
    titles = ["", *(escaped(titled(column.key, protocol)) for column in columns)]
    classes = ["", *(escaped(title_of(column.class_name)) for column in columns)]
    if all(column.class_name == "mean" for column in columns):
        header = [titles]
    else:
        header = [titles, classes]
    rows = [[escaped(name), *(column[k] for column in body)] for k, name in enumerate(names)]
    return tabular(header, rows, captions)


def _spanning(cells: Sequence[str]) -> list[str]:
    """Return a line of a header in which equal neighbours are joined, and the rules below them."""
    groups = [(text, len(list(same))) for text, same in groupby(cells)]
    texts = []
    rules = []
    at = 1
    for text, count in groups:
        if count == 1:
            texts.append(text)
        else:
            texts.append(rf"\multicolumn{{{count}}}{{c}}{{{text}}}")
        if text:
            rules.append(rf"\cmidrule(lr){{{at}-{at + count - 1}}}")
        at += count
    return [" & ".join(texts) + r" \\", " ".join(rules)]


def _is_percent(key: str) -> bool:
    """Whether papers print a value in percent: average precisions, and metrics that say so."""
    from mapgauge.metrics.metric import HitRows, ValueKey
    from mapgauge.metrics.table import value_named

    row = value_named(ValueKey.parse(key).name)
    return row is not None and (isinstance(row[0].rows, HitRows) or row[0].percent)


def _best(key: str, values: Sequence[float | None]) -> str | None:
    """Return the digits of the best value; None if there are fewer than two values, or if better has no direction."""
    from mapgauge.metrics.table import value_named

    row = value_named(key)
    known = [value for value in values if value is not None]
    if row is None or row[1].role != "main" or len(known) < 2:
        return None
    if row[0].lower_is_better:
        return number(key, min(known))
    return number(key, max(known))
