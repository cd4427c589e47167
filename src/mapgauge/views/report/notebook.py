"""The first screen of the report in a notebook: a page of its own inside the output of a cell.

The page is in a frame without an origin. So its style does not reach the notebook, and its script reaches neither the
notebook nor a server. Where a notebook takes frames or scripts away, the answer and the tables above it remain.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mapgauge.answers.answer import Answer, combined, explain
from mapgauge.markup import Html, block, element
from mapgauge.results.comparison import Comparison, compare, plain_keys
from mapgauge.results.notebook import comparison_html, summary_html
from mapgauge.results.results import Results
from mapgauge.views.report.explorer import STYLES, in_order_of
from mapgauge.views.report.explorer_part import explorer_part
from mapgauge.views.report.first import first_elements, first_meta, panel_of_sections
from mapgauge.views.report.page import page_of, prepared
from mapgauge.views.report.summary import StaticPage

FRAMES = 24  # that can be drawn; a notebook keeps every output
_HEIGHT = 660  # pixels: the panels, six frames, and four scenes
_STYLE = f"width: 100%; height: {_HEIGHT}px; border: 0; resize: vertical; overflow: auto"


@dataclass(frozen=True, eq=False)
class FirstScreen:
    """The answer, the tables and the panels of the first screen. A notebook shows them."""

    answer: Answer
    _tables: Html = field(repr=False)
    _page: str = field(repr=False)  # HTML with its scripts

    def __str__(self) -> str:
        """The answer."""
        return str(self.answer)

    def _repr_html_(self) -> str:
        # A page that may run scripts, without an origin: it can read and change nothing outside.
        frame = element(
            "iframe",
            srcdoc=self._page,
            title="Panels of the answer",
            sandbox="allow-scripts allow-downloads",
            style=_STYLE,
        )
        return block(self._tables, frame)


def first_screen(results: Results | Sequence[Results], *, names: Sequence[str] | None = None) -> FirstScreen:
    """Return the first screen of the report for a notebook, which shows it by itself.

    The panels are what, where and why, frames that show the findings, and the scenes. All frames are listed, and 24
    can be drawn. Results of at most 500 frames show their own by themselves.

    Args:
        results: Results of one method, or of several methods on the same frames with the same protocol.
        names: Names of the methods; None uses the file names.

    >>> import mapgauge as mg
    >>> from mapgauge.demo import demo_world
    >>> screen = first_screen(mg.evaluate(*demo_world(2)))
    >>> print(screen)
    Finds ... of the map...
    >>> "sandbox" in screen._repr_html_()
    True
    """
    given = [results] if isinstance(results, Results) else list(results)
    methods, called = prepared(given, names, causes=None)
    ordered = [methods[0], *(in_order_of(methods[0], method) for method in methods[1:])]
    comparison = compare(methods, names=called)
    said = combined([explain(*named) for named in zip(methods, called, strict=True)], comparison)
    explorer = explorer_part(ordered, called, FRAMES, causes=None, tags=None, progress=None)
    explorer.meta.update(first_meta(ordered, called, comparison, answer=said))
    where = panel_of_sections("where", ordered, called)
    empty = StaticPage(subtitle="", overview=Html(""), worries=Html(""), links=Html(""), sections=Html(""))
    page = page_of(
        ", ".join(called),
        empty,
        explorer.about,
        explorer=explorer,
        first=first_elements(said, where, Html("")),
        styles=(*STYLES, "notebook"),
    )
    return FirstScreen(said, _tables=_tables(given, comparison, said), _page=str(page))


def _tables(methods: Sequence[Results], comparison: Comparison, said: Answer) -> Html:
    """Return the answer and the values in tables, which need no script."""
    sentences = [statement.text for statement in said.statements]
    if len(methods) == 1:
        return summary_html(methods[0], sentences)
    lines = [element("div", text) for text in sentences]
    keys = [key for key in plain_keys(comparison.estimates[0]["mean"]) if key in methods[0].mean]
    return block(*lines, comparison_html(comparison, keys))
