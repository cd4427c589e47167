"""``mapgauge inspect``: prints what is in a file."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.contents import tell_frames
from mapgauge.cli.documents import write_json
from mapgauge.cli.output import paint, say, show_findings
from mapgauge.cli.parsing import path_or_url
from mapgauge.cli.reading import Reading
from mapgauge.cli.summary import show_results

_ZIP = b"PK\x03\x04"  # the first bytes of a file of results


def inspect(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="File of predictions, truth or results.", parser=path_or_url, show_default=False
        ),
    ],
    format: o.FormatOption = None,
    degenerate: o.DegenerateOption = "strict",
    json: o.JsonOption = False,
) -> None:
    """Print what is in a file.

    Prints the format, frames, classes, confidences, extents, and what the reader found. For results, prints the tables.
    """
    if format is None and _is_results(file):
        _inspect_results(file, json)
        return
    frames = Reading.of(context).predictions(file)
    if json:
        from mapgauge.display.contents import contents_of

        write_json(contents_of(frames) | {"findings": [asdict(finding) for finding in frames.findings]})
        return

    from mapgauge.io import FORMATS

    tell_frames(frames.name, f"({frames.format}: {FORMATS[frames.format].about})", frames)
    show_findings(frames.findings)


def _is_results(file: Path) -> bool:
    from mapgauge.files.kinds import is_plain_file

    try:
        if file.is_dir():
            from mapgauge.results.folder import is_folder

            return is_folder(file)
        if not is_plain_file(file):  # opening a pipe would wait for its writer
            return False
        with file.open("rb") as stream:
            return stream.read(len(_ZIP)) == _ZIP
    except OSError:
        return False  # reading the file raises a better error


def _inspect_results(file: Path, json: bool) -> None:
    from mapgauge import load_results

    results = load_results(file)
    if not json:
        say(f"{paint(str(file), 'bold')} (results of mapgauge {results.version}, protocol {results.protocol.name})")
        for side, read in zip(("predictions", "truth"), results.inputs, strict=True):
            say(f"  {side}: {read.name or 'from memory'}, {read.frames} frames, {sum(read.counts.values())} instances")
        show_findings(results.findings)
    show_results("json" if json else "text", [results], [file.stem])
