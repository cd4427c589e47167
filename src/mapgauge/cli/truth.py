"""``mapgauge truth``: cuts ground truth from the maps of a data set."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from mapgauge.cli import options as o
from mapgauge.cli.inspect import in_words
from mapgauge.cli.output import Table, exit_on, inform, progress, say, show_findings, show_table, warn, warn_of
from mapgauge.cli.parsing import Texts, at_least_one, listed, parse_region, refuse, valid, without_effect
from mapgauge.cli.targets import check_targets
from mapgauge.errors import MapgaugeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapgauge.frames.map_frames import MapFrames

truth = typer.Typer(
    name="truth",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Cut ground truth from the maps of a data set.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


DataArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="DATAROOT", help="Folder of the data set.", show_default=False)
]
OutputOption: TypeAlias = Annotated[
    Path, o.output_option("FILE", "A file; those that end in .gz and .zst are compressed.")
]
RulesOption: TypeAlias = Annotated[
    str,
    o.option(
        "--rules",
        "NAME",
        o.COMPUTED,
        "How to make truth from a map; see `mapgauge truth rules`.",
        show_default=True,
    ),
]
SplitOption: TypeAlias = Annotated[str | None, o.option("--split", "NAME", o.READ, "Split to cut; val by default.")]
ScenesOption: TypeAlias = Annotated[
    Texts, o.option("--scenes", "NAME,...", o.READ, "Scenes to cut, instead of a split.")
]
TokensOption: TypeAlias = Annotated[
    Path | None, o.option("--tokens", "FILE", o.READ, "File with one frame token per line, instead of a split.")
]
EveryOption: TypeAlias = Annotated[
    int,
    o.option(
        "--every",
        "N",
        o.READ,
        "Take every N-th frame of a scene.",
        callback=at_least_one("--every"),
        show_default=True,
    ),
]
CenterlinesOption: TypeAlias = Annotated[
    bool, o.flag("--centerlines", o.COMPUTED, "Also cut the centrelines of lanes, with links to their successors.")
]
EveryCountsOption: TypeAlias = Annotated[
    bool,
    o.flag(
        "--every-through-all",
        o.READ,
        "Count --every through the frames of all scenes, as the public repositories do.",
    ),
]
HeightOption: TypeAlias = Annotated[
    bool,
    o.flag("--height", o.COMPUTED, "Write points with their height, for the rules of public converters."),
]
RestartOption: TypeAlias = Annotated[
    bool,
    o.flag("--restart", o.WORK, "Delete the finished scenes of an interrupted run, and cut all scenes again."),
]


@truth.command("nuscenes")
def nuscenes(
    dataroot: DataArgument,
    output: OutputOption,
    split: SplitOption = None,
    tables: Annotated[
        str, o.option("--tables", "NAME", o.READ, "Folder of the tables, with the version.", show_default=True)
    ] = "v1.0-trainval",
    region: o.RegionOption = "60x30",
    rules: RulesOption = "streammapnet",
    every: EveryOption = 1,
    scenes: ScenesOption = None,
    tokens: TokensOption = None,
    centerlines: CenterlinesOption = False,
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

    if split is not None:
        from mapgauge.truth.selection import split_named

        valid("--split", split_named, "nuscenes", split)
    settings = _settings("nuscenes", split, region, rules, every, scenes, tokens)
    _make(
        cut,
        dataroot,
        output,
        to,
        fail_on,
        quiet,
        version=tables,
        centerlines=centerlines,
        workers=workers,
        restart=restart,
        **settings,
    )


@truth.command("av2")
def av2(
    context: typer.Context,
    dataroot: DataArgument,
    output: OutputOption,
    split: SplitOption = None,
    region: o.RegionOption = "60x30",
    rules: RulesOption = "streammapnet",
    every: EveryOption = 1,
    every_through_all: EveryCountsOption = False,
    height: HeightOption = False,
    scenes: ScenesOption = None,
    tokens: TokensOption = None,
    centerlines: CenterlinesOption = False,
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

    if every == 1:
        without_effect(context, ["every_through_all"], "without --every N")
    settings = _settings("argoverse2", split, region, rules, every, scenes, tokens)
    if height:
        from mapgauge.truth.rules import rules_named, with_height

        valid("--height", with_height, rules_named("argoverse2", rules))
    settings |= {"height": height, "every_counts": "all" if every_through_all else "scene"}
    _make(
        cut, dataroot, output, to, fail_on, quiet, centerlines=centerlines, workers=workers, restart=restart, **settings
    )


@truth.command("rules")
def list_rules() -> None:
    """List the rules that --rules accepts."""
    from mapgauge.truth.rules import RULES

    for dataset in dict.fromkeys(dataset for dataset, _ in RULES):
        rows = [[row.name, row.about] for row in RULES.values() if row.dataset == dataset]
        show_table(Table(dataset, ["rules", "description"], rows, 2), gap=dataset != "nuscenes")


def _settings(
    dataset: str, split: str | None, region: str, rules: str, every: int, scenes: Texts, tokens: Path | None
) -> dict[str, Any]:
    """Return the options as keyword arguments. Invalid values are usage errors, before any file is opened."""
    from mapgauge.truth import check_size
    from mapgauge.truth.rules import rules_named

    valid("--rules", rules_named, dataset, rules)
    given = [name for name, value in (("--split", split), ("--scenes", scenes), ("--tokens", tokens)) if value]
    if len(given) > 1:
        refuse(given[1], f"give {' or '.join(given)}, not both")
    size = valid("--region", check_size, parse_region(region))
    return {
        "split": split or "val",
        "region": size,
        "rules": rules,
        "every": every,
        "scenes": listed(scenes) or None,
        "tokens": tokens,
    }


def _make(
    cut: "Callable[..., MapFrames]",
    dataroot: Path,
    output: Path,
    to: str | None,
    fail_on: str | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """Cut truth and write it. Finished scenes are kept beside the target until it is written."""
    parts = output.parent / f"{output.name}.parts"
    check_targets([output], [dataroot, settings["tokens"]], folders=[parts])
    _check_format(output, to, ("centerline",) if settings["centerlines"] else ())
    from mapgauge.io import write

    try:
        with progress("cutting truth") as advance:
            frames = cut(dataroot, parts=parts, progress=advance, **settings)
    except KeyboardInterrupt:
        _tell_kept(parts)
        raise
    if quiet:
        warn_of(frames.findings)
    else:
        show_findings(frames.findings)
        say(f"{frames.name}: {in_words(frames)[0]}")
    try:
        write(frames, output, to)
    except MapgaugeError:
        _tell_kept(parts)
        raise
    shutil.rmtree(parts, ignore_errors=True)
    inform(f"written to {output}")
    exit_on(fail_on, frames.findings)


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
