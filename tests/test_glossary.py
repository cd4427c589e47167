"""The glossary has the words at the top of every table that the pages show."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.commands import consoles_of

DOCS = Path(__file__).parents[1] / "docs"
# Words that mean here what they mean everywhere, and names of the examples.
ORDINARY = {
    *("", "of", "name", "number", "value", "from", "to", "source", "file", "data", "content", "kind", "what it is"),
    *("note", "none", "first", "last", "method", "metric", "predictions", "threshold", "test", "train", "val"),
    *("good", "poor", "divider", "boundary", "ped_crossing"),
}
NUMBER = re.compile(r"[-+]?[\d.]+ ?%?( \[.*)?")
UNIT = re.compile(r"[↓↑]|\(k?m\)|\bm *[↓↑]?$|[\d.]+ m *[↓↑]?$|^at |^change of |, \* decided| of the \w+$")


def cells(line: str) -> list[str]:
    return [cell for cell in re.split(r" {2,}", line.strip()) if cell]


def headers(printed: str) -> Iterator[str]:
    """The titles of the columns of all tables in what a command prints: a row without numbers above one with some."""
    lines = printed.splitlines()
    for line, below in pairwise(lines):
        titles = cells(line)
        if len(titles) < 3 or len(cells(below)) < 2 or any(map(NUMBER.fullmatch, titles)):
            continue
        if any(map(NUMBER.fullmatch, cells(below))):
            yield from titles


def words_of(title: str) -> set[str]:
    """The forms in which the glossary may have a title: without units, and as one thing."""
    title = UNIT.sub("", title).strip()
    forms = {title, title.lower(), title.upper(), title[:1].upper() + title[1:]}
    return forms | {form.removesuffix("s") for form in forms}


def test_the_glossary_has_the_titles_of_all_tables_on_the_pages() -> None:
    text = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^\| ([^|]+) \|", text, re.M)
    explained = {word.strip().partition(",")[0] for entry in entries for word in entry.split(";")}
    titles = {title for page in DOCS.rglob("*.md") for _, printed in consoles_of(page) for title in headers(printed)}
    assert len(titles) > 100
    # Keys such as ap_chamfer and pld.divider are in the reference of JSON.
    plain = {title for title in titles if not re.search(r"[a-z]_[a-z]|\w\.\w|[/(]\d|/\w", title) or "PLD" in title}
    lacking = {title for title in plain if not words_of(title) & (explained | ORDINARY)}
    assert lacking == set()
