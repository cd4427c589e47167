"""``mapgauge track``: gives ids to the predictions of methods without tracks."""

from pathlib import Path
from typing import Annotated, cast

import typer

from mapgauge.cli import options as o
from mapgauge.cli.inputs import check_unnamed, input_file
from mapgauge.cli.output import progress, say, show_findings, warn
from mapgauge.cli.parsing import one_of, parse_region, refuse, valid, without_effect
from mapgauge.cli.reading import Reading, check_files, read_scenes
from mapgauge.cli.targets import check_targets

_METHODS = ("pld", "maptracker")
_SUFFIXES = (".parquet", ".geojson")  # of formats that hold ids, poses and scenes


def track(
    context: typer.Context,
    predictions: Annotated[
        Path,
        typer.Argument(metavar="PREDICTIONS", help="File of predictions.", parser=input_file, show_default=False),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write: .parquet or .geojson, which hold ids.",
            show_default=False,
        ),
    ],
    truth: o.PosesOption = None,
    scenes: o.ScenesOption = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="pld|maptracker",
            help="How instances of different frames are matched: by the assignment of PLD, or by MapTracker's rule.",
            callback=one_of("--method", *_METHODS),
            autocompletion=lambda: list(_METHODS),
        ),
    ] = "pld",
    look_back: Annotated[
        int, typer.Option("--look-back", metavar="N", help="Number of earlier frames in which a track is looked for.")
    ] = 5,
    cutoff: Annotated[float, typer.Option("--cutoff", "-c", metavar="METRES", help="Cutoff of PLD.")] = 1.5,
    region: Annotated[
        str, typer.Option("--region", metavar="LENGTHxWIDTH", help="Region of the raster of MapTracker's rule.")
    ] = "60x30",
    format: o.FormatOption = None,
    truth_format: o.TruthFormatOption = None,
    rotate: o.RotateOption = 0.0,
    rename: o.RenameOption = None,
    planar: o.PlanarOption = False,
    certain: o.CertainOption = False,
    degenerate: o.DegenerateOption = "strict",
    workers: o.WorkersOption = None,
) -> None:
    """Give ids to predictions.

    The same object gets the same id in all frames of a scene, so that methods without tracks can be scored like methods
    with tracks.
    """
    from mapgauge.arguments import check_cutoff, check_whole
    from mapgauge.features.tracks.tracking import Method
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
    if truth is None:
        without_effect(context, ["truth_format"], "without --truth FILE")
    valid("--look-back", check_whole, "look-back", look_back, 1)
    valid("--cutoff", check_cutoff, "cutoff", cutoff)
    box = parse_region(region)
    valid("--region", check_region, box)
    reading = Reading.of(context)
    check_targets([output], [predictions, truth, scenes])
    check_files(*(path for path in (predictions, truth) if path is not None))
    scene_of = None if scenes is None else read_scenes(scenes)
    frames = reading.predictions(predictions)
    poses = None if truth is None else reading.truth(truth)
    with progress(f"tracking {predictions}", "scenes") as advance:
        tracked = track_frames(
            frames,
            poses=poses,
            scenes=scene_of,
            method=cast("Method", method),
            look_back=look_back,
            cutoff=cutoff,
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
    warn(f"written to {output}")
