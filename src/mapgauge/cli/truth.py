"""``mapgauge truth``: cuts ground truth from the maps of a data set, or from a map of one's own."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.inputs import options_of
from mapgauge.cli.inspect import in_words
from mapgauge.cli.output import Table, exit_on, inform, is_quiet, progress, say, show_table, tell_findings, warn
from mapgauge.cli.parsing import Texts, listed, parse_region, refuse, valid, without_effect
from mapgauge.cli.targets import check_targets
from mapgauge.errors import MapgaugeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapgauge.frames.map_frames import MapFrames

truth = typer.Typer(
    name="truth",
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
WholeOption = Annotated[
    bool, o.option("--global", o.COMPUTED, "Write one map for each scene, in world metres, for `mapgauge global`.")
]
RestartOption = Annotated[
    bool, o.option("--restart", o.WORK, "Delete the finished scenes of an interrupted run, and cut all scenes again.")
]
_TABLES_HELP = "Folder of the tables, with the version."


@truth.command("nuscenes")
def nuscenes(
    context: typer.Context,
    dataroot: DataArgument,
    output: OutputOption,
    split: SplitOption = None,
    tables: Annotated[str, o.option("--tables NAME", o.READ, _TABLES_HELP)] = "v1.0-trainval",
    region: o.RegionOption = "60x30",
    rules: RulesOption = "streammapnet",
    every: EveryOption = 1,
    scenes: ScenesOption = None,
    tokens: o.TokensOption = None,
    centerlines: CenterlinesOption = False,
    whole: WholeOption = False,
    workers: o.WorkersOption = None,
    restart: RestartOption = False,
    to: o.ToOption = None,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Cut truth from nuScenes and its map expansion.

    Splits: train, val, mini-train, mini-val, and StreamMapNet's new-train and new-val.
    """
    from mapgauge.truth import nuscenes as cut
    from mapgauge.truth.selection import split_named

    if split is not None:
        valid("--split", split_named, "nuscenes", split)
    _make(context, cut, _settings(context, "nuscenes") | {"version": tables})


_EVERY_THROUGH_ALL_HELP = "Count --every through the frames of all scenes, as the public repositories do."
_HEIGHT_HELP = "Write points with their height, for the rules of public converters."


@truth.command("av2")
def av2(
    context: typer.Context,
    dataroot: DataArgument,
    output: OutputOption,
    split: SplitOption = None,
    region: o.RegionOption = "60x30",
    rules: RulesOption = "streammapnet",
    every: EveryOption = 1,
    every_through_all: Annotated[bool, o.option("--every-through-all", o.READ, _EVERY_THROUGH_ALL_HELP)] = False,
    height: Annotated[bool, o.option("--height", o.COMPUTED, _HEIGHT_HELP)] = False,
    scenes: ScenesOption = None,
    tokens: o.TokensOption = None,
    centerlines: CenterlinesOption = False,
    whole: WholeOption = False,
    workers: o.WorkersOption = None,
    restart: RestartOption = False,
    to: o.ToOption = None,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Cut truth from Argoverse 2 and the map of each log.

    Splits: train, val, test, and StreamMapNet's new-train and new-val.
    """
    from mapgauge.truth import argoverse2 as cut
    from mapgauge.truth.rules import rules_named, with_height

    settings = _settings(context, "argoverse2")
    if height:
        valid("--height", with_height, rules_named("argoverse2", rules))
    _make(context, cut, settings | {"height": height, "every_counts": "all" if every_through_all else "scene"})


_MAP_HELP = (
    "A map: GeoJSON, GeoParquet, GeoPackage, Shapefile, Lanelet2. Options follow its name: FILE,project=EPSG:32632."
)
_MAP_KEYS = ("properties", "rename", "project")


@truth.command("map")
def own_map(
    context: typer.Context,
    file: Annotated[Path, o.files_argument("FILE", _MAP_HELP)],
    output: OutputOption,
    poses: o.PosesOption = None,
    region: o.RegionOption = "60x30",
    rules: RulesOption = "plain",
    whole: WholeOption = False,
    to: o.ToOption = None,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Cut truth from a map of your own, at the poses of a drive.

    Classes are divider, boundary and ped_crossing. Other names: FILE,rename=kerb:boundary,properties=class:kind.
    """
    from mapgauge.truth import check_size
    from mapgauge.truth import own_map as cut
    from mapgauge.truth.rules import rules_named

    options = {key: value for key, value in options_of(file).items() if key != "format"}  # the content tells it
    for key in options:
        if key not in _MAP_KEYS:
            refuse(f"{file},{key}", f"a map has no option {key!r}. Options of a map: {', '.join(_MAP_KEYS)}")
    if poses is None:
        refuse("--poses", "is needed: a file of poses, or of frames that have poses")
    valid("--rules", rules_named, "map", rules)
    size = valid("--region", check_size, parse_region(region))
    check_targets([output], [file, poses])
    _check_format(output, to, ())
    with progress("cutting truth") as advance:
        frames = cut(file, poses, region=size, rules=rules, whole=whole, progress=advance, **options)
    _finish(context, frames, None)


@truth.command("rules")
def list_rules() -> None:
    """List the rules that --rules accepts."""
    from mapgauge.truth.rules import RULES

    for dataset in dict.fromkeys(dataset for dataset, _ in RULES):
        rows = [[row.name, row.about] for row in RULES.values() if row.dataset == dataset]
        show_table(Table(dataset, ["rules", "description"], rows, 2), gap=dataset != "nuscenes")


def _settings(context: typer.Context, dataset: str) -> dict[str, Any]:
    """Return the options as keyword arguments. Invalid values are usage errors, before any file is opened."""
    from mapgauge.io.files.source import read_tokens
    from mapgauge.truth import check_size
    from mapgauge.truth.rules import rules_named

    options = context.params
    valid("--rules", rules_named, dataset, options["rules"])
    given = [f"--{name}" for name in ("split", "scenes", "tokens") if options[name]]
    if len(given) > 1:
        refuse(given[1], f"give {' or '.join(given)}, not both")
    if options["whole"]:
        without_effect(context, ["centerlines", "height"], "with --global")
    kept = ("rules", "every", "centerlines", "whole", "workers", "restart")
    lists = options["tokens"] or []
    return {name: options[name] for name in kept} | {
        "split": options["split"] or "val",
        "region": valid("--region", check_size, parse_region(options["region"])),
        "scenes": listed(options["scenes"]) or None,
        "tokens": [token for file in lists for token in read_tokens(file)] if lists else None,
    }


def _make(context: typer.Context, cut: "Callable[..., MapFrames]", settings: dict[str, Any]) -> None:
    """Cut truth and write it. Finished scenes are kept beside the target until it is written."""
    to = context.params["to"]
    # The parameters of the context are texts before typer 0.29.
    dataroot = Path(context.params["dataroot"])
    output = Path(context.params["output"])
    lists = [Path(file) for file in context.params["tokens"] or ()]
    parts = output.parent / f"{output.name}.parts"
    check_targets([output], [dataroot, *lists], folders=[parts])
    _check_format(output, to, ("centerline",) if settings["centerlines"] else ())

    try:
        with progress("cutting truth") as advance:
            frames = cut(dataroot, parts=parts, progress=advance, **settings)
    except KeyboardInterrupt:
        _tell_kept(parts)
        raise
    _finish(context, frames, parts)


def _finish(context: typer.Context, frames: "MapFrames", parts: Path | None) -> None:
    """Print what was cut, and write it. Then the folder of finished scenes is not needed any more."""
    from mapgauge.io import write

    tell_findings(frames.findings)
    if not is_quiet():
        say(f"{frames.name}: {in_words(frames)[0]}")
    output = Path(context.params["output"])
    try:
        write(frames, output, context.params["to"])
    except MapgaugeError:
        if parts is not None:
            _tell_kept(parts)
        raise
    if parts is not None:
        shutil.rmtree(parts, ignore_errors=True)
    inform(f"written to {output}")
    exit_on(context.params["fail_on"], frames.findings)


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
