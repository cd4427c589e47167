"""Prints text, tables, findings, progress, JSON and CSV to a terminal or a pipe.

In a terminal, text is wrapped and coloured, and long work has a progress bar. In a pipe there is one line per finding,
tables have their full width, long work has a line every half minute, and there are no escape codes.
"""

import csv
import json
import math
import os
import shutil
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from mapgauge.frames.findings import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def printable(text: str) -> str:
    r"""Return text on one line, without control characters. Names in files can contain any character.

    >>> printable("divider\n\x1b[2J")
    'divider ?[2J'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


_STYLES = {"bold": "1", "dim": "2", "error": "1;31", "warning": "33", "note": "36", "name": "36"}
_BAR = 24  # characters
_BEAT = 30.0  # seconds between two lines about progress without a terminal
_SERIOUS = {"error": ("error",), "warning": ("error", "warning")}  # the levels that --fail-on means


class _WorkInProgress:
    """What the running command does, for an interrupt, and whether stderr shows a line about it."""

    doing: str = ""
    done: tuple[int, int, str] | None = None  # units, all of them, the noun
    line: bool = False

    def begin(self, doing: str) -> None:
        """Take what is done from now on; "" if it has no name."""
        self.doing = doing
        self.done = None


_WORK = _WorkInProgress()
_NAMED = 3  # files that a line names
_MEGABYTE = 1e6  # bytes

_VOICE = {"quiet": False}  # the command line sets it anew for each command


def is_quiet() -> bool:
    """Whether the running command has the option --quiet."""
    return _VOICE["quiet"]


def set_quiet(quiet: bool) -> bool:
    """Hide progress and messages of success, or show them. This is the callback of --quiet."""
    _VOICE["quiet"] = quiet
    return quiet


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with its title.

    The first ``fixed`` columns name a row and are aligned to the left, as the last ``ids`` and those of ``bars``.

    A table that is wider than a terminal is split into several, one below the other, unless it has ``ids``.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    fixed: int = 1
    ids: int = 0
    bars: Collection[int] = ()  # columns whose cells begin at one place, because their length is a value
    gap: bool = True  # an empty line before it, unless it comes first


def width_of(stream: TextIO) -> int | None:
    """Return the number of columns of a terminal, or None if the stream is not a terminal."""
    if stream.isatty():
        return shutil.get_terminal_size().columns
    return None


def obeys_escapes(stream: TextIO) -> bool:
    """Whether a stream is a terminal that obeys escape sequences."""
    if not stream.isatty():
        return False
    if sys.platform == "win32":  # its console shows them as they are; other terminals there, such as Git Bash, set TERM
        return os.environ.get("TERM", "dumb") != "dumb"
    return os.environ.get("TERM") != "dumb"


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    """Return text in a style, if the stream is a terminal and colours are not disabled (https://no-color.org)."""
    if stream is None:
        target = sys.stdout
    else:
        target = stream
    if os.environ.get("NO_COLOR") or not obeys_escapes(target):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def say(text: str = "", stream: TextIO | None = None, indent: str = "", painted: str = "") -> None:
    """Print a paragraph, wrapped if the stream is a terminal. ``painted`` is its beginning and the name of a style.

    Text that has line breaks is wrapped already, or must stay as it is.
    """
    settle()
    if stream is None:
        target = sys.stdout
    else:
        target = stream
    width = width_of(target)
    if width and "\n" not in text:
        text = textwrap.fill(text, max(width, 20), subsequent_indent=indent, break_long_words=False)
    if painted:
        start = paint(painted, painted, target)
    else:
        start = ""
    target.write(f"{start}{text.removeprefix(painted)}\n")


def warn(text: str) -> None:
    """Print a line on stderr. Stdout is flushed first, so that the order is kept if both go to one file."""
    sys.stdout.flush()
    say(f"mapgauge: {printable(text)}", sys.stderr)


def inform(text: str) -> None:
    """Print a line on stderr about something that went well. --quiet hides it."""
    if not is_quiet():
        warn(text)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure, and say where it is."""
    from mapgauge import plot

    plot.save(figure, path)
    inform(f"figure in {path}")


def show_table(table: Table, *, gap: bool = True) -> None:
    """Print a table with its title, after an empty line if ``gap``."""
    settle()
    from mapgauge.markup import text_table

    header, *rows = ([printable(cell) for cell in line] for line in (table.header, *table.rows))
    # A table with ids was made for the width.
    if table.ids:
        width = None
    else:
        width = width_of(sys.stdout)
    text = text_table(header, rows, fixed=table.fixed, ids=table.ids, bars=table.bars, width=width)
    first, *rest = text.split("\n")
    if gap:
        say()
    if table.title:
        say(paint(printable(table.title), "bold"))
    sys.stdout.write("\n".join([paint(first, "dim"), *rest]) + "\n")


def say_columns(rows: Sequence[Sequence[str]]) -> None:
    """Print rows without a header. The last column is wrapped in a terminal."""
    from mapgauge.markup import columns_of

    widths = [max(map(columns_of, column)) + 2 for column in zip(*rows, strict=True)][:-1]
    for row in rows:
        names = "".join(text + " " * (width - columns_of(text)) for text, width in zip(row[:-1], widths, strict=True))
        say(names + row[-1], indent=" " * sum(widths))


def show_findings(findings: Sequence[Finding], stream: TextIO | None = None) -> None:
    """Print one line per finding."""
    for finding in findings:
        say(printable(finding.for_shell()), stream, "  ", painted=finding.level)


def warn_of(findings: Sequence[Finding]) -> None:
    """Print errors and warnings among the findings on stderr."""
    sys.stdout.flush()
    show_findings([finding for finding in findings if finding.level != "note"], sys.stderr)


def tell_findings(findings: Sequence[Finding]) -> None:
    """Print findings; with --quiet only errors and warnings, on stderr."""
    if is_quiet():
        warn_of(findings)
    else:
        show_findings(findings)


def distrust(findings: Iterable[Finding]) -> None:
    """Say on stderr how many of the findings above are errors, if any."""
    errors = sum(finding.level == "error" for finding in findings)
    if errors:
        if errors == 1:
            are = "is an error"
        else:
            are = "are errors"
        warn(f"{errors} of the findings above {are}: do not trust the numbers")


def exit_on(level: str | None, findings: Iterable[Finding]) -> None:
    """End the command with exit code 1 if there are findings of the level of --fail-on, or of a more serious one."""
    levels = Counter(finding.level for finding in findings if finding.level in _SERIOUS.get(level or "", ()))
    if levels:
        counts = [f"{count} {kind}{'s' * (count > 1)}" for kind, count in sorted(levels.items())]
        warn(f"failed: {' and '.join(counts)} among the findings (--fail-on {level})")
        raise typer.Exit(1)


def exit_without_truth(findings: Iterable[Finding]) -> None:
    """End the command with exit code 1 if the truth has no instances: there is nothing to compare with."""
    if any(finding.code == "truth-empty" for finding in findings):
        warn("failed: the truth has no instances to compare with")
        raise typer.Exit(1)


def pace(elapsed: float, done: int, left: int) -> str:
    """Return the rate of work and the time left, in words; "" if it is too early to tell.

    >>> pace(2.0, 1600, 4000), pace(3600.0, 10, 40), pace(0.1, 48, 0)
    (', 800/s, 0:05 left', ', 0.0028/s, 4:00:00 left', '')
    """
    if elapsed < 0.5 or done <= 0:
        return ""
    rate = done / elapsed
    minutes, seconds = divmod(round(left / rate), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        clock = f"{hours}:{minutes:02}:{seconds:02}"
    else:
        clock = f"{minutes}:{seconds:02}"
    if rate >= 10:
        return f", {rate:.0f}/s, {clock} left"
    return f", {rate:.2g}/s, {clock} left"


@contextmanager
def progress(what: str, unit: str = "frames", settings: int = 1) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar with the rate and the time left on stderr; without a terminal, a line every half minute.

    With --quiet nothing is shown, but an interrupt still says how much was done. If work is done in several equal
    parts, one for each of ``settings``, the bar says which of them it is.
    """
    _WORK.begin(what)
    bar = can_rewrite()
    begun: list[tuple[float, int]] = []  # time and count of the first call; a resumed run does not begin at 0
    said = [time.monotonic()]  # when the last line was printed

    def advance(done: int, of: int) -> None:
        _WORK.done = (done, of, unit)
        if is_quiet():
            return
        now = time.monotonic()
        if not begun:
            begun.append((now, done))
        share = done / max(of, 1)
        if settings > 1:
            part = f", setting {min(int(share * settings) + 1, settings)} of {settings}"
        else:
            part = ""
        counts = f"{done}/{of} {unit}{pace(now - begun[0][0], done - begun[0][1], of - done)}"
        if bar:
            counts = f" [{('=' * round(share * _BAR)).ljust(_BAR)}] {counts}"
            room = max((width_of(sys.stderr) or 80) - 1 - len(part) - len(counts), 12)  # the name is cut first
            rewrite(f"{what if len(what) <= room else f'{what[: room - 1]}…'}{part}{counts}")
        elif now - said[0] >= _BEAT:
            said[0] = now
            warn(f"{what}{part}: {counts}")
            sys.stderr.flush()

    if bar:
        rewrite(f"{what} ...")
    try:
        yield advance
        _WORK.begin("")
    finally:
        settle()


def can_rewrite() -> bool:
    """Whether stderr shows lines about progress: it is a terminal, and the command is without --quiet."""
    return not is_quiet() and obeys_escapes(sys.stderr)


def announce(files: Sequence[Path], least: float = 0.0) -> None:
    """Say at once, in a terminal, that files are read, if they have some megabytes. Large ones take seconds."""
    _WORK.begin("reading")
    size = sum(file.stat().st_size for file in files if file.is_file())
    if not can_rewrite() or size < least * _MEGABYTE:
        return
    names = ", ".join(file.name for file in files[:_NAMED])
    if len(files) > _NAMED:
        names += f" and {len(files) - _NAMED} more"
    if size >= _MEGABYTE:
        names += f" ({size / _MEGABYTE:,.0f} MB)"
    rewrite(printable(f"reading {names} ..."))


def settle() -> None:
    """Remove the line about progress, if there is one."""
    if _WORK.line and can_rewrite():
        rewrite()


def is_at_work() -> bool:
    """Whether the running command has begun some work."""
    return bool(_WORK.doing)


def interrupted() -> str:
    """Return how far the running command was, and what it has written, in words."""
    if _WORK.done is not None:
        done, of, unit = _WORK.done
        text = f"interrupted after {done:,} of {of:,} {unit}"
    elif _WORK.doing:
        text = f"interrupted while {_WORK.doing}"
    else:
        text = "interrupted"
    files = sys.modules.get("mapgauge.io.files.source")  # not imported before a file is read or written
    if files is not None and files.OUTPUTS.written:
        return f"{text}; written: {', '.join(map(str, files.OUTPUTS.written))}"
    return f"{text}; nothing was written"


def rewrite(text: str = "") -> None:
    """Replace the last line of stderr."""
    _WORK.line = bool(text)
    sys.stderr.write("\r\x1b[K" + text[: (width_of(sys.stderr) or 80) - 1])
    sys.stderr.flush()


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four: full width


def write_json(document: Any) -> None:
    """Write a document as JSON. Numbers that are not finite become null, because JSON cannot represent them.

    Control characters and marks of direction are escaped. In a terminal, they could do what they like.
    """
    settle()
    text = json.dumps(_finite(document), indent=2, ensure_ascii=False, allow_nan=False)
    lines = (line if line.isprintable() else "".join(map(_escaped, line)) for line in text.split("\n"))
    sys.stdout.write("\n".join(lines))
    sys.stdout.write("\n")


def _escaped(letter: str) -> str:
    if letter.isprintable():
        return letter
    return json.dumps(letter)[1:-1]


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_csv(rows: Sequence[dict[str, Any]], stream: TextIO | None = None, *, keys: Sequence[str] = ()) -> None:
    """Write rows as CSV to stdout or another stream, with all digits. Missing values are empty.

    The columns are ``keys``, and then all others that a row has. A file or a pipe gets names as they are. For a
    terminal, control characters and marks of direction are replaced.
    """
    keys = list(dict.fromkeys([*keys, *(key for row in rows for key in row)]))
    if stream is None:
        target = sys.stdout
    else:
        target = stream
    settle()
    if target.isatty():
        shown = _printable_cell
    else:
        shown = plain
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(map(shown, keys))
    writer.writerows([shown(row.get(key, "")) for key in keys] for row in rows)


def _printable_cell(value: Any) -> Any:
    if isinstance(value, str):
        return printable(plain(value))
    return value


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
