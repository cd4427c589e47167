"""``mapgauge inspect``: prints what is in files."""

from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.contents import tell_frames
from mapgauge.cli.documents import write_json
from mapgauge.cli.inputs import check_unnamed
from mapgauge.cli.output import distrust, exit_on, is_quiet, paint, printable, say, show_findings, warn, warn_of
from mapgauge.cli.reading import Reading, check_files
from mapgauge.cli.results_files import is_results
from mapgauge.cli.summary import show_results
from mapgauge.errors import MapgaugeError

if TYPE_CHECKING:
    from mapgauge.frames.findings import Finding
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.results.results import Results


def inspect(
    files: Annotated[list[Path], o.files_argument("FILE", "One or more files of predictions, truth or results.")],
    format: o.FormatOption = None,
    json: o.JsonOption = False,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Print what is in files.

    Prints the format, frames, classes, confidences, extents, and what the reader found. For results, prints the tables.
    """
    from mapgauge import load_results

    check_unnamed(*files)
    are_results = [format is None and is_results(file) for file in files]
    with nullcontext() if len(files) == 1 else suppress(MapgaugeError):  # of several files, the others are read
        check_files(*(file for file, there in zip(files, are_results, strict=True) if not there))
    documents: list[dict[str, Any]] = []
    findings: list[Finding] = []
    read = 0
    for file, there in zip(files, are_results, strict=True):
        try:
            found = load_results(file) if there else Reading(format).alone(file)
        except MapgaugeError as error:
            if len(files) == 1:
                raise
            warn(error.for_shell())
            continue
        read += 1
        findings += _findings(found)
        if json:
            documents.append(_document(found, file))
        else:
            if read > 1:
                say()
            _tell(found, file)
    if json:
        write_json(documents[0] if len(files) == 1 else documents)
    distrust(findings)
    if read < len(files):
        warn(f"{len(files) - read} of {len(files)} files could not be read")
        raise typer.Exit(1)
    exit_on(fail_on, findings)


def _document(found: "Results | MapFrames", file: Path) -> dict[str, Any]:
    """Return what a file holds as plain values for JSON."""
    from mapgauge.cli.contents import contents_of
    from mapgauge.results.results import Results

    if isinstance(found, Results):
        return {"name": file.stem} | found.to_dict()
    return contents_of(found) | {"findings": [asdict(finding) for finding in _findings(found)]}


def _findings(found: "Results | MapFrames") -> "list[Finding]":
    """Return the findings of results, or of the reader and of the checks of one side."""
    from mapgauge.checks import findings_of_side
    from mapgauge.results.results import Results

    return list(found.findings) if isinstance(found, Results) else findings_of_side(found)


def _tell(found: "Results | MapFrames", file: Path) -> None:
    """Print what a file holds."""
    from mapgauge.io import FORMATS
    from mapgauge.protocols import full_name
    from mapgauge.results.results import Results

    tell_findings = warn_of if is_quiet() else show_findings
    if not isinstance(found, Results):
        tell_frames(found.name, f"({found.format}: {FORMATS[found.format].about})", found)
        tell_findings(_findings(found))
        return
    protocol = printable(full_name(found.protocol))
    say(f"{paint(str(file), 'bold')} (results of mapgauge {found.version}, protocol {protocol})")
    for side, read in zip(("predictions", "truth"), found.inputs, strict=True):
        say(f"  {side}: {read.name or 'from memory'}, {read.frames} frames, {sum(read.counts.values())} instances")
    tell_findings(found.findings)
    show_results("text", [found], [file.stem])
