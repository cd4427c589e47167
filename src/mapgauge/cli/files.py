"""``mapgauge inspect`` and ``mapgauge convert``: single files."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.datasets import convert_all, with_scenes_of
from mapgauge.cli.documents import write_json
from mapgauge.cli.output import paint, say, show_findings, warn
from mapgauge.cli.reading import Reading, check_files, contents_of, in_words, read_scenes
from mapgauge.cli.summary import show_results
from mapgauge.cli.targets import check_target

_ZIP = b"PK\x03\x04"  # how a file of results begins


def inspect(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Predictions, truth or results.", parser=o.given, show_default=False),
    ],
    format: o.FormatOption = None,
    degenerate: o.DegenerateOption = "strict",
    json: o.JsonOption = False,
) -> None:
    """Say what is in a file.

    Its format, frames, classes, confidences, extents, and what its reader noticed. Of results, the tables.
    """
    if format is None and _is_results(file):
        _inspect_results(file, json)
        return
    frames = Reading(format=format, degenerate=degenerate).predictions(file)
    if json:
        write_json(contents_of(frames) | {"findings": [asdict(finding) for finding in frames.findings]})
        return

    from mapgauge.io import FORMATS

    say(f"{paint(frames.name, 'bold')} ({frames.format}: {FORMATS[frames.format].about})", indent="  ")
    for line in in_words(frames):
        say(f"  {line}", indent="    ")
    show_findings(frames.findings)


def _is_results(file: Path) -> bool:
    try:
        if file.is_dir():
            from mapgauge.results.folder import is_folder

            return is_folder(file)
        with file.open("rb") as stream:
            return stream.read(len(_ZIP)) == _ZIP
    except OSError:
        return False  # the reader says what is wrong, better


def _inspect_results(file: Path, json: bool) -> None:
    from mapgauge import load_results

    results = load_results(file)
    if not json:
        say(f"{paint(str(file), 'bold')} (results of mapgauge {results.version}, protocol {results.protocol.name})")
        for side, read in zip(("predictions", "truth"), results.inputs, strict=True):
            say(f"  {side}: {read.name or 'from memory'}, {read.frames} frames, {sum(read.counts.values())} instances")
        show_findings(results.findings)
    show_results("json" if json else "text", [results], [file.stem])


def _writable(name: str | None) -> str | None:
    if name is not None:
        from mapgauge.io import format_named

        o.valid("--to", format_named, name)
    return name


def convert(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="IN", help="The file to read; several for a data set.", parser=o.given, show_default=False
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help="The file to write (.gz or .zst at its end compress), or a folder for a Parquet data set: OUT/.",
            show_default=False,
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="NAME",
            help="Format to write, unless the suffix says it (.parquet, .geojson).",
            callback=_writable,
            autocompletion=o.writable_formats,
            show_default=False,
        ),
    ] = None,
    format: o.FormatOption = None,
    rotate: o.RotateOption = 0.0,
    rename: o.RenameOption = None,
    planar: o.PlanarOption = False,
    certain: o.CertainOption = False,
    degenerate: o.DegenerateOption = "strict",
    scenes: Annotated[
        Path | None,
        typer.Option(
            "--scenes",
            metavar="FILE",
            help="Scenes to write: JSON from token to scene, or the truth.",
            show_default=False,
        ),
    ] = None,
    workers: o.WorkersOption = None,
) -> None:
    """Write a file in another format.

    A folder becomes a Parquet data set, sorted so that predictions and truth meet piece by piece: what `evaluate`
    reads on a cluster. Several files are converted at once.
    """
    reading = Reading.of(
        format=format, rotate=rotate, rename=rename, planar=planar, certain=certain, degenerate=degenerate
    )
    from mapgauge.files.places import is_folder_target
    from mapgauge.io import write

    folder = is_folder_target(target)
    if not folder:
        check_target(Path(target))
        if len(sources) > 1:
            o.refuse("OUT", f"several files become a data set, and that is a folder: {target}/")
    elif to not in (None, "parquet"):
        o.refuse("--to", f"a folder is a Parquet data set, not {to}")
    check_files(*sources)
    scene_of = None if scenes is None else read_scenes(scenes)
    if folder:
        convert_all(sources, target, reading, scene_of, workers)
        return
    frames = with_scenes_of(reading.predictions(sources[0]), scene_of)
    show_findings(frames.findings)
    write(frames, target, to)
    say(f"{sources[0]} ({frames.format}): {len(frames)} frames, {len(frames.polylines)} instances")
    warn(f"written to {target}")
