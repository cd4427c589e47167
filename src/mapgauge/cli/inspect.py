"""``mapgauge inspect``: prints what is in a file."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.contents import tell_frames
from mapgauge.cli.documents import write_json
from mapgauge.cli.inputs import input_file
from mapgauge.cli.output import paint, say, show_findings
from mapgauge.cli.reading import Reading
from mapgauge.cli.results_files import is_results
from mapgauge.cli.summary import show_results


def inspect(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="File of predictions, truth or results.", parser=input_file, show_default=False
        ),
    ],
    format: o.FormatOption = None,
    degenerate: o.DegenerateOption = "strict",
    json: o.JsonOption = False,
) -> None:
    """Print what is in a file.

    Prints the format, frames, classes, confidences, extents, and what the reader found. For results, prints the tables.
    """
    if format is None and is_results(file):
        _inspect_results(file, json)
        return
    from mapgauge.checks.tracks import of_side

    frames = Reading.of(context).predictions(file)
    findings = (*frames.findings, *of_side("predictions" if frames.confidence is not None else "truth", frames))
    if json:
        from mapgauge.display.contents import contents_of

        write_json(contents_of(frames) | {"findings": [asdict(finding) for finding in findings]})
        return

    from mapgauge.io import FORMATS

    tell_frames(frames.name, f"({frames.format}: {FORMATS[frames.format].about})", frames)
    show_findings(findings)


def _inspect_results(file: Path, json: bool) -> None:
    from mapgauge import load_results

    results = load_results(file)
    if not json:
        say(f"{paint(str(file), 'bold')} (results of mapgauge {results.version}, protocol {results.protocol.name})")
        for side, read in zip(("predictions", "truth"), results.inputs, strict=True):
            say(f"  {side}: {read.name or 'from memory'}, {read.frames} frames, {sum(read.counts.values())} instances")
        show_findings(results.findings)
    show_results("json" if json else "text", [results], [file.stem])
