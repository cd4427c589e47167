"""``Format``: the type of a row in the table of formats, with the options of readers and what writers share."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np

from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.instances import is_box
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import survey
from mapgauge.geometry.projections import PROJECT, is_known_system, unit_of
from mapgauge.io.files.json_documents import MakeError
from mapgauge.io.files.source import Content
from mapgauge.typing import Degenerate, Flags, Forward

_GEOGRAPHIC = re.compile(r"CRS84|CRS83|CRS27|\b(?:4326|4979|4258|4269)\b")
_WKT = re.compile(r"\s*(?:BOUNDCRS\[\s*SOURCECRS\[|COMPOUNDCRS\[[^\[]*)?\s*([A-Z]+)\[", re.IGNORECASE)
_TO_METRES = Remedy(
    f"Project the coordinates: {PROJECT.python}. If they are metres already, remove the reference system with "
    "geopandas: data.set_crs(None, allow_override=True)",
    f"Project the coordinates: {PROJECT.shell}. If they are metres already, remove the reference system with ogr2ogr "
    "-a_srs none OUT IN",
)


def declared_system(crs: Any, error: MakeError, where: str, *, projected: bool, remedy: Remedy = _TO_METRES) -> str:
    """Return a declared reference system as text. One whose unit is known and not the metre must be projected."""
    if projected:
        unit = ""
    else:
        unit = _unit_of(crs)
    if isinstance(crs, dict) and isinstance(crs.get("properties"), dict):  # of a GeoJSON file of 2008
        crs = crs["properties"].get("name")
    if isinstance(crs, str):
        text = crs
    elif isinstance(crs, dict):
        text = msgspec.json.encode(crs).decode()
    else:
        text = ""
    if text and not unit and not projected:
        unit = unit_of(text)
    if unit == "degree":
        raise error(f"{where} is longitude and latitude, expected metres", remedy=remedy)
    if unit not in ("", "metre", "meter", "m"):
        raise error(f"{where} has the unit {unit}, expected metres", remedy=remedy)
    return text


def unknown_system(path: str, crs: str) -> list[Finding]:
    """Return a note if a file declares a reference system that is not known, so that its unit is not known either."""
    if not crs or is_known_system(crs):
        return []
    text = f"{path}: the reference system {crs[:60]!r} is not known. Its coordinates are taken as metres"
    return [Finding("note", "crs-unknown", text)]


def geometry_column(schema: Any, error: MakeError) -> str:
    """Return the name of the column of geometries in a schema of Arrow."""
    return str(_document((schema.metadata or {}).get(b"geo"), error, "geo").get("primary_column", "geometry"))


def system_of_schema(schema: Any, error: MakeError, name: str = "geometry") -> Any:
    """Return the reference system that a schema of Arrow declares for a column of geometries, or None.

    A file without a declaration is judged by its values. GeoParquet would take it as longitude and latitude.
    """
    columns = _document((schema.metadata or {}).get(b"geo"), error, "geo").get("columns")
    if isinstance(columns, dict):
        column = columns.get(name)
    else:
        column = None
    if isinstance(column, dict) and "crs" in column:
        return column["crs"]
    data = (schema.field(name).metadata or {}).get(b"ARROW:extension:metadata")
    return _document(data, error, "ARROW:extension:metadata").get("crs")


def _document(data: bytes | None, error: MakeError, name: str) -> dict[str, Any]:
    if not data:
        return {}
    try:
        return decode_json(data, dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError) as cause:
        raise error(f"broken Parquet: the metadata {name!r} are invalid: {cause}") from cause


def _unit_of(crs: Any) -> str:
    """Return the unit of the horizontal axes; an empty text if it is not known.

    >>> _unit_of("EPSG:4326"), _unit_of("EPSG:32632"), _unit_of('PROJCRS["a", BASEGEOGCRS["b", ID["EPSG", 4326]]]')
    ('degree', '', '')
    """
    if isinstance(crs, dict) and str(crs.get("type")).endswith("CRS"):  # PROJJSON
        inner = crs.get("source_crs") or next(iter(crs.get("components") or ()), None)
        if inner is not None:
            return _unit_of(inner)
        system = crs.get("coordinate_system")
        if isinstance(system, dict):
            axes = system.get("axis")
        else:
            axes = None
        if isinstance(axes, list) and axes and isinstance(axes[0], dict):
            unit = axes[0].get("unit")
        else:
            unit = None
        if unit is None and str(crs["type"]).startswith(("Geographic", "Geodetic")):
            return "degree"
        if isinstance(unit, dict):
            return str(unit.get("name", ""))
        return str(unit or "")
    if isinstance(crs, str):
        kind = _WKT.match(crs)
    else:
        kind = None
    if kind:
        if kind[1].upper() in ("GEOGCRS", "GEOGCS", "GEODCRS", "GEODETICCRS", "GEOGRAPHICCRS"):
            return "degree"
        return ""
    if _GEOGRAPHIC.search(str(crs)):
        return "degree"
    return ""


Classes: TypeAlias = Sequence[str] | Mapping[int, str] | Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the caller of ``read`` asked for."""

    classes: dict[int, str] | None = None  # replaces the class table of the format
    degenerate: Degenerate = "strict"
    extra: Mapping[str, Any] = field(default_factory=dict)  # keywords that only this format takes
    workers: int | None = None  # number of threads; None for one per processor


def class_table(classes: Classes) -> dict[int, str]:
    """Return class names by id, from a list of names, from ``{id: name}`` or from ``{name: id}``.

    >>> class_table(["divider", "boundary"]), class_table({"divider": 2})
    ({0: 'divider', 1: 'boundary'}, {2: 'divider'})
    """
    expected = "classes must be a list of names, {id: name} or {name: id}"
    if isinstance(classes, str) or not isinstance(classes, Sequence | Mapping):
        raise InvalidInput(f"{expected}, got {classes!r}")
    if isinstance(classes, Mapping):
        pairs = list(classes.items())
    else:
        pairs = list(enumerate(classes))
    table: dict[int, str] = {}
    first: object
    second: object
    for first, second in pairs:
        number, name = first, second
        if not isinstance(second, str):  # the names come first in {name: id}
            number, name = second, first
        if not isinstance(name, str) or isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise InvalidInput(f"{expected}, got {classes!r}")
        if int(number) in table:
            raise InvalidInput(f"classes: id {number} has two names, {table[int(number)]} and {name}")
        table[int(number)] = name
    return table


def known_ids(table: Mapping[int, str]) -> str:
    """Return a class table as text, for messages.

    >>> known_ids({1: "boundary", 0: "divider"})
    '0 divider, 1 boundary'
    """
    return ", ".join(f"{number} {name}" for number, name in sorted(table.items())) or "none"


# "longer": x or y, depending on the data set. The regions of such a format are longer forward than sideways.
FormatForward: TypeAlias = Forward | Literal["longer"] | None

_INSTANCES = 20  # number of instances needed to judge by the extent
_SHARE = 0.9  # share of the instances that the extent contains
_LONGER = 1.3  # an axis is longer than the other by at least this factor; regions have a factor of 2


def with_forward_of(frames: MapFrames, stated: FormatForward) -> MapFrames:
    """Return frames that were read, with the axis that points forward.

    If the extent contradicts what the format says, the axis is unknown: some programs write a format with the axes of
    another.
    """
    if frames.forward is not None or stated is None:
        return frames
    longer = longer_axis(frames)
    if stated == "longer":
        return frames.with_forward(longer)
    return frames.with_forward(stated if longer in (None, stated) else None)


def longer_axis(frames: MapFrames) -> Forward | None:
    """Return the axis along which the instances reach farther, or None if there is no clear difference."""
    lines: Flags | slice = slice(None)
    if frames.boxes:
        lines = ~is_box(frames)
    sizes = np.diff(frames.polylines.offsets)[lines]
    if len(sizes) < _INSTANCES or not sizes.all():
        return None
    x, y = np.quantile(survey(frames.polylines).reach[lines, :2], _SHARE, axis=0).tolist()
    if not (np.isfinite(x) and np.isfinite(y)):
        return None
    if x >= _LONGER * y:
        return "x"
    if y >= _LONGER * x:
        return "y"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One file format: everything the rest of the package knows about it."""

    name: str
    about: str  # one line: which files of which projects
    recognise: Callable[[Content], bool]
    read: Callable[[Content, ReadOptions], MapFrames]
    write: Callable[..., bytes] | None = None  # ``write(frames, names of numeric ids or None, **options)``
    holds_both: bool = False  # whether a file holds both sides: ``part="truth"`` reads the other one
    flags: bool = False  # whether it stores which lines are ignored
    suffix: str = ""  # a suffix that only files of this format have
    options: tuple[str, ...] = ()  # further keywords of ``read``
    write_options: tuple[str, ...] = ()  # further keywords of ``write``
    forward: FormatForward = None  # the axis that points forward; None if the format does not say
    order: int = 100  # of two formats that recognise a file, the one with the lower number reads it
    _: KW_ONLY
    project: str = ""  # whose program writes such files, in messages of the checks
    leaves_out_empty_frames: bool = False  # whether files of predictions lack the frames without any
    # The length and the width of a region in metres, and what they are in files of a format that shrinks coordinates.
    # Such a format has the option ``unshrink``.
    shrinks: tuple[tuple[float, float], tuple[float, float]] | None = None


def ids_of(frames: MapFrames, table: Sequence[str], override: dict[int, str] | None, format_name: str) -> list[int]:
    """Return the numeric id to write for each class; -1 for a class without instances that has no id."""
    numbers = {
        name: i for i, name in (enumerate(table) if override is None else sorted(override.items(), reverse=True))
    }
    boxes = [name for name in frames.boxes if frames.counts.get(name)]
    if boxes:
        raise InvalidInput(
            f"{format_name} cannot hold boxes in an image ({', '.join(boxes)})",
            remedy=Remedy("Leave them out with .select(), or write Parquet", "Write Parquet, which keeps them"),
        )
    unknown = [name for name, count in frames.counts.items() if count and name not in numbers]
    if unknown:
        raise InvalidInput(
            f"{format_name} has no id for the class {', '.join(unknown)}. Known: {', '.join(numbers)}",
            remedy=Remedy(
                "Rename the classes with .rename(), leave some out with .select(), or pass classes= with names and ids",
                "Rename the classes where the file is given: FILE,rename=OLD:NEW",
            ),
        )
    return [numbers.get(name, -1) for name in frames.classes]


def confidences_of(frames: MapFrames, format_name: str) -> list[float]:
    """Return the confidences, for a format that requires them."""
    if frames.confidence is None:
        raise InvalidInput(
            f"{format_name} holds predictions, and these frames have no confidence",
            remedy=Remedy(
                "Write a truth format, or call .with_confidence(1) first",
                "Write a truth format, or set the confidence to 1: FILE,certain",
            ),
        )
    return list(frames.confidence.tolist())


def check_tokens_differ(frames: MapFrames, format_name: str) -> None:
    """Refuse frames with equal tokens, for a format with one entry per token."""
    if len(frames.index) < len(frames):
        raise InvalidInput(f"{format_name} has one entry per token, and some tokens occur more than once")


def refuse_few_points(frames: MapFrames, where: str) -> None:
    """Refuse instances with fewer than two points, which ``read`` refuses as well."""
    few = np.flatnonzero(np.diff(frames.polylines.offsets) < 2)
    if len(few):
        raise InvalidInput(
            f"{where}: {len(few)} of {len(frames.polylines)} instances have fewer than 2 points, the first in frame "
            f"{frames.tokens[frames.frame[few[0]]]}, expected at least 2",
            remedy="Leave them out with frames.keep(numpy.diff(frames.polylines.offsets) > 1)",
        )


def refuse_ids(classes: dict[int, str] | None, where: str) -> None:
    """Refuse ``classes=`` for a format that has class names."""
    if classes is not None:
        raise InvalidInput(
            f"{where}: classes= is for formats with numeric ids; this format has class names",
            remedy=Remedy("Use .rename() instead", "Use FILE,rename=OLD:NEW instead"),
        )


def points_by_frame(frames: MapFrames) -> Iterator[list[list[Any]]]:
    """Yield the points of the instances of each frame as lists.

    One conversion per frame is faster than one per instance, and needs less memory than one for all frames.
    """
    starts = frames.polylines.offsets.tolist()
    coords = frames.polylines.coords
    for first, last in pairwise(frames.offsets.tolist()):
        begin = starts[first]
        points = coords[begin : starts[last]].tolist()
        yield [points[start - begin : stop - begin] for start, stop in pairwise(starts[first : last + 1])]
