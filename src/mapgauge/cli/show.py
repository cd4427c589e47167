"""``mapgauge show``: draws one frame with its matches, or the frames of a scene."""

from collections.abc import Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mapgauge.cli import options as o
from mapgauge.cli.inputs import input_file
from mapgauge.cli.output import exit_on, inform, progress, say, warn_of
from mapgauge.cli.parsing import Texts, file_names, one_of, refuse, settings_of
from mapgauge.cli.reading import Reading
from mapgauge.cli.results_files import all_results, check_one_protocol, each_results, load_all
from mapgauge.cli.targets import check_figure, check_targets
from mapgauge.cli.words import printable
from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results

RANKS = ("worst", "best", "median")
PANELS = 12  # frames of a scene
OF_EVALUATION = (
    *(known.name for known in fields(Reading)),
    *("protocol", "cutoff", "chamfer", "frechet", "sospa", "spacing", "count", "classes", "crop", "ignore_unknown"),
)


def show(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Files of predictions and, as the last, the file of the truth. Or files of results.",
            parser=input_file,
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="File to write (.png, .svg or .pdf).", show_default=False),
    ],
    frame: Annotated[
        str,
        typer.Option(
            "--frame",
            metavar="TOKEN|worst|best|median",
            help="Frame to draw. Ranks are by the first value of frames in the first file, usually PLD.",
        ),
    ] = "worst",
    scene: Annotated[
        str | None,
        typer.Option(
            "--scene",
            metavar="NAME",
            help="Draw frames of this scene as small panels in the order of time.",
            show_default=False,
        ),
    ] = None,
    panels: Annotated[
        int | None,
        typer.Option(
            "--panels",
            metavar="N",
            help=f"Largest number of frames of the scene. They are evenly spread over it. Default: {PANELS}.",
            show_default=False,
        ),
    ] = None,
    side_by_side: Annotated[bool, typer.Option("--side-by-side", help="Draw the truth in a panel of its own.")] = False,
    forward: Annotated[
        str | None,
        typer.Option(
            "--forward",
            metavar="x|y",
            help="Axis that points forward. Default: that of the files, or x if they do not say.",
            callback=one_of("--forward", "x", "y"),
            show_default=False,
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            metavar="SHARE",
            help="Do not draw predictions with a lower confidence. Matches and values do not change.",
        ),
    ] = 0.0,
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TEXT", help="Title above the figure. Default: the token.", show_default=False),
    ] = None,
    style: o.StyleOption = "paper",
    protocol: o.ProtocolOption = "paper-60x30",
    cutoff: o.CutoffOption = None,
    chamfer: o.ChamferOption = None,
    frechet: o.FrechetOption = None,
    sospa: o.SospaOption = None,
    spacing: o.SpacingOption = None,
    count: o.CountOption = None,
    classes: o.ClassesOption = None,
    crop: o.CropOption = False,
    format: o.FormatOption = None,
    truth_format: o.TruthFormatOption = None,
    rotate: o.RotateOption = 0.0,
    auto_axes: o.AutoAxesOption = False,
    rename: o.RenameOption = None,
    rename_truth: o.RenameTruthOption = None,
    planar: o.PlanarOption = False,
    certain: o.CertainOption = False,
    unshrink: o.UnshrinkOption = False,
    properties: o.PropertiesOption = None,
    degenerate: o.DegenerateOption = "strict",
    ignore_unknown: o.IgnoreUnknownOption = False,
    name: o.NamesOption = None,
    workers: o.WorkersOption = None,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Draw one frame with its matches, or frames of a scene.

    From results, the geometry in the file or the evaluated files are drawn, with the protocol of the results.
    """
    from_results = all_results(files)
    if from_results:
        files = each_results(files)
    elif len(files) < 2:
        refuse("TRUTH", f"give predictions and truth, or results. {files[0]} is no file of results")
    if not 0 <= confidence <= 1:
        refuse("--confidence", f"must be from 0 to 1, got {confidence}")
    _check_scene(context, scene, panels)
    names = file_names(files if from_results else files[:-1], name)
    check_targets([output], files)
    check_figure(output)
    if from_results:
        methods = loaded_results(context, files, names)
    else:
        lists: dict[str, Any] = {"cutoff": cutoff, "chamfer": chamfer, "frechet": frechet, "sospa": sospa}
        settings = settings_of(protocol, **lists, spacing=spacing, count=count, classes=classes, crop=crop)
        chosen = frame if scene is None else _Scene(scene)
        methods = evaluated_results(
            settings, Reading.of(context), files, names, chosen, classes, ignore_unknown, workers
        )

    from mapgauge import plot

    shared: dict[str, Any] = {
        "region": methods[0].protocol.region,
        "names": names,
        "forward": forward,
        "confidence": confidence,
        "style": style,
    }
    if scene is None:
        drawn = _chosen(methods, frame)
        values = corners_of(methods, drawn)
        assignments = [method.assignment(drawn) for method in methods]
        shared["title"] = drawn if title is None else title
        figure = plot.frame(assignments, side_by_side=side_by_side, values=values, **shared)
    else:
        from mapgauge.results.scene_frames import scene_frames

        drawn = scene
        values = [_main_values(method.of_frames(scene_frames(method, scene))) for method in methods]
        shared["title"] = scene if title is None else title
        figure = plot.scene(methods, scene, count=PANELS if panels is None else panels, **shared)
    plot.save(figure, output)
    for called, found in zip(names, values, strict=True):
        say(
            f"{printable(drawn)}, {called}: " + ", ".join(f"{key} {value:.3f}" for key, value in found.items()),
            indent="  ",
        )
    inform(f"figure in {output}")
    exit_on(fail_on, [finding for method in methods for finding in method.findings])


class _Scene(str):
    """The name of a scene to evaluate, where other text is a frame."""

    __slots__ = ()


def _check_scene(context: typer.Context, scene: str | None, panels: int | None) -> None:
    """Refuse options of a frame with a scene, and the other way round."""
    if scene is None:
        if panels is not None:
            refuse("--panels", "is the number of frames of a scene. Give one: --scene NAME")
        return
    for option in ("frame", "side_by_side"):
        if (source := context.get_parameter_source(option)) is not None and source.name != "DEFAULT":
            refuse(f"--{option.replace('_', '-')}", "cannot be given with --scene")
    if panels is not None and panels < 1:
        refuse("--panels", f"must be at least 1, got {panels}")


def evaluated_results(
    settings: "Protocol",
    reading: Reading,
    files: Sequence[Path],
    names: Sequence[str],
    frame: "str | _Scene",
    classes: Texts,
    ignore_unknown: bool,
    workers: int | None,
) -> list["Results"]:
    """Evaluate predictions: all frames for a rank, or only the frame or the scene to draw."""
    if not settings.cutoffs:
        refuse("--cutoff", f"the protocol {settings.name} has no cutoff to match points by. Give one: --cutoff 1.5")

    from mapgauge import evaluate
    from mapgauge.results.scene_frames import scene_frames

    unknown: Literal["error", "ignore"] = "ignore" if ignore_unknown else "error"
    methods = []
    for called, x, y in reading.each(names, files[:-1], files[-1], classes):
        if isinstance(frame, _Scene):
            y = y.at(scene_frames(y, frame))
            x = x.at([x.index[token] for token in y.tokens if token in x])
        elif frame not in RANKS:
            x, y = _only(x, frame), _only(y, frame, needed=True)
        with progress(f"evaluating {called}") as advance:
            methods.append(evaluate(x, y, settings, unknown=unknown, workers=workers, progress=advance))
        warn_of(methods[-1].findings)
    return methods


def loaded_results(context: typer.Context, files: Sequence[Path], names: Sequence[str]) -> list["Results"]:
    """Load results with their geometry. Options that change how files are read or compared are refused."""
    given = [
        option
        for option in OF_EVALUATION
        if (source := context.get_parameter_source(option)) is not None and source.name != "DEFAULT"
    ]
    if given:
        options = ", ".join(f"--{option.replace('_', '-')}" for option in given)
        refuse(options, "cannot be given with results, which have been read and compared already")

    methods = load_all(files)
    for method in methods:
        warn_of(method.findings)
    check_one_protocol(names, methods)
    if not methods[0].protocol.cutoffs:
        raise InvalidInput(
            f"{files[0]}: the protocol {methods[0].protocol.name} has no cutoff to match points by",
            remedy="Give the files of predictions and truth, and --cutoff 1.5",
        )
    return [method.with_data() for method in methods]


def corners_of(methods: Sequence["Results"], token: str) -> list[dict[str, float]]:
    """Return the main values of one frame for each method: those of ``Results.frames``, and its mean AP."""
    corners = []
    for method in methods:
        alone = method.of_frames([method.tokens.index(token)])
        values = alone.mean | alone.frames(sort="token")[0]
        corners.append({key: value for key in method.metrics if (value := values[key]) is not None})
    return corners


def _main_values(results: "Results") -> dict[str, float]:
    """Return the main values of results that are there, as means over classes."""
    return {key: value for key in results.metrics if (value := results.mean.get(key)) is not None}


def _only(frames: "MapFrames", token: str, *, needed: bool = False) -> "MapFrames":
    """Return only one frame, so that no other is evaluated."""
    if token in frames.index:
        return frames.at([frames.index[token]])
    if needed:
        raise _no_frame(frames.name, token, frames.tokens)
    return frames.at([])


def _no_frame(name: str, token: str, tokens: Sequence[str]) -> InvalidInput:
    """Return the error for a token that does not exist."""
    near = get_close_matches(token, tokens, 3, 0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; the first is {tokens[0]}" if tokens else ""
    remedy = f"Give the token of a frame, or one of {', '.join(RANKS)}"
    return InvalidInput(f"{name}: no frame {token!r}{hint}", remedy=remedy)


def _chosen(methods: Sequence["Results"], frame: str) -> str:
    """Return the token of the frame to draw, which may be given by its rank. All methods must have it."""
    token = frame
    if frame in RANKS:
        rows = methods[0].frames()
        token = str(rows[{"worst": 0, "median": len(rows) // 2, "best": -1}[frame]]["token"])
    for method in methods:
        if token not in method.tokens:
            raise _no_frame(str(method.origin or "the results"), token, method.tokens)
    return token
