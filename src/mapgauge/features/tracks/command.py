"""``mapgauge consistency`` measures flicker without truth; ``mapgauge track`` gives ids to predictions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from mapgauge.cli import options as o
from mapgauge.cli import output as out
from mapgauge.cli import parsing
from mapgauge.cli.command import command, without_effect
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit
from mapgauge.cli.inputs import InputReader, check_files, check_unnamed, is_results, options_of
from mapgauge.cli.parsing import Texts, refuse, valid
from mapgauge.cli.targets import check_figure, check_targets
from mapgauge.words import counted

_SUFFIXES = (".parquet", ".geojson")  # of formats that hold ids, poses and scenes


@dataclass(frozen=True, kw_only=True)
class ConsistencyOptions(Printing):
    """The options of ``mapgauge consistency``."""

    predictions: o.PredictionsArgument
    poses: o.PosesOption = None
    lags: Annotated[
        Texts, o.option("--lags N,...", o.COMPUTED, "Numbers of frames between two outputs.  [default: 1,2,5,10]")
    ] = None
    region: o.RegionOption = "60x30"
    cutoff: Annotated[float, o.ONE_CUTOFF] = 1.5
    classes: Annotated[Texts, o.classes_option("all")] = None
    workers: o.WorkersOption = None
    worst: Annotated[int, o.worst_option("two frames between which the output changes", least=0)] = 5
    figure: Annotated[Path | None, o.figure_option("the flicker over the lag")] = None
    json: o.JsonOption = False
    csv: o.CsvOption = False


@command
def consistency(options: ConsistencyOptions) -> None:
    """Measure how much the output flickers.

    Moves the output of each frame into a later frame by their poses, and compares both with PLD where they show the
    same place. This needs poses, but no truth.
    """
    from mapgauge.features.tracks.consistency import LAGS, MARGIN, check_lags, inner
    from mapgauge.geometry.cropping import check_region

    if options.form != "text":
        without_effect(options, ["worst"], f"with --{options.form}, which is for the text only")
    lags = valid("--lags", check_lags, parsing.numbers("--lags", options.lags, int) or LAGS)
    region = parsing.parse_region(options.region)
    valid("--region", inner, valid("--region", check_region, region), MARGIN)
    names = parsing.file_names(options.predictions)
    check_targets([options.figure], [*options.predictions, options.poses])
    check_figure(options.figure)
    check_files(*options.predictions, *_file_of_poses(options.poses))
    methods = _measured(options, names, lags=lags, region=region)
    emit(options, FlickerOfMethods(methods, options.worst))
    if options.figure is not None:
        from mapgauge import plot

        out.save_figure(plot.lags(list(methods.values()), names=names), options.figure)


def _file_of_poses(poses: Path | None) -> list[Path]:
    """Return the file of poses to look at first. A folder is a data set, and results keep the poses of their frames."""
    if poses is None or poses.is_dir() or is_results(poses):
        return []
    return [poses]


def _measured(
    options: ConsistencyOptions,
    names: Sequence[str],
    *,
    lags: Sequence[int],
    region: tuple[float, float],
) -> dict[str, Any]:
    """Return the flicker of each method."""
    from mapgauge.features.tracks.consistency import consistency as measure

    reading = InputReader(workers=options.workers)
    if options.poses is None:
        poses = None
    else:
        poses = reading.poses(options.poses)
    methods = {}
    for called, path in zip(names, options.predictions, strict=True):
        frames = reading.alone(path)
        with out.progress(f"comparing {called}", "blocks") as advance:
            methods[called] = measure(
                frames,
                poses=poses,
                classes=parsing.listed(options.classes) or None,
                lags=lags,
                region=region,
                cutoff=options.cutoff,
                workers=options.workers,
                progress=advance,
            )
        out.warn_of(methods[called].findings)
    return methods


@dataclass(frozen=True)
class FlickerOfMethods(Document):
    """How much the output of methods flickers."""

    methods: Mapping[str, Any]  # by name
    worst: int  # how many transitions are listed

    def text(self) -> Iterator[Piece]:
        """Return the values of all methods, and the worst transitions of each."""
        from mapgauge.features.tracks.consistency import KEYS, PART_TITLES

        yield self._values()
        for finding in dict.fromkeys(finding for measured in self.methods.values() for finding in measured.findings):
            if finding.code in ("lags-without-transitions", "transitions-apart"):
                yield Line(f"{finding.level}: {finding.text}")
        for called, measured in self.methods.items():
            rows = measured.worst(self.worst)
            body = [[row["earlier"], row["later"], *(f"{row[key]:.3f}" for key in KEYS)] for row in rows]
            if body:
                about = f"Worst transitions at lag {measured.lags[0]}"
                if len(self.methods) > 1:
                    about += f", {called}"
                yield out.Table(
                    title=about, header=["from", "to", "flicker ↓", *PART_TITLES.values()], rows=body, fixed=2
                )

    def _values(self) -> out.Table:
        from mapgauge.features.tracks.consistency import PART_TITLES, cells_of

        several = len(self.methods) > 1
        first = next(iter(self.methods.values()))
        title = (
            f"Flicker, lower is better (cutoff {first.cutoff:g} m, a point every {first.spacing:g} m; "
            f"{first.level:.0%} of {first.samples} draws of {counted(first.scenes, 'scene')})"
        )
        header = ["lag", "class", "transitions", "flicker ↓", *PART_TITLES.values()]
        rows = []
        for called, measured in self.methods.items():
            own = [cells_of(row) for row in measured.rows if row["transitions"]]
            if several:
                own = [[called, *cells] for cells in own]
            rows += own
        if several:
            header.insert(0, "name")
        return out.Table(title=title, header=header, rows=rows, fixed=2 + several)

    def to_dict(self) -> Any:
        """Return a list of all methods."""
        return [measured.to_dict() | {"name": called} for called, measured in self.methods.items()]

    def rows(self) -> list[dict[str, Any]]:
        """Return the values of all methods."""
        return [{"name": called} | row for called, measured in self.methods.items() for row in measured.rows]


@dataclass(frozen=True, kw_only=True)
class TrackOptions:
    """The options of ``mapgauge track``."""

    predictions: Annotated[
        Path, o.files_argument("PREDICTIONS", "File of predictions. Options follow its name: FILE,scenes=FILE.")
    ]
    output: Annotated[Path, o.output_option("FILE", "A file that holds ids (.parquet or .geojson).")]
    poses: o.PosesOption = None
    method: Annotated[
        str,
        o.choice(
            "--method",
            o.COMPUTED,
            "How instances of different frames are matched: by the assignment of PLD, or by MapTracker's rule.",
            "pld",
            "maptracker",
        ),
    ] = "pld"
    look_back: Annotated[
        int, o.option("--look-back N", o.COMPUTED, "Number of earlier frames that are searched for a track.")
    ] = 5
    cutoff: Annotated[float, o.ONE_CUTOFF] = 1.5
    region: o.RegionOption = "60x30"
    workers: o.WorkersOption = None


@command
def track(options: TrackOptions) -> None:
    """Give ids to predictions.

    The same object gets the same id in all frames of a scene, so that methods without tracks can be scored like methods
    with tracks. Instances with a confidence of at most 0.4 are left out first; FILE,confidence=LEAST sets another
    limit.
    """
    from mapgauge.features.tracks.tracking import FAINT
    from mapgauge.features.tracks.tracking import track as track_frames
    from mapgauge.io import write

    predictions = options.predictions
    region = _check_track(options)
    reading = InputReader(workers=options.workers)
    frames = reading.alone(predictions)
    with out.progress(f"tracking {predictions}", "scenes") as advance:
        if options.poses is None:
            poses = None
        else:
            poses = reading.poses(options.poses)
        if "confidence" in options_of(predictions):
            confidence = None
        else:
            confidence = FAINT
        tracked = track_frames(
            frames,
            poses=poses,
            method=cast("Any", options.method),
            confidence=confidence,
            look_back=options.look_back,
            cutoff=options.cutoff,
            region=region,
            workers=options.workers,
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
    write(tracked, options.output)
    out.inform(f"written to {options.output}")


def _check_track(options: TrackOptions) -> tuple[float, float]:
    """Refuse options that do not fit, and files that cannot be read or written. Return the region."""
    from mapgauge.arguments import check_whole
    from mapgauge.geometry.cropping import check_region

    output = options.output
    if not output.name.removesuffix(".gz").removesuffix(".zst").endswith(_SUFFIXES):
        refuse("--output", f"must end in {' or '.join(_SUFFIXES)}, which hold ids, got {output}")
    check_unnamed(options.predictions)
    if options.method == "pld":
        without_effect(options, ["region"], "without --method maptracker")
    else:
        without_effect(options, ["cutoff"], "without --method pld")
    valid("--look-back", check_whole, "look-back", options.look_back, 1)
    region = parsing.parse_region(options.region)
    valid("--region", check_region, region)
    check_targets([output], [options.predictions, options.poses])
    check_files(options.predictions, *_file_of_poses(options.poses))
    return region
