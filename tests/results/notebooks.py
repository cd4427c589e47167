"""What a notebook shows: one of each kind, and a reader of its HTML."""

from html.parser import HTMLParser
from typing import Any

import mapgauge as mg

HOSTILE = "</td></svg><script>alert('x')</script><img src=x onerror=\"alert(1)\">&amp;\n"
ALLOWED = {"iframe", "div", "table", "thead", "tbody", "tr", "th", "td", "span", "em"}
DRAWN = {"svg", "title", "polyline", "polygon", "circle", "rect", "line"}


class Reader(HTMLParser):
    """Collects the elements, and checks that they are closed in order and are only those of the package."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED | DRAWN
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        self.open.append(tag)
        self.seen.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in DRAWN
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def things_of(class_name: str, token: str, *methods: str, frames: int = 6) -> dict[str, Any]:
    """Return one of each kind, with these names everywhere."""
    truth = mg.MapFrames.of(
        {f"{token}{k}": {class_name: [[[0, k], [9, k]], [[0, 5], [3, 5], [3, 8], [0, 5]]]} for k in range(frames)}
    )
    settings = mg.protocol("paper-60x30", classes=[class_name])
    results = [mg.evaluate(truth.with_confidence(0.1 + 0.8 / (k + 1)), truth, settings) for k in range(len(methods))]
    assignment = results[0].assignment(f"{token}0")
    return {
        "frames": truth,
        "results": results[0],
        "assignment": assignment,
        "match": assignment.matches[0],
        "comparison": mg.compare(results, names=methods),
        "causes": mg.causes(results[0]),
    }
