"""Errors of readers and writers that no damaged file of the other tests reaches."""

import io
from pathlib import Path

import pytest

import mapgauge as mg
from mapgauge.io._format import class_table
from mapgauge.io._parquet_file import footer_bytes, row_groups
from mapgauge.io.dataset import DatasetWriter


def test_one_id_has_one_name() -> None:
    with pytest.raises(mg.InvalidInput, match="id 1 has two names"):
        class_table({"divider": 1, "boundary": 1})


@pytest.mark.parametrize(
    ("footer", "what"),
    [
        (b"\x18\x09ab", "its footer ends early"),  # field 1, 9 bytes of text, 2 are there
        (b"\x19\xf5\x7f", "its footer ends early"),  # field 1, a list of 127 numbers, none is there
        (b"\x16" + b"\xff" * 10, "its footer has a number of more than 64 bits"),
        (b"\x1d\x00", "its footer has a field of the unknown type 13"),
        (b"\x1c" * 100, "its footer is nested too deeply"),
        (b"", "its footer is damaged"),
    ],
)
def test_a_damaged_footer_says_what_is_wrong(footer: bytes, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        row_groups(footer)


def test_a_footer_that_is_longer_than_the_file() -> None:
    with pytest.raises(ValueError, match="its footer ends early"):
        footer_bytes(io.BytesIO(b"PAR1" + (1000).to_bytes(4, "little") + b"PAR1"))


def test_files_of_a_data_set_have_one_dimension(tmp_path: Path) -> None:
    for name, line in (("a", [[0, 0], [9, 0]]), ("b", [[0, 0, 1], [9, 0, 1]])):
        mg.write(mg.MapFrames.of({name: {"divider": [line]}}), tmp_path / f"{name}.parquet")
    with pytest.raises(mg.InvalidInput, match=r"differ in dimension: 2 .*a.parquet, 3"):
        mg.read(tmp_path)


def test_a_data_set_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(mg.MapgaugeError, match="file/set: this folder cannot be created"):
        DatasetWriter(tmp_path / "file" / "set")
    with pytest.raises(mg.MapgaugeError, match="^nowhere://set: cannot be listed: Protocol not known"):
        DatasetWriter("nowhere://set")


def test_a_class_that_cannot_be_printed(tmp_path: Path) -> None:
    path = tmp_path / "truth.pkl"
    mg.write(mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}}), path, "streammapnet-truth")
    with pytest.raises(mg.UnreadableFile, match=r"truth.pkl: .*not valid text"):
        mg.read(path, classes={chr(0xD800): 0, "divider": 1, "boundary": 2})
