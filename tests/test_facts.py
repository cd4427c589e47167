"""A fact that several pages state has one value, which is that of the code."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires

import pytest
from docs.facts import ROOT, Fact, facts, pages

from mapgauge.metrics.causes import CAUSES
from mapgauge.results.intervals import FEWEST
from mapgauge.views.report.further import LIMITS

FACTS = {fact.name: fact for fact in facts()}
WORDS = {"five": 5, "thirteen": 13}


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS.keys())
def test_every_page_that_states_a_fact_has_its_value(fact: Fact) -> None:
    saying = 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        values = {" ".join(match[1].split()) for match in fact.said(text)}
        assert values <= {fact.value}, f"{page.relative_to(ROOT)}; python -m docs.facts writes it"
        saying += bool(values)
    assert saying >= fact.pages


def test_a_fact_is_written_where_a_page_says_something_else() -> None:
    fact = Fact(name="python", about="", value="3.12", places=[r"needs Python (3\.\d+) or newer"], pages=1)
    assert fact.written("It needs\nPython 3.11 or newer.") == "It needs\nPython 3.12 or newer."
    assert fact.written("It needs Python.") == "It needs Python."


def test_facts_are_those_of_the_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={FACTS['python'].value}"
    assert WORDS[FACTS["causes"].value] == len(CAUSES)
    assert WORDS[FACTS["scenes"].value] == FEWEST
    assert FACTS["drawings"].value == str(LIMITS.megabytes)


def test_the_number_of_packages_is_that_of_an_installation_without_extras() -> None:
    if not any(text.startswith("pydantic") for text in requires("typer") or []):
        pytest.skip("the oldest typer needs fewer packages than the one that pip installs")
    needed: set[str] = set()
    names = ["mapgauge"]
    while names:
        name = names.pop()
        if name in needed:
            continue
        needed.add(name)
        try:
            texts = requires(name) or []
        except PackageNotFoundError:  # it is for another system
            needed.discard(name)
            continue
        names += [re.split(r"[^\w.-]", text)[0].lower().replace("_", "-") for text in texts if ";" not in text]
    assert str(len(needed)) == FACTS["packages"].value
