"""``mapgauge show``: draws one frame with its matches, or the frames of a scene."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.methods import Choose, Methods
from mapgauge.cli.output import exit_on, printable, save_figure, say
from mapgauge.cli.parsing import at_least, bounded, without_effect
from mapgauge.cli.targets import check_figure, check_targets
from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.results.results import Results

RANKS = ("worst", "best", "median")
PANELS = 12  # frames of a scene
_LISTED = 5  # tokens in an error


def show(
    context: typer.Context,
    files: o.MethodsArgument,
    output: Annotated[Path, o.output_option("FILE", "A figure (.png, .svg or .pdf).")],
    frame: Annotated[
        str,
        o.option(
            "--frame",
            "TOKEN|worst|best|median",
            o.DRAWN,
            "Frame to draw; the beginning of a token is enough. Ranks are by the first value of frames in the first "
            "file, usually PLD.",
        ),
    ] = "worst",
    scene: o.SceneOption = None,
    panels: Annotated[
        int | None,
        o.option(
            "--panels",
            "N",
            o.DRAWN,
            f"Largest number of frames of the scene. They are evenly spread over it. Default: {PANELS}.",
            callback=at_least("--panels", 1),
        ),
    ] = None,
    side_by_side: Annotated[bool, o.flag("--side-by-side", o.DRAWN, "Draw the truth in a panel of its own.")] = False,
    forward: Annotated[
        str | None,
        o.choice(
            "--forward",
            o.DRAWN,
            "Axis that points forward. Default: that of the files, or x if they do not say.",
            "x",
            "y",
        ),
    ] = None,
    confidence: Annotated[
        float,
        o.option(
            "--confidence",
            "SHARE",
            o.DRAWN,
            "Do not draw predictions with a lower confidence. Matches and values do not change.",
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

    if scene is not None:

        def of_scene(x: "MapFrames", y: "MapFrames") -> tuple["MapFrames", "MapFrames"]:
            y = y.at(scene_frames(y, scene))
            return x.at([x.index[token] for token in y.tokens if token in x]), y

        return of_scene
    if frame in RANKS:
        return None

    def of_frame(x: "MapFrames", y: "MapFrames") -> tuple["MapFrames", "MapFrames"]:
        token = _token(y.name, frame, y.tokens)
        return x.at([x.index[token]] if token in x.index else []), y.at([y.index[token]])

    return of_frame


def corners_of(methods: Sequence["Results"], token: str) -> list[dict[str, float]]:
    """Return the main values of one frame for each method: those of ``Results.frames``, and its mean AP."""
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
