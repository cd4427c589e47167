"""Damaged Parquet files: pyarrow must not end the process, and every error is ours."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mapgauge as mg
from mapgauge.io import parquet
from mapgauge.io._parquet_file import footer_bytes, row_groups
from mapgauge.io.dataset import open_dataset

LINE = [[0.0, 1.5], [9.25, -2.0]]
POINTS = [[{"x": x, "y": y} for x, y in LINE]]

# Reads a file in both ways with one bit of its footer flipped, for each number in the arguments.
CHILD = """
import sys
from pathlib import Path
import mapgauge as mg
from mapgauge.io.dataset import open_dataset

sound, path = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2])
start = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
refused = 0
for bit in map(int, sys.stdin.read().split()):
    data = bytearray(sound)
    data[start + bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    for read in (mg.read, lambda path: open_dataset(path).read()):
        try:
            read(path)
        except mg.UnreadableFile as error:
            assert str(path) in str(error), error
            refused += 1
        except BaseException as error:
            raise SystemExit(f"bit {bit}: {error!r}")
print(refused)
"""


def world() -> mg.MapFrames:
    lines = {"t0": {"divider": [LINE, LINE], "boundary": [LINE]}, "t1": {}, "t2": {"ped_crossing": [LINE]}}
    return mg.MapFrames.of(lines).with_confidence(0.5)


def flip_bits(bits: list[int], folder: Path) -> None:
    mg.write(world(), folder / "sound.parquet")
    command = [sys.executable, "-c", CHILD, str(folder / "sound.parquet"), str(folder / "damaged.parquet")]
    ended = subprocess.run(
        command, input=" ".join(map(str, bits)), capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert int(ended.stdout) > len(bits) // 4


def count_bits(folder: Path) -> int:
    mg.write(world(), folder / "sound.parquet")
    return 8 * int.from_bytes((folder / "sound.parquet").read_bytes()[-8:-4], "little")


def test_flipped_bits_in_a_footer_never_end_the_process(tmp_path: Path) -> None:
    # The first part describes row groups and columns. There pyarrow aborts if it is asked for a column.
    first = list(range(0, 6000, 29))
    flip_bits([*first, *range(6000, count_bits(tmp_path), 131)], tmp_path)


@pytest.mark.fuzz
def test_no_bit_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    flip_bits(list(range(count_bits(tmp_path))), tmp_path)


def test_the_footer_says_what_pyarrow_says(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_bytes(parquet.write(world(), group_rows=2))
    with (tmp_path / "f.parquet").open("rb") as stream:
        found = row_groups(footer_bytes(stream))
    footer = pq.ParquetFile(tmp_path / "f.parquet").metadata
    assert len(found) == footer.num_row_groups == 3
    for index, info in enumerate(found):
        group = footer.row_group(index)
        columns = [group.column(k) for k in range(group.num_columns)]
        assert (info.rows, info.size) == (group.num_rows, group.total_byte_size)
        assert info.values == sum(column.num_values for column in columns)
        bounds = {c.path_in_schema: (c.statistics.min, c.statistics.max) for c in columns if c.statistics.has_min_max}
        assert info.texts == {name: bounds[name] for name in ("token", "class") if name in bounds}
        assert info.numbers == {"frame": bounds["frame"]}


def test_long_footers_are_read(tmp_path: Path) -> None:
    schema = pa.schema([("token", pa.string())], metadata={"long": "x" * 200_000})
    pq.write_table(pa.table({"token": ["a", "b"]}, schema=schema), tmp_path / "f.parquet")
    with (tmp_path / "f.parquet").open("rb") as stream:
        assert row_groups(footer_bytes(stream))[0].texts == {"token": ("a", "b")}


@pytest.mark.parametrize(
    "data", [b"", b"\x19" * 500, b"\x1c" * 500, b"\x15", b"\x1b\x00\x00", b"\x28" + b"\xff" * 11, bytes(range(5, 255))]
)
def test_what_is_not_a_footer_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="footer"):
        row_groups(data)


def columns(frame: list[int] | None = None, **changes: object) -> pa.Table:
    table = {"token": ["a", "b", "b"], "class": ["divider"] * 3, "geometry": POINTS * 3}
    return pa.table(({} if frame is None else {"frame": frame}) | table | changes)


def refusals(path: Path) -> list[str]:
    """How a file is refused in memory, as a data set, and when it is streamed."""
    found = []
    for read in (mg.read, lambda path: open_dataset(path).read(), lambda path: mg.evaluate(path, path)):
        with pytest.raises(mg.UnreadableFile) as caught:
            read(path)
        found.append(str(caught.value))
    return found


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    pq.write_table(columns().drop_columns(["class"]), tmp_path / "f.parquet")
    for message in refusals(tmp_path / "f.parquet"):
        assert "no column class; expected at least token, class, geometry, got token, geometry" in message
        assert "broken" not in message


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("frame", [[1, 0, 0], [0, 2, 2], [1, 2, 2], [-1, 0, 0], [5, 5, 6]])
def test_frames_out_of_order_are_refused_in_the_same_way(frame: list[int], rows: int, tmp_path: Path) -> None:
    for statistics in (True, False):
        table = columns(frame, confidence=[0.5] * 3)
        pq.write_table(table, tmp_path / "f.parquet", row_group_size=rows, write_statistics=statistics)
        for message in refusals(tmp_path / "f.parquet"):
            assert "frame must start at 0 and increase by at most 1" in message
            assert "Leave the column out" in message


def test_frames_in_order_are_read_in_every_way(tmp_path: Path) -> None:
    for rows in (1, 2, 3):
        pq.write_table(columns([0, 1, 1]), tmp_path / "f.parquet", row_group_size=rows)
        assert mg.read(tmp_path / "f.parquet").tokens == ("a", "b")
        part = open_dataset(tmp_path / "f.parquet").read()
        assert np.diff(part.polylines.offsets).tolist() == [2, 2, 2]
