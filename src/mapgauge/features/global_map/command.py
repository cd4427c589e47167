"""``mapgauge global`` compares accumulated maps of whole scenes with the truth."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mapgauge.cli import options as o
from mapgauge.cli import output as out
from mapgauge.cli import parsing
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit
from mapgauge.cli.inputs import InputReader, check_files, check_unnamed, options_of
from mapgauge.cli.parsing import Texts, valid
from mapgauge.cli.targets import check_figure, check_targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mapgauge.features.global_map.gap import Gap
    from mapgauge.features.global_map.global_map import GlobalMap
    from mapgauge.frames.map_frames import MapFrames

_RULE = (
    "How the frames of a scene become one map. All but stack and globalmapnet use tracks. If there are none, they are "
    "made as `mapgauge track` does."
)
_NOISE = (
    "Add errors to the poses of the predictions: standard deviations in metres to the side and forward, and degrees. "
    "rtmap is 0.75,1.5,0.85."
)
_TRUTH = "The truth: maps of scenes, a file for each city, or frames with tracks and poses."


@dataclass(frozen=True, kw_only=True)
class GlobalMapOptions(Printing):
    """The options of ``mapgauge global``."""

    predictions: Annotated[
        Path, o.files_argument("PREDICTIONS", "One map for each scene in world metres, or frames with poses.")
    ]
    truth: Annotated[list[Path], o.files_argument("TRUTH", _TRUTH)]
    rule: Annotated[
        str, o.choice("--rule", o.COMPUTED, _RULE, "stack", "last", "longest", "median", "maptracker", "globalmapnet")
    ] = "median"
    region: o.RegionOption = "60x30"
    cutoff: Annotated[float, o.ONE_CUTOFF] = 1.5
    over_time: Annotated[
        bool, o.option("--over-time", o.COMPUTED, "Also compute the values after each tenth of the frames.")
    ] = False
    pose_noise: Annotated[Texts, o.option("--pose-noise LATERAL,LONGITUDINAL,DEGREES", o.COMPUTED, _NOISE)] = None
    poses: o.PosesOption = None
    workers: o.WorkersOption = None
    output: Annotated[
        Path | None, o.output_option("FILE", "A file of results with geometry, for `report`, `view` and `compare`.")
    ] = None
    figure: Annotated[Path | None, o.figure_option("the map of the worst scene, and the values over time")] = None
    json: o.JsonOption = False


@command
def global_map(options: GlobalMapOptions) -> None:
    """Compare maps of whole scenes with the truth.

    Both sides are cut by the region that the drive has seen: the union of the boxes of its poses, with the notches
    between boxes filled. Network PLD is the headline. GAP and mGAP are those of GlobalMapNet's evaluator.
    """
    from mapgauge.features.global_map import global_map as feature
    from mapgauge.geometry.cropping import check_region

    box = parsing.parse_region(options.region)
    valid("--region", check_region, box)
    valid("--cutoff", feature.checked_cutoff, options.cutoff)
    noise = _noise(options.pose_noise)
    check_unnamed(options.predictions, *options.truth)
    check_targets([options.figure, options.output], [options.predictions, options.poses, *options.truth])
    check_figure(options.figure)
    check_files(options.predictions, *options.truth)
    x, y, drive = _read(options, box)
    with out.progress(f"comparing {options.predictions}", "scenes") as advance:
        made = feature.global_map(
            x,
            y,
            rule=options.rule,
            poses=drive,
            region=box,
            cutoff=options.cutoff,
            over_time=options.over_time,
            pose_noise=noise,
            workers=options.workers,
            progress=advance,
        )
    emit(options, ComparedMaps(made))
    if options.form == "text":
        out.distrust(made.findings)
    _write(made, options.output, options.figure)


def _noise(given: Texts) -> str | list[float] | None:
    """Return the noise of poses: a name, or numbers."""
    from mapgauge.features.global_map import global_map as feature

    named = (given or [""])[0]
    noise: str | list[float] | None = named
    if named not in feature.NOISES:
        noise = parsing.numbers("--pose-noise", given) or None
    if noise is not None:
        valid("--pose-noise", feature.check_noise, noise)
    return noise


def _read(options: GlobalMapOptions, region: tuple[float, float]) -> "tuple[MapFrames, MapFrames, MapFrames]":
    """Return predictions, truth and evaluated poses. Predictions without tracks get some if the rule needs them."""
    from mapgauge.features.global_map.accumulate import lacks_tracks
    from mapgauge.features.global_map.scenes import sides_of
    from mapgauge.features.tracks.tracking import track
    from mapgauge.truth.poses import read_poses

    reading = InputReader(workers=options.workers)
    frames = reading.alone(options.predictions)
    true = [reading.truth(path) for path in options.truth]
    if options.poses is None:
        poses = None
    else:
        poses = read_poses(options.poses, frames)
    x, y, drive = sides_of(frames, true, poses)
    if lacks_tracks(options.rule, x):
        out.inform(f"{options.predictions} has no tracks: they are made as `mapgauge track` does")
        if "confidence" in options_of(options.predictions):
            limit: dict[str, Any] = {"confidence": None}
        else:
            limit = {}
        x = track(x, region=region, workers=options.workers, **limit)
    return x, y, drive


@dataclass(frozen=True)
class ComparedMaps(Document):
    """The maps of whole scenes beside the truth."""

    made: "GlobalMap"

    def text(self) -> "Iterator[Piece]":
        """Return the values of each class, GAP, the values over time, and the findings."""
        yield self._values()
        yield from self._too_few()
        if self.made.gap is not None:
            yield from self._gap(self.made.gap)
        if self.made.shares:
            yield self._over_time()
        for finding in self.made.findings:
            yield Line(out.printable(finding.for_shell()), indent="  ", painted=finding.level)

    def to_dict(self) -> Any:
        """Return all values."""
        return self.made.to_dict()

    def _values(self) -> out.Table:
        from mapgauge.features.global_map.global_map import SHOWN, stated

        estimates = self.made.estimates
        rows = [
            [name, *(_cell(key, values.get(key)) for key in SHOWN)]
            for name, values in estimates.items()
            if len(estimates) > 2 or name != "mean"
        ]
        return out.Table(title=stated(self.made), header=["class", *SHOWN.values()], rows=rows)

    def _too_few(self) -> "Iterator[Piece]":
        from mapgauge.results.intervals import too_few

        few = too_few(len(self.made.regions), "scene")
        if few:
            yield Line(f"note: {few}", painted="note")

    def _gap(self, gap: "Gap") -> "Iterator[Piece]":
        at = [f"at {each:g} m" for each in gap.thresholds]
        header = ["class", "GAP ↑", *at, "lines", "parts", "predictions"]
        body = [
            [name, *(f"{value:.4f}" for value in values.values()), *map(str, gap.lines[name])]
            for name, values in gap.classes.items()
        ]
        yield out.Table(title=f"mGAP {gap.value:.4f}, as GlobalMapNet's evaluator prints it", header=header, rows=body)
        yield Line(
            f"GAP samples each line. A perfect prediction of the longest part of the truth ({gap.longest:.0f} m) "
            f"has a distance of {gap.floor:.2f} m for this reason alone. The first threshold is "
            f"{gap.thresholds[0]:g} m."
        )

    def _over_time(self) -> out.Table:
        from mapgauge.features.global_map.global_map import SHOWN

        rows = []
        for share, results in self.made.shares.items():
            values = {key: results.mean.get(key) for key in SHOWN}
            cells = ["-" if value is None else f"{value:{_digits(key)}}" for key, value in values.items()]
            rows.append([f"{share:.0%}", *cells])
        return out.Table(
            title="After a share of the frames, mean over classes", header=["frames", *SHOWN.values()], rows=rows
        )


def _digits(key: str) -> str:
    if key in ("ghost_length", "fragments_per_km"):
        return ".0f"
    return ".3f"


def _cell(key: str, value: Any) -> str:
    from mapgauge.results.intervals import bracket

    if value is None:
        return "-"
    digits = _digits(key)
    if value.value != value.value:
        return "-"
    return f"{value.value:{digits}} {bracket(value.low, value.high, digits)}"


def _write(made: "GlobalMap", output: Path | None, figure: Path | None) -> None:
    if output is not None:
        made.results.save(output, geometry="original")
        out.inform(f"results in {output}")
    if figure is not None:
        from mapgauge import plot

        out.save_figure(plot.global_map(made), figure)
