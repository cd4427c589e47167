"""Looks for serious accessibility errors in a page: the rules of common checkers that a script can decide.

Controls and images have names, ids are unique and references lead somewhere, no control is inside another, what
scrolls can be reached with the keyboard, text has enough contrast, and the page has a language, a title and one main
part.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

AUDIT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def faults_of(page: "Page") -> list[str]:
    """Return the errors of what the page shows now."""
    found: list[str] = page.evaluate(AUDIT)
    return found
