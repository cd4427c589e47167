"""Output for machines and for papers: JSON, CSV and LaTeX, each the whole of stdout."""

import csv
import json
import math
import sys
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from mapgauge.cli.options import refuse

Form: TypeAlias = Literal["text", "json", "csv", "latex"]

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
    """Which form of output the options ask for."""
    forms: list[Form] = [form for form, asked in (("json", json), ("csv", csv), ("latex", latex)) if asked]  # type: ignore[misc]
    if len(forms) > 1:
        refuse(f"--{forms[1]}", f"stdout has room for one of --{' and --'.join(forms)}")
    return forms[0] if forms else "text"


def write_json(document: Any) -> None:
    """A document in JSON; what is not a finite number is null, for JSON has no name for it."""
    json.dump(_finite(document), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_csv(rows: Sequence[dict[str, Any]]) -> None:
    """Rows under the names of their keys, all digits; what has no value is empty."""
    writer = csv.DictWriter(sys.stdout, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def write_latex(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> None:
    """A tabular with the rules of booktabs; cells are plain text but for ``$...$`` made here."""
    columns = "l" + "c" * (len(header) - 1)
    lines = [
        f"% {caption}",
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
    r"""Text as LaTeX prints it.

    >>> latex("ped_crossing")
    'ped\\_crossing'
    """
    return "".join(_LATEX.get(letter, letter) for letter in text)


def cell(value: float | None, *, bold: bool = False) -> str:
    """A number as a cell of a table in LaTeX."""
    if value is None:
        return "--"
    return rf"$\mathbf{{{value:.3f}}}$" if bold else f"${value:.3f}$"
