"""``mapgauge view``: results in a browser, with all frames."""

from mapgauge.manifest import Command, Feature

FEATURE = Feature(
    commands={
        "view": Command(
            place="command:view",
            group="Look",
            order=2,
            examples=("results.mg", "A.mg B.mg --no-browser --port 8000"),
        ),
    },
)
