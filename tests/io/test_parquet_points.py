"""Points of Parquet files that are read from their pages: the same as pyarrow reads, and never more."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.io.rich_frames import assert_same

import mapgauge as mg
from mapgauge.io import _parquet_columns, _parquet_points, parquet
from mapgauge.io._format import ReadOptions
from mapgauge.io.dataset import open_dataset

Line = list[tuple[float, ...]] | None


@pytest.fixture(autouse=True)
def read_here(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Read also few points here, and tell for each file whether it was."""
    monkeypatch.setattr(_parquet_points, "_MANY", 0)
    here: list[bool] = []

    def told(*arguments: Any, **keywords: Any) -> Any:
        lines = _parquet_points.read_lines(*arguments, **keywords)
        here.append(lines is not None)
        return lines

    monkeypatch.setattr(_parquet_columns, "read_lines", told)
    monkeypatch.setattr("mapgauge.io.dataset.read_lines", told)
    return here


def by_pyarrow(path: Path, monkeypatch: pytest.MonkeyPatch) -> mg.MapFrames:
    with monkeypatch.context() as patch:
        patch.setattr(_parquet_columns, "read_lines", lambda *_, **__: None)
        return mg.read(path, degenerate="drop")


def lines(dimension: int = 2, count: int = 400) -> list[Line]:
    """Lines of many sizes, some of them empty or null."""
    rng = np.random.default_rng(7)
    made: list[Line] = []
    for size in rng.choice([0, 1, 2, 3, 7, 8, 9, 20, 20, 20, 40], count).tolist():
        made.append([tuple(point) for point in rng.normal(size=(size, dimension)).round(3).tolist()] if size else None)
    made[5] = []
    return made


def table(some: list[Line], number: Any, *, dimension: int = 2, nullable: bool = True) -> pa.Table:
    axes = "xyz"[:dimension]
    point = pa.struct([pa.field(axis, number, nullable=False) for axis in axes])
    kind = pa.list_(pa.field("element", point, nullable=False))
    structs = [None if line is None else [dict(zip(axes, p, strict=True)) for p in line] for line in some]
    return pa.table(
        {"token": [str(k) for k in range(len(some))], "class": ["a" if line else None for line in some]}
        | {"geometry": structs},
        schema=pa.schema(
            [("token", pa.string()), ("class", pa.string()), pa.field("geometry", kind, nullable=nullable)]
        ),
    )


def save(path: Path, content: pa.Table, *, split: bool = True, **options: Any) -> Path:
    axes = [field.name for field in content.schema.field("geometry").type.value_type]
    names = [f"geometry.list.element.{axis}" for axis in axes] if split else []
    encoding = {"column_encoding": dict.fromkeys(names, "BYTE_STREAM_SPLIT")} if split else {}
    pq.write_table(
        content,
        path,
        **({"use_dictionary": False, "compression": "lz4", "write_page_checksum": True} | encoding | options),
    )
    return path


@pytest.mark.parametrize("options", [{}, {"compression": "zstd"}, {"compression": "none"}, {"row_group_size": 37}])
@pytest.mark.parametrize(("number", "dimension"), [(pa.float32(), 2), (pa.float64(), 2), (pa.float64(), 3)])
def test_points_are_those_that_pyarrow_reads(
    number: Any,
    dimension: int,
    options: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    read_here: list[bool],
) -> None:
    path = save(tmp_path / "f.parquet", table(lines(dimension), number, dimension=dimension), **options)
    found = mg.read(path, degenerate="drop")
    assert read_here == [True]
    assert_same(found, by_pyarrow(path, monkeypatch))
    whole = open_dataset(path).read(ReadOptions(None, "drop"))
    assert read_here == [True, True]
    assert np.array_equal(whole.polylines.coords, found.polylines.coords)


def test_several_pages_and_lists_that_are_never_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some: list[Line] = [line or [(1.0, 2.0), (3.0, 4.0)] for line in lines()]
    path = save(
        *(tmp_path / "f.parquet", table(some, pa.float32(), nullable=False)), data_page_size=512, write_batch_size=16
    )
    assert_same(mg.read(path, degenerate="drop"), by_pyarrow(path, monkeypatch))


def _of_other_types(kind: Any) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        content = table(lines(), pa.float32())
        geometry = content["geometry"].cast(kind)
        return save(path, content.set_column(2, pa.field("geometry", kind), geometry), split=False)

    return write


POINT = pa.struct([("x", pa.float32()), ("y", pa.float32())])
OTHERS: dict[str, Callable[[Path], Path]] = {
    "numbers as they are": lambda path: save(path, table(lines(), pa.float32()), split=False),
    "a dictionary of numbers": lambda path: save(path, table(lines(), pa.float32()), split=False, use_dictionary=True),
    "another compression": lambda path: save(path, table(lines(), pa.float32()), compression="snappy"),
    "pages of the second version": lambda path: save(path, table(lines(), pa.float32()), data_page_version="2.0"),
    "pages without checksums": lambda path: save(path, table(lines(), pa.float32()), write_page_checksum=False),
    "points that may be null": _of_other_types(pa.list_(POINT)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_files_are_left_to_pyarrow(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_here: list[bool]
) -> None:
    path = OTHERS[name](tmp_path / "f.parquet")
    assert_same(mg.read(path, degenerate="drop"), by_pyarrow(path, monkeypatch))
    assert read_here == [False]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("number", [pa.float32(), pa.float64()])
def test_a_number_that_is_not_finite_is_found(number: Any, value: float, tmp_path: Path, read_here: list[bool]) -> None:
    some: list[Line] = [line if line and len(line) > 1 else [(1.0, 2.0), (3.0, 4.0)] for line in lines()]
    some[200] = [(1.0, 2.0), (3.0, value), (5.0, 6.0)]
    path = save(tmp_path / "f.parquet", table(some, number))
    with pytest.raises(mg.UnreadableFile, match="row 200 .* has a coordinate that is not a finite number"):
        mg.read(path)
    assert read_here == [True]


def test_files_of_mapgauge_are_read_here(tmp_path: Path, read_here: list[bool]) -> None:
    rng = np.random.default_rng(0)
    world = mg.MapFrames.of({str(k): {"divider": rng.normal(size=(3, 5, 2)).round(2).tolist()} for k in range(20)})
    for frames in (world, world.with_confidence(0.5), mg.MapFrames.of({"a": {}}).with_confidence(1)):
        (tmp_path / "f.parquet").write_bytes(parquet.write(frames))
        assert np.array_equal(mg.read(tmp_path / "f.parquet").polylines.coords, frames.polylines.coords)
    assert all(read_here)


def test_a_flipped_bit_has_the_same_outcome_as_with_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "f.parquet", table(lines(count=30), pa.float32()))
    sound, data = _outcome(lambda: by_pyarrow(path, monkeypatch)), path.read_bytes()
    places = [pq.read_metadata(path).row_group(0).column(k) for k in (2, 3)]
    first, last = places[0].data_page_offset, places[1].data_page_offset + places[1].total_compressed_size
    refused = 0
    for bit in range(8 * first, 8 * last, 61):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        found = _outcome(lambda: mg.read(path, degenerate="drop"))
        assert found in (sound, _outcome(lambda: by_pyarrow(path, monkeypatch))), bit
        refused += len(found) == 1
    assert refused > 250


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_page_that_is_shorter_than_its_head_says_is_refused(codec: str) -> None:
    """The checksum is right, so nobody but the reader of the page can notice."""
    content = np.arange(4000, dtype=np.float32).tobytes()
    name = {"lz4": "lz4_raw"}.get(codec, codec)
    packed = bytes(pa.Codec(name).compress(content))
    number = {kind: key for key, kind in _parquet_points._CODECS.items()}[name]
    for size in (len(content), len(content) + 1, len(content) + 4000):
        expected = pytest.raises(_parquet_points._FAULTS) if size > len(content) else nullcontext()
        with expected:
            assert bytes(_parquet_points._unpacked(memoryview(packed), size, number)) == content


def _outcome(read: Callable[[], mg.MapFrames]) -> tuple[Any, ...]:
    try:
        frames = read()
    except mg.UnreadableFile as error:
        return (str(error),)
    return frames.polylines.coords.tobytes(), frames.polylines.offsets.tobytes(), frames.tokens, frames.findings
