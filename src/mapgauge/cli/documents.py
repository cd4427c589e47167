"""Writes JSON, CSV and LaTeX to stdout."""

import csv
import json
import math
import sys
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from mapgauge.cli.parsing import refuse
from mapgauge.cli.words import printable

Form: TypeAlias = Literal["text", "json", "csv", "latex"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four: full width
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "↓": r"$\downarrow$",
    "↑": r"$\uparrow$",
}


def form_of(*, json: bool = False, csv: bool = False, latex: bool = False) -> Form:
    """Return the form of output that the options ask for."""
    forms: list[Form] = [form for form, asked in (("json", json), ("csv", csv), ("latex", latex)) if asked]  # type: ignore[misc]
    if len(forms) > 1:
        refuse(f"--{forms[1]}", f"only one of --{' and --'.join(forms)} can be given")
    return forms[0] if forms else "text"


def write_json(document: Any) -> None:
    """Write a document as JSON. Numbers that are not finite become null, because JSON cannot represent them."""
    json.dump(_finite(document), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_csv(rows: Sequence[dict[str, Any]]) -> None:
    """Write rows as CSV, with all digits. Missing values are empty."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(plain, keys))
    writer.writerows([plain(row.get(key, "")) for key in keys] for row in rows)


def plain(value: Any) -> Any:
    """Return a value for CSV. Text that a spreadsheet would take for a formula gets an apostrophe in front.

    >>> plain("=1+1"), plain("divider"), plain("-1.5"), plain(-1.5)
    ("'=1+1", 'divider', '-1.5', -1.5)
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA) or len(value) == 1:
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def write_latex(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> None:
    """Write a tabular with the rules of booktabs. Cells after the first in a row must be valid LaTeX already.

    The caption is a comment. It is kept on one line, because a line break would end the comment.
    """
    columns = "l" + "c" * (len(header) - 1)
    lines = [
        f"% {printable(caption)}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(map(latex, header)) + r" \\",
        r"\midrule",
        *(" & ".join([latex(row[0]), *row[1:]]) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def latex(text: str) -> str:
    r"""Return text on one line, with the special characters of LaTeX escaped.

    >>> latex("ped_crossing")
    'ped\\_crossing'
    """
    return "".join(_LATEX.get(letter, letter) for letter in printable(text))


def cell(value: float | None, *, bold: bool = False) -> str:
    """Return a number as a cell of a LaTeX table."""
    if value is None:
        return "--"
    return rf"$\mathbf{{{value:.3f}}}$" if bold else f"${value:.3f}$"
