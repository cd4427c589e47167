"""``mapgauge show``: draws frames with their matches."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from mapgauge.cli import options as o
from mapgauge.cli.command import command, without_effect
from mapgauge.cli.frames import pointing
from mapgauge.cli.methods import Choose, Methods
from mapgauge.cli.output import inform, printable, save_figure, say
from mapgauge.cli.parsing import refuse
from mapgauge.cli.slices import tags_of
from mapgauge.cli.targets import check_figure, check_targets
from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.results.query import Query
    from mapgauge.results.results import Results
    from mapgauge.results.tags import Tags

RANKS = ("worst", "best", "median")
_OTHERWISE = f"one of {', '.join(RANKS)}"  # what else than a token --frame takes
PANELS = 12  # frames of a scene
SHEET = 6  # frames of a sheet that meet a condition
MOST = 60  # frames of any sheet
ACROSS = 3  # frames side by side
_FRAME_HELP = (
    "Frame to draw: a token or its beginning, or worst, best or median. Frames are ranked by their first value in the "
    "first file, usually PLD. worst:6 draws a sheet of six. A condition, as in `frames --where`, draws the "
    f'{SHEET} worst frames that meet it, and "worst:12 where pld < 0.9" as many as it says.'
)
_RANKED = re.compile(
    r"\s*(?P<rank>worst|best|median)\s*(?::\s*(?P<count>\d{1,9}))?(?:\s+where\s+(?P<query>.+))?\s*", re.I
)
_CONDITION = re.compile(r"[<>=]|\b(?:not|in|and|or)\s", re.I)  # of other texts than tokens
_PANELS_HELP = f"With --scene: the largest number of frames, evenly spread over it. Default: {PANELS}."
_CONFIDENCE_HELP = (
    "Leave out predictions with a lower confidence. 0 draws all. The default is chosen so that, over all frames, at "
    "most twice as many predictions as true lines remain. Matches and values do not change."
)


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """The options of ``mapgauge show``."""

    files: o.MethodsArgument
    output: Annotated[Path, o.output_option("FILE", "A figure (.png, .svg or .pdf).")]
    frame: Annotated[str, o.option("--frame TOKEN|RANK|QUERY", o.DRAWN, _FRAME_HELP)] = "worst"
    scene: Annotated[str | None, o.scene_option("one frame is drawn")] = None
    panels: Annotated[int | None, o.option("--panels N", o.DRAWN, _PANELS_HELP, least=1)] = None
    side_by_side: Annotated[bool, o.option("--side-by-side", o.DRAWN, "Draw the truth in a panel of its own.")] = False
    confidence: Annotated[float | None, o.share_option("--confidence", o.DRAWN, _CONFIDENCE_HELP)] = None
    title: o.TitleOption = None
    style: o.StyleOption = "paper"
    protocol: o.ProtocolOption = None
    quiet: o.QuietOption = False


@command
def show(options: ShowOptions) -> None:
    """Draw one frame with its matches, or frames of a scene.

    From results, the geometry in the file or the evaluated files are drawn, with the protocol of the results.
    """
    sides = Methods.of("show", options.files, protocol=options.protocol)
    if options.scene is None:
        without_effect(options, ["panels"], "without --scene NAME")
    else:
        without_effect(options, ["frame", "side_by_side"], "with --scene, which draws several frames in small panels")
    check_targets([options.output], sides.files)
    check_figure(options.output)
    if options.scene is None:
        wanted = _wanted(options.frame)
    else:
        wanted = None
    faintest: list[float] = []
    methods = sides.load(cutoff=True, choose=_choose(options.frame, options.scene, wanted, faintest=faintest))
    if options.confidence is None:
        least = max(faintest or map(_least_drawn, methods))
    else:
        least = options.confidence
    shared: dict[str, Any] = {
        "names": sides.names,
        "confidence": least,
        "style": options.style,
        "region": methods[0].protocol.region,
    }
    if options.scene is not None:
        if options.panels is None:
            count = PANELS
        else:
            count = options.panels
        save_figure(_draw_scene(methods, options.scene, count, title=options.title, shared=shared), options.output)
        _tell_hidden(options, least)
        return
    tokens = _chosen(methods, options.frame, wanted, tags=tags_of(sides.files))
    if options.side_by_side and len(tokens) > 1:
        refuse("--side-by-side", "has no effect on several frames, which --frame chooses")
    shared["side_by_side"] = options.side_by_side
    shared["title"] = options.title
    if options.title is None:
        if len(tokens) > 1:
            shared["title"] = options.frame
        else:
            shared["title"] = tokens[0]
    save_figure(_draw_frames(methods, tokens, shared), options.output)
    _tell_hidden(options, least)


def _least_drawn(method: "Results") -> float:
    """Return the least confidence of a prediction that is drawn by default."""
    from mapgauge.views.report.drawings import least_confidence

    return least_confidence(method.scores.confidence, int(method.scores.true.sum()))


def _tell_hidden(options: ShowOptions, least: float) -> None:
    """Print from which confidence predictions are drawn, if the user did not choose it."""
    if options.confidence is None and least > 0:
        inform(f"predictions with a confidence below {least:g} are not drawn; --confidence 0 draws all")


def _draw_frames(methods: Sequence["Results"], tokens: Sequence[str], shared: dict[str, Any]) -> "Drawn":
    """Return a figure of one frame, or a sheet of several with a row per frame if there are several methods."""
    from mapgauge import plot
    from mapgauge.metrics.table import title_of

    names = shared["names"]
    assignments = []
    titled = []
    for token in tokens:
        values = corners_of(methods, token)
        _tell(token, names, methods, values=values)
        assignments += [method.assignment(token) for method in methods]
        for of_method in values:
            titled.append({title_of(key, protocol=methods[0].protocol): value for key, value in of_method.items()})
    if len(tokens) > 1 and len(methods) > 1:
        called = [f"{name}, {token}" for token in tokens for name in names]
        shared = shared | {"names": called, "columns": len(methods)}
    elif len(tokens) > 1:
        shared = shared | {"names": tokens, "columns": min(ACROSS, len(tokens))}
    return plot.frame(assignments, values=titled, **shared)


def _draw_scene(
    methods: Sequence["Results"], scene: str, count: int, title: str | None, shared: dict[str, Any]
) -> "Drawn":
    """Return a figure of frames of a scene."""
    from mapgauge import plot
    from mapgauge.results.scene_order import scene_frames

    means = [method.of_frames(scene_frames(method, scene)).mean for method in methods]
    values = [
        {key: value for key in method.metrics if (value := mean.get(key)) is not None}
        for method, mean in zip(methods, means, strict=True)
    ]
    _tell(scene, shared["names"], methods, values=values)
    return plot.scene(methods, scene, count=count, title=scene if title is None else title, **shared)


def _tell(
    drawn: str,
    names: Sequence[str],
    methods: Sequence["Results"],
    values: Sequence[Mapping[str, float]],
) -> None:
    """Print the values of what is drawn, a line for each method."""
    from mapgauge.metrics.table import setting_of

    for called, of_method, method in zip(names, values, methods, strict=True):
        texts = [f"{key}{setting_of(key, method.protocol)} {value:.3f}" for key, value in of_method.items()]
        text = ", ".join(texts) or "no predictions and no truth"
        say(f"{printable(drawn)}, {called}: {text}", indent="  ")


class _Wanted(NamedTuple):
    """A number of frames by rank, among all frames or the frames that meet a condition."""

    rank: str
    number: int
    query: "Query | None"


def _wanted(frame: str) -> _Wanted | None:
    """Return what a rank or a condition means; None for a token."""
    from mapgauge.results.query import parse

    match = _RANKED.fullmatch(frame)
    if match:
        text = match["query"]
    elif _CONDITION.search(frame):
        text = frame
    else:
        text = None
    if match is None and text is None:
        return None
    with pointing("--frame"):
        if text is None:
            query = None
        else:
            query = parse(text)
    if match:
        rank = match["rank"].lower()
    else:
        rank = "worst"
    if match and match["count"]:
        count = int(match["count"])
    elif match and query is None:
        count = 1
    else:
        count = SHEET
    if not 0 < count <= MOST:
        refuse("--frame", f"the number of frames must be from 1 to {MOST}, got {count}")
    return _Wanted(rank, count, query)


def _choose(frame: str, scene: str | None, wanted: _Wanted | None, faintest: list[float]) -> Choose | None:
    """Return the choice of the frame or the scene to draw; None if a rank or a condition needs all frames.

    Only chosen frames are evaluated, so the least confidence of all frames is added to ``faintest`` before.
    """
    from mapgauge.frames.tokens import token_meant
    from mapgauge.results.scene_order import scene_frames
    from mapgauge.views.report.drawings import least_confidence

    def choose(x: "MapFrames", y: "MapFrames") -> tuple["MapFrames", "MapFrames"]:
        if x.confidence is not None:
            faintest.append(least_confidence(x.confidence, len(y.label)))
        if scene is None:
            y = y.at([y.index[token_meant(y.name, frame, y.tokens, otherwise=_OTHERWISE)]])
        else:
            y = y.at(scene_frames(y, scene))
        return x.at([x.index[token] for token in y.tokens if token in x]), y

    if scene is None and wanted is not None:
        return None
    return choose


def corners_of(methods: Sequence["Results"], token: str) -> list[dict[str, float]]:
    """Return the main values of one frame for each method, as the table of frames and the report have them.

    PLD is of all classes together, by which frames are ranked. Values that a frame has only by class are means over
    the classes.
    """
    from mapgauge.metrics.pld import PLD

    key = PLD.main.key
    corners = []
    for method in methods:
        alone = method.of_frames([method.tokens.index(token)])
        values = {key: value for key in method.metrics if (value := alone.mean[key]) is not None}
        if key in values:
            values[key] = alone.frames(sort="token")[0][key]
        corners.append(values)
    return corners


def _chosen(methods: Sequence["Results"], frame: str, wanted: _Wanted | None, tags: "Tags | None" = None) -> list[str]:
    """Return the tokens of the frames to draw. All methods must have them."""
    from mapgauge.frames.tokens import no_such_frame, token_meant
    from mapgauge.results.frame_query import FrameTable

    if wanted is None or frame in methods[0].tokens:
        where = str(methods[0].origin or "the results")
        tokens = [token_meant(where, frame, methods[0].tokens, otherwise=_OTHERWISE)]
    else:
        table = FrameTable(methods[0], tags)
        with pointing("--frame"):
            if wanted.query is None:
                kept = None
            else:
                kept = table.where(wanted.query)
        ranked, *others = table.apart(table.ranked(None, kept))
        frames = ranked or [*others[0], *others[1]]  # frames without predictions or truth only if there are no others
        if not frames:
            raise InvalidInput(f"no frame of {len(methods[0].tokens)} meets the condition of --frame")
        middle = max(0, min(len(frames) // 2 - (wanted.number - 1) // 2, len(frames) - wanted.number))
        ordered = {"worst": frames, "best": frames[::-1], "median": frames[middle:]}[wanted.rank]
        tokens = [methods[0].tokens[number] for number in ordered[: wanted.number]]
    for method in methods:
        for token in tokens:
            if token not in method.tokens:
                where = str(method.origin or "the results")
                raise no_such_frame(where, token, method.tokens, otherwise=_OTHERWISE)
    return tokens
