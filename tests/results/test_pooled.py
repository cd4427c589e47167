"""Pooled values of results: in every file, read alone, equal to what the rows give, and safe to read."""

import json
import struct
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.results.pooled import LAYOUT, Pooled, pooled, read_pooled


@pytest.fixture(scope="module")
def results() -> mg.Results:
    return mg.evaluate(*mg.demo.demo_world(60), ranges=(0, 10, 20), metadata={"commit": "4f2a"})


@pytest.fixture(scope="module")
def file(results: mg.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pooled") / "night.mg"
    results.save(path)
    return path


def read(path: Path) -> Pooled:
    found, size = read_pooled(path)
    assert found is not None
    assert size > 0
    return found


def test_the_pooled_values_in_a_file_are_those_of_its_rows(results: mg.Results, file: Path) -> None:
    found = read(file)
    assert found.values == {"mean": results.mean} | results.classes
    assert found.frames == results.frame_counts
    assert found.truth_lengths == results.truth_lengths
    assert (found.date, found.metadata) == (results.date, {"commit": "4f2a"})
    assert found.protocol == json.loads(json.dumps(results.protocol.to_dict()))
    assert found.instances["divider"] == (
        results.classes["divider"]["predictions"],
        results.classes["divider"]["truth"],
    )


def test_their_intervals_are_those_of_compare(results: mg.Results, file: Path) -> None:
    (estimates,) = mg.compare([results]).estimates
    found = read(file)
    for name, by_key in estimates.items():
        for key, known in by_key.items():
            assert found.intervals[name][key] == (known.low, known.high)
    assert found.intervals["mean"]["missed"] is not None  # compare has no parts
    assert (found.drawn, found.units) == ("scene", 6)


def test_sums_of_scenes_add_up_to_the_pooled_value(results: mg.Results, file: Path) -> None:
    of_scenes = read(file).of_scenes
    assert of_scenes is not None
    assert of_scenes.scenes == tuple(sorted(set(results.scenes or ())))
    sums = np.frombuffer(of_scenes.sums["pld"], "<f8").reshape(6, 3, -1)
    assert sums.sum(axis=0) == pytest.approx(results.totals.sums["pld"].sums[0])
    assert sum(np.frombuffer(of_scenes.frames, "<i8")) == 60


def test_the_order_of_frames_does_not_matter(results: mg.Results) -> None:
    order = np.random.default_rng(1).permutation(len(results.tokens)).tolist()
    shuffled = pooled(results.of_frames(order))
    straight = pooled(results)
    assert shuffled.values == straight.values
    assert shuffled.intervals == straight.intervals
    assert shuffled.of_scenes == straight.of_scenes


def test_one_frame_has_no_intervals(tmp_path: Path) -> None:
    mg.evaluate(*mg.demo.demo_world(1)).save(tmp_path / "one.mg")
    assert read(tmp_path / "one.mg").intervals == {}


def test_frames_without_scenes_are_drawn_themselves(results: mg.Results) -> None:
    predictions, truth = mg.demo.demo_world(12)
    found = pooled(mg.evaluate(replace(predictions, scenes=None), replace(truth, scenes=None)))
    assert (found.drawn, found.units, found.of_scenes) == ("frame", 12, None)


def test_only_the_beginning_of_a_file_is_read(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    (tmp_path / "half.mg").write_bytes(whole[: len(whole) // 2])
    assert read(tmp_path / "half.mg").values == read(file).values
    with pytest.raises(mg.UnreadableFile):
        mg.load_results(tmp_path / "half.mg")


def with_summary(file: Path, target: Path, data: bytes) -> Path:
    """Write a file whose summary has other bytes."""
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            with archive.open(name, "w") as member:
                if name == "summary.npy":
                    np.save(member, np.frombuffer(data, np.uint8))
                else:
                    member.write(source.read(name))
    return target


def text_of(file: Path) -> bytes:
    with np.load(file) as archive:
        text: bytes = archive["summary"].tobytes()
        return text


def test_a_file_without_pooled_values_or_with_other_ones_is_told(file: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(tmp_path / "old.mg", "w") as archive:
        for name in source.namelist():
            if name != "summary.npy":
                archive.writestr(name, source.read(name))
    assert read_pooled(tmp_path / "old.mg") == (None, 0)
    assert mg.load_results(tmp_path / "old.mg").mean == mg.load_results(file).mean
    later = text_of(file).replace(f'"layout":{LAYOUT}'.encode(), f'"layout":{LAYOUT + 1}'.encode(), 1)
    assert read_pooled(with_summary(file, tmp_path / "later.mg", later)) == (None, 0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"values":', b'"valeus":', "missing required field"),
        (b'"pld":0.', b'"pld":9e99,"x":0.', "values that no metric has"),
        (b'"metrics":[', b'"metrics":[[[[', "JSON"),
        (b'"date":"', b'"date":"', ""),
        (b'"mean":', b'"moan":', "unknown classes"),
        (b'"units":', b'"units":1e999,"x":', "Expected `int`|range|JSON"),
        (b'"scenes":["', b'"scenes":["x","', "do not fit"),
    ],
)
def test_wrong_pooled_values_are_refused(file: Path, tmp_path: Path, old: bytes, new: bytes, message: str) -> None:
    text = text_of(file)
    assert old in text
    path = with_summary(file, tmp_path / "wrong.mg", text.replace(old, new))
    if not message:
        assert read(path).values == read(file).values
        return
    with pytest.raises(mg.UnreadableFile, match=f"wrong.mg: not a file of results: .*({message})"):
        read_pooled(path)


def member(data: bytes, *, method: int = 8, size: int | None = None, packed: bytes | None = None) -> bytes:
    """The first member of an archive."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = deflate.compress(data) + deflate.flush() if packed is None else packed
    full = len(data) if size is None else size
    head = (b"PK\3\4", 20, 0, method, 0, 0, zlib.crc32(data), len(body), full, len(b"summary.npy"), 0)
    return struct.pack("<4s5H3L2H", *head) + b"summary.npy" + body


@pytest.mark.parametrize(
    "data",
    [
        b"PK\3\4",
        b"no archive",
        member(b"x" * 100, method=99),
        member(b"x" * 100, size=0xFFFFFFFF),
        member(b"x" * 100, size=50),
        member(b"\0" * (1 << 24), size=1000),
        member(b"x" * 100, packed=b"broken"),
        member(b"x" * 100),
        member(b"\x93NUMPY\x01\x00\xff\xff"),
        member(b"\x93NUMPY\x01\x00\x00\x00" + b"[" * 100_000),
    ],
)
def test_hostile_beginnings_are_refused_at_once(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "hostile.mg"
    path.write_bytes(data)
    with pytest.raises(mg.UnreadableFile, match=r"hostile.mg: "):
        read_pooled(path)


def test_every_damaged_byte_is_refused_or_read_as_pooled_values(file: Path, tmp_path: Path) -> None:
    data = file.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200):
        changed = bytearray(data[:20_000])
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
        (tmp_path / "x.mg").write_bytes(changed)
        try:
            found, _ = read_pooled(tmp_path / "x.mg")
        except mg.UnreadableFile:
            continue
        assert found is None or found.values
