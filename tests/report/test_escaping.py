"""Text becomes HTML by its type: nothing from a file can be markup, whoever forgets what."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path

import mapgauge
from mapgauge.markup import Html, element, html, joined
from mapgauge.views.report.explorer import filled

SOURCES = sorted(Path(mapgauge.__file__).parent.rglob("*.py"))
# They make HTML from parts that are escaped, and read the files of the page.
MAKERS = ("markup.py", "views/report/explorer.py")
MAKING = re.compile(r"\b(html|element|Html)\(")
HOSTILE = "</p><script>alert(1)</script>\"'&"


@cache
def _all_calls() -> list[tuple[str, ast.Call]]:
    """Return the place of each call in modules that name a function of HTML, outside those that make it."""
    root = Path(mapgauge.__file__).parent
    found = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if path.relative_to(root).as_posix() in MAKERS or not MAKING.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                found.append((f"{path.relative_to(root)}:{node.lineno}", node))
    return found


def _calls(name: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the place and the first argument of each call of a function outside the modules that make HTML."""
    for place, call in _all_calls():
        if isinstance(call.func, ast.Name) and call.func.id == name:
            yield place, call.args[0]


def test_only_markup_calls_escape() -> None:
    importing = [path.name for path in SOURCES if "html import escape" in path.read_text(encoding="utf-8")]
    assert importing == ["markup.py"]


def test_templates_of_html_are_constants() -> None:
    calls = list(_calls("html"))
    assert len(calls) > 10
    assert [place for place, argument in calls if not isinstance(argument, ast.Constant)] == []


def test_names_of_elements_are_constants() -> None:
    calls = list(_calls("element"))
    assert len(calls) > 10
    assert [place for place, argument in calls if not isinstance(argument, ast.Constant)] == []


def test_text_is_declared_to_be_html_where_html_is_made_only() -> None:
    assert [place for place, argument in _calls("Html") if not isinstance(argument, ast.Constant)] == []


def test_children_attributes_and_fields_are_escaped() -> None:
    for made in (
        element("p", HOSTILE),
        element("p", [HOSTILE, None]),
        element("p", title=HOSTILE),
        html("<p>{}</p>", HOSTILE),
        html("<p>{name}</p>", name=HOSTILE),
        html("<p>{:>5}</p>", HOSTILE),
        joined([HOSTILE]),
        joined(["a", "b"], HOSTILE),
        filled(Html("<p>$text</p>"), text=HOSTILE),
    ):
        assert isinstance(made, Html)
        assert escape(HOSTILE) in made
        assert "<script" not in made


def test_an_f_string_of_markup_is_escaped() -> None:
    inner = element("b", "x")
    assert element("p", f"{inner}") == "<p>&lt;b&gt;x&lt;/b&gt;</p>"


def test_text_that_is_not_unicode_can_be_stored() -> None:
    element("p", "\udcff").encode("utf-8")
