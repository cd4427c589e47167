"""``mapgauge show``: draws one frame with its matches."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from mapgauge.cli import options as o
from mapgauge.cli.output import progress, say, warn, warn_of
from mapgauge.cli.parsing import file_names, one_of, refuse, settings_of
from mapgauge.cli.reading import Reading
from mapgauge.cli.targets import check_figure, check_targets
from mapgauge.cli.words import printable
from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.plot.style import Style
    from mapgauge.results.results import Results

RANKS = ("worst", "best", "median")


def show(
    context: typer.Context,
    predictions: o.PredictionsArgument,
    truth: o.TruthArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="File to write (.png, .svg or .pdf).", show_default=False),
    ],
    frame: Annotated[
        str,
        typer.Option(
            "--frame", metavar="TOKEN|worst|best|median", help="Frame to draw. Ranks are by PLD of the first file."
        ),
    ] = "worst",
    side_by_side: Annotated[bool, typer.Option("--side-by-side", help="Draw the truth in a panel of its own.")] = False,
    forward: Annotated[
        str,
        typer.Option(
            "--forward", metavar="x|y", help="Axis that points forward.", callback=one_of("--forward", "x", "y")
        ),
    ] = "x",
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
    spacing: o.SpacingOption = None,
    count: o.CountOption = None,
    classes: o.ClassesOption = None,
    crop: o.CropOption = False,
    format: o.FormatOption = None,
    truth_format: o.TruthFormatOption = None,
    rotate: o.RotateOption = 0.0,
    rename: o.RenameOption = None,
    rename_truth: o.RenameTruthOption = None,
    planar: o.PlanarOption = False,
    certain: o.CertainOption = False,
    degenerate: o.DegenerateOption = "strict",
    ignore_unknown: o.IgnoreUnknownOption = False,
    name: o.NamesOption = None,
    workers: o.WorkersOption = None,
) -> None:
    """Draw one frame with its matches."""
    settings = settings_of(protocol, cutoff=cutoff, spacing=spacing, count=count, classes=classes, crop=crop)
    if not settings.cutoffs:
        refuse("--cutoff", f"the protocol {settings.name} has no cutoff to match points by. Give one: --cutoff 1.5")
    if not 0 <= confidence <= 1:
        refuse("--confidence", f"must be from 0 to 1, got {confidence}")
    reading = Reading.of(context)
    names = file_names(predictions, name)
    check_targets([output], [*predictions, truth])
    check_figure(output)

    from mapgauge import evaluate, plot

    unknown: Literal["error", "ignore"] = "ignore" if ignore_unknown else "error"
    methods = []
    for called, x, y in reading.each(names, predictions, truth, classes):
        if frame not in RANKS:
            x, y = _only(x, frame), _only(y, frame, needed=True)
        with progress(f"evaluating {called}") as advance:
            methods.append(evaluate(x, y, settings, unknown=unknown, workers=workers, progress=advance))
        warn_of(methods[-1].findings)
    token = _chosen(methods[0], frame)
    corners = corners_of(methods, token)
    figure = plot.frame(
        [method.assignment(token) for method in methods],
        side_by_side=side_by_side,
        region=settings.region,
        title=token if title is None else title,
        values=corners,
        names=names,
        forward=cast("Literal['x', 'y']", forward),
        confidence=confidence,
        style=cast("Style", style),
    )
    plot.save(figure, output)
    for called, corner in zip(names, corners, strict=True):
        say(
            f"{printable(token)}, {called}: " + ", ".join(f"{key} {value:.3f}" for key, value in corner.items()),
            indent="  ",
        )
    warn(f"figure in {output}")


def corners_of(methods: Sequence["Results"], token: str) -> list[dict[str, float]]:
    """Return the main values of one frame for each method: those of ``Results.frames``, and its mean AP."""
    corners = []
    for method in methods:
        alone = method.of_frames([method.tokens.index(token)])
        values = alone.mean | alone.frames(sort="token")[0]
        corners.append({key: value for key in method.metrics if (value := values[key]) is not None})
    return corners


def _only(frames: "MapFrames", token: str, *, needed: bool = False) -> "MapFrames":
    """Return only one frame, so that no other is evaluated."""
    if token in frames.index:
        return frames.at([frames.index[token]])
    if needed:
        near = get_close_matches(token, frames.tokens, 3, 0.6)
        hint = (
            f"; did you mean {' or '.join(near)}?" if near else f"; the first is {frames.tokens[0]}" if frames else ""
        )
        remedy = f"Give the token of a frame, or one of {', '.join(RANKS)}"
        raise InvalidInput(f"{frames.name}: no frame {token!r}{hint}", remedy=remedy)
    return frames.at([])


def _chosen(results: "Results", frame: str) -> str:
    """Return the token of the frame to draw, which may be given by its rank."""
    if frame not in RANKS:
        return frame
    from mapgauge.metrics.pld import PLD

    rows = results.frames(sort=PLD.main.key)
    place = {"worst": 0, "median": len(rows) // 2, "best": -1}[frame]
    return str(rows[place]["token"])
