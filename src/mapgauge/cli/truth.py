"""``mapgauge truth``: cuts ground truth from the maps of a data set, or from a map of one's own."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.command import command, without_effect
from mapgauge.cli.helps import CommandGroup
from mapgauge.cli.inputs import options_of
from mapgauge.cli.output import Table, exit_on, inform, progress, say, show_table, tell_findings, warn
from mapgauge.cli.parsing import Texts, listed, parse_region, refuse, valid
from mapgauge.cli.targets import check_targets
from mapgauge.errors import MapgaugeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapgauge.frames.map_frames import MapFrames

truth: typer.Typer = typer.Typer(
    name="truth",
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Cut ground truth from the maps of a data set or your own map.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


DataArgument = Annotated[Path, typer.Argument(metavar="DATAROOT", help="Folder of the data set.", show_default=False)]
OutputOption = Annotated[Path, o.output_option("FILE", "A file; those that end in .gz and .zst are compressed.")]
RulesOption = Annotated[
    str, o.option("--rules NAME", o.COMPUTED, "How to make truth from a map; see `mapgauge truth rules`.")
]
SplitOption = Annotated[str | None, o.option("--split NAME", o.READ, "Split to cut; val by default.")]
ScenesOption = Annotated[Texts, o.option("--scenes NAME,...", o.READ, "Scenes to cut, instead of a split.")]
EveryOption = Annotated[int, o.option("--every N", o.READ, "Take every N-th frame of a scene.", least=1)]
CenterlinesOption = Annotated[
    bool, o.option("--centerlines", o.COMPUTED, "Also cut the centrelines of lanes, with links to their successors.")
]
WholeOption = Annotated[bool, o.option("--global", o.COMPUTED, "Write one map for each scene, in world metres.")]
RestartOption = Annotated[
    bool, o.option("--restart", o.WORK, "Delete the finished scenes of an interrupted run, and cut all scenes again.")
]
_RELEASE_HELP = "Folder of the tables, with the version."


@dataclass(frozen=True, kw_only=True)
class NuscenesOptions:
    """The options of ``mapgauge truth nuscenes``."""

    dataroot: DataArgument
    output: OutputOption
    split: SplitOption = None
    release: Annotated[str, o.option("--release NAME", o.READ, _RELEASE_HELP)] = "v1.0-trainval"
    region: o.RegionOption = "60x30"
    rules: RulesOption = "streammapnet"
    every: EveryOption = 1
    scenes: ScenesOption = None
    tokens: o.TokensOption = None
    centerlines: CenterlinesOption = False
    whole: WholeOption = False
    workers: o.WorkersOption = None
    restart: RestartOption = False
    to: o.ToOption = None
    fail_on: o.FailOnOption = None
    quiet: o.QuietOption = False


@truth.command("nuscenes")
@command
def nuscenes(options: NuscenesOptions) -> None:
    """Cut truth from nuScenes and its map expansion.

    Splits: train, val, mini-train, mini-val, and StreamMapNet's new-train and new-val.
    """
    from mapgauge.truth import nuscenes as cut
    from mapgauge.truth.selection import split_named

    if options.split is not None:
        valid("--split", split_named, "nuscenes", options.split)
    _make(options, cut, _settings(options, "nuscenes") | {"version": options.release})


_EVERY_THROUGH_ALL_HELP = "Count --every through the frames of all scenes, as the public repositories do."
_HEIGHT_HELP = "Write points with their height, for the rules of public converters."


@dataclass(frozen=True, kw_only=True)
class Argoverse2Options:
    """The options of ``mapgauge truth av2``."""

    dataroot: DataArgument
    output: OutputOption
    split: SplitOption = None
    region: o.RegionOption = "60x30"
    rules: RulesOption = "streammapnet"
    every: EveryOption = 1
    every_through_all: Annotated[bool, o.option("--every-through-all", o.RARE, _EVERY_THROUGH_ALL_HELP)] = False
    height: Annotated[bool, o.option("--height", o.RARE, _HEIGHT_HELP)] = False
    scenes: ScenesOption = None
    tokens: o.TokensOption = None
    centerlines: CenterlinesOption = False
    whole: WholeOption = False
    workers: o.WorkersOption = None
    restart: RestartOption = False
    to: o.ToOption = None
    fail_on: o.FailOnOption = None
    quiet: o.QuietOption = False


@truth.command("av2")
@command
def av2(options: Argoverse2Options) -> None:
    """Cut truth from Argoverse 2 and the map of each log.

    Splits: train, val, test, and StreamMapNet's new-train and new-val.
    """
    from mapgauge.truth import argoverse2 as cut
    from mapgauge.truth.rules import rules_named, with_height

    settings = _settings(options, "argoverse2")
    if options.whole:
        without_effect(options, ["height"], "with --global")
    if options.height:
        valid("--height", with_height, rules_named("argoverse2", options.rules))
    settings["height"] = options.height
    if options.every_through_all:
        settings["every_counts"] = "all"
    else:
        settings["every_counts"] = "scene"
    _make(options, cut, settings)


_MAP_HELP = (
    "A map: GeoJSON, GeoParquet, GeoPackage, Shapefile, Lanelet2. Options follow its name: FILE,project=EPSG:32632."
)
_MAP_KEYS = ("properties", "rename", "project")


@dataclass(frozen=True, kw_only=True)
class OwnMapOptions:
    """The options of ``mapgauge truth map``."""

    file: Annotated[Path, o.files_argument("FILE", _MAP_HELP)]
    output: OutputOption
    poses: o.PosesOption = None
    region: o.RegionOption = "60x30"
    rules: RulesOption = "plain"
    whole: WholeOption = False
    to: o.ToOption = None
    fail_on: o.FailOnOption = None
    quiet: o.QuietOption = False


@truth.command("map")
@command
def own_map(options: OwnMapOptions) -> None:
    """Cut truth from a map of your own, at the poses of a drive.

    Classes are divider, boundary and ped_crossing. Other names: FILE,rename=kerb:boundary,properties=class:kind.
    """
    from mapgauge.truth import check_size
    from mapgauge.truth import own_map as cut
    from mapgauge.truth.rules import rules_named

    file = options.file
    given = {key: value for key, value in options_of(file).items() if key != "format"}  # the content tells it
    for key in given:
        if key not in _MAP_KEYS:
            refuse(f"{file},{key}", f"a map has no option {key!r}. Options of a map: {', '.join(_MAP_KEYS)}")
    if options.poses is None:
        refuse("--poses", "is needed: a file of poses, or of frames that have poses")
    valid("--rules", rules_named, "map", options.rules)
    size = valid("--region", check_size, parse_region(options.region))
    check_targets([options.output], [file, options.poses])
    _check_format(options.output, options.to, ())
    with progress("cutting truth") as advance:
        frames = cut(
            file, options.poses, region=size, rules=options.rules, whole=options.whole, progress=advance, **given
        )
    _finish(options, frames, parts=None)


@truth.command("rules")
def list_rules() -> None:
    """List the rules that --rules accepts."""
    from mapgauge.truth.rules import RULES

    for dataset in dict.fromkeys(dataset for dataset, _ in RULES):
        rows = [[row.name, row.about] for row in RULES.values() if row.dataset == dataset]
        show_table(Table(title=dataset, header=["rules", "description"], rows=rows, fixed=2), gap=dataset != "nuscenes")


def _settings(options: NuscenesOptions | Argoverse2Options, dataset: str) -> dict[str, Any]:
    """Return the options as keyword arguments. Invalid values are usage errors, before any file is opened."""
    from mapgauge.io.files.source import read_tokens
    from mapgauge.truth import check_size
    from mapgauge.truth.rules import rules_named

    valid("--rules", rules_named, dataset, options.rules)
    chosen = {"--split": options.split, "--scenes": options.scenes, "--tokens": options.tokens}
    given = [name for name, value in chosen.items() if value]
    if len(given) > 1:
        refuse(given[1], f"give {' or '.join(given)}, not both")
    if options.whole:
        without_effect(options, ["centerlines"], "with --global")
    tokens = None
    if options.tokens:
        tokens = [token for file in options.tokens for token in read_tokens(file)]
    return {
        "rules": options.rules,
        "every": options.every,
        "centerlines": options.centerlines,
        "whole": options.whole,
        "workers": options.workers,
        "restart": options.restart,
        "split": options.split or "val",
        "region": valid("--region", check_size, parse_region(options.region)),
        "scenes": listed(options.scenes) or None,
        "tokens": tokens,
    }


def _make(
    options: NuscenesOptions | Argoverse2Options, cut: "Callable[..., MapFrames]", settings: dict[str, Any]
) -> None:
    """Cut truth and write it. Finished scenes are kept beside the target until it is written."""
    output = options.output
    parts = output.parent / f"{output.name}.parts"
    check_targets([output], [options.dataroot, *(options.tokens or ())], folders=[parts])
    _check_format(output, options.to, ("centerline",) if options.centerlines else ())
    try:
        with progress("cutting truth") as advance:
            frames = cut(options.dataroot, parts=parts, progress=advance, **settings)
    except KeyboardInterrupt:
        _tell_kept(parts)
        raise
    _finish(options, frames, parts)


def _finish(
    options: NuscenesOptions | Argoverse2Options | OwnMapOptions, frames: "MapFrames", parts: Path | None
) -> None:
    """Print what was cut, and write it. Then the folder of finished scenes is not needed any more."""
    from mapgauge.cli.inspected import in_words
    from mapgauge.io import write

    tell_findings(frames.findings)
    if not options.quiet:
        say(f"{frames.name}: {in_words(frames)[0]}")
    try:
        write(frames, options.output, options.to)
    except MapgaugeError:
        if parts is not None:
            _tell_kept(parts)
        raise
    if parts is not None:
        shutil.rmtree(parts, ignore_errors=True)
    inform(f"written to {options.output}")
    exit_on(options.fail_on, frames.findings)


def _tell_kept(parts: Path) -> None:
    if parts.is_dir():
        warn(f"finished scenes are kept in {parts}; run the same command again to continue")


def _check_format(target: Path, to: str | None, more: tuple[str, ...]) -> None:
    """Refuse an unknown format, or one that cannot store truth, before any scene is cut."""
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.io import format_to_write
    from mapgauge.truth.rules import CLASSES

    row = valid("--to", format_to_write, target, to)
    line = [[0.0, 0.0], [1.0, 0.0]]
    if row.write is not None:
        valid("--to", row.write, MapFrames.of({"token": {name: [line] for name in (*CLASSES, *more)}}), None)
