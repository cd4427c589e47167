"""Writes JSON and CSV to stdout."""

import csv
import json
import math
import sys
from collections.abc import Sequence
from typing import Any, Literal, TextIO, TypeAlias

from mapgauge.cli.parsing import refuse

Form: TypeAlias = Literal["text", "json", "csv", "latex"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four: full width


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


def write_csv(rows: Sequence[dict[str, Any]], stream: TextIO | None = None) -> None:
    """Write rows as CSV to stdout or another stream, with all digits. Missing values are empty."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.writer(sys.stdout if stream is None else stream, lineterminator="\n")
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
