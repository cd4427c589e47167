"""``mapgauge plot`` draws results as a figure for a paper or for slides; ``mapgauge report`` writes them as a page."""

from pathlib import Path
from typing import Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.methods import Methods, with_data, with_data_if_there
from mapgauge.cli.output import inform, progress, save_figure
from mapgauge.cli.parsing import Texts, listed, refuse
from mapgauge.cli.targets import check_figure, check_page, check_targets

# For each figure: the function of ``mapgauge.plot``, the options that it takes, and what it shows.
FIGURES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "parts": ("parts", (), "the parts of PLD"),
    "causes": ("causes", (), "PLD by cause"),
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
    context: typer.Context,
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
    files: o.MethodsArgument,
    output: Annotated[Path, o.output_option("FILE", "A figure (.png, .svg or .pdf).")],
    metric: Annotated[
        str | None,
        o.option(
            "--metric",
            "NAME",
            o.DRAWN,
            "Metric that decides what a hit is (pr; calibration, also pld). Default: the first AP of the results.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        o.option("--threshold", "VALUE", o.DRAWN, "Threshold of a hit (pr, calibration). Default: a panel for each."),
    ] = None,
    value: Annotated[
        str | None,
        o.option(
            "--value", "KEY", o.DRAWN, "Value of a frame (histogram), such as pld, missed or truth. Default: pld."
        ),
    ] = None,
    scene: o.SceneOption = None,
    classes: Annotated[Texts, o.classes_option("all; only `strip` chooses")] = None,
    title: o.TitleOption = None,
    style: o.StyleOption = "paper",
    protocol: o.ProtocolOption = None,
    workers: o.WorkersOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Draw results as a figure.

    Each file is a method. To draw a frame, use `mapgauge show`.
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
    sides = Methods.of(context, files)
    check_targets([output], sides.files)
    check_figure(output)
    methods = sides.load(data=False)
    drawn = figure in WITH_GEOMETRY or (figure == "calibration" and metric == "pld")
    drawn = drawn or (figure == "causes" and any("causes" not in method.metrics for method in methods))
    lacking = [method for method in methods if figure == "strip" and "track_pld" not in method.metrics]
    if sides.from_results and drawn and not lacking:  # a figure refuses what it cannot draw
        methods = [with_data(method, path) for method, path in zip(methods, sides.files, strict=True)]

    from mapgauge import plot as figures

    save_figure(getattr(figures, function)(methods, names=sides.names, title=title, style=style, **chosen), output)


def report(
    context: typer.Context,
    files: o.MethodsArgument,
    output: Annotated[Path, o.output_option("FILE", "A page (.html).")],
    frames: o.FramesOption = 200,
    title: o.TitleOption = None,
    causes: Annotated[
        bool | None,
        o.flag(
            "--causes/--no-causes",
            o.COMPUTED,
            "Whether to show the causes of PLD, and completeness. They need the geometry. Default: the causes, if "
            "there are at most 1,200,000 instances.",
            show_default=False,
        ),
    ] = None,
    protocol: o.ProtocolOption = None,
    workers: o.WorkersOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Write results as an HTML page.

    The page draws frames if the results have the geometry (`evaluate --with-geometry`) or if the evaluated files still
    exist. Files that were moved are given with the results: RESULTS,predictions=FILE,truth=FILE.
    """
    check_targets([output], files)
    check_page("--output", output)
    sides = Methods.of(context, files)
    check_targets([output], sides.files)

    from mapgauge.report import write_report

    methods = sides.load(data=False)
    if sides.from_results:
        methods = [with_data_if_there(method, path) for method, path in zip(methods, sides.files, strict=True)]
    with progress("writing the report") as advance:
        write_report(methods, output, names=sides.names, frames=frames, title=title, causes=causes, progress=advance)
    inform(f"report in {output}")
