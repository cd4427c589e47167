"""``mapgauge plot`` draws results as a figure, ``mapgauge report`` writes a page, ``mapgauge show`` draws frames."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.methods import Choose, Methods, with_data, with_data_if_there
from mapgauge.cli.output import exit_on, inform, printable, progress, save_figure, say
from mapgauge.cli.parsing import Texts, bounded, listed, refuse, without_effect
from mapgauge.cli.targets import check_figure, check_page, check_targets
from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.results.results import Results

# For each figure: the function of ``mapgauge.plot``, the options that it takes, and what it shows.
FIGURES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "parts": ("parts", (), "the parts of PLD"),
    "causes": ("causes", (), "PLD by cause"),
    "pr": ("precision_recall", ("metric", "threshold"), "precision over recall"),
    "histogram": ("histogram", ("value",), "a value over frames"),
    "ranges": ("ranges", (), "PLD over the distance from the ego"),
    "cutoffs": ("cutoffs", (), "PLD over the cutoff"),
    "calibration": ("calibration", ("metric", "threshold"), "the share of hits over the confidence"),
    "confidence": (
        "confidence",
        (),
        "PLD, precision, recall and AP over the threshold on the confidence, and calibration",
    ),
    "strip": ("strip", ("scene", "classes"), "the tracks of a scene over time"),
}
WITH_GEOMETRY = ("strip", "confidence")  # figures that need the evaluated files


def _figure(name: str) -> str:
    if name not in FIGURES:
        refuse("FIGURE", f"must be one of {', '.join(FIGURES)}, got {name!r}")
    return name


_METRIC_HELP = "Metric that decides what a hit is (pr; calibration, also pld). Default: the first AP of the results."
_THRESHOLD_HELP = "Threshold of a hit (pr, calibration). Default: a panel for each."
_VALUE_HELP = "Value of a frame (histogram), such as pld, missed or truth. Default: pld."


def plot(
    context: typer.Context,
    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE",
            help="; ".join(f"{name}: {about}" for name, (_, _, about) in FIGURES.items()) + ".",
            callback=_figure,
            autocompletion=lambda: list(FIGURES),
            show_default=False,
        ),
    ],
    files: o.MethodsArgument,
    output: Annotated[Path, o.output_option("FILE", "A figure (.png, .svg or .pdf).")],
    metric: Annotated[str | None, o.option("--metric NAME", o.DRAWN, _METRIC_HELP)] = None,
    threshold: Annotated[float | None, o.option("--threshold VALUE", o.DRAWN, _THRESHOLD_HELP)] = None,
    value: Annotated[str | None, o.option("--value KEY", o.DRAWN, _VALUE_HELP)] = None,
    scene: o.SceneOption = None,
    classes: Annotated[Texts, o.classes_option("all; only `strip` chooses")] = None,
    title: o.TitleOption = None,
    style: o.StyleOption = "paper",
    protocol: o.ProtocolOption = None,
    workers: o.WorkersOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Draw results as a figure.

    Each file is a method. To draw a frame, use `mapgauge show`.
    """
    function, takes, _ = FIGURES[figure]
    given = {
        "metric": metric,
        "threshold": threshold,
        "value": value,
        "scene": scene,
        "classes": listed(classes) or None,
    }
    chosen = {key: value for key, value in given.items() if value is not None}
    for key in chosen:
        if key not in takes:
            able = ", ".join(name for name, (_, options, _) in FIGURES.items() if key in options)
            refuse(f"--{key}", f"has no effect on the figure {figure}, only on {able}")
    sides = Methods.of(context, files)
    check_targets([output], sides.files)
    check_figure(output)
    methods = sides.load(data=False)
    drawn = figure in WITH_GEOMETRY or (figure == "calibration" and metric == "pld")
    drawn = drawn or (figure == "causes" and any("causes" not in method.metrics for method in methods))
    lacking = [method for method in methods if figure == "strip" and "track_pld" not in method.metrics]
    if sides.from_results and drawn and not lacking:  # a figure refuses what it cannot draw
        methods = [with_data(method, path) for method, path in zip(methods, sides.files, strict=True)]

    from mapgauge import plot as figures

    save_figure(getattr(figures, function)(methods, names=sides.names, title=title, style=style, **chosen), output)


_CAUSES_HELP = (
    "Whether to show the causes of PLD, and completeness. They need the geometry. Default: the causes, if "
    "there are at most 1,200,000 instances."
)


def report(
    context: typer.Context,
    files: o.MethodsArgument,
    output: Annotated[Path, o.output_option("FILE", "A page (.html).")],
    frames: o.FramesOption = 200,
    title: o.TitleOption = None,
    causes: Annotated[
        bool | None, o.option("--causes/--no-causes", o.COMPUTED, _CAUSES_HELP, show_default=False)
    ] = None,
    protocol: o.ProtocolOption = None,
    workers: o.WorkersOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Write results as an HTML page.

    The page draws frames if the results have the geometry (`evaluate --with-geometry`) or if the evaluated files still
    exist. Files that were moved are given with the results: RESULTS,predictions=FILE,truth=FILE.
    """
    check_targets([output], files)
    check_page("--output", output)
    sides = Methods.of(context, files)
    check_targets([output], sides.files)

    from mapgauge.report import write_report

    methods = sides.load(data=False)
    if sides.from_results:
        methods = [with_data_if_there(method, path) for method, path in zip(methods, sides.files, strict=True)]
    with progress("writing the report") as advance:
        write_report(methods, output, names=sides.names, frames=frames, title=title, causes=causes, progress=advance)
    inform(f"report in {output}")


RANKS = ("worst", "best", "median")
PANELS = 12  # frames of a scene
_LISTED = 5  # tokens in an error
_FRAME_HELP = (
    "Frame to draw; the beginning of a token is enough. Ranks are by the first value of frames in the first "
    "file, usually PLD."
)
_PANELS_HELP = f"Largest number of frames of the scene. They are evenly spread over it. Default: {PANELS}."
_FORWARD_HELP = "Axis that points forward. Default: the axis that the files name, or x."
_CONFIDENCE_HELP = "Do not draw predictions with a lower confidence. Matches and values do not change."


def show(
    context: typer.Context,
    files: o.MethodsArgument,
    output: Annotated[Path, o.output_option("FILE", "A figure (.png, .svg or .pdf).")],
    frame: Annotated[str, o.option("--frame TOKEN|worst|best|median", o.DRAWN, _FRAME_HELP)] = "worst",
    scene: o.SceneOption = None,
    panels: Annotated[int | None, o.option("--panels N", o.DRAWN, _PANELS_HELP, least=1)] = None,
    side_by_side: Annotated[bool, o.option("--side-by-side", o.DRAWN, "Draw the truth in a panel of its own.")] = False,
    forward: Annotated[str | None, o.choice("--forward", o.DRAWN, _FORWARD_HELP, "x", "y")] = None,
    confidence: Annotated[
        float,
        o.option(
            "--confidence SHARE",
            o.DRAWN,
            _CONFIDENCE_HELP,
            callback=bounded("--confidence", "from 0 to 1", lambda share: 0 <= share <= 1),
        ),
    ] = 0.0,
    title: o.TitleOption = None,
    style: o.StyleOption = "paper",
    protocol: o.ProtocolOption = None,
    workers: o.WorkersOption = None,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Draw one frame with its matches, or frames of a scene.

    From results, the geometry in the file or the evaluated files are drawn, with the protocol of the results.
    """
    sides = Methods.of(context, files)
    if scene is None:
        without_effect(context, ["panels"], "without --scene NAME")
    else:
        without_effect(context, ["frame", "side_by_side"], "with --scene, which draws several frames in small panels")
    check_targets([output], sides.files)
    check_figure(output)
    methods, names = sides.load(cutoff=True, choose=_choose(frame, scene)), sides.names

    from mapgauge import plot
    from mapgauge.metrics.table import setting_of, title_of
    from mapgauge.results.scene_order import scene_frames

    shared: dict[str, Any] = {"names": names, "forward": forward, "confidence": confidence, "style": style}
    shared |= {"region": methods[0].protocol.region}
    if scene is None:
        drawn = _chosen(methods, frame)
        values = corners_of(methods, drawn)
        shared["title"] = drawn if title is None else title
        shared["values"] = [
            {title_of(key, protocol=method.protocol): value for key, value in of_method.items()}
            for method, of_method in zip(methods, values, strict=True)
        ]
        figure = plot.frame([method.assignment(drawn) for method in methods], side_by_side=side_by_side, **shared)
    else:
        drawn = scene
        means = [method.of_frames(scene_frames(method, scene)).mean for method in methods]
        values = [
            {key: value for key in method.metrics if (value := mean.get(key)) is not None}
            for method, mean in zip(methods, means, strict=True)
        ]
        shared["title"] = scene if title is None else title
        figure = plot.scene(methods, scene, count=PANELS if panels is None else panels, **shared)
    for called, of_method, method in zip(names, values, methods, strict=True):
        texts = [f"{key}{setting_of(key, method.protocol)} {value:.3f}" for key, value in of_method.items()]
        say(f"{printable(drawn)}, {called}: {', '.join(texts)}", indent="  ")
    save_figure(figure, output)
    exit_on(fail_on, [finding for method in methods for finding in method.findings])


def _choose(frame: str, scene: str | None) -> Choose | None:
    """Return the choice of the frame or the scene to draw; None if a rank needs all frames."""
    from mapgauge.results.scene_order import scene_frames

    def choose(x: "MapFrames", y: "MapFrames") -> tuple["MapFrames", "MapFrames"]:
        y = y.at([y.index[_token(y.name, frame, y.tokens)]] if scene is None else scene_frames(y, scene))
        return x.at([x.index[token] for token in y.tokens if token in x]), y

    return None if scene is None and frame in RANKS else choose


def corners_of(methods: Sequence["Results"], token: str) -> list[dict[str, float]]:
    """Return the main values of one frame for each method: the values of ``Results.frames``, and its mean AP."""
    corners = []
    for method in methods:
        alone = method.of_frames([method.tokens.index(token)])
        values = alone.mean | alone.frames(sort="token")[0]
        corners.append({key: value for key in method.metrics if (value := values[key]) is not None})
    return corners


def _token(name: str, text: str, tokens: Sequence[str]) -> str:
    """Return the token that a text means: the token itself, its beginning, or its ends as findings print them."""
    if text in tokens:
        return text
    head, _, tail = text.replace("...", "…").partition("…")
    fitting = [token for token in tokens if head and token.startswith(head) and token.endswith(tail)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        more = f" and {len(fitting) - _LISTED} more" if len(fitting) > _LISTED else ""
        raise InvalidInput(
            f"{name}: {text!r} fits {len(fitting)} frames: {', '.join(fitting[:_LISTED])}{more}",
            remedy="Give more letters of the token",
        )
    raise _no_frame(name, text, tokens)


def _no_frame(name: str, token: str, tokens: Sequence[str]) -> InvalidInput:
    """Return the error for a token that does not exist."""
    near = get_close_matches(token, tokens, 3, 0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; the first is {tokens[0]}" if tokens else ""
    remedy = f"Give the token of a frame, or one of {', '.join(RANKS)}"
    return InvalidInput(f"{name}: no frame {token!r}{hint}", remedy=remedy)


def _chosen(methods: Sequence["Results"], frame: str) -> str:
    """Return the token of the frame to draw, which may be given by its rank. All methods must have it."""
    if frame in RANKS:
        rows = methods[0].frames()
        token = str(rows[{"worst": 0, "median": len(rows) // 2, "best": -1}[frame]]["token"])
    else:
        token = _token(str(methods[0].origin or "the results"), frame, methods[0].tokens)
    for method in methods:
        if token not in method.tokens:
            raise _no_frame(str(method.origin or "the results"), token, method.tokens)
    return token
