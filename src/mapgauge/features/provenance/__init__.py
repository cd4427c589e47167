"""Provenance: why two results differ, published values, and what to cite."""

from importlib.resources import files

from mapgauge.manifest import Command, Feature

FEATURE = Feature(
    commands={
        "diff": Command(
            place="command:diff",
            group="Ask",
            order=3,
            examples=("A.mg B.mg", "A.mg B.mg --explain"),
        ),
        "cite": Command(
            place="command:cite",
            group="More",
            order=2,
            examples=("results.mg", "runs/MapTR.mg"),
        ),
    },
    lists={"published": "command:published"},
    names={
        "cite": "citations:cite",
        "ExplainedStep": "explain:ExplainedStep",
        "Explanation": "explain:Explanation",
        "explain": "explain:explain",
        "Published": "published:Published",
        "published": "published:published",
    },
)


def stored_text(name: str) -> str:
    """Return the text of a data file of this folder."""
    return files(__name__).joinpath(name).read_text("utf-8")
