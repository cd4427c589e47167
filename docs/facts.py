"""Writes what several pages say from one file, so that two pages cannot differ: ``python -m docs.facts``.

``facts.toml`` has each fact with its value and the places where pages say it. The pages are read on code hosts too, so
they have the values as text and no marks.
"""

import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A value that pages state."""

    name: str
    about: str
    value: str
    places: Sequence[str]  # regular expressions with one group: the value
    pages: int  # the fewest pages that state it

    def said(self, text: str) -> list[re.Match[str]]:
        """Return where a page states the fact."""
        found: list[re.Match[str]] = []
        for place in self.places:
            found += re.finditer(place.replace(" ", r"\s+"), text)
        return found

    def written(self, text: str) -> str:
        """Return a page with the value of the fact wherever the page states it."""
        for match in sorted(self.said(text), key=lambda match: match.start(1), reverse=True):
            if " ".join(match[1].split()) != self.value:
                text = text[: match.start(1)] + self.value + text[match.end(1) :]
        return text


def facts() -> list[Fact]:
    """Return all facts."""
    return [Fact(name=name, **row) for name, row in tomllib.loads(FILE.read_text(encoding="utf-8")).items()]


def pages() -> list[Path]:
    """Return the pages that may state facts. Decisions state what was true on their date."""
    folder = ROOT / "docs"
    found = [page for page in folder.rglob("*.md") if page.parent.name not in ("decisions", "api")]
    return sorted([*found, ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "CITATION.cff"])


def main() -> None:
    """Write all facts into all pages, and print which pages have changed."""
    for page in pages():
        text = before = page.read_text(encoding="utf-8")
        for fact in facts():
            text = fact.written(text)
        if text != before:
            page.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
