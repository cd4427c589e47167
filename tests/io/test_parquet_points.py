"""Points of Parquet files: the same numbers from every encoding, compression and page layout."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mapgauge as mg
from mapgauge.io.dataset import open_dataset
from mapgauge.plugin import ReadOptions

Line = list[tuple[float, ...]] | None


def expected(some: list[Line]) -> np.ndarray[Any, Any]:
    """The points of all lines that are not degenerate."""
    return np.concatenate([np.array(line) for line in some if line is not None and len(line) > 1])


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
def test_points_are_those_of_the_file(number: Any, dimension: int, options: dict[str, Any], tmp_path: Path) -> None:
    some = lines(dimension)
    path = save(tmp_path / "f.parquet", table(some, number, dimension=dimension), **options)
    coords = mg.read(path, degenerate="drop").polylines.coords
    assert np.array_equal(coords, expected(some).astype(np.float32 if number == pa.float32() else np.float64))
    streamed = open_dataset(path).read(ReadOptions(None, "drop"))
    assert np.array_equal(streamed.polylines.coords, coords)


def test_several_pages_and_lists_that_are_never_null(tmp_path: Path) -> None:
    some: list[Line] = [line or [(1.0, 2.0), (3.0, 4.0)] for line in lines()]
    content = table(some, pa.float64(), nullable=False)
    path = save(tmp_path / "f.parquet", content, data_page_size=512, write_batch_size=16)
    assert np.array_equal(mg.read(path, degenerate="drop").polylines.coords, expected(some))


def _of_other_types(kind: Any) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        content = table(lines(), pa.float64())
        geometry = content["geometry"].cast(kind)
        return save(path, content.set_column(2, pa.field("geometry", kind), geometry), split=False)

    return write


POINT = pa.struct([("x", pa.float64()), ("y", pa.float64())])
OTHERS: dict[str, Callable[[Path], Path]] = {
    "numbers as they are": lambda path: save(path, table(lines(), pa.float64()), split=False),
    "a dictionary of numbers": lambda path: save(path, table(lines(), pa.float64()), split=False, use_dictionary=True),
    "another compression": lambda path: save(path, table(lines(), pa.float64()), compression="snappy"),
    "pages of the second version": lambda path: save(path, table(lines(), pa.float64()), data_page_version="2.0"),
    "pages without checksums": lambda path: save(path, table(lines(), pa.float64()), write_page_checksum=False),
    "points that may be null": _of_other_types(pa.list_(POINT)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_files_of_other_writers(name: str, tmp_path: Path) -> None:
    path = OTHERS[name](tmp_path / "f.parquet")
    assert np.array_equal(mg.read(path, degenerate="drop").polylines.coords, expected(lines()))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("number", [pa.float32(), pa.float64()])
def test_a_number_that_is_not_finite_is_found(number: Any, value: float, tmp_path: Path) -> None:
    some: list[Line] = [line if line and len(line) > 1 else [(1.0, 2.0), (3.0, 4.0)] for line in lines()]
    some[200] = [(1.0, 2.0), (3.0, value), (5.0, 6.0)]
    path = save(tmp_path / "f.parquet", table(some, number))
    with pytest.raises(mg.UnreadableFile, match=r"row 200 .*not a finite number"):
        mg.read(path)


def test_a_flipped_bit_is_refused_or_without_effect(tmp_path: Path) -> None:
    path = save(tmp_path / "f.parquet", table(lines(count=30), pa.float32()))
    sound, data = _outcome(path), path.read_bytes()
    places = [pq.read_metadata(path).row_group(0).column(k) for k in (2, 3)]
    first, last = places[0].data_page_offset, places[1].data_page_offset + places[1].total_compressed_size
    refused = 0
    for bit in range(8 * first, 8 * last, 61):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        outcome = _outcome(path)
        assert outcome == sound or len(outcome) == 1, bit
        refused += len(outcome) == 1
    assert refused > 250


def _outcome(path: Path) -> tuple[Any, ...]:
    try:
        frames = mg.read(path, degenerate="drop")
    except mg.UnreadableFile as error:
        return (str(error),)
    return frames.polylines.coords.tobytes(), frames.polylines.offsets.tobytes(), frames.tokens, frames.findings
