"""``board``: the submissions of a challenge with ranks, as a page without scripts, JSON and Markdown."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mapgauge.errors import InvalidInput, Remedy, UnreadableFile
from mapgauge.features.challenge.manifest import Challenge
from mapgauge.features.challenge.public import public_values
from mapgauge.features.challenge.scoring import BASELINES, PRIVATE, PUBLIC, read_public
from mapgauge.io.files.source import is_folder
from mapgauge.io.files.writing import save
from mapgauge.markup import Html, bars, element, html, interval, joined, legend, number
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.table import METRICS, part_colours, title_of, value_named
from mapgauge.protocols import full_name
from mapgauge.results.comparison import Comparison, compare
from mapgauge.results.loading import load_results
from mapgauge.results.metadata import digest_of
from mapgauge.results.ranks import ranks
from mapgauge.results.results import Results
from mapgauge.words import counted

MANIFEST = "challenge.json"  # in the folder of a challenge
_DIGITS = 12  # of a digest in a table
_WIDTH = 240.0  # pixels of a bar
_FROM_RESULTS = ("values", "intervals", "draws", "frames", "settings", "findings")  # of a public file
_LEFT = {"name": "name", "ties with": "ties"}  # columns that are aligned to the left
_STYLE = """
:root { color-scheme: light dark; }
body { background: Canvas; color: CanvasText; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #8885; padding: .35rem .6rem; text-align: right; white-space: nowrap; }
th.name, td.name { text-align: left; }
td.name { max-width: 14rem; min-width: 6rem; overflow-wrap: anywhere; white-space: normal; }
th.ties, td.ties { text-align: left; white-space: normal; min-width: 7rem; }
tr.baseline, tr.error { opacity: .7; }
tr.baseline { font-style: italic; }
svg { vertical-align: middle; }
code { font-size: .85em; }
pre { white-space: pre-wrap; }
"""


@dataclass(frozen=True, kw_only=True)
class BoardRow:
    """A submission, or a baseline, on a board."""

    name: str
    rank: int | None  # None for baselines, without a value, and with errors
    ties: tuple[str, ...]  # the submissions from which it cannot be told
    values: Mapping[str, Mapping[str, float | None]]  # by class, or "mean", and key
    intervals: Mapping[str, Mapping[str, Sequence[float] | None]]
    date: str = ""
    link: str = ""
    digests: Mapping[str, str] | None = None
    is_baseline: bool = False
    errors: tuple[str, ...] = ()  # codes of findings against the truth

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {
            "name": self.name,
            "rank": self.rank,
            "ties": list(self.ties),
            "is_baseline": self.is_baseline,
            "errors": list(self.errors),
            "date": self.date,
            "link": self.link,
            "digests": None if self.digests is None else dict(self.digests),
            "values": {name: dict(values) for name, values in self.values.items()},
            "intervals": {name: dict(bounds) for name, bounds in self.intervals.items()},
        }


@dataclass(frozen=True, kw_only=True)
class Board:
    """The submissions of a challenge with their ranks. It holds no value of a frame."""

    challenge: Challenge
    key: str  # of the value that ranks
    rows: tuple[BoardRow, ...]  # submissions by rank, then baselines
    drawn: str  # what the intervals draw: "scene" or "frame"
    units: int
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> list[str]:
        """The keys of the parts of the value that ranks."""
        found = value_named(ValueKey.parse(self.key).name)
        if found is None:
            return []
        parts = [value.key for value in found[0].values if value.role == "part"]
        return [key for key in parts if any(key in row.values["mean"] for row in self.rows)]

    @property
    def others(self) -> list[str]:
        """The keys of the main values of the other metrics."""
        keys = [METRICS[name].main.key for name in self.challenge.metrics]
        return [key for key in keys if key != self.key]

    @property
    def statement(self) -> str:
        """Who is first, in words."""
        ranked = [row for row in self.rows if row.rank is not None]
        if not ranked:
            return "No submission has a rank yet."
        if any(row.errors for row in self.rows):
            total = counted(len(ranked), "ranked submission")
        else:
            total = counted(len(ranked), "submission")
        first = [row.name for row in ranked if row.rank == 1]
        if len(first) == 1:
            return f"{first[0]} is first of {total}."
        return (
            f"{len(first)} of {total} share the first rank: {', '.join(first)}. No difference between them is decided."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the board as plain values."""
        return {
            "challenge": self.challenge.name,
            "manifest": self.challenge.digest,
            "truth": self.challenge.truth,
            "key": self.key,
            "drawn": self.drawn,
            "units": self.units,
            "statement": self.statement,
            "notes": list(self.notes),
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_markdown(self) -> str:
        """Return the board as a table in Markdown."""
        classes = self.challenge.protocol.classes or ()
        of_classes = [f"{title_of(self.key)} of {name}" for name in classes]
        others = [title_of(key) for key in self.others]
        header = ["rank", "name", title_of(self.key), "ties with", *others, *of_classes, "date", "submission"]
        lines = [header, ["---"] * len(header)]
        for row in self.rows:
            mean = row.values["mean"]
            lines.append(
                [
                    rank_text(row.rank, row.errors),
                    row.name,
                    _with_interval(row, "mean", self.key),
                    ", ".join(row.ties) or "-",
                    *(number(mean.get(key)) for key in self.others),
                    *(number(row.values.get(name, {}).get(self.key)) for name in classes),
                    row.date or "-",
                    (row.digests or {}).get("submission", "-")[:_DIGITS],
                ]
            )
        table = "\n".join(f"| {' | '.join(map(_markdown, line))} |" for line in lines)
        return (
            "\n\n".join([f"# {_markdown(self.challenge.name)}", _markdown(self.statement), table, *self._said()]) + "\n"
        )

    def to_html(self) -> str:
        """Return the page. It has no script, loads nothing, and needs no server."""
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        head = joined(
            [
                element("meta", charset="utf-8"),
                element("meta", http_equiv="Content-Security-Policy", content=policy),
                element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
                element("title", f"{self.challenge.name}: board"),
                element("style", _STYLE),
            ]
        )
        body = joined(
            [
                element("h1", self.challenge.name),
                element("p", self.statement),
                _wide("Ranks", self._table()),
                *(element("p", text) for text in self._said()),
                self._parts(),
                self._classes(),
                self._files(),
                element("h2", "Rules") if self.challenge.rules else None,
                element("pre", self.challenge.rules) if self.challenge.rules else None,
            ]
        )
        return html('<!DOCTYPE html>\n<html lang="en"><head>{}</head><body><main>{}</main></body></html>\n', head, body)

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, Path, Path]:
        """Write the page, and beside it JSON and Markdown. Returns the three files."""
        page = Path(path)
        data = page.with_suffix(".json")
        text = page.with_suffix(".md")
        save(page, self.to_html().encode())
        save(data, f"{json.dumps(self.to_dict(), indent=2, allow_nan=False)}\n".encode())
        save(text, self.to_markdown().encode())
        return page, data, text

    def _table(self) -> Html:
        """Return the table of all rows: main values, ties and links. It fits a page; the other tables have the rest."""
        others = [title_of(key) for key in self.others]
        names = ["rank", "name", title_of(self.key), "interval", "ties with", *others, "date", "more"]
        span = self._span()
        return _table_of(names, [self._row(row, span=span) for row in self.rows])

    def _classes(self) -> Html | None:
        """Return the value that ranks in each class."""
        classes = self.challenge.protocol.classes or ()
        if not classes:
            return None
        body = []
        for row in self.rows:
            values = [row.values.get(name, {}).get(self.key) for name in classes]
            body.append(_cells(row, [number(value) for value in values]))
        title = f"{title_of(self.key)} of classes"
        return joined([element("h2", title), _wide(title, _table_of(["name", *classes], body))])

    def _files(self) -> Html | None:
        """Return the digests of the files."""
        body = []
        for row in self.rows:
            if row.digests:
                body.append(_cells(row, [element("code", row.digests.get("submission", ""))]))
        if not body:
            return None
        title = "Files"
        table = _table_of(["name", "SHA-256 of the submission"], body)
        return joined([element("h2", title), _wide(title, table)])

    def _span(self) -> tuple[float, float]:
        """Return the lowest and the highest end of the intervals of submissions."""
        ends = []
        for row in self.rows:
            value = row.values["mean"].get(self.key)
            if value is not None and not row.is_baseline:
                ends += [value, *(row.intervals.get("mean", {}).get(self.key) or ())]
        return (min(ends, default=0.0), max(ends, default=1.0))

    def _row(self, row: BoardRow, *, span: tuple[float, float]) -> Html:
        mean = row.values["mean"]
        value = mean.get(self.key)
        low, high = row.intervals.get("mean", {}).get(self.key) or (math.nan, math.nan)
        drawn = None
        if value is not None and not row.is_baseline:
            drawn = interval(value, low, high, span=span)
        cells = [
            element("td", rank_text(row.rank, row.errors)),
            element("td", row.name, class_="name"),
            element("td", _with_interval(row, "mean", self.key)),
            element("td", drawn),
            element("td", ", ".join(row.ties), class_="ties"),
            *(element("td", number(mean.get(key))) for key in self.others),
            element("td", row.date),
            element("td", _links(row)),
        ]
        return element("tr", cells, class_=_kind(row))

    def _parts(self) -> Html | None:
        """Return the parts of the value that ranks, as bars and numbers."""
        keys = self.parts
        if not keys:
            return None
        words = {key: title_of(key, full=True) for key in keys}
        known = part_colours(METRICS[self.challenge.metrics[0]])
        colours = {key: known[key] for key in keys}
        body = []
        for row in self.rows:
            parts = {key: row.values["mean"].get(key) for key in keys}
            stacked = bars([(value or 0.0, colours[key]) for key, value in parts.items()], _WIDTH)
            body.append(_cells(row, [stacked, *(number(value) for value in parts.values())]))
        title = f"Parts of {title_of(self.key)}"
        table = _table_of(["name", "parts", *words.values()], body)
        shown = legend({words[key]: colour for key, colour in colours.items()})
        return joined([element("h2", title), _wide(title, table), shown])

    def _said(self) -> list[str]:
        """Return how to read the board, in sentences."""
        protocol = full_name(self.challenge.protocol)
        if _lower_is_better(self.key):
            arrow = "lower is better"
        else:
            arrow = "higher is better"
        ties = (
            "The rank is 1 + the number of submissions that are decided to be better, with a correction for all pairs. "
            f"Intervals have 95 % and draw {self.units} {self.drawn}s."
        )
        digests = (
            f"Truth: digest {self.challenge.truth}. Manifest: digest {self.challenge.digest[:_DIGITS]}. Authors should "
            "print the digest of the truth with their values, so that mapgauge verify can check them."
        )
        return [f"Protocol {protocol}, {title_of(self.key)}: {arrow}. {ties}", digests, *self.notes]


def _lower_is_better(key: str) -> bool:
    found = value_named(ValueKey.parse(key).name)
    return found is not None and found[0].arrow_of(found[1]).strip() == "↓"


def rank_text(rank: int | None, errors: Sequence[str]) -> str:
    """Return a rank as a cell of a table."""
    if errors:
        return "error"
    if rank is None:
        return "-"
    return str(rank)


def _kind(row: BoardRow) -> str | None:
    """Return the class of a row in HTML."""
    if row.is_baseline:
        return "baseline"
    if row.errors:
        return "error"
    return None


def _cells(row: BoardRow, values: Sequence[object]) -> Html:
    """Return a row of a table: the name, and values."""
    cells = [element("td", row.name, class_="name"), *(element("td", value) for value in values)]
    return element("tr", cells, class_=_kind(row))


def _table_of(titles: Sequence[str], rows: Sequence[Html]) -> Html:
    head = element("tr", [element("th", title, class_=_LEFT.get(title)) for title in titles])
    return element("table", element("thead", head), element("tbody", rows))


def _with_interval(row: BoardRow, class_name: str, key: str) -> str:
    value = number(row.values[class_name].get(key))
    bounds = row.intervals.get(class_name, {}).get(key)
    if bounds is None:
        return value
    return f"{value} [{bounds[0]:.3f}, {bounds[1]:.3f}]"


def _markdown(text: str) -> str:
    """Return text that is no markup in Markdown."""
    plain = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" and text != "---" else letter for letter in plain)


def _links(row: BoardRow) -> Html | None:
    links = []
    if row.link:
        links.append(element("a", "link", href=row.link, rel="noopener nofollow"))
    if not row.is_baseline:
        links.append(element("a", "values", href=f"{PUBLIC}/{row.name}.json"))
    if links:
        return joined(links, " ")
    return None


def board(folder: str | os.PathLike[str], *, challenge: Challenge | None = None) -> Board:
    """Make the board of a challenge from the results in its folder.

    Args:
        folder: The folder of ``score_submission``, with the organiser's own results.
        challenge: The challenge. If None, it is read from ``challenge.json`` in the folder.

    Returns:
        The submissions by rank, then the baselines.

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> predictions, truth = mg.demo.demo_world(3)
    >>> challenge = mg.Challenge.of("Demo", truth)
    >>> mg.write(predictions, folder / "ours.geojson")
    >>> _ = mg.score_submission(challenge, folder / "ours.geojson", truth, folder)
    >>> [(row.rank, row.name) for row in mg.board(folder, challenge=challenge).rows]
    [(1, 'ours')]
    """
    place = Path(folder)
    rules = challenge or Challenge.load(place / MANIFEST)
    if not is_folder(place / PUBLIC) or not is_folder(place / PRIVATE):
        raise UnreadableFile(
            f"{place}: no folder of a challenge; expected the folders {PUBLIC} and {PRIVATE}",
            remedy=Remedy("Score a submission first", "Score a submission first: mapgauge challenge score"),
        )
    documents = {path.stem: read_public(path) for path in sorted((place / PUBLIC).glob("*.json"))}
    everyone = {name: _private(place, name, document, challenge=rules) for name, document in documents.items()}
    errors = {name: _errors(results) for name, results in everyone.items()}
    methods = {name: results for name, results in everyone.items() if not errors[name]}
    key = METRICS[rules.metrics[0]].main.key
    rows: list[BoardRow] = []
    drawn = "frame"
    units = 0
    notes: list[str] = []
    if methods:
        comparison = compare(list(methods.values()), names=list(methods), keys=[key])
        rows = _ranked(documents, comparison, key)
        drawn = comparison.drawn
        units = comparison.units
        notes = [f"{note[0].upper()}{note[1:]}." for note in comparison.notes]
    for name, codes in errors.items():
        if codes:
            if not methods:
                drawn = documents[name]["draws"]["drawn"]
                units = documents[name]["draws"]["units"]
            rows.append(_row_of(documents[name], errors=codes))
            notes.append(f"{name} has no rank, because the checks against the truth found {', '.join(codes)}.")
    baselines = [_baseline(path, rules) for path in sorted((place / PRIVATE / BASELINES).glob("*.mg"))]
    return Board(
        challenge=rules,
        key=key,
        rows=(*rows, *sorted(baselines, key=_order_of_baseline)),
        drawn=drawn,
        units=units,
        notes=tuple(notes),
    )


def _ranked(documents: Mapping[str, Mapping[str, Any]], comparison: Comparison, key: str) -> list[BoardRow]:
    """Return a row for each submission, by rank."""
    return [_row_of(documents[row.name], rank=row.rank, ties=row.ties) for row in ranks(comparison, key)]


def _row_of(
    document: Mapping[str, Any], *, rank: int | None = None, ties: tuple[str, ...] = (), errors: tuple[str, ...] = ()
) -> BoardRow:
    return BoardRow(
        name=document["name"],
        rank=rank,
        ties=ties,
        values=document["values"],
        intervals=document["intervals"],
        date=document["date"],
        link=document["link"],
        digests=document["digests"],
        errors=errors,
    )


def _errors(results: Results) -> tuple[str, ...]:
    """Return the codes of the findings that say that the values are wrong."""
    return tuple(dict.fromkeys(finding.code for finding in results.findings if finding.level == "error"))


def _private(folder: Path, name: str, document: Mapping[str, Any], challenge: Challenge) -> Results:
    """Return the organiser's results of a submission. They must be those of the public file and of the challenge."""
    public = folder / PUBLIC / f"{name}.json"
    if document["name"] != name:
        raise InvalidInput(f"{public}: is about the submission {document['name']!r:.80}, expected {name}")
    if document["digests"].get("manifest") != challenge.digest:
        raise InvalidInput(
            f"{public}: was scored by another manifest",
            remedy="Score the submission again, or give the manifest that counts",
        )
    results = load_results(folder / PRIVATE / f"{name}.mg")
    said = json.loads(json.dumps(public_values(results, show_scenes=False)))
    differ = [key for key in _FROM_RESULTS if document[key] != said[key]]
    # A public file has further digests: of the manifest and of the file of the submission.
    if any(document["digests"].get(side) != digest for side, digest in said["digests"].items()):
        differ.append("digests")
    if differ:
        raise InvalidInput(
            f"{public}: not what {PRIVATE}/{name}.mg says ({', '.join(differ)})", remedy="Score the submission again"
        )
    return results


def _baseline(path: Path, challenge: Challenge) -> BoardRow:
    """Return the row of a baseline."""
    results = load_results(path)
    said = public_values(results, show_scenes=False)
    expected = (challenge.truth, digest_of(challenge.settings))
    if (said["digests"]["truth"], said["digests"]["settings"]) != expected:
        raise InvalidInput(
            f"{path}: a baseline of another truth or of other settings", remedy="Delete it, or make the challenge again"
        )
    return BoardRow(
        name=path.stem, rank=None, ties=(), values=said["values"], intervals=said["intervals"], is_baseline=True
    )


def _order_of_baseline(row: BoardRow) -> int:
    known = ("the truth itself", "copy of the prior", "empty map")
    if row.name in known:
        return known.index(row.name)
    return len(known)


def _wide(title: str, table: Html) -> Html:
    """Return a table that scrolls, also with the keyboard."""
    return element("div", table, class_="wide", role="region", aria_label=title, tabindex="0")
