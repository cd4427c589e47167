"""The first screen of the report and of ``mapgauge view``: the answer, and the panels what, where and why.

Python makes the document of the answer, and what sections put into a panel. ``first.js`` draws the panels.
"""

from collections.abc import Sequence

from mapgauge.markup import Html, element, joined
from mapgauge.results.results import Results
from mapgauge.views.report.explorer import filled, resource
from mapgauge.views.report.sections import sections


def panel_of_sections(panel: str, methods: Sequence[Results], names: Sequence[str]) -> Html:
    """Return what the first section with data for a panel puts there. Empty if no section has any."""
    for section in sections():
        if section.panel != panel:
            continue
        body = section.in_panel(methods, names)
        if body:
            return body
    return Html("")


def first_elements(answer: Sequence[str], where: Html) -> Html:
    """Return the elements of the first screen: the sentences of the answer, and what stands in the panel *where*."""
    sentences = joined(element("p", sentence) for sentence in answer)
    return filled(resource("first.html"), answer=sentences, where=where)
