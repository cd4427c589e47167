"""``mapgauge consistency`` measures flicker without truth; ``mapgauge track`` gives ids to predictions."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from mapgauge.cli import options as o
from mapgauge.cli import output as out
from mapgauge.cli import parsing
from mapgauge.cli.inputs import Reading, check_files, check_unnamed, is_results, options_of
from mapgauge.cli.parsing import Texts, refuse, valid, without_effect
from mapgauge.cli.targets import check_figure, check_targets
from mapgauge.words import counted

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
    workers: o.WorkersOption = None,
    worst: Annotated[int, o.worst_option("the transitions with the largest flicker", least=0)] = 5,
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

    form = parsing.form_of(json=json, csv=csv)
    if form != "text":
        without_effect(context, ["worst"], f"with --{form}, which is for the text only")
    chosen = valid("--lags", check_lags, parsing.numbers("--lags", lags, int) or LAGS)
    box = parsing.parse_region(region)
    most = parsing.one_cutoff(cutoff, default=1.5)
    valid("--margin", inner, valid("--region", check_region, box), margin)
    names = parsing.file_names(predictions)
    reading = Reading(workers=workers)
    check_targets([figure], [*predictions, poses])
    check_figure(figure)
    check_files(*predictions, *([] if poses is None or poses.is_dir() or is_results(poses) else [poses]))
    how: dict[str, Any] = {"classes": parsing.listed(classes) or None, "lags": chosen, "region": box, "margin": margin}
    how |= {"poses": None if poses is None else reading.poses(poses), "cutoff": most, "workers": workers}
    methods = {}
    for called, path in zip(names, predictions, strict=True):
        frames = reading.alone(path)
        with out.progress(f"comparing {called}", "blocks") as advance:
            methods[called] = measure(frames, **how, progress=advance)
        out.warn_of(methods[called].findings)
    if form == "json":
        out.write_json([measured.to_dict() | {"name": called} for called, measured in methods.items()])
    elif form == "csv":
        out.write_csv([{"name": called} | row for called, measured in methods.items() for row in measured.rows])
    else:
        _show(methods, worst)
    if figure is not None:
        from mapgauge import plot

        out.save_figure(plot.lags(list(methods.values()), names=names), figure)


def _show(methods: dict[str, Any], worst: int) -> None:
    """Print the values of all methods, and the worst transitions of each."""
    from mapgauge.features.tracks.consistency import KEYS, PART_TITLES, cells_of

    several = len(methods) > 1
    first = next(iter(methods.values()))
    parts = list(PART_TITLES.values())
    title = (
        f"Flicker, lower is better (cutoff {first.cutoff:g} m, a point every {first.spacing:g} m; {first.level:.0%} of "
        f"{first.samples} draws of {counted(first.scenes, 'scene')})"
    )
    values_of = [(called, row) for called, measured in methods.items() for row in measured.rows if row["transitions"]]
    rows = [[called, *cells_of(row)][1 - several :] for called, row in values_of]
    header = ["name", "lag", "class", "transitions", "flicker ↓", *parts][1 - several :]
    out.show_table(out.Table(title, header, rows, fixed=2 + several), gap=False)
    for finding in dict.fromkeys(finding for measured in methods.values() for finding in measured.findings):
        if finding.code in ("lags-without-transitions", "transitions-apart"):
            out.say(f"{finding.level}: {finding.text}")
    for called, measured in methods.items():
        body = [[row["earlier"], row["later"], *(f"{row[key]:.3f}" for key in KEYS)] for row in measured.worst(worst)]
        if body:
            about = f"Worst transitions at lag {measured.lags[0]}" + (f", {called}" if several else "")
            out.show_table(out.Table(about, ["from", "to", "flicker ↓", *parts], body, fixed=2))


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
            "pld",
            "maptracker",
        ),
    ] = "pld",
    look_back: Annotated[
        int, o.option("--look-back N", o.COMPUTED, "Number of earlier frames in which a track is looked for.")
    ] = 5,
    cutoff: o.CutoffOption = None,
    region: o.RegionOption = "60x30",
    workers: o.WorkersOption = None,
) -> None:
    """Give ids to predictions.

    The same object gets the same id in all frames of a scene, so that methods without tracks can be scored like methods
    with tracks. Instances with a confidence of at most 0.4 are left out first; FILE,confidence=LEAST sets another
    limit.
    """
    from mapgauge.arguments import check_whole
    from mapgauge.features.tracks.tracking import FAINT
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
    box = parsing.parse_region(region)
    most = parsing.one_cutoff(cutoff, default=1.5)
    valid("--region", check_region, box)
    check_targets([output], [predictions, poses])
    check_files(predictions, *([] if poses is None or poses.is_dir() or is_results(poses) else [poses]))
    reading = Reading(workers=workers)
    frames = reading.alone(predictions)
    with out.progress(f"tracking {predictions}", "scenes") as advance:
        tracked = track_frames(
            frames,
            poses=None if poses is None else reading.poses(poses),
            method=cast("Any", method),
            confidence=None if "confidence" in options_of(predictions) else FAINT,
            look_back=look_back,
            cutoff=most,
            region=box,
            workers=workers,
            progress=advance,
        )
    out.show_findings(tracked.findings)
    if tracked.track is None:
        ids = []
    else:
        ids = tracked.track[tracked.track != ""].tolist()
    out.say(
        f"{predictions} ({frames.format}): {counted(len(tracked), 'frame')}, "
        f"{counted(len(tracked.polylines), 'instance')}, {len(ids)} with "
        f"ids of {counted(len(set(ids)), 'track')}"
    )
    write(tracked, output)
    out.inform(f"written to {output}")
