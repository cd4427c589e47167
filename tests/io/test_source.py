"""Files as such: missing, empty, cut off, compressed, changing, of no known format."""

import gzip
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

import mapgauge as mg
from mapgauge import dependencies
from mapgauge.dependencies import zstd_module
from mapgauge.io.files.places import opened, streams
from mapgauge.plugin import Content

TEXT = json.dumps({"results": {"t0": {"vectors": [[[0, 0], [9, 0]]], "scores": [0.8], "labels": [1]}}})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match=r"gone.json: no such file \(the folder"):
        mg.read(tmp_path / "gone.json")
    with pytest.raises(mg.UnreadableFile, match="does not exist"):
        mg.read(tmp_path / "nowhere" / "gone.json")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match=r"^[^:]*: this is a directory.*empty$"):
        mg.read(tmp_path)
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / ".hidden").touch()
    for read in (mg.read, mg.load_results):
        with pytest.raises(mg.UnreadableFile, match="Give one file. The folders in it: runs$"):
            read(tmp_path)
    (tmp_path / "truth.json").touch()
    with pytest.raises(mg.UnreadableFile, match="Give one file. The files in it: truth.json$"):
        mg.read(tmp_path)


def test_a_name_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(mg.UnreadableFile, match="cannot be read"):
        mg.read("a\0b.json")


@pytest.mark.parametrize("name", ["empty.json", "empty.pkl", "empty.parquet"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(mg.UnreadableFile, match="the file is empty"):
        mg.read(tmp_path / name)


def test_a_file_cut_off_is_told_from_one_that_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text(TEXT[:-3], encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"not JSON: .*where the file ends"):
        mg.read(tmp_path / "cut.json")
    (tmp_path / "odd.json").write_text(TEXT.replace('"scores"', "scores"), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"not JSON: .* at line 1, column \d+$"):
        mg.read(tmp_path / "odd.json")


@pytest.mark.parametrize("data", [b"\x00\x01\x02", b"token,x,y\n1,2,3\n", b"<html></html>", b"\xff\xfe{\x00}\x00"])
def test_what_is_neither_json_nor_pickle_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file.json").write_bytes(data)
    with pytest.raises(mg.UnreadableFile, match=r"neither JSON, pickle nor Parquet \(it begins with"):
        mg.read(tmp_path / "file.json")


@pytest.mark.parametrize("text", ["{}x", '{"a": 1}', "[]", "[1, 2]", '{"results": 3}', '{"a": {"b": {"c": 1}}}'])
def test_json_of_no_known_format_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "file.json").write_text(text, encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match="unknown format: .*Known: parquet|not JSON"):
        mg.read(tmp_path / "file.json")


def test_json_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(TEXT.replace("t0", "é").encode("latin-1"))
    with pytest.raises(mg.UnreadableFile, match="not UTF-8 text"):
        mg.read(tmp_path / "file.json")


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text(
        '{"results": {"t0": {"vectors": ' + "[" * 100_000 + "]" * 100_000 + "}}}", encoding="utf-8"
    )
    with pytest.raises(mg.UnreadableFile, match="nested too deeply|not JSON"):
        mg.read(tmp_path / "file.json")


def test_a_byte_order_mark_and_blanks_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(b"\xef\xbb\xbf \n" + TEXT.encode())
    assert mg.read(tmp_path / "file.json").counts["divider"] == 1


def test_the_name_of_a_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "results.pkl").write_text(TEXT, encoding="utf-8")
    assert mg.read(tmp_path / "results.pkl").format == "streammapnet"
    (tmp_path / "results.json").write_bytes(pickle.dumps(json.loads(TEXT)))
    assert mg.read(tmp_path / "results.json").format == "streammapnet"


def test_compressed_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(TEXT.encode()))
    assert mg.read(tmp_path / "a").counts["divider"] == 1
    (tmp_path / "b").write_bytes(zstd_module().compress(TEXT.encode()))
    assert mg.read(tmp_path / "b").counts["divider"] == 1


@pytest.mark.parametrize("keep", [20, 40, -4])
def test_broken_compression_is_refused(tmp_path: Path, keep: int) -> None:
    for pack in (gzip.compress, zstd_module().compress):
        (tmp_path / "a").write_bytes(pack(TEXT.encode() * 20)[:keep])
        with pytest.raises(mg.UnreadableFile, match="broken compression"):
            mg.read(tmp_path / "a")


def test_zstd_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(zstd_module().compress(TEXT.encode()))

    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(dependencies, "import_module", absent)
    with pytest.raises(mg.MissingDependency, match=r"pip install 'mapgauge\[zstd\]'"):
        mg.read(tmp_path / "a")


@pytest.mark.parametrize("change", ["grows", "is touched"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = tmp_path / "file.json"
    path.write_text(TEXT, encoding="utf-8")
    real = os.fstat
    asked = 0

    def fstat(number: int) -> os.stat_result:
        nonlocal asked
        asked += 1
        if asked == 2:  # between the two looks at the file, somebody else is at work
            if change == "grows":
                path.write_text(TEXT + " ", encoding="utf-8")
            else:
                os.utime(path, ns=(1, 1))
        return real(number)

    monkeypatch.setattr(os, "fstat", fstat)
    with pytest.raises(mg.UnreadableFile, match="changed while it was read"):
        mg.read(path)


def test_a_zip_archive_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "model.pth").write_bytes(b"PK\x03\x04" + bytes(60))
    with pytest.raises(mg.UnreadableFile, match=r"a zip archive, as torch.save writes it"):
        mg.read(tmp_path / "model.pth")


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text(TEXT, encoding="utf-8")
    with pytest.raises(mg.InvalidInput, match=r"unknown format 'maptrv2'. Did you mean maptr\?"):
        mg.read(tmp_path / "file.json", "maptrv2")


def test_an_option_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text(TEXT, encoding="utf-8")
    with pytest.raises(mg.InvalidInput, match="streammapnet has no option unshrink"):
        mg.read(tmp_path / "file.json", unshrink=True)


def test_the_wrong_format_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text(TEXT, encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match="results is an object, as in StreamMapNet"):
        mg.read(tmp_path / "file.json", "maptr")


def test_keys_far_from_the_beginning_are_found(tmp_path: Path) -> None:
    document = {"notes": "x" * 200_000, **json.loads(TEXT)}
    (tmp_path / "file.json").write_text(json.dumps(document), encoding="utf-8")
    assert mg.read(tmp_path / "file.json").format == "streammapnet"


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were opened, in order."""
    paths: list[Path] = []
    real = Path.open

    def counted(self: Path, *arguments: Any, **options: Any) -> Any:
        paths.append(self)
        return real(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", counted)
    return paths


@pytest.mark.parametrize("format", ["streammapnet", "geojson", "parquet", None])
def test_a_file_is_opened_once(tmp_path: Path, opens: list[Path], format: str | None) -> None:
    path = tmp_path / "file"
    mg.write(mg.MapFrames.of({"t0": {"divider": [[[0, 0], [9, 0]]]}}).with_confidence(1), path, format or "geojson")
    if format is None:
        path.write_bytes(gzip.compress(path.read_bytes()))
    opens.clear()
    assert mg.read(path).counts["divider"] == 1
    assert opens == [path]


def test_a_file_that_was_looked_at_is_not_opened_again(tmp_path: Path, opens: list[Path]) -> None:
    path = tmp_path / "file.json"
    path.write_text(TEXT, encoding="utf-8")
    opens.clear()
    source = opened(path)
    assert opens == []
    assert not streams(source)
    assert mg.read(source).counts["divider"] == 1
    assert opens == [path]


def test_only_the_beginning_of_a_parquet_file_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    mg.write(mg.MapFrames.of({"t0": {"divider": [[[0, 0], [9, 0]]]}}), path)
    content = Content(path)
    assert streams(content)
    assert "data" not in vars(content)
    assert streams(path)
    assert content.data == path.read_bytes()
    packed = tmp_path / "file.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert not streams(Content(packed))
    assert mg.read(packed).counts == {"divider": 1}


def test_a_data_set_stays_a_path(tmp_path: Path) -> None:
    mg.write(mg.MapFrames.of({"t0": {"divider": [[[0, 0], [9, 0]]]}}), tmp_path / "a.parquet")
    assert opened(tmp_path) == tmp_path
    assert opened("s3://bucket/truth") == "s3://bucket/truth"


def test_remedies_differ_between_python_and_the_shell(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text(TEXT.replace("[9, 0]", "[null, 0]"), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile) as caught:
        mg.read(tmp_path / "file.json")
    assert str(caught.value).endswith('Pass degenerate="drop" to leave such instances out')
    assert caught.value.for_shell().endswith("Give the file as FILE,degenerate=drop to leave such instances out")
