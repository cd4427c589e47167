"""What ``mapgauge evaluate`` prints in a terminal: the answer, one compact table, and what to look at next.

The text is the same in a terminal and in a pipe. It fits 80 columns, or a narrower terminal.
"""

import math
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mapgauge.answers.facts import largest, rings_in_words
from mapgauge.cli.emit import Line, Piece
from mapgauge.cli.output import Table, printable, width_of
from mapgauge.cli.parsing import PROTOCOL, as_given
from mapgauge.markup import columns_of, number
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import METRICS, chosen_metrics, title_of, value_named
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.answers.answer import Answer
    from mapgauge.answers.facts import MethodFacts
    from mapgauge.frames.findings import Finding
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results
    from mapgauge.results.values import Values

WIDTH = 80
_LONGEST = 24  # columns of a name of a class or of a method in the table
_GAP = 2  # columns between two columns of a table
_LEAST_OF_NAME = 12  # columns of a name of a file that is cut to fit a line
_LONGEST_BAR = 20  # columns of the bar of a PLD of 1
_SHORTEST_BAR = 5
_LONGEST_BESIDE = 13  # the same, if values would not fit beside longer ones
_BLOCKS = {"place": "█", "missing": "▓", "extra": "▒", "confidence": "░", "class": "·"}
_LETTERS = {"place": "p", "missing": "m", "extra": "x", "confidence": "c", "class": "w"}
_UNIT = re.compile(r"(?<=\d) (%|m\b|km\b)")
_GLUE = "\N{NO-BREAK SPACE}"
_RESULTS = "results.mg"  # a name for results, in advice
_MOST_METHODS = 3  # with ranges of their own


def room() -> int:
    """Return the width of the text: 80 columns, or those of a narrower terminal."""
    return max(min(width_of(sys.stdout) or WIDTH, WIDTH), 20)


def wrapped(text: str, indent: str = "") -> str:
    """Return a paragraph in lines that fit. Only words that are too long do not; they could not be copied otherwise.

    A number stays on the line of its unit.
    """
    width = room()
    glued = _UNIT.sub(f"{_GLUE}\\1", printable(text))
    lines = textwrap.wrap(glued, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    if any(columns_of(line) > width for line in lines):  # letters of two columns
        lines = _wrapped_by_columns(glued, width, indent)
    return "\n".join(lines).replace(_GLUE, " ")


def _wrapped_by_columns(text: str, width: int, indent: str) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if lines[-1].strip():
            longer = f"{lines[-1]} {word}"
        else:
            longer = lines[-1] + word
        if columns_of(longer) > width and lines[-1].strip():
            lines.append(indent + word)
        else:
            lines[-1] = longer
    return lines


def shortened(text: str, width: int = _LONGEST) -> str:
    """Return text of at most some columns of a terminal. What is too long loses its middle.

    >>> shortened("divider"), shortened("a_very_long_name_of_a_class_with_a_suffix", 20)
    ('divider', 'a_very_lon…_a_suffix')
    """
    text = printable(text)
    if columns_of(text) <= width:
        return text
    head = _first_columns(text, width // 2)
    tail = _first_columns(text[::-1], width - columns_of(head) - 1)[::-1]
    return f"{head}…{tail}"


def short_names(names: Sequence[str], width: int = _LONGEST) -> list[str]:
    """Return names of at most some columns of a terminal. Names that differ stay different.

    >>> short_names(["lane_line_white_solid", "lane_line_white_dashed"], 12)
    ['lane_l…solid', 'lane_l…ashed']
    >>> short_names(["line_no_1_of_the_road", "line_no_2_of_the_road"], 12)
    ['line_no_1_o…', 'line_no_2_o…']
    """
    whole = [printable(name) for name in names]
    ways: list[Callable[[str], str]] = [
        lambda name: shortened(name, width),
        lambda name: f"{_first_columns(name, width - 1)}…" if columns_of(name) > width else name,
    ]
    for way in ways:
        short = [way(name) for name in whole]
        if len(set(short)) == len(set(whole)):
            return short
    digits = len(str(len(whole)))
    return [f"{k:>{digits}} {shortened(name, width - digits - 1)}" for k, name in enumerate(whole, 1)]


def _first_columns(text: str, width: int) -> str:
    for k in range(len(text), -1, -1):
        if columns_of(text[:k]) <= width:
            return text[:k]
    return ""


def shortened_path(text: str) -> str:
    """Return the name of a file with the folder it is in, or the file alone if that is long.

    >>> shortened_path("/data/runs/2026/night/model-a/val/good.json"), shortened_path("good.json")
    ('…/val/good.json', 'good.json')
    """
    if columns_of(text) <= _LONGEST:
        return printable(text)
    path = Path(text)
    if path.parent.name:
        near = f"…/{path.parent.name}/{path.name}"
    else:
        near = path.name
    if columns_of(near) <= 1.5 * _LONGEST:
        return printable(near)
    return shortened(path.name, round(1.5 * _LONGEST))


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Methods that were evaluated by one protocol, and what is said of them."""

    names: Sequence[str]
    results: "Sequence[Results]"
    answer: "Answer"
    files: Sequence[Path]  # predictions of each method, then the truth
    saved: Sequence[Path | None]  # results of each method
    has_lists: bool = False  # whether --tokens chose the frames


def header(overviews: Sequence[Overview]) -> Iterator[Piece]:
    """Yield what was compared by which protocols, in one line, and which frames are not as usual."""
    from mapgauge.protocols import full_name

    overview = overviews[0]
    protocol = ", ".join(full_name(one.results[0].protocol) for one in overviews)
    first = overview.results[0]
    counts = first.frame_counts
    about = [counted(counts["evaluated"], "frame", form=",")]
    if first.scenes is not None:
        about.append(counted(len(set(first.scenes)), "scene", form=","))
    about.append(protocol)
    yield Line(wrapped(_compared(overview, ", ".join(about)), "  "))
    unusual = {name: _unusual(method) for name, method in zip(overview.names, overview.results, strict=True)}
    if len(set(unusual.values())) == 1:
        unusual = {"": unusual[overview.names[0]]}  # the same for all methods
    for name, said in unusual.items():
        if said:
            of = f" of {name}" if name else ""
            yield Line(wrapped(f"Frames{of}: {said}", "  "))


def _compared(overview: Overview, about: str) -> str:
    """Return what was compared, with the names that are left if all of it is to fit on one line.

    Folders go first, then the middle of long names. Where that is not enough, names are as files are shown elsewhere.
    """
    truth = str(overview.files[-1])
    if len(overview.names) > _MOST_METHODS:
        methods = counted(len(overview.names), "method")
    elif len(overview.names) > 1:
        methods = ", ".join(shortened(name) for name in overview.names)
    else:
        methods = ""
    predictions = str(overview.files[0])
    left = room() - columns_of(f" against : {about}")
    ways = [(methods or shortened_path(predictions), shortened_path(truth))]
    name = printable(Path(predictions).name)
    true_name = printable(Path(truth).name)
    if methods or name != true_name:
        ways.append((methods or name, true_name))
        beside = left - columns_of(methods or name)
        if beside >= _LEAST_OF_NAME:
            ways.append((methods or name, shortened(true_name, beside)))
        if not methods and left >= 2 * _LEAST_OF_NAME:
            ways.append((shortened(name, left // 2), shortened(true_name, left // 2)))
    fitting = [way for way in ways if sum(map(columns_of, way)) <= left]
    who, whom = (fitting or ways)[0]
    return f"{who} against {whom}: {about}"


def title_of_protocol(overview: Overview) -> Iterator[Piece]:
    """Yield the name of a protocol, above its answer."""
    from mapgauge.protocols import full_name

    yield Line(f"{printable(full_name(overview.results[0].protocol))}:", gap=True)


def paragraphs(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield pieces with their sentences in lines that fit, in a pipe as in a terminal."""
    for piece in pieces:
        if isinstance(piece, Line) and "\n" not in piece.text:
            yield replace(piece, text=wrapped(piece.text, piece.indent or "  "))
        else:
            yield piece


def finding_line(finding: "Finding") -> Line:
    """Return a finding about the input. Its level is coloured in a terminal."""
    return Line(wrapped(finding.for_shell(), "  "), painted=finding.level)


def refusal_lines(finding: "Finding", overviews: Sequence[Overview]) -> Iterator[Piece]:
    """Yield an error, as the reason why nothing is said of the methods that have it, or as a finding."""
    level = f"{finding.level}: "
    reason = finding.for_shell().removeprefix(level)
    facts = [one for overview in overviews for one in overview.answer.methods]
    names = dict.fromkeys(one.name for one in facts if one.refused == finding.text)
    if not names:
        yield finding_line(finding)
        return
    of = "" if len(overviews[0].names) == 1 else f"{', '.join(names)}: "
    yield Line(wrapped(f"{level}{of}do not trust these numbers: {reason}", "  "), painted=finding.level)


def _unusual(results: "Results") -> str:
    """Return which frames are not as usual; "" if all are."""
    counts = results.frame_counts
    said = []
    if counts["missing"]:
        said.append(f"{counts['missing']:,} missing from the predictions (counted as empty)")
    if counts["without_truth"]:
        said.append(f"{counts['without_truth']:,} without truth")
    if counts["ignored"]:
        said.append(f"{counted(counts['ignored'], 'predicted frame', form=',')} ignored")
    return ", ".join(said)


def answer_lines(answer: "Answer", *, left_out: Collection[str] = ()) -> Iterator[Piece]:
    """Yield the sentences of an answer, and where those are that were not made."""
    yield from statement_lines(answer, left_out=left_out)
    if any(_lacks_causes(facts) for facts in answer.methods):
        yield Line(wrapped("How much is found, and why, was not scored here: `mapgauge why` says it.", "  "))


def statement_lines(answer: "Answer", *, left_out: Collection[str] = ()) -> Iterator[Piece]:
    """Yield the sentences of an answer, without those about what is ``left_out``. Two that fit share a line.

    Of several methods, only the advice that lowers PLD most.
    """
    statements = [said for said in answer.statements if said.about not in left_out]
    advice = [said for said in statements if said.change is not None]
    if len(answer.methods) > 1 and len(advice) > 1:
        best = min(advice, key=lambda said: said.change or 0.0)
        statements = [said for said in statements if said not in advice or said is best]
    lines: list[str] = []
    for said in statements:
        text = wrapped(said.text, "  ")
        joined = f"{lines[-1]} {text}" if lines else ""
        if joined and "\n" not in joined and columns_of(joined) <= room():
            lines[-1] = joined
        else:
            lines.append(text)
    for line in lines:
        yield Line(line)


def _lacks_causes(facts: "MethodFacts") -> bool:
    """Whether what explains PLD is not known, as in a streamed evaluation that was begun without it."""
    is_about_pld = facts.measure == PLD.main.key and facts.pld is not None
    return is_about_pld and facts.refused is None and facts.found is None


@dataclass(frozen=True)
class _Row:
    """A row of the compact table."""

    name: str
    values: "Values"
    families: Mapping[str, float] | None

    @property
    def cause(self) -> str:
        """The family that makes the largest part of PLD, as the answer names it; "" if it is not known."""
        return largest(self.families) or ""


def _rows(overview: Overview) -> list[_Row]:
    """Return a row for each class and the mean, or with several methods one for the mean of each."""
    facts = overview.answer.methods
    if len(overview.names) > 1:
        return [
            _Row(name, method.mean, known.families)
            for name, method, known in zip(overview.names, overview.results, facts, strict=True)
        ]
    rows = []
    for name, values in overview.results[0].classes.items():
        of_class = facts[0].classes.get(name, {})
        rows.append(_Row(name, values, of_class.get("families")))
    rows.append(_Row("mean", overview.results[0].mean, facts[0].families))
    return rows


@dataclass(frozen=True)
class _TableColumn:
    """A column of the compact table."""

    title: str
    cells: Sequence[str]

    @property
    def width(self) -> int:
        """The width with the gap before the next column."""
        return max(map(columns_of, [self.title, *self.cells])) + _GAP


def compact_table(overview: Overview) -> Iterator[Piece]:
    """Yield one table: a row for each class and the mean, or with several methods a row for the mean of each.

    Values that do not fit the width are left out, the last first. The bar of PLD takes what is left.
    """
    keys = _keys(overview.results)
    rows = _rows(overview)
    if len(overview.names) == 1:  # classes without values, such as those that no metric compares, are left out
        rows = [row for row in rows if row.name == "mean" or any(row.values.get(key) is not None for key in keys)]
    protocol = overview.results[0].protocol
    values = [_TableColumn(_title(key, protocol), [number(row.values.get(key)) for row in rows]) for key in keys]
    causes = _TableColumn("largest cause", [row.cause for row in rows])
    if len(overview.names) > 1:
        title = "method"
    else:
        title = "class"
    may_have_bar = keys[:1] == [PLD.main.key] and any(row.families is not None for row in rows)
    if may_have_bar:
        kept = _SHORTEST_BAR + _GAP
    else:
        kept = 0
    short = _TableColumn(title, short_names([row.name for row in rows], _LONGEST_BESIDE))
    least = short.width + kept + sum(column.width for column in [*values[:1], causes]) - _GAP
    has_causes = any(causes.cells) and least <= room()  # the first value comes before the cause
    for longest in (_LONGEST, _LONGEST_BESIDE):
        names = _TableColumn(title, short_names([row.name for row in rows], longest))
        left = room() - names.width + _GAP
        if has_causes:
            left -= causes.width
        shown = []
        for column in values:
            if column.width > left - kept:
                break
            shown.append(column)
            left -= column.width
        if len(shown) == len(values):
            break
    bar = min(left - _GAP, _LONGEST_BAR)
    has_bar = may_have_bar and bar >= _SHORTEST_BAR
    bars = []
    if has_bar:
        shown.insert(1, _TableColumn("parts", [_bar(row.families, bar) for row in rows]))
        bars.append(2)  # after the name and PLD
    columns = [names, *shown]
    if has_causes:
        columns.append(causes)
    body = [[column.cells[k] for column in columns] for k in range(len(rows))]
    yield Table(
        title="", header=[column.title for column in columns], rows=body, fixed=1, ids=1 if has_causes else 0, bars=bars
    )
    if has_bar:
        named = "  ".join(f"{glyph} {family}" for family, glyph in _glyphs().items())
        yield Line(wrapped(f"parts of PLD: {named}", "  "))


def _title(key: str, protocol: "Protocol") -> str:
    """Return the title of a column. Only a main value names its setting; the others stand beside it."""
    named = value_named(key)
    if named is not None and named[1].role == "main":
        return title_of(key, protocol=protocol)
    return title_of(key)


def _keys(results: "Sequence[Results]") -> list[str]:
    """Return the keys of the table: main values of all metrics, and the headline values of PLD."""
    keys = []
    for name in results[0].metrics:
        metric = METRICS[name]
        if metric is PLD:
            keys += [value.key for value in metric.with_role("main", "headline")]
        else:
            keys.append(metric.main.key)
    return [key for key in keys if any(key in method.mean for method in results)]


def _glyphs() -> Mapping[str, str]:
    """Return a letter for each family of causes, which stdout can show."""
    try:
        "".join(_BLOCKS.values()).encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return _LETTERS
    return _BLOCKS


def _bar(families: Mapping[str, float] | None, width: int) -> str:
    """Return PLD as a bar, by families of causes. A larger family never has fewer signs than a smaller one.

    Each family has the whole signs of its share. What is left of the bar goes to those that lack most of a sign.

    >>> _bar({"place": 0.34, "missing": 0.183, "extra": 0.152, "confidence": 0.115, "class": 0.0}, 5)
    '██▓▒'
    """
    if families is None:
        return ""
    shares = {family: width * part for family, part in families.items()}
    signs = {family: math.floor(share) for family, share in shares.items()}
    left = round(sum(shares.values())) - sum(signs.values())
    by_remainder = sorted(shares, key=lambda family: signs[family] - shares[family])
    for family in by_remainder[:left]:
        signs[family] += 1
    glyphs = _glyphs()
    return "".join(glyphs[family] * count for family, count in signs.items())


def range_lines(answer: "Answer") -> Iterator[Piece]:
    """Yield PLD in each range, a line for each of a few methods."""
    told = [facts for facts in answer.methods if facts.ranges]
    for facts in told[:_MOST_METHODS]:
        known = [
            f"{rings_in_words((ring['from'] or 0.0, ring['to'] or 0.0))} {number(ring['pld'])}"
            for ring in facts.ranges or ()
        ]
        if len(answer.methods) > 1:
            of = f" of {facts.name}"
        else:
            of = ""
        yield Line(wrapped(f"PLD{of} by distance: {', '.join(known)}", "  "))


def worst_frame(overview: Overview) -> Iterator[Piece]:
    """Yield the worst frame of the first method that is trusted, and the command that draws it."""
    from mapgauge.results.frame_query import FrameTable
    from mapgauge.results.frame_tables import worst_first

    trusted = [k for k, facts in enumerate(overview.answer.methods) if facts.refused is None]
    if not trusted:
        return
    results = overview.results[trusted[0]]
    table = FrameTable(results)
    ranked, *others = table.apart(table.ranked())  # as `frames` and `show` choose the worst
    frames = ranked or [*others[0], *others[1]]
    key = worst_first(results.metrics).lstrip("-")
    column = table.columns.get(key)
    if not frames or column is None:
        return
    value = column.values[frames[0]]
    if not isinstance(value, float):  # a frame without lines, or no value of frames to sort by
        return
    if len(overview.names) > 1:
        of = f" of {overview.names[trusted[0]]}"
    else:
        of = ""
    about = f"Worst frame{of} ({title_of(key)} {number(value)}). To draw it"
    saved = overview.saved[trusted[0]]
    frame: list[str] = []  # `show` draws the worst frame by default
    if saved is not None:
        files = [str(saved)]
    elif _can_be_repeated(overview, trusted[0]):
        files = _evaluated_files(overview, trusted[0])
        if overview.has_lists or worst_first(chosen_metrics(results.protocol, metrics=None)) != key:
            frame = ["--frame", worst_token(results.tokens, frames[0])]
    else:
        about += f", evaluate with -o {_RESULTS}, then"
        files = [_RESULTS]
    words = ["mapgauge", "show", *files, *frame, "-o", "worst.svg"]
    yield Line(wrapped(f"{about}:", "  ") + "\n" + command_lines(words))


def _can_be_repeated(overview: Overview, number: int) -> bool:
    """Whether a command that has the files and the name of the protocol evaluates as it was done."""
    from mapgauge.cli.inputs import STDIN
    from mapgauge.protocols import changes

    files = [as_given(overview.files[number]), as_given(overview.files[-1])]
    return not changes(overview.results[number].protocol) and not set(files) & set(STDIN)


def _evaluated_files(overview: Overview, number: int) -> list[str]:
    """Return the files of a method and the protocol, as a command names them."""
    files = [as_given(overview.files[number]), as_given(overview.files[-1])]
    protocol = overview.results[number].protocol.name
    if protocol != PROTOCOL:
        files += ["-p", protocol]
    return files


def worst_token(tokens: Sequence[str], frame: int) -> str:
    """Return the token of the worst frame as tables print it, which commands understand. Stdout can show it."""
    from mapgauge.frames.tokens import short_tokens

    token = tokens[frame]
    short = short_tokens(tokens)[frame]
    if short != printable(short):  # a token with control characters cannot be copied from a terminal
        return "worst"
    if short != token:
        try:
            short.encode(sys.stdout.encoding or "utf-8")
        except UnicodeEncodeError:
            short = short.replace("…", "...")  # which means the same
    return short


def command_lines(words: Sequence[str]) -> str:
    """Return a command that can be copied, in one line if it fits. Only a word that is too long does not fit.

    A shell takes lines that end in a backslash as one. The console of Windows does not, so there it is always one line.
    """
    quoted = [shlex.quote(printable(word)) for word in words]
    line = "  " + " ".join(quoted)
    if sys.platform == "win32" or columns_of(line) <= room():
        return line
    parts: list[str] = []
    for word in quoted:
        if parts and parts[-1].startswith("-"):  # an option stays on the line of its value
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    lines = [f"  {parts[0]}"]
    for part in parts[1:]:
        if columns_of(f"{lines[-1]} {part} \\") > room():
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    return " \\\n".join(lines)
