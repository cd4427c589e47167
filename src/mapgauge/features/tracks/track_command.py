"""``mapgauge track``: gives ids to the predictions of methods without tracks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from mapgauge.cli import options as o
from mapgauge.cli.inputs import check_unnamed
from mapgauge.cli.output import progress, say, show_findings, warn
from mapgauge.cli.parsing import one_cutoff, parse_region, refuse, valid, without_effect
from mapgauge.cli.reading import Reading, check_files
from mapgauge.cli.targets import check_targets

if TYPE_CHECKING:
    from mapgauge.features.tracks.tracking import Method

_METHODS = ("pld", "maptracker")
_SUFFIXES = (".parquet", ".geojson")  # of formats that hold ids, poses and scenes


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
            show_default=True,
        ),
    ] = "pld",
    look_back: Annotated[
        int,
        o.option(
            "--look-back",
            "N",
            o.COMPUTED,
            "Number of earlier frames in which a track is looked for.",
            show_default=True,
        ),
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
    warn(f"written to {output}")
