"""Declares the options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from mapgauge.cli.inputs import input_file
from mapgauge.cli.output import set_quiet
from mapgauge.cli.parsing import Texts, at_least_one, one_of, valid


def _cost(name: str, text: str) -> Any:
    return typer.Option(name, metavar="COST", help=text, show_default=False)


def _formats() -> list[str]:
    from mapgauge.io import FORMATS

    return list(FORMATS)


def writable_formats() -> list[str]:
    """Return the formats that can be written, for completion."""
    from mapgauge.io import FORMATS

    return [row.name for row in FORMATS.values() if row.write]


def _protocols() -> list[str]:
    from mapgauge.protocols import PROTOCOLS

    return list(PROTOCOLS)


def _metrics() -> list[str]:
    from mapgauge.metrics.table import METRICS

    return list(METRICS)


def _format(name: str | None) -> str | None:
    if name is not None:
        from mapgauge.io import format_named

        valid("--format", format_named, name)
    return name


PredictionsArgument: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="PREDICTIONS",
        help="One or more files of predictions. Options of a single file follow its name: FILE,rotate=-90,name=MapTR.",
        parser=input_file,
        show_default=False,
    ),
]
TruthArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="TRUTH", help="The file of the truth. It comes last.", parser=input_file, show_default=False
    ),
]
ResultsArgument: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="RESULTS",
        help="Files written by `mapgauge evaluate -o`, or folders of them. A name can follow: FILE,name=MapTR.",
        parser=input_file,
        show_default=False,
    ),
]

ProtocolOption: TypeAlias = Annotated[
    str,
    typer.Option("--protocol", "-p", help="Name of the settings; see `mapgauge protocols`.", autocompletion=_protocols),
]
ProtocolsOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--protocol",
        "-p",
        metavar="NAME,...",
        help="Names of the settings; see `mapgauge protocols`. With several, the files are read once, and there is one "
        "table.  [default: paper-60x30]",
        autocompletion=_protocols,
        show_default=False,
    ),
]
MetricsOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--metrics",
        metavar="NAME,...",
        help="Metrics to compute: pld, completeness, causes, track_pld, lane_graph_pld, network_pld, ap_chamfer, "
        "ap_frechet, ap_sospa, c_map, mas, det_l, det_l_ch, det_ls, det_a, det_t, top_ll, top_lt, ols, olus, ols_l, "
        "f_lane, geo, topo, jtopo, apls, sda, reach. "
        "Default: all that the protocol has settings for, but completeness and causes.",
        autocompletion=_metrics,
        show_default=False,
    ),
]
CutoffOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--cutoff",
        "-c",
        metavar="METRES,...",
        help="Cutoffs of PLD. Tables show the protocol's own.",
        show_default=False,
    ),
]
ChamferOption: TypeAlias = Annotated[
    Texts,
    typer.Option("--chamfer", metavar="METRES,...", help="Thresholds of Chamfer-AP.", show_default=False),
]
FrechetOption: TypeAlias = Annotated[
    Texts,
    typer.Option("--frechet", metavar="METRES,...", help="Thresholds of Fréchet-AP.", show_default=False),
]
SwitchCostOption: TypeAlias = Annotated[
    float | None, _cost("--switch-cost", "Also compute T-PLD, in which a switch of tracks has this cost, such as 0.5.")
]
LinkCostOption: TypeAlias = Annotated[
    float | None, _cost("--link-cost", "Also compute lane-graph PLD, in which a wrong link has this cost, such as 0.1.")
]
BreakCostOption: TypeAlias = Annotated[
    float | None,
    _cost("--break-cost", "Also compute network PLD, in which a break of a line has this cost, such as 0.5."),
]
SospaOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--sospa",
        metavar="SHARE,...",
        help="Thresholds of SOSPA-AP, on normalised SOSPA from 0 to 1 at the first cutoff.",
        show_default=False,
    ),
]
SpacingOption: TypeAlias = Annotated[
    float | None,
    typer.Option("--spacing", metavar="METRES", help="Distance between the points of a polyline.", show_default=False),
]
CountOption: TypeAlias = Annotated[
    int | None, typer.Option("--count", metavar="N", help="Number of points per polyline.", show_default=False)
]
ClassesOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--classes", metavar="NAME,...", help="Classes to compare. Default: those of the protocol.", show_default=False
    ),
]
RangesOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--ranges", metavar="METRES,...", help="Bounds of rings around the ego, such as 0,10,20,30.", show_default=False
    ),
]
CropOption: TypeAlias = Annotated[bool, typer.Option("--crop", help="Crop both sides to the region of the protocol.")]
RotateOption: TypeAlias = Annotated[
    float,
    typer.Option(
        "--rotate",
        metavar="DEGREES",
        help="Rotate the predictions, counter-clockwise from above. Use -90 for MapTR's nuScenes axes.",
        show_default=False,
    ),
]
AutoAxesOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--auto-axes",
        help="Turn predictions to the axes of the truth where it is certain how, and say so.",
    ),
]
FormatOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Format of the input; see `mapgauge formats`. Default: recognised from the content.",
        callback=_format,
        autocompletion=_formats,
        show_default=False,
    ),
]
TruthFormatOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--truth-format",
        metavar="NAME",
        help="Format of the truth. Default: recognised from the content.",
        callback=_format,
        autocompletion=_formats,
        show_default=False,
    ),
]
DegenerateOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--degenerate",
        metavar="strict|drop",
        help="Instances with fewer than two points or with numbers that are not finite: strict refuses the file, drop "
        "drops and counts them.",
        callback=one_of("--degenerate", "strict", "drop"),
        autocompletion=lambda: ["strict", "drop"],
    ),
]
RenameOption: TypeAlias = Annotated[
    Texts,
    typer.Option("--rename", metavar="OLD=NEW,...", help="Rename predicted classes.", show_default=False),
]
RenameTruthOption: TypeAlias = Annotated[
    Texts,
    typer.Option("--rename-truth", metavar="OLD=NEW,...", help="Rename true classes.", show_default=False),
]
PlanarOption: TypeAlias = Annotated[bool, typer.Option("--planar", help="Drop the z coordinate.")]
CertainOption: TypeAlias = Annotated[
    bool, typer.Option("--certain", help="Set the confidence of all predictions to 1.")
]
UnshrinkOption: TypeAlias = Annotated[
    bool, typer.Option("--unshrink", help="Undo the shrinking of VectorMapNet's files. Other files stay as they are.")
]
PropertiesOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--properties",
        metavar="NAME=FOUND,...",
        help="Names of the properties in GeoJSON files, such as frame=sample_token,class=kind.",
        show_default=False,
    ),
]
IgnoreUnknownOption: TypeAlias = Annotated[
    bool, typer.Option("--ignore-unknown", help="Ignore predicted frames that are not in the truth.")
]
WorkersOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="Number of threads or processes. Default: one per processor.",
        callback=at_least_one("--workers"),
        show_default=False,
    ),
]
NamesOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--name",
        metavar="NAME,...",
        help="Name of each file in the output. Default: the file names.",
        show_default=False,
    ),
]
SamplesOption: TypeAlias = Annotated[int, typer.Option("--samples", metavar="N", help="Number of bootstrap samples.")]
LevelOption: TypeAlias = Annotated[
    float, typer.Option("--level", metavar="SHARE", help="Confidence level of the intervals.")
]
SeedOption: TypeAlias = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the bootstrap.")]
PosesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--truth",
        metavar="FILE",
        help="File with the poses, scenes and time stamps of the frames, such as the truth. Default: those of the "
        "predictions.",
        parser=input_file,
        show_default=False,
    ),
]
ScenesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--scenes",
        metavar="FILE",
        help="File with the scenes, if the others have none: JSON from token to scene, or frames with scenes.",
        show_default=False,
    ),
]
StyleOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--style",
        metavar="paper|slides",
        help="Size of the figure and of its text.",
        callback=one_of("--style", "paper", "slides"),
        autocompletion=lambda: ["paper", "slides"],
    ),
]
FailOnOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="warning|error",
        help="Exit with code 1, after all work, if there are findings of this level or a more serious one.",
        callback=one_of("--fail-on", "warning", "error"),
        autocompletion=lambda: ["warning", "error"],
        show_default=False,
    ),
]
QuietOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print the document only: no progress, no notes, no names of written files. Warnings and errors stay.",
        callback=set_quiet,
    ),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
CsvOption: TypeAlias = Annotated[bool, typer.Option("--csv", help="Print CSV instead of text.")]
LatexOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--latex", help="Print one LaTeX table (booktabs) instead of text, with AP in percent and the best values bold."
    ),
]
FramesOption: TypeAlias = Annotated[
    int, typer.Option("--frames", metavar="N", help="Number of frames that the report can draw.")
]
