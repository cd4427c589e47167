"""Formats numbers and plain text tables."""

from collections.abc import Sequence


def number(value: float | None, digits: int = 3) -> str:
    """Return a number as text; None becomes a dash."""
    return "-" if value is None else f"{value:.{digits}f}"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text. The first column is aligned to the left, the others to the right.

    >>> print(text_table(["class", "PLD"], [["divider", "0.773"], ["mean", "0.790"]]))
    class      PLD
    divider  0.773
    mean     0.790
    """
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
