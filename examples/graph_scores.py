"""Prints the graph scores of some predictions of a line that splits in two, by CGNet's rules and by the corrected ones.

Run it with ``python examples/graph_scores.py``. The table is in ``docs/explanation/graph-scores.md``.
"""

from typing import Any

import mapgauge as mg

FORK = {
    "nodes": [[0, -25], [0, -12], [0, 0], [3, 8], [7, 15], [-3, 8], [-7, 15]],
    "edges": [[0, 1], [1, 2], [2, 3], [3, 4], [2, 5], [5, 6]],
}
# Three lanes whose last nodes lie at the same position.
ENDS = {
    "nodes": [[0, -20], [0, -10], [0, 0], [6, -18], [4, -10], [0, 0], [-6, -18], [-4, -10], [0, 0]],
    "edges": [[0, 1], [1, 2], [3, 4], [4, 5], [6, 7], [7, 8]],
}


def with_edges(edges: list[list[int]]) -> dict[str, Any]:
    """Return the nodes of the fork with other edges."""
    return {"nodes": FORK["nodes"], "edges": edges}


EDGES = FORK["edges"]
BACK = [[end, start] for start, end in EDGES]
CASES: dict[str, tuple[Any, Any]] = {
    "the truth": (FORK, FORK),
    "0.3 m to the side": ({"nodes": [[x + 0.3, y] for x, y in FORK["nodes"]], "edges": EDGES}, FORK),
    "one branch missing": (with_edges(EDGES[:4]), FORK),
    "a gap before the junction": (with_edges([EDGES[0], *EDGES[2:]]), FORK),
    "the wrong way": (with_edges(BACK), FORK),
    "one way, where truth has both": (FORK, with_edges(EDGES + BACK)),
    "three lanes that end at one place, compared with themselves": (ENDS, ENDS),
}


def shown(value: Any) -> str:
    """Return F1, or the value itself, as text."""
    return "-" if value is None else f"{getattr(value, 'f1', value):.3f}"


def table() -> list[str]:
    """Return the table in markdown."""
    lines = ["| prediction | GEO F1 | TOPO F1 | JTOPO F1 | APLS | SDA | APLS directed | reach F1 |", "| --- " * 8 + "|"]
    for name, (predicted, true) in CASES.items():
        corrected, copied = mg.graph_scores(predicted, true), mg.graph_scores(predicted, true, parity="cgnet")
        both = [
            f"{shown(getattr(copied, key))} / {shown(getattr(corrected, key))}"
            for key in ("geo", "topo", "jtopo", "apls", "sda")
        ]
        cells = [name, *both, shown(corrected.apls_directed), shown(corrected.reach)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
