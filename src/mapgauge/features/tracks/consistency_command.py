"""``mapgauge consistency``: measures how much the output of a method flickers, without truth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.documents import form_of, write_csv, write_json
from mapgauge.cli.output import Table, progress, say, show_table, warn, warn_of
from mapgauge.cli.parsing import Texts, file_names, listed, numbers, parse_region, refuse, valid, without_effect
from mapgauge.cli.reading import Reading, check_files, read_scenes
from mapgauge.cli.targets import check_figure, check_targets

if TYPE_CHECKING:
    from mapgauge.features.tracks.consistency import Consistency


def consistency(
    context: typer.Context,
    predictions: o.PredictionsArgument,
    truth: o.PosesOption = None,
    scenes: o.ScenesOption = None,
    lags: Annotated[
        Texts,
        typer.Option(
            "--lags",
            metavar="N,...",
            help="Numbers of frames between two outputs.  [default: 1,2,5,10]",
            show_default=False,
        ),
    ] = None,
    region: Annotated[
        str, typer.Option("--region", metavar="LENGTHxWIDTH", help="Region that a frame shows, in metres.")
    ] = "60x30",
    margin: Annotated[
        float,
        typer.Option("--margin", metavar="METRES", help="Width of the edge of the region that is not compared."),
    ] = 2.0,
    cutoff: Annotated[float, typer.Option("--cutoff", "-c", metavar="METRES", help="Cutoff of PLD.")] = 1.5,
    classes: Annotated[
        Texts,
        typer.Option("--classes", metavar="NAME,...", help="Classes to compare. Default: all.", show_default=False),
    ] = None,
    worst: Annotated[
        int, typer.Option("--worst", metavar="N", help="Number of transitions with the largest flicker to print.")
    ] = 5,
    format: o.FormatOption = None,
    truth_format: o.TruthFormatOption = None,
    rotate: o.RotateOption = 0.0,
    rename: o.RenameOption = None,
    planar: o.PlanarOption = False,
    certain: o.CertainOption = False,
    degenerate: o.DegenerateOption = "strict",
    name: o.NamesOption = None,
    workers: o.WorkersOption = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            metavar="FILE",
            help="Also draw the flicker over the lag (.png, .svg, .pdf).",
            show_default=False,
        ),
    ] = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
) -> None:
    """Measure how much the output flickers.

    Earlier output is moved into later frames by their poses and compared with PLD where both show the same place. No
    truth is needed, only poses.
    """
    from mapgauge.features.tracks.consistency import LAGS, check_lags, inner
    from mapgauge.features.tracks.consistency import consistency as measure

    form = form_of(json=json, csv=csv)
    if form != "text":
        without_effect(context, ["worst"], f"with --{form}, which is for the text only")
    if truth is None:
        without_effect(context, ["truth_format"], "without --truth FILE")
    chosen = valid("--lags", check_lags, numbers("--lags", lags, int) or LAGS)
    box = parse_region(region)
    _check(cutoff, worst)
    valid("--region", _bounds, box)
    valid("--margin", inner, _bounds(box), margin)
    names = file_names(predictions, name)
    reading = Reading.of(context)
    check_targets([figure], [*predictions, truth, scenes])
    check_figure(figure)
    check_files(*predictions, *([] if truth is None else [truth]))
    scene_of = None if scenes is None else read_scenes(scenes)
    poses = None if truth is None else reading.truth(truth)
    measured: list[Consistency] = []
    for called, path in zip(names, predictions, strict=True):
        frames = reading.predictions(path)
        with progress(f"comparing {called}", "blocks") as advance:
            measured.append(
                measure(
                    frames,
                    poses=poses,
                    scenes=scene_of,
                    classes=listed(classes) or None,
                    lags=chosen,
                    region=box,
                    margin=margin,
                    cutoff=cutoff,
                    workers=workers,
                    progress=advance,
                )
            )
        warn_of(measured[-1].findings)
    methods = dict(zip(names, measured, strict=True))
    if form == "json":
        write_json([method.to_dict() | {"name": called} for called, method in methods.items()])
    elif form == "csv":
        write_csv([{"name": called} | row for called, method in methods.items() for row in method.rows])
    else:
        _show(methods, worst)
    if figure is not None:
        from mapgauge import plot

        plot.save(plot.lags(measured, names=names), figure)
        warn(f"figure in {figure}")


def _bounds(region: tuple[float, float]) -> tuple[float, float, float, float]:
    from mapgauge.geometry.cropping import check_region

    return check_region(region)


def _check(cutoff: float, worst: int) -> None:
    from mapgauge.arguments import check_cutoff

    valid("--cutoff", check_cutoff, "cutoff", cutoff)
    if worst < 0:
        refuse("--worst", f"must be at least 0, got {worst}")


def _show(methods: dict[str, Any], worst: int) -> None:
    """Print the values of all methods, and the worst transitions of each."""
    from mapgauge.features.tracks.consistency import FLICKER, cells_of
    from mapgauge.metrics.pld import PLD

    several = len(methods) > 1
    first = next(iter(methods.values()))
    values = PLD.with_role("part")
    parts = [value.title for value in values]
    title = (
        f"Flicker, lower is better (cutoff {first.cutoff:g} m, a point every {first.spacing:g} m; {first.level:.0%} of "
        f"{first.samples} draws of {first.scenes} scenes)"
    )
    rows = [
        [*([called] if several else []), *cells_of(row)]
        for called, method in methods.items()
        for row in method.rows
        if row["transitions"]
    ]
    names = ["name"] if several else []
    show_table(Table(title, [*names, "lag", "class", "transitions", "flicker ↓", *parts], rows, 2 + several), gap=False)
    for finding in dict.fromkeys(note for method in methods.values() for note in method.findings):
        if finding.code in ("lags-without-transitions", "transitions-apart"):
            say(f"{finding.level}: {finding.text}")
    for called, method in methods.items():
        body = [
            [row["earlier"], row["later"], *(f"{row[key]:.3f}" for key in (FLICKER, *(part.key for part in values)))]
            for row in method.worst(worst)
        ]
        if body:
            about = f"Worst transitions at lag {method.lags[0]}" + (f", {called}" if several else "")
            show_table(Table(about, ["from", "to", "flicker ↓", *parts], body, 2))
