"""``mapgauge errors``: which pieces of the road are not found, and where the worst places are."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli import output as out
from mapgauge.cli.methods import Methods
from mapgauge.cli.parsing import bounded, form_of, one_cutoff, valid
from mapgauge.cli.targets import check_figure, check_targets

if TYPE_CHECKING:
    from mapgauge.features.error_map.error_map import ErrorMap
    from mapgauge.features.error_map.places import ErrorPlace, Kind

_CONFIDENCE = "Least confidence: a prediction with a lower one does not find anything."
_TITLES = {
    "missed": "Not found, {name}",
    "beside": "Found, but beside the true line, {name}",
    "difference": "Not found by {name}, but by {first}",
}


def errors(
    context: typer.Context,
    files: o.MethodsArgument,
    output: Annotated[
        Path | None, o.output_option("FILE", "The pieces as lines, for QGIS and others (.geojson or .parquet).")
    ] = None,
    confidence: Annotated[
        float,
        o.option(
            "--confidence SHARE",
            o.COMPUTED,
            _CONFIDENCE,
            callback=bounded("--confidence", "from 0 to 1", lambda share: 0 <= share <= 1),
        ),
    ] = 0.0,
    cutoff: o.CutoffOption = None,
    poses: o.PosesOption = None,
    worst: Annotated[int, o.worst_option("connected runs of pieces of one class", least=0)] = 5,
    figure: Annotated[Path | None, o.figure_option("the road network, coloured by what is not found")] = None,
    title: o.TitleOption = None,
    protocol: o.ProtocolOption = None,
    workers: o.WorkersOption = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Show where on the map a method fails.

    The true lines of all frames are placed in the world by the poses of the frames and cut into pieces of half a metre.
    Each piece counts the frames that saw it and the frames that found it.
    """
    from mapgauge.features.error_map.writing import check_suffix

    form = form_of(json=json, csv=csv)
    length = None if cutoff is None else one_cutoff(cutoff, default=1.5)
    check_targets([output, figure], [*files, poses])
    if output is not None:
        valid("--output", check_suffix, output)
    check_figure(figure)
    sides = Methods.of(context, files)
    check_targets([output, figure], [*sides.files, poses])

    from mapgauge import error_map

    methods = sides.load(cutoff=True, metrics=("pld",))
    with out.progress("mapping errors") as advance:
        made = error_map(
            methods,
            names=sides.names,
            confidence=confidence,
            cutoff=length,
            poses=poses,
            workers=workers,
            progress=advance,
        )
    places = _places(made, worst)
    if form == "json":
        out.write_json(_document(made, places))
    elif form == "csv":
        out.write_csv([_row(name, rank, place) for name, _, rank, place in _each(places)], keys=_KEYS)
    else:
        _show(made, places)
    if output is not None:
        made.save(output)
        out.inform(f"error map in {output}")
    if figure is not None:
        from mapgauge import plot

        out.save_figure(plot.errors(made, title=title), figure)


_Places = dict[tuple[str, "Kind"], list["ErrorPlace"]]
_KEYS = (
    "name",
    "kind",
    "rank",
    "class_name",
    "x",
    "y",
    "length",
    "lost",
    "not_found",
    "low",
    "high",
    "offset",
    "frames",
    "scenes",
    "token",
)


def _places(made: "ErrorMap", count: int) -> _Places:
    """Return the worst places of each kind, of each method."""
    places: _Places = {}
    for k, name in enumerate(made.names):
        kinds: tuple[Kind, ...] = ("missed", "beside", "difference") if k else ("missed", "beside")
        for kind in kinds:
            places[name, kind] = made.worst(name, kind=kind, count=count)
    return places


def _each(places: _Places) -> list[tuple[str, str, int, "ErrorPlace"]]:
    return [
        (name, kind, rank, place) for (name, kind), some in places.items() for rank, place in enumerate(some, start=1)
    ]


def _row(name: str, rank: int, place: "ErrorPlace") -> dict[str, Any]:
    """Return a place as a row of CSV: one frame in place of all."""
    row = {"name": name, "kind": place.kind, "rank": rank} | place.to_dict()
    del row["tokens"]
    row["token"] = place.tokens[0]
    return row


def _document(made: "ErrorMap", places: _Places) -> dict[str, Any]:
    """Return everything for JSON."""
    from mapgauge.features.error_map.places import overall

    methods = []
    for name in made.names:
        document: dict[str, Any] = {"name": name} | overall(made, name)
        for (of, kind), some in places.items():
            if of == name:
                document[kind] = [place.to_dict() for place in some]
        methods.append(document)
    about = {"confidence": made.confidence, "cutoff": made.cutoff, "frames": len(made.tokens)}
    return about | {"pieces": len(made.pieces.x), "methods": methods}


def _show(made: "ErrorMap", places: _Places) -> None:
    """Print the overall values, the worst places, and a sentence for each method."""
    from mapgauge.features.error_map.places import interval_of, overall, sentence_of

    rows = []
    for name in made.names:
        values = overall(made, name)
        rows.append([name, f"{values['length'] / 1000:.2f}", _share(values["not_found"]), _share(values["flips"])])
    about = (
        f"Pieces of the map over {len(made.tokens):,} frames (found: matched within {made.cutoff:g} m, confidence at "
        f"least {made.confidence:g})"
    )
    out.show_table(out.Table(about, ["name", "road (km)", "not found ↓", "flips ↓"], rows), gap=False)
    for (name, kind), some in places.items():
        if not some:
            continue
        header = ["", "class", "x", "y", "metres", "not found", "beside (m)", "frames", "scenes"]
        if kind == "difference":
            header[5] = "difference"
        body = [
            [
                str(rank),
                place.class_name,
                f"{place.x:.0f}",
                f"{place.y:.0f}",
                f"{place.length:.0f}",
                interval_of(place),
                "-" if place.offset != place.offset else f"{place.offset:.2f}",
                f"{place.frames:,}",
                f"{place.scenes:,}" if place.scenes else "-",
            ]
            for rank, place in enumerate(some, start=1)
        ]
        out.show_table(out.Table(_TITLES[kind].format(name=name, first=made.names[0]), header, body, fixed=2))
    sentences = [sentence_of(some[0], name) for (name, _), some in places.items() if some]
    if sentences:
        out.say()
    for sentence in sentences:
        out.say(sentence)


def _share(value: float) -> str:
    return "-" if value != value else f"{100 * value:.1f} %"
