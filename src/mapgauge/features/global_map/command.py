"""``mapgauge global`` compares accumulated maps of whole scenes with the truth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mapgauge.cli import options as o
from mapgauge.cli import output as out
from mapgauge.cli import parsing
from mapgauge.cli.inputs import Reading, check_files, check_unnamed, options_of
from mapgauge.cli.parsing import Texts, valid
from mapgauge.cli.targets import check_figure, check_targets

if TYPE_CHECKING:
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


def global_map(
    predictions: Annotated[
        Path, o.files_argument("PREDICTIONS", "One map for each scene in world metres, or frames with poses.")
    ],
    truth: Annotated[list[Path], o.files_argument("TRUTH", _TRUTH)],
    rule: Annotated[
        str, o.choice("--rule", o.COMPUTED, _RULE, "stack", "last", "longest", "median", "maptracker", "globalmapnet")
    ] = "median",
    region: o.RegionOption = "60x30",
    cutoff: o.CutoffOption = None,
    over_time: Annotated[
        bool, o.option("--over-time", o.COMPUTED, "Also compute the values after 10, 20, ... 100 % of the frames.")
    ] = False,
    pose_noise: Annotated[Texts, o.option("--pose-noise LATERAL,LONGITUDINAL,DEGREES", o.COMPUTED, _NOISE)] = None,
    poses: o.PosesOption = None,
    workers: o.WorkersOption = None,
    output: Annotated[
        Path | None, o.output_option("FILE", "A file of results with geometry, for `report`, `view` and `compare`.")
    ] = None,
    figure: Annotated[Path | None, o.figure_option("the map of the worst scene, and the values over time")] = None,
    json: o.JsonOption = False,
) -> None:
    """Compare maps of whole scenes with the truth.

    Both sides are cut by the region that the drive has seen: the union of the boxes of its poses, with the notches
    between boxes filled. Network PLD is the headline. GAP and mGAP are those of GlobalMapNet's evaluator.
    """
    from mapgauge.features.global_map import global_map as feature
    from mapgauge.geometry.cropping import check_region

    box = parsing.parse_region(region)
    most = parsing.one_cutoff(cutoff, default=1.5)
    valid("--region", check_region, box)
    valid("--cutoff", feature.checked_cutoff, most)
    named = (pose_noise or [""])[0]
    noise: str | list[float] | None = named
    if named not in feature.NOISES:
        noise = parsing.numbers("--pose-noise", pose_noise) or None
    if noise is not None:
        valid("--pose-noise", feature.check_noise, noise)
    check_unnamed(predictions, *truth)
    check_targets([figure, output], [predictions, poses, *truth])
    check_figure(figure)
    check_files(predictions, *truth)
    reading = Reading(workers=workers)
    x, y, drive = _read(reading, predictions, truth, poses=poses, rule=rule, region=box)
    with out.progress(f"comparing {predictions}", "scenes") as advance:
        made = feature.global_map(
            x,
            y,
            rule=rule,
            poses=drive,
            region=box,
            cutoff=most,
            over_time=over_time,
            pose_noise=noise,
            workers=workers,
            progress=advance,
        )
    if json:
        out.write_json(made.to_dict())
    else:
        _show(made)
        out.distrust(made.findings)
    _write(made, output, figure)


def _read(
    reading: Reading, predictions: Path, truth: list[Path], poses: Path | None, rule: str, region: Any
) -> "tuple[MapFrames, MapFrames, MapFrames]":
    """Return predictions, truth and evaluated poses. Predictions without tracks get some if the rule needs them."""
    from mapgauge.features.global_map.accumulate import lacks_tracks
    from mapgauge.features.global_map.scenes import sides_of
    from mapgauge.features.tracks.tracking import track
    from mapgauge.truth.poses import read_poses

    frames = reading.alone(predictions)
    true = [reading.truth(path) for path in truth]
    x, y, drive = sides_of(frames, true, None if poses is None else read_poses(poses, frames))
    if lacks_tracks(rule, x):
        out.inform(f"{predictions} has no tracks: they are made as `mapgauge track` does")
        limit: dict[str, Any] = {"confidence": None} if "confidence" in options_of(predictions) else {}
        x = track(x, region=region, workers=reading.workers, **limit)
    return x, y, drive


def _show(made: "GlobalMap") -> None:
    """Print all tables."""
    from mapgauge.features.global_map.global_map import SHOWN, stated
    from mapgauge.results.intervals import too_few

    rows = [
        [name, *(_cell(key, values.get(key)) for key in SHOWN)]
        for name, values in made.estimates.items()
        if len(made.estimates) > 2 or name != "mean"
    ]
    out.show_table(out.Table(stated(made), ["class", *SHOWN.values()], rows), gap=False)
    if few := too_few(len(made.regions), "scene"):
        out.say(f"note: {few}", painted="note")
    if made.gap is not None:
        header = [
            "class",
            "GAP ↑",
            *(f"at {each:g} m" for each in made.gap.thresholds),
            "lines",
            "parts",
            "predictions",
        ]
        body = [
            [name, *(f"{value:.4f}" for value in values.values()), *map(str, made.gap.lines[name])]
            for name, values in made.gap.classes.items()
        ]
        title = f"mGAP {made.gap.value:.4f}, as GlobalMapNet's evaluator prints it"
        out.show_table(out.Table(title, header, body))
        out.say(
            f"GAP samples each line. A perfect prediction of the longest part of the truth ({made.gap.longest:.0f} m) "
            f"has a distance of {made.gap.floor:.2f} m for this reason alone. The first threshold is "
            f"{made.gap.thresholds[0]:g} m."
        )
    if made.shares:
        over = [
            [
                f"{share:.0%}",
                *("-" if (value := results.mean.get(key)) is None else f"{value:{_digits(key)}}" for key in SHOWN),
            ]
            for share, results in made.shares.items()
        ]
        out.show_table(out.Table("After a share of the frames, mean over classes", ["frames", *SHOWN.values()], over))
    out.show_findings(made.findings)


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
