"""``mapgauge consistency`` measures flicker without truth; ``mapgauge track`` gives ids to predictions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mapgauge.cli import options as o
from mapgauge.cli.inputs import Reading, check_files, check_unnamed
from mapgauge.cli.output import (
    Table,
    inform,
    progress,
    save_figure,
    say,
    show_findings,
    show_table,
    warn_of,
    write_csv,
    write_json,
)
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
from mapgauge.cli.targets import check_figure, check_targets

if TYPE_CHECKING:
    from mapgauge.features.tracks.consistency import Consistency
    from mapgauge.features.tracks.tracking import Method

_METHODS = ("pld", "maptracker")
_SUFFIXES = (".parquet", ".geojson")  # of formats that hold ids, poses and scenes


def consistency(
    context: typer.Context,
    predictions: o.PredictionsArgument,
    poses: o.PosesOption = None,
    lags: Annotated[
        Texts, o.option("--lags N,...", o.COMPUTED, "Numbers of frames between two outputs.  [default: 1,2,5,10]")
    ] = None,
    region: o.RegionOption = "60x30",
    margin: Annotated[
        float, o.option("--margin METRES", o.COMPUTED, "Width of the edge of the region that is not compared.")
    ] = 2.0,
    cutoff: o.CutoffOption = None,
    classes: Annotated[Texts, o.classes_option("all")] = None,
    format: o.FormatOption = None,
    workers: o.WorkersOption = None,
    worst: Annotated[int, o.worst_option("the transitions with the largest flicker", 0)] = 5,
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
    valid("--margin", inner, valid("--region", check_region, box), margin)
    names, reading = file_names(predictions), Reading(format, workers)
    check_targets([figure], [*predictions, poses])
    check_figure(figure)
    check_files(*predictions, *([] if poses is None else [poses]))
    how: dict[str, Any] = {"classes": listed(classes) or None, "lags": chosen, "region": box, "margin": margin}
    how |= {"poses": None if poses is None else reading.truth(poses), "cutoff": most, "workers": workers}
    measured: list[Consistency] = []
    for called, path in zip(names, predictions, strict=True):
        frames = reading.alone(path)
        with progress(f"comparing {called}", "blocks") as advance:
            measured.append(measure(frames, **how, progress=advance))
        warn_of(measured[-1].findings)
    methods = dict(zip(names, measured, strict=True))
    if form == "json":
        write_json([one.to_dict() | {"name": called} for called, one in methods.items()])
    elif form == "csv":
        write_csv([{"name": called} | row for called, one in methods.items() for row in one.rows])
    else:
        _show(methods, worst)
    if figure is not None:
        from mapgauge import plot

        save_figure(plot.lags(measured, names=names), figure)


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
    for finding in dict.fromkeys(finding for one in methods.values() for finding in one.findings):
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


def track(
    context: typer.Context,
    predictions: Annotated[
        Path, o.files_argument("PREDICTIONS", "File of predictions. Options follow its name: FILE,scenes=FILE.")
    ],
    output: Annotated[Path, o.output_option("FILE", "A file that holds ids (.parquet or .geojson).")],
    poses: o.PosesOption = None,
    method: Annotated[
        str,
        o.choice(
            "--method",
            o.COMPUTED,
            "How instances of different frames are matched: by the assignment of PLD, or by MapTracker's rule.",
            *_METHODS,
        ),
    ] = "pld",
    look_back: Annotated[
        int, o.option("--look-back N", o.COMPUTED, "Number of earlier frames in which a track is looked for.")
    ] = 5,
    cutoff: o.CutoffOption = None,
    region: o.RegionOption = "60x30",
    format: o.FormatOption = None,
    workers: o.WorkersOption = None,
) -> None:
    """Give ids to predictions.

    The same object gets the same id in all frames of a scene, so that methods without tracks can be scored like methods
    with tracks.
    """
    from mapgauge.arguments import check_whole
    from mapgauge.features.tracks.tracking import track as track_frames
    from mapgauge.geometry.cropping import check_region
    from mapgauge.io import write

    if not output.name.removesuffix(".gz").removesuffix(".zst").endswith(_SUFFIXES):
        refuse("--output", f"must end in {' or '.join(_SUFFIXES)}, which hold ids, got {output}")
    check_unnamed(predictions)
    if method == "pld":
        without_effect(context, ["region"], "without --method maptracker")
    else:
        without_effect(context, ["cutoff"], "without --method pld")
    valid("--look-back", check_whole, "look-back", look_back, 1)
    box, most = parse_region(region), one_cutoff(cutoff, 1.5)
    valid("--region", check_region, box)
    check_targets([output], [predictions, poses])
    check_files(*(path for path in (predictions, poses) if path is not None))
    reading = Reading(format, workers)
    frames = reading.alone(predictions)
    with progress(f"tracking {predictions}", "scenes") as advance:
        tracked = track_frames(
            frames,
            poses=None if poses is None else reading.truth(poses),
            method=cast("Method", method),
            look_back=look_back,
            cutoff=most,
            region=box,
            workers=workers,
            progress=advance,
        )
    show_findings(tracked.findings)
    ids = [] if tracked.track is None else tracked.track[tracked.track != ""].tolist()
    say(
        f"{predictions} ({frames.format}): {len(tracked)} frames, {len(tracked.polylines)} instances, {len(ids)} with "
        f"ids of {len(set(ids))} tracks"
    )
    write(tracked, output)
    inform(f"written to {output}")
