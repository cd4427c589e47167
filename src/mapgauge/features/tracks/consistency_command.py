"""``mapgauge consistency``: measures how much the output of a method flickers, without truth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.output import Table, progress, say, show_table, warn, warn_of, write_csv, write_json
from mapgauge.cli.parsing import (
    Texts,
    file_names,
    form_of,
    listed,
    numbers,
    one_cutoff,
    parse_region,
    refuse,
    valid,
    without_effect,
)
from mapgauge.cli.reading import Reading, check_files
from mapgauge.cli.targets import check_figure, check_targets

if TYPE_CHECKING:
    from mapgauge.features.tracks.consistency import Consistency


def consistency(
    context: typer.Context,
    predictions: o.PredictionsArgument,
    poses: o.PosesOption = None,
    lags: Annotated[
        Texts, o.option("--lags", "N,...", o.COMPUTED, "Numbers of frames between two outputs.  [default: 1,2,5,10]")
    ] = None,
    region: o.RegionOption = "60x30",
    margin: Annotated[
        float,
        o.option(
            "--margin",
            "METRES",
            o.COMPUTED,
            "Width of the edge of the region that is not compared.",
            show_default=True,
        ),
    ] = 2.0,
    cutoff: o.CutoffOption = None,
    classes: Annotated[Texts, o.classes_option("all")] = None,
    format: o.FormatOption = None,
    workers: o.WorkersOption = None,
    worst: Annotated[int, o.worst_option("the transitions with the largest flicker")] = 5,
    figure: Annotated[Path | None, o.figure_option("the flicker over the lag")] = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
) -> None:
    """Measure how much the output flickers.

    Earlier output is moved into later frames by their poses and compared with PLD where both show the same place. No
    truth is needed, only poses.
    """
    from mapgauge.features.tracks.consistency import LAGS, check_lags, inner
    from mapgauge.features.tracks.consistency import consistency as measure
    from mapgauge.geometry.cropping import check_region

    form = form_of(json=json, csv=csv)
    if form != "text":
        without_effect(context, ["worst"], f"with --{form}, which is for the text only")
    chosen = valid("--lags", check_lags, numbers("--lags", lags, int) or LAGS)
    box, most = parse_region(region), one_cutoff(cutoff, 1.5)
    if worst < 0:
        refuse("--worst", f"must be at least 0, got {worst}")
    valid("--margin", inner, valid("--region", check_region, box), margin)
    names, reading = file_names(predictions), Reading(format, workers)
    check_targets([figure], [*predictions, poses])
    check_figure(figure)
    check_files(*predictions, *([] if poses is None else [poses]))
    how: dict[str, Any] = {"classes": listed(classes) or None, "lags": chosen, "region": box, "margin": margin}
    how |= {"poses": None if poses is None else reading.truth(poses), "cutoff": most, "workers": workers}
    found: list[Consistency] = []
    for called, path in zip(names, predictions, strict=True):
        frames = reading.alone(path)
        with progress(f"comparing {called}", "blocks") as advance:
            found.append(measure(frames, **how, progress=advance))
        warn_of(found[-1].findings)
    methods = dict(zip(names, found, strict=True))
    if form == "json":
        write_json([one.to_dict() | {"name": called} for called, one in methods.items()])
    elif form == "csv":
        write_csv([{"name": called} | row for called, one in methods.items() for row in one.rows])
    else:
        _show(methods, worst)
    if figure is not None:
        from mapgauge import plot

        plot.save(plot.lags(found, names=names), figure)
        warn(f"figure in {figure}")


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
        for called, one in methods.items()
        for row in one.rows
        if row["transitions"]
    ]
    names = ["name"] if several else []
    show_table(Table(title, [*names, "lag", "class", "transitions", "flicker ↓", *parts], rows, 2 + several), gap=False)
    for finding in dict.fromkeys(found for one in methods.values() for found in one.findings):
        if finding.code in ("lags-without-transitions", "transitions-apart"):
            say(f"{finding.level}: {finding.text}")
    for called, one in methods.items():
        body = [
            [row["earlier"], row["later"], *(f"{row[key]:.3f}" for key in (FLICKER, *(part.key for part in values)))]
            for row in one.worst(worst)
        ]
        if body:
            about = f"Worst transitions at lag {one.lags[0]}" + (f", {called}" if several else "")
            show_table(Table(about, ["from", "to", "flicker ↓", *parts], body, 2))
