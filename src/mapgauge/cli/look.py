"""``mapgauge show`` and ``mapgauge report``: the picture that explains a number."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from mapgauge.cli import options as o
from mapgauge.cli.output import progress, say, warn, warn_of
from mapgauge.cli.reading import Reading, check_classes, check_files, file_names
from mapgauge.cli.targets import check_target
from mapgauge.cli.words import printable
from mapgauge.errors import InvalidInput, MapgaugeError

if TYPE_CHECKING:
    from typing import Literal

    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.results.results import Results

RANKS = ("worst", "best", "median")


def _forward(axis: str) -> str:
    if axis not in ("x", "y"):
        o.refuse("--forward", f"must be x or y, got {axis!r}")
    return axis


def show(
    predictions: o.PredictionsArgument,
    truth: o.TruthArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The figure: .png, .svg or .pdf.", show_default=False),
    ],
    frame: Annotated[
        str,
        typer.Option(
            "--frame", metavar="TOKEN|worst|best|median", help="Which frame; ranks are by PLD of the first file."
        ),
    ] = "worst",
    side_by_side: Annotated[bool, typer.Option("--side-by-side", help="Truth in a panel of its own.")] = False,
    forward: Annotated[
        str, typer.Option("--forward", metavar="x|y", help="The axis that points forward.", callback=_forward)
    ] = "x",
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
    """Draw one frame and what was matched in it."""
    settings = o.settings_of(protocol, cutoff=cutoff, spacing=spacing, count=count, classes=classes, crop=crop)
    if not settings.cutoffs:
        o.refuse("--cutoff", f"the protocol {settings.name} has no cutoff to match points by. Give one: --cutoff 1.5")
    reading = Reading.of(
        format=format,
        truth_format=truth_format,
        rotate=rotate,
        rename=rename,
        rename_truth=rename_truth,
        planar=planar,
        certain=certain,
        degenerate=degenerate,
    )
    names = file_names(predictions, name)
    check_target(output)

    from mapgauge import evaluate, plot

    check_files(*predictions, truth)
    y = reading.truth(truth)
    methods = []
    for called, path in zip(names, predictions, strict=True):
        x = reading.predictions(path)
        check_classes(classes, x.name, y.classes, x.classes)
        if frame not in RANKS:
            x, y = _only(x, frame), _only(y, frame, needed=True)
        with progress(f"evaluating {called}") as advance:
            methods.append(
                evaluate(
                    x,
                    y,
                    settings,
                    unknown="ignore" if ignore_unknown else "error",
                    workers=workers,
                    progress=advance,
                )
            )
        warn_of(methods[-1].findings)
    token = _chosen(methods[0], frame)
    corners = corners_of(methods, token)
    figure = plot.frame(
        [method.assignment(token) for method in methods],
        side_by_side=side_by_side,
        region=settings.region,
        title=token,
        values=corners,
        names=names,
        forward=cast("Literal['x', 'y']", forward),
    )
    plot.save(figure, output)
    for called, corner in zip(names, corners, strict=True):
        say(
            f"{printable(token)}, {called}: " + ", ".join(f"{key} {value:.3f}" for key, value in corner.items()),
            indent="  ",
        )
    warn(f"figure in {output}")


def corners_of(methods: Sequence["Results"], token: str) -> list[dict[str, float]]:
    """The main values of one frame, for each method: the values of ``Results.frames``, and the frame's mean AP."""
    corners = []
    for method in methods:
        alone = method.of_frames([method.tokens.index(token)])
        values = alone.mean | alone.frames(sort="token")[0]
        corners.append({key: value for key in method.metrics if (value := values[key]) is not None})
    return corners


def _only(frames: "MapFrames", token: str, *, needed: bool = False) -> "MapFrames":
    """One frame, so that no other needs to be evaluated."""
    if token in frames.index:
        return frames.at([frames.index[token]])
    if needed:
        near = get_close_matches(token, frames.tokens, 3, 0.6)
        hint = (
            f"Did you mean {' or '.join(near)}?" if near else f"The first is {frames.tokens[0]}." if len(frames) else ""
        )
        raise InvalidInput(f"{frames.name}: no frame {token!r}. {hint} Or say {', '.join(RANKS)}")
    return frames.at([])


def _chosen(results: "Results", frame: str) -> str:
    """The token of a frame given by its rank."""
    if frame not in RANKS:
        return frame
    rows = results.frames(sort="pld")
    place = {"worst": 0, "median": len(rows) // 2, "best": -1}[frame]
    return str(rows[place]["token"])


def report(
    results: o.ResultsArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page (.html).", show_default=False)
    ],
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            "--predictions",
            metavar="FILE",
            help="What was evaluated, once per RESULTS; the recorded files if not given.",
            show_default=False,
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option("--truth", metavar="FILE", help="The truth; the recorded file if not given.", show_default=False),
    ] = None,
    frames: Annotated[int, typer.Option("--frames", metavar="N", help="How many frames can be looked at.")] = 200,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Of the page.", show_default=False)
    ] = None,
    format: o.FormatOption = None,
    truth_format: o.TruthFormatOption = None,
    rotate: o.RotateOption = 0.0,
    rename: o.RenameOption = None,
    rename_truth: o.RenameTruthOption = None,
    planar: o.PlanarOption = False,
    certain: o.CertainOption = False,
    degenerate: o.DegenerateOption = "strict",
    name: o.NamesOption = None,
) -> None:
    """Write a page to explore results.

    Frames are drawn if the files that the results came from are still there, or are given.
    """
    if predictions and len(predictions) != len(results):
        o.refuse("--predictions", f"must be given once per RESULTS, {len(results)} times, got {len(predictions)}")
    if frames < 0:
        o.refuse("--frames", f"must be at least 0, got {frames}")
    reading = Reading.of(
        format=format,
        truth_format=truth_format,
        rotate=rotate,
        rename=rename,
        rename_truth=rename_truth,
        planar=planar,
        certain=certain,
        degenerate=degenerate,
    )
    names = file_names(results, name)
    check_target(output)

    from mapgauge.report import write_report

    given: Sequence[Path | None] = predictions or [None] * len(results)
    methods = [_with_data(path, reading, x, truth) for path, x in zip(results, given, strict=True)]
    write_report(methods, output, names=names, frames=frames, title=title)
    warn(f"report in {output}")


def _with_data(path: Path, reading: Reading, predictions: Path | None, truth: Path | None) -> "Results":
    """Results with the geometry they came from; without it, and a warning, if the recorded files cannot be used.

    Files given as options must be the right ones. Recorded files may be gone, or may have changed since.
    """
    from mapgauge import load_results

    results = load_results(path)
    try:
        if predictions is None and truth is None and results.data is not None:
            return results  # a work folder knows its own files
        x, y = (
            Path(recorded.name) if given is None else given
            for given, recorded in zip((predictions, truth), results.inputs, strict=True)
        )
        return load_results(path, reading.predictions(x), reading.truth(y))
    except MapgaugeError as error:
        if predictions is not None or truth is not None:
            raise
        warn(
            f"{path}: frames are not drawn: {error.for_shell()}. "
            "Give --predictions and --truth, with the options used originally"
        )
        return results.with_data(None)
