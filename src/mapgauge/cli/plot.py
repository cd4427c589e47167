"""``mapgauge plot``: draws results as a figure for a paper or for slides."""

from pathlib import Path
from typing import Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.output import inform
from mapgauge.cli.parsing import Texts, file_names, listed, refuse
from mapgauge.cli.results_files import check_one_protocol, each_results, load_all
from mapgauge.cli.targets import check_figure, check_targets

# For each figure: the function of ``mapgauge.plot``, the options that it takes, and what it shows.
FIGURES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "parts": ("parts", (), "the parts of PLD"),
    "pr": ("precision_recall", ("metric", "threshold"), "precision over recall"),
    "histogram": ("histogram", ("value",), "a value over frames"),
    "ranges": ("ranges", (), "PLD over the distance from the ego"),
    "cutoffs": ("cutoffs", (), "PLD over the cutoff"),
    "calibration": ("calibration", ("metric", "threshold"), "the share of hits over the confidence"),
    "confidence": (
        "confidence",
        (),
        "PLD, precision, recall and AP over the threshold on the confidence, and calibration",
    ),
    "strip": ("strip", ("scene", "classes"), "the tracks of a scene over time"),
}
WITH_GEOMETRY = ("strip", "confidence")  # figures that need the evaluated files


def _figure(name: str) -> str:
    if name not in FIGURES:
        refuse("FIGURE", f"must be one of {', '.join(FIGURES)}, got {name!r}")
    return name


def plot(
    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE",
            help="; ".join(f"{name}: {about}" for name, (_, _, about) in FIGURES.items()) + ".",
            callback=_figure,
            autocompletion=lambda: list(FIGURES),
            show_default=False,
        ),
    ],
    results: o.ResultsArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="File to write (.png, .svg or .pdf).", show_default=False),
    ],
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Metric that decides what a hit is (pr; calibration, also pld). Default: the first AP of the results.",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="VALUE",
            help="Threshold of a hit (pr, calibration). Default: a panel for each.",
            show_default=False,
        ),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(
            "--value",
            metavar="KEY",
            help="Value of a frame (histogram), such as pld, missed or truth. Default: pld.",
            show_default=False,
        ),
    ] = None,
    scene: Annotated[
        str | None,
        typer.Option(
            "--scene",
            metavar="NAME",
            help="Scene (strip). Default: the one with the highest T-PLD of the first file.",
            show_default=False,
        ),
    ] = None,
    classes: Annotated[
        Texts,
        typer.Option("--classes", metavar="NAME,...", help="Classes (strip). Default: all.", show_default=False),
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Title above the figure.", show_default=False)
    ] = None,
    style: o.StyleOption = "paper",
    name: o.NamesOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Draw results as a figure.

    The files are those of `mapgauge evaluate -o`, one for each method. To draw a frame, use `mapgauge show`.
    """
    function, takes, _ = FIGURES[figure]
    given = {
        "metric": metric,
        "threshold": threshold,
        "value": value,
        "scene": scene,
        "classes": listed(classes) or None,
    }
    chosen = {key: value for key, value in given.items() if value is not None}
    for key in chosen:
        if key not in takes:
            able = ", ".join(name for name, (_, options, _) in FIGURES.items() if key in options)
            refuse(f"--{key}", f"has no effect on the figure {figure}, only on {able}")
    results = each_results(results)
    names = file_names(results, name)
    check_targets([output], [*results])
    check_figure(output)

    from mapgauge.features.tracks.strips import check_track_pld

    methods = load_all(results, names)
    if figure in WITH_GEOMETRY or (figure == "calibration" and metric == "pld"):
        for method in methods:
            if figure == "strip":
                check_track_pld(method)
        check_one_protocol(names, methods)
        methods = [method.with_data() for method in methods]

    from mapgauge import plot as figures

    figures.save(getattr(figures, function)(methods, names=names, title=title, style=style, **chosen), output)
    inform(f"figure in {output}")
