"""``mapgauge plot``: draws results as a figure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.methods import Methods, with_data
from mapgauge.cli.output import save_figure
from mapgauge.cli.parsing import Texts, listed, refuse
from mapgauge.cli.targets import check_figure, check_targets
from mapgauge.manifest import Figure, Manifest, mapping
from mapgauge.words import did_you_mean


def figures() -> dict[str, tuple[str, Manifest, Figure]]:
    """Return the figures by their names in this command: the function of ``mapgauge.plot``, and where it comes from."""
    named = [(name, *row) for name, row in mapping("figures").items() if row[1].command]
    return {row.command: (name, manifest, row) for name, manifest, row in sorted(named, key=lambda one: one[2].order)}


def _figure(name: str) -> str:
    if name not in figures():
        refuse("FIGURE", f"must be one of {', '.join(figures())}, got {name!r}{did_you_mean(name, figures())}")
    return name


def _for(option: str) -> str:
    """Return the end of the help of an option: which figures take it."""
    able = [name for name, (_, _, row) in figures().items() if option in row.options]
    if not able:
        return ""
    return f" For {' and '.join(able)}."


_METRIC_HELP = f"Metric of hits, such as ap_chamfer. Default: the first AP of the results.{_for('metric')}"
_THRESHOLD_HELP = f"Threshold of hits. Default: a panel for each.{_for('threshold')}"
_VALUE_HELP = f"Value of frames, such as pld, missed or truth. Default: pld.{_for('value')}"


@dataclass(frozen=True, kw_only=True)
class PlotOptions:
    """The options of ``mapgauge plot``."""

    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE",
            help="; ".join(f"{name}: {row.about}" for name, (_, _, row) in figures().items()) + ".",
            callback=_figure,
            autocompletion=lambda: list(figures()),
            show_default=False,
        ),
    ]
    files: o.MethodsArgument
    output: Annotated[Path, o.output_option("FILE", "A figure (.png, .svg or .pdf).")]
    metric: Annotated[str | None, o.option("--metric NAME", o.DRAWN, _METRIC_HELP)] = None
    threshold: Annotated[float | None, o.option("--threshold VALUE", o.DRAWN, _THRESHOLD_HELP)] = None
    value: Annotated[str | None, o.option("--value KEY", o.DRAWN, _VALUE_HELP)] = None
    scene: Annotated[str | None, o.scene_option(f"the worst.{_for('scene')}")] = None
    classes: Annotated[Texts, o.classes_option(f"all.{_for('classes')}")] = None
    title: o.TitleOption = None
    style: o.StyleOption = "paper"
    protocol: o.ProtocolOption = None
    quiet: o.QuietOption = False

    @property
    def chosen(self) -> dict[str, Any]:
        """The given options that only some figures have."""
        given = {
            "metric": self.metric,
            "threshold": self.threshold,
            "value": self.value,
            "scene": self.scene,
            "classes": listed(self.classes) or None,
        }
        return {key: value for key, value in given.items() if value is not None}


@command
def plot(options: PlotOptions) -> None:
    """Draw results as a figure.

    Each file is a method. To draw a frame, use `mapgauge show`.
    """
    function, manifest, row = figures()[options.figure]
    for key in options.chosen:
        if key not in row.options:
            able = ", ".join(name for name, (_, _, other) in figures().items() if key in other.options)
            refuse(f"--{key}", f"has no effect on the figure {options.figure}, only on {able}")
    sides = Methods.of("plot", options.files, protocol=options.protocol)
    check_targets([options.output], sides.files)
    check_figure(options.output)
    methods = sides.load(data=False)

    from mapgauge import plot as functions

    if sides.from_results and row.needs_data and manifest.load(row.needs_data)(methods, options.chosen):
        methods = [with_data(method, path) for method, path in zip(methods, sides.files, strict=True)]
    draw = getattr(functions, function)
    drawn = draw(methods, names=sides.names, title=options.title, style=options.style, **options.chosen)
    save_figure(drawn, options.output)
