"""``mapgauge sweep``: one evaluation after another, over cutoffs, samplings and regions."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.documents import form_of, write_csv, write_json, write_latex
from mapgauge.cli.output import Table, progress, show_table, warn, warn_of
from mapgauge.cli.reading import Reading, check_classes, check_files, file_names
from mapgauge.cli.summary import titled
from mapgauge.cli.targets import check_target
from mapgauge.display.tables import number

_SETTINGS = ("region", "spacing", "count", "cutoff")


def sweep(
    predictions: o.PredictionsArgument,
    truth: o.TruthArgument,
    protocol: o.ProtocolOption = "paper-60x30",
    cutoff: Annotated[
        o.Texts, typer.Option("--cutoff", "-c", metavar="METRES,...", help="Cutoffs of PLD.", show_default=False)
    ] = None,
    spacing: Annotated[
        o.Texts, typer.Option("--spacing", metavar="METRES,...", help="Metres between samples.", show_default=False)
    ] = None,
    count: Annotated[
        o.Texts, typer.Option("--count", metavar="N,...", help="Numbers of samples per polyline.", show_default=False)
    ] = None,
    region: Annotated[
        o.Texts,
        typer.Option(
            "--region", metavar="LENGTHxWIDTH,...", help="Regions to which both sides are cut.", show_default=False
        ),
    ] = None,
    metrics: o.MetricsOption = None,
    classes: o.ClassesOption = None,
    format: o.FormatOption = None,
    truth_format: o.TruthFormatOption = None,
    rotate: o.RotateOption = 0.0,
    rename: o.RenameOption = None,
    rename_truth: o.RenameTruthOption = None,
    planar: o.PlanarOption = False,
    certain: o.CertainOption = False,
    degenerate: o.DegenerateOption = "strict",
    name: o.NamesOption = None,
    workers: o.WorkersOption = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure", metavar="FILE", help="Also draw PLD over the cutoff (.png, .svg, .pdf).", show_default=False
        ),
    ] = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    latex: o.LatexOption = False,
) -> None:
    """Evaluate over cutoffs, samplings, regions.

    Prints the means over classes, a row per setting.
    """
    form = form_of(json=json, csv=csv, latex=latex)
    settings = o.settings_of(protocol, cutoff=cutoff, classes=classes)
    chosen = o.metrics_of(settings, metrics)
    cutoffs = o.numbers("--cutoff", cutoff) or None
    spacings = o.numbers("--spacing", spacing) or None
    counts = o.numbers("--count", count, int) or None
    regions = [o.region_of(text) for text in o.listed(region)] or None
    for value in spacings or ():
        o.valid("--spacing", settings.replace, spacing=value)
    for value in counts or ():
        o.valid("--count", settings.replace, count=value)
    for value in regions or ():
        o.valid("--region", settings.replace, region=value)
    reading = Reading.of(
        format=format,
        truth_format=truth_format,
        rotate=rotate,
        rename=rename,
        rename_truth=rename_truth,
        planar=planar,
        certain=certain,
        degenerate=degenerate,
    )
    names = file_names(predictions, name)
    check_target(figure)

    from mapgauge import sweep as sweep_settings
    from mapgauge.evaluation.sweeps import region_of

    check_files(*predictions, truth)
    y = reading.truth(truth)
    sweeps = []
    for called, path in zip(names, predictions, strict=True):
        x = reading.predictions(path)
        check_classes(classes, x.name, y.classes, x.classes)
        with progress(f"evaluating {called}") as advance:
            sweeps.append(
                sweep_settings(
                    x,
                    y,
                    settings,
                    cutoffs=cutoffs,
                    spacings=spacings,
                    counts=counts,
                    regions=regions,
                    metrics=chosen,
                    workers=workers,
                    progress=advance,
                )
            )
        warn_of(sweeps[-1].results[0].findings)
    rows = [{"name": called} | row for called, one in zip(names, sweeps, strict=True) for row in one.rows]
    if form == "json":
        write_json(rows)
    elif form == "csv":
        write_csv([row | {"region": region_of(row) if row["region"] else ""} for row in rows])
    else:
        table = _table(rows, settings.name)
        if form == "latex":
            write_latex(table.header, table.rows, table.title)
        else:
            show_table(table, gap=False)
    if figure is not None:
        from mapgauge import plot

        plot.save(plot.cutoffs(sweeps, names=names), figure)
        warn(f"figure in {figure}")


def _table(rows: list[dict[str, Any]], protocol: str) -> Table:
    from mapgauge.evaluation.sweeps import region_of, sampling_of

    keys = [key for key in rows[0] if key not in (*_SETTINGS, "name")]
    several = len({row["name"] for row in rows}) > 1
    body = [
        [
            *([row["name"]] if several else []),
            region_of(row),
            sampling_of(row),
            "-" if row["cutoff"] is None else f"{row['cutoff']:g} m",
            *(number(row[key]) for key in keys),
        ]
        for row in rows
    ]
    header = [*(["name"] if several else []), "region", "sampling", "cutoff", *map(titled, keys)]
    return Table(f"Means over classes ({protocol})", header, body, len(header) - len(keys))
