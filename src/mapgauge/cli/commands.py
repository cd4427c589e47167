"""The table of commands, and what features add to commands of the core.

Features are known here only: by the places of functions, which are imported when they are needed.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Command:
    """A command: where its function is, and two examples of its use."""

    place: str  # module and function, or a Typer with commands of its own
    examples: tuple[str, str]

    def load(self) -> Any:
        """Import the function."""
        module, _, name = self.place.partition(":")
        return getattr(import_module(f"mapgauge.{module}"), name)


COMMANDS = {
    "evaluate": Command(
        "cli.evaluate:evaluate",
        ("predictions.json truth.pkl -o results.mg", "A.json B.json,rotate=-90,name=B truth.pkl --report report.html"),
    ),
    "compare": Command("cli.compare:compare", ("A.mg B.mg", 'main.mg change.mg --fail-if "pld > +0.005"')),
    "why": Command("features.causes.command:why", ("results.mg", "predictions.json truth.pkl --cause missed")),
    "sweep": Command(
        "cli.sweep:sweep",
        ("predictions.json truth.pkl -c 0.5,1.0,1.5", "predictions.json truth.pkl --vary spacing=0.25,0.5"),
    ),
    "show": Command(
        "cli.show:show", ("results.mg -o frame.png", "predictions.json truth.pkl --frame best -o best.png")
    ),
    "plot": Command("cli.plot:plot", ("parts A.mg B.mg -o parts.pdf", "pr results.mg --threshold 0.5 -o pr.svg")),
    "report": Command("cli.report:report", ("results.mg -o report.html", "A.mg B.mg --frames 50 -o report.html")),
    "paper": Command("cli.paper:paper", ("A.mg B.mg -o paper", "results --samples 10000 -o paper")),
    "confidence": Command(
        "features.confidence.command:confidence",
        ("results.mg --figure confidence.png", "predictions.json truth.pkl --thresholds thresholds.json"),
    ),
    "track": Command(
        "features.tracks.track_command:track",
        (
            "predictions.json --poses truth.geojson -o tracked.parquet",
            "A.parquet --method maptracker -o tracked.parquet",
        ),
    ),
    "consistency": Command(
        "features.tracks.consistency_command:consistency",
        ("predictions.json --poses truth.geojson", "A.parquet B.parquet --lags 1,10 --figure flicker.png"),
    ),
    "inspect": Command("cli.inspect:inspect", ("predictions.json truth.pkl", "results.mg --json")),
    "convert": Command(
        "cli.convert:convert", ("results.json predictions.parquet", "part-1.json part-2.json predictions/")
    ),
    "formats": Command("cli.lists:formats", ("", "--json")),
    "protocols": Command("cli.lists:protocols", ("", "--json")),
    "metrics": Command("cli.lists:metrics", ("", "--json")),
    "compile": Command("cli.compile:compile", ("", "--metrics pld,ap_chamfer")),
    "demo": Command("cli.demo:demo", ("", "--size 20 -o demo-small")),
    "truth": Command(
        "cli.truth:truth", ("nuscenes DATAROOT -o truth.parquet", "av2 DATAROOT --split test -o test.parquet")
    ),
}


# What features add to commands of the core: the place of a function, which is imported when it is needed.
ADDITIONS = {
    "differences by cause": "features.causes.command:differences_by_cause",  # of compare
    "show differences by cause": "features.causes.command:show_difference",
    "causes in words": "features.causes.command:in_words",  # after the tables of evaluate
    "confidence in words": "features.confidence.command:in_words",
}


def addition(name: str) -> Any:
    """Import what a feature adds to a command of the core."""
    return Command(ADDITIONS[name], ("", "")).load()
