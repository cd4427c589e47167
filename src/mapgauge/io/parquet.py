"""Parquet: a schema of mapgauge that keeps everything in ``MapFrames`` and loads fast.

There is one row per instance, sorted by frame. A frame without instances is one row without class and geometry. The
geometry is a list of structs of x and y. With doubles it is a GeoArrow linestring, so that GIS tools can open the file.
``docs/reference/parquet.md`` describes the columns. Files of other programs can be read if they have ``token``,
``class`` and ``geometry``.
"""

from typing import Any

import msgspec
import numpy as np

from mapgauge.dependencies import pyarrow_modules
from mapgauge.frames.columns import TEXTS, Values, stored_columns
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._columns import InstanceColumns, check_corners
from mapgauge.io._format import Format, ReadOptions, refuse_ids
from mapgauge.io._parquet_columns import ParquetColumns, link_lists, link_type, read_links
from mapgauge.io._parquet_file import AXES, VERSION, Metadata
from mapgauge.io.files.places import is_geoparquet_map
from mapgauge.io.files.source import Content
from mapgauge.typing import Indices, Points

GROUP_ROWS = 1 << 15  # most rows of a row group, unless a single frame has more
# A frame counts as at least this number of rows. The groups of predictions and truth then have 256 frames each, and the
# groups of the two sides do not overlap.
FRAME_ROWS = 128


def write(
    frames: MapFrames,
    override: dict[int, str] | None = None,
    *,
    group_rows: int | None = None,
    frame_rows: int = FRAME_ROWS,
) -> bytes:
    """Return the bytes of a Parquet file.

    A row group has at most ``group_rows`` rows, ``GROUP_ROWS`` by default, unless a single frame has more. A frame
    counts as at least ``frame_rows`` rows.
    """
    if group_rows is None:
        group_rows = GROUP_ROWS
    refuse_ids(override, "parquet")
    pa, pq = pyarrow_modules()
    sink = pa.BufferOutputStream()
    numbers = [f"geometry.list.element.{axis}" for axis in AXES[: frames.dimension]]
    if frames.confidence is not None:
        numbers += ["confidence"]
    schema = _schema(frames)
    repetitive = ["frame", "token", "scene", "timestamp", "class"]  # columns whose values repeat
    repetitive += [column.name for column in stored_columns() if column.kind in TEXTS]
    repetitive = [name for name in schema.names if name in repetitive]
    repetitive += [f"links.list.element.{name}" for name in ("target", "weight", "kind") if "links" in schema.names]
    with pq.ParquetWriter(
        sink,
        schema,
        column_encoding=dict.fromkeys(numbers, "BYTE_STREAM_SPLIT"),  # the first bytes of numbers are similar
        use_dictionary=repetitive,
        compression="lz4",  # zstd makes files an eighth smaller, but decoding takes half as long again
        data_page_size=1 << 22,  # large pages compress better and load faster; single rows are never looked up
        write_page_checksum=True,
    ) as writer:
        for first, last in _groups(frames, group_rows, frame_rows):
            table = _table(frames, first, last, schema=schema)
            writer.write_table(table, row_group_size=len(table))
    return bytes(sink.getvalue().to_pybytes())


def _schema(frames: MapFrames) -> Any:
    pa, _ = pyarrow_modules()
    names = pa.dictionary(pa.int32(), pa.string())
    # Models compute float32 numbers. These take half the time to decode. Truth is always GeoArrow, which has doubles.
    single = frames.confidence is not None and _are_float32(frames.polylines.coords)
    if single:
        number = pa.float32()
    else:
        number = pa.float64()
    point = pa.struct([pa.field(axis, number, nullable=False) for axis in AXES[: frames.dimension]])
    line = pa.list_(pa.field("vertices", point, nullable=False))
    kinds = {"id": names, "text": names, "flag": pa.bool_(), "number": pa.float64()}
    columns = [(column.name, kinds[column.kind], frames.columns.get(column.name)) for column in stored_columns()]
    track, *others = columns  # pose and links come after the first one
    optional = (
        ("confidence", pa.float64(), frames.confidence),
        track,
        ("pose", pa.list_(pa.float64()), frames.poses),
        ("links", link_type(), frames.links),
        *others,
    )
    fields = [pa.field("frame", pa.int32(), nullable=False), pa.field("token", names, nullable=False)]
    for name, kind, values in (("scene", names, frames.scenes), ("timestamp", pa.int64(), frames.timestamps)):
        if values is not None:
            fields += [pa.field(name, kind, nullable=False)]
    fields += [pa.field("class", names)]
    fields += [pa.field(name, kind) for name, kind, values in optional if values is not None]
    extension = {"ARROW:extension:name": "geoarrow.linestring", "ARROW:extension:metadata": "{}"}
    fields.append(pa.field("geometry", line, metadata=None if single else extension))
    about = Metadata(
        VERSION,
        frames.dimension,
        frames.classes,
        name=frames.name,
        format=frames.format,
        findings=frames.findings,
        forward=frames.forward,
        boxes=frames.boxes,
    )
    metadata = {"mapgauge": msgspec.json.encode(about)}
    if single:
        return pa.schema(fields, metadata=metadata)
    kind = "LineString Z"
    if frames.dimension == 2:
        kind = "LineString"
    # No reference system, because the coordinates are metres in the frame of the ego vehicle.
    column = {"encoding": "linestring", "geometry_types": [kind], "crs": None}
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
    return pa.schema(fields, metadata={"geo": msgspec.json.encode(geo)} | metadata)


def _are_float32(coords: Points) -> bool:
    """Whether all coordinates stay the same, to the last bit, as float32. False if there are none."""
    with np.errstate(over="ignore"):
        same = coords.astype(np.float32).astype(np.float64)
    return len(coords) > 0 and np.array_equal(same.view(np.int64), coords.view(np.int64))


def _groups(frames: MapFrames, group_rows: int, frame_rows: int) -> list[tuple[int, int]]:
    """Return the range of frames of each row group.

    A group has whole scenes, or frames of one scene, so that its statistics tell which frames it holds.
    """
    ends = np.concatenate([[0], np.maximum(np.diff(frames.offsets), frame_rows).cumsum()])
    scenes = np.array(frames.scenes if frames.scenes is not None else [""] * len(frames))
    stops = np.append(np.flatnonzero(scenes[1:] != scenes[:-1]) + 1, len(frames))
    groups: list[tuple[int, int]] = []
    first = 0  # first frame of the group
    start = 0  # first frame of the scene
    for stop in map(int, stops):
        if first < start and ends[stop] - ends[first] > group_rows:
            groups.append((first, start))
            first = start
        while ends[stop] - ends[first] > group_rows and stop - first > 1:  # only frames of this scene are left
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + group_rows, side="right")) - 1)
            groups.append((first, last))
            first = last
        if first > start:  # the rest of a scene that was split
            groups.append((first, stop))
            first = stop
        start = stop
    if first < len(frames):
        groups.append((first, len(frames)))
    return groups


def _table(frames: MapFrames, first: int, last: int, schema: Any) -> Any:
    """Return the rows of some frames."""
    pa, _ = pyarrow_modules()
    counts = np.diff(frames.offsets)[first:last]
    rows = np.maximum(counts, 1)
    of_frame = np.repeat(np.arange(last - first), rows)
    empty = np.repeat(counts == 0, rows)
    frame_at = pa.array(of_frame)
    pose_at = pa.array(of_frame, mask=np.diff(of_frame, prepend=-1) == 0)  # only in the first row of a frame
    instance_at = pa.array(np.cumsum(~empty) - 1, mask=empty)
    start, stop = frames.offsets[[first, last]].tolist()
    offsets = frames.polylines.offsets[start : stop + 1]
    points = frames.polylines.coords[offsets[0] : offsets[-1]]
    line = schema.field("geometry").type
    members = list(line.value_type)
    number: type[np.floating] = np.float64
    if members[0].type == pa.float32():
        number = np.float32
    axes = [pa.array(points[:, k].astype(number)) for k in range(frames.dimension)]
    flat = pa.StructArray.from_arrays(axes, fields=members)
    lines = pa.ListArray.from_arrays(pa.array(offsets - offsets[0], pa.int32()), flat, type=line)
    columns = {
        "frame": pa.array(of_frame + first, pa.int32()),
        "token": pa.array(frames.tokens[first:last], pa.string()).dictionary_encode().take(frame_at),
        "class": pa.DictionaryArray.from_arrays(
            pa.array(frames.label[start:stop], pa.int32()).take(instance_at), pa.array(frames.classes, pa.string())
        ),
        "geometry": lines.take(instance_at) if empty.any() else lines,
    }
    if frames.scenes is not None:
        columns["scene"] = pa.array(frames.scenes[first:last], pa.string()).dictionary_encode().take(frame_at)
    if frames.timestamps is not None:
        columns["timestamp"] = pa.array(frames.timestamps[first:last], pa.int64()).take(frame_at)
    if frames.confidence is not None:
        columns["confidence"] = pa.array(frames.confidence[start:stop]).take(instance_at)
    for name, values in frames.columns.items():
        if name in schema.names:
            columns[name] = _arrow(values[start:stop]).take(instance_at)
    if frames.poses is not None:
        ends = pa.array(np.arange(0, 16 * (last - first) + 1, 16), pa.int32())
        columns["pose"] = pa.ListArray.from_arrays(ends, frames.poses[first:last].ravel()).take(pose_at)
    if frames.links is not None:
        columns["links"] = link_lists(frames, frames.links, start, stop=stop).take(instance_at)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _arrow(values: Values) -> Any:
    """Return values of a column as an array of Arrow: texts with a dictionary, NaN as null."""
    pa, _ = pyarrow_modules()
    if values.dtype.kind == "U":
        return pa.array(values.tolist(), pa.string()).dictionary_encode()
    return pa.array(values, from_pandas=True)


def read(content: Content, options: ReadOptions) -> MapFrames:
    """Read a Parquet file that has at least the columns ``token``, ``class`` and ``geometry``."""
    refuse_ids(options.classes, str(content.path))
    columns = ParquetColumns.of_bytes(content.data, content.error, projected="project" in options.extra)
    return frames_from_columns(columns, options, str(content.path))


def frames_from_columns(columns: ParquetColumns, options: ReadOptions, name: str) -> MapFrames:
    """Return the frames that the columns describe."""
    token, token_names = columns.texts("token")
    frame = columns.frames(token)
    first = np.flatnonzero(np.diff(frame, prepend=-1))  # row of each frame
    tokens = tuple(map(token_names.__getitem__, token[first].tolist()))
    label, classes = columns.labels()

    # A row without a geometry stands for a frame without instances.
    sizes, coords = columns.points()
    instance = columns.instances(frame, label, sizes)

    def locate(i: int) -> str:
        return f"row {instance[i]} (frame {tokens[frame[instance[i]]]})"

    rows: Indices | slice = slice(None)  # without a copy, if every row is an instance
    if len(instance) < len(frame):
        rows = instance
    confidence = None
    if columns.has("confidence"):
        confidence = columns.numbers("confidence")[instance]
    links = None
    if columns.has("links"):
        links = read_links(columns, frame, instance)
    more = {row.name: columns.of_instances(row, instance) for row in stored_columns() if columns.has(row.name)}
    given = InstanceColumns(
        frame=frame[rows],
        label=label[rows],
        confidence=confidence,
        sizes=sizes[rows],
        coords=coords,
        links=links,
        columns=more,
    )
    sound, findings = given.without_degenerate(name, options.degenerate, locate)
    about = columns.about or Metadata(VERSION, 0, ())
    check_corners(sound, [name in about.boxes for name in classes], columns.error, locate=locate)

    scenes = None
    if columns.has("scene"):
        codes, names = columns.texts("scene")
        scenes = tuple(map(names.__getitem__, columns.once("scene", codes, frame, first=first).tolist()))
    timestamps = None
    if columns.has("timestamp"):
        timestamps = columns.once("timestamp", columns.integers("timestamp"), frame, first=first)
    poses = None
    if columns.has("pose"):
        poses = columns.poses(frame, tokens)
    return MapFrames(
        tokens=tokens,
        classes=classes,
        **sound.members(),
        scenes=scenes,
        timestamps=timestamps,
        poses=poses,
        name=name,
        format=about.format or "parquet",
        findings=(*about.findings, *findings),
        boxes=about.boxes,
        forward=about.forward,
        crs=columns.crs,
    )


PARQUET = Format(
    name="parquet",
    about="the schema of mapgauge, which keeps everything; also GeoParquet with native points",
    recognise=lambda content: content.kind == "parquet" and not is_geoparquet_map(content.data),
    read=read,
    write=write,
    flags=True,
    suffix=".parquet",
    options=("project",),
)
