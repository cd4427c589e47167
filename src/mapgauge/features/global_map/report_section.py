"""Whole maps in the report: the values after a share of the frames."""

from collections.abc import Mapping, Sequence
from typing import Any

from mapgauge.markup import BLUE, GREEN, VERMILION, Html, element, html, joined, number
from mapgauge.metrics.table import title_of
from mapgauge.results.results import Results
from mapgauge.views.report.pack import Section

GROWTH = "growth"  # the name under which results keep the rows: values by key, and their ``share`` of the frames
_COLOURS = {"network_completeness": BLUE, "network_correctness": VERMILION, "network_pld": GREEN}
# Of the picture, in pixels.
_WIDTH = 420
_HEIGHT = 200
_LEFT = 34
_RIGHT = 20
_TOP = 8
_BOTTOM = 34


class _GrowthSection(Section):
    order = 30

    def bodies(self, methods: Sequence[Results], names: Sequence[str]) -> Mapping[str, tuple[str, Html]]:
        """Return a chart for each method that has such values."""
        grown = {name: rows for name, method in zip(names, methods, strict=True) if (rows := method.kept.get(GROWTH))}
        if not grown:
            return {}
        charts = [element("figure", _chart(name, rows)) for name, rows in grown.items()]
        key = [
            html(
                '<li><svg width="12" height="12" aria-hidden="true">'
                '<rect width="12" height="12" fill="{}"/></svg> {}</li>',
                colour,
                title_of(name, full=True),
            )
            for name, colour in _COLOURS.items()
        ]
        about = html("<p>Means over classes of the map that is made from the first frames of each scene.</p>")
        return {GROWTH: ("After a share of the frames", joined([about, element("ul", key, class_="legend"), *charts]))}


SECTION = _GrowthSection()


def _chart(name: str, rows: Sequence[Mapping[str, Any]]) -> Html:
    """Return the values of a method over the share of the frames, from 0 to 1."""

    def x(share: float) -> float:
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _TOP + (1 - value) * (_HEIGHT - _TOP - _BOTTOM)

    def text(at: float, above: float, anchor: str, words: str) -> Html:
        return element("text", words, x=at, y=above, text_anchor=anchor, fill="currentColor")

    drawn = [text(x(0.5), _HEIGHT - 4, "middle", words="share of the frames")]
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        across = f"M{_LEFT} {y(tick):.1f}H{_WIDTH - _RIGHT}"
        drawn.append(element("path", d=across, stroke="currentColor", stroke_opacity=0.15))
        drawn.append(text(_LEFT - 6, y(tick) + 4, "end", words=f"{tick:.1f}"))
        drawn.append(text(x(tick), _HEIGHT - _BOTTOM + 16, "middle", words=f"{100 * tick:.0f} %"))
    said = []
    for key, colour in _COLOURS.items():
        points = [f"{x(row['share']):.1f} {y(row[key]):.1f}" for row in rows if row[key] is not None]
        if points:
            line = f"M{'L'.join(points)}"
            drawn.append(element("path", d=line, fill="none", stroke=colour, stroke_width=2))
            said.append(f"{title_of(key, full=True)} from {number(rows[0][key])} to {number(rows[-1][key])}")
    picture = element(
        "svg",
        drawn,
        width=_WIDTH,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        font_size=11,
        aria_label=f"{name}: {', '.join(said)}",
    )
    return joined([element("figcaption", element("strong", name)), picture])
