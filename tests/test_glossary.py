"""The glossary has the words at the top of every table that the pages show, and those of the report and of figures."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.commands import consoles_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
VIEWS = ROOT / "src" / "mapgauge" / "views"
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


def explained_words() -> set[str]:
    """What the glossary explains. What follows a comma says where a word has this meaning."""
    text = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^\| ([^|]+) \|", text, re.M)
    return {word.strip().partition(",")[0] for entry in entries for word in entry.split(";")}


def test_the_glossary_has_the_titles_of_all_tables_on_the_pages() -> None:
    explained = explained_words()
    titles = {title for page in DOCS.rglob("*.md") for _, printed in consoles_of(page) for title in headers(printed)}
    assert len(titles) > 100
    # Keys such as ap_chamfer and pld.divider are in the reference of JSON.
    plain = {title for title in titles if not re.search(r"[a-z]_[a-z]|\w\.\w|[/(]\d|/\w", title) or "PLD" in title}
    lacking = {title for title in plain if not words_of(title) & (explained | ORDINARY)}
    assert lacking == set()


def test_the_glossary_has_the_properties_on_the_first_screen_of_a_report() -> None:
    script = (VIEWS / "report" / "first.js").read_text(encoding="utf-8")
    table = script.partition("const PROPERTIES = [")[2].partition("\n];")[0]
    labels = re.findall(r'^  \["\w+", "([^"]+)"', table, re.M)
    assert len(labels) == table.count("\n") > 3
    assert set(labels) <= explained_words()


def test_the_glossary_has_the_entries_of_the_legends_of_figures() -> None:
    labels = set()
    for path in (VIEWS / "figures").glob("*.py"):
        labels |= set(re.findall(r'entries\.append\(\("([^"]+)"', path.read_text(encoding="utf-8")))
    plain = {re.sub(r" \(.*", "", label) for label in labels}
    assert {"ego", "missed truth", "unmatched point"} <= plain
    lacking = {label for label in plain if not words_of(label) & (explained_words() | ORDINARY | {"ignored"})}
    assert lacking == set()


def test_the_glossary_has_words_of_sentences() -> None:
    assert {"draws", "digest", "not found"} <= explained_words()


def test_one_word_is_printed_for_what_stands_for_a_content() -> None:
    """JSON has the key ``hash``; what people read says digest."""
    for path in (ROOT / "src" / "mapgauge").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'(?<!")"(?!Return)[^"\n]*\b[Hh]ash (of|\{)', text), path
