"""Files of results: everything is read back, files are small, and damaged files raise our errors."""

import io
import json
import math
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checks.world import predictions_of, truth_of
from tests.evaluation.worlds import packed, worlds
from tests.listed import listed

import mapgauge as mg

RICH = mg.protocol(
    "paper-60x30",
    cutoffs=(1.5, 0.5),
    settings={"ap_sospa": {"thresholds": (0.5,)}},
    classes=("divider", "boundary", "stop_line"),
)
PROTOCOLS = {
    "paper": RICH,
    "order 2": RICH.replace(order=2, closed=True, region=None),
    "maptr": mg.protocol("maptr", count=20),
}
if any(row["name"] == "openlanev2" for row in listed("protocols")):  # its feature may have been deleted
    PROTOCOLS["openlanev2"] = mg.protocol("openlanev2", classes=None)


@cache
def results_of(name: str = "paper", scenes: bool = True, ranges: tuple[float, ...] = (0, 4, 9)) -> mg.Results:
    predictions, truth = worlds(np.random.default_rng(2), frames=7)
    del predictions["frame 0"]
    known = {token: f"scene “{k % 3}”" for k, token in enumerate(truth)} if scenes else None
    return mg.evaluate(
        packed(predictions, truth=False), packed(truth, truth=True), PROTOCOLS[name], ranges=ranges, scenes=known
    )


def saved(results: mg.Results, folder: Path, name: str = "results.mg") -> Path:
    path = folder / name
    results.save(path)
    return path


def assert_equal(found: mg.Results, expected: mg.Results) -> None:
    """Compare every value, row and setting."""
    assert found.to_dict() == expected.to_dict()
    assert found.protocol == expected.protocol
    for name in ("metrics", "class_names", "tokens", "scenes", "ranges", "inputs", "findings", "version"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.frames("token") == expected.frames("token")
    ours, theirs = found.scores.arrays(), expected.scores.arrays()
    assert ours.keys() == theirs.keys()
    for column in ours:
        assert ours[column].dtype == theirs[column].dtype
        assert np.array_equal(ours[column], theirs[column]), column
    assert found.table() == expected.table()
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("scenes", [True, False])
def test_every_value_and_row_comes_back(name: str, scenes: bool, tmp_path: Path) -> None:
    results = results_of(name, scenes, (0, 4, 9) if PROTOCOLS[name].cutoffs else ())
    assert_equal(mg.load_results(saved(results, tmp_path)), results)


def test_an_unbounded_ring_comes_back(tmp_path: Path) -> None:
    results = results_of(ranges=(0, 5, math.inf))
    assert_equal(mg.load_results(saved(results, tmp_path)), results)


def test_an_evaluation_of_frames_with_nothing_comes_back(tmp_path: Path) -> None:
    nothing = mg.MapFrames.of({"a": {}, "b": {}}, classes=["divider"])
    results = mg.evaluate(nothing.with_confidence([]), nothing)
    assert_equal(mg.load_results(saved(results, tmp_path)), results)


@pytest.mark.parametrize("name", ["results", "results.npz", "results.mg.gz", "results.zst"])
def test_any_name_of_the_file_will_do(name: str, tmp_path: Path) -> None:
    path = saved(results_of(), tmp_path, name)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert_equal(mg.load_results(str(path)), results_of())


@pytest.mark.parametrize(
    "setting",
    [
        {"count": np.int64(20)},
        {"spacing": np.float64(0.5)},
        {"order": np.int64(1)},
        {"closed": np.bool_(True)},
        {"closed_tolerance": np.float32(0.25)},
        {"settings": {"ap_chamfer": {"strict": np.bool_(True)}}},
        {"settings": {"ap_frechet": {"prefilter": np.float64(3)}}},
        {"settings": {"ap_chamfer": {"thresholds": np.array([0.5, 1])}}},
        {"cutoffs": [np.float32(1.5)]},
        {"region": np.array([60, 30])},
    ],
)
def test_settings_given_as_numpy_numbers_come_back(setting: dict[str, Any], tmp_path: Path) -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    results = mg.evaluate(truth.with_confidence(1), truth, mg.protocol("paper-60x30", **setting))
    assert_equal(mg.load_results(saved(results, tmp_path)), results)
    json.dumps(results.to_dict())


def test_a_loaded_result_compares_groups_and_sorts_like_the_first(tmp_path: Path) -> None:
    results = results_of()
    loaded = mg.load_results(saved(results, tmp_path))
    assert {name: part.mean for name, part in loaded.by().items()} == {n: p.mean for n, p in results.by().items()}
    assert loaded.frames(count=3) == results.frames(count=3)
    tables = [mg.compare([first, results], names=["a", "b"], samples=9).table() for first in (loaded, results)]
    assert tables[0] == tables[1]


def test_saving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    first = saved(results_of(), tmp_path).read_bytes()
    again = saved(mg.load_results(tmp_path / "results.mg"), tmp_path, "again.mg").read_bytes()
    assert first == again


def test_a_file_is_small(tmp_path: Path) -> None:
    """A frame with 75 predictions takes about 1 kB, so 6,019 frames take less than 10 MB."""
    rng = np.random.default_rng(4)
    truth = truth_of(rng, frames=40)
    predictions = predictions_of(rng, truth, alarms=64)
    results = mg.evaluate(predictions, truth, mg.protocol("paper-60x30", cutoffs=(0.5, 1.0, 1.5)))
    assert results.scores.predicted.sum() == 40 * 75
    assert saved(results, tmp_path).stat().st_size < 40 * 1600


def test_a_missing_file_a_folder_and_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match="nowhere.mg: .*[Nn]o such file"):
        mg.load_results(tmp_path / "nowhere.mg")
    with pytest.raises(mg.UnreadableFile, match="directory, expected a file"):
        mg.load_results(tmp_path)
    contents: dict[str, bytes] = {
        "empty": b"",
        "text": b"no archive at all",
        "json": b'{"results": {}}',
        "pickle": b"\x80\x04K\x01.",
    }
    array, archive, zipped = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(array, np.arange(4))
    np.savez(archive, header=np.arange(4))
    with zipfile.ZipFile(zipped, "w") as file:
        file.writestr("readme.txt", "hello")
    contents |= {"array": array.getvalue(), "archive": archive.getvalue(), "zip": zipped.getvalue()}
    for name, data in contents.items():
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(mg.UnreadableFile, match=name):
            mg.load_results(path)


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Write the same file with other arrays. The header is changed as plain values."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["header"] = json.loads(arrays["header"].tobytes())
    change(arrays)
    if isinstance(arrays.get("header"), dict):
        arrays["header"] = np.frombuffer(json.dumps(arrays["header"]).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    path.write_bytes(buffer.getvalue())


def test_a_newer_layout_says_to_update(tmp_path: Path) -> None:
    path = saved(results_of(), tmp_path)

    def newer(arrays: dict[str, Any]) -> None:
        arrays["header"] |= {"layout": 99, "mapgauge": "9.0", "scenes": {"as": "later versions have them"}}
        del arrays["header"]["findings"]
        arrays["other"] = arrays.pop("parts")

    rewritten(path, newer)
    with pytest.raises(mg.UnreadableFile, match="newer mapgauge .*9.0.*[Uu]pdate"):
        mg.load_results(path)


@pytest.mark.parametrize(
    "array", ["header", "predicted", "true", "parts", "ring_parts", "confidence", "hits/ap_chamfer"]
)
def test_a_file_that_lacks_something_is_refused(array: str, tmp_path: Path) -> None:
    path = saved(results_of(), tmp_path)
    rewritten(path, lambda arrays: arrays.pop(array))
    with pytest.raises(mg.UnreadableFile, match="results.mg"):
        mg.load_results(path)


@pytest.mark.parametrize(
    "array", ["predicted", "true", "parts", "ring_parts", "confidence", "hits/ap_chamfer", "matches"]
)
@pytest.mark.parametrize("how", ["shorter", "flat", "text", "scalar"])
def test_arrays_that_do_not_fit_together_are_refused(array: str, how: str, tmp_path: Path) -> None:
    path = saved(results_of(), tmp_path)

    def change(arrays: dict[str, Any]) -> None:
        column = arrays[array]
        axis = 1 if "parts" in array else 0
        arrays[array] = {
            "shorter": np.delete(column, -1, axis=axis),
            "flat": column.ravel()[:3],
            "text": np.full(column.shape, "x"),
            "scalar": np.array(1.0),
        }[how]

    rewritten(path, change)
    with pytest.raises(mg.UnreadableFile, match="results.mg"):
        mg.load_results(path)


def test_matches_without_truth_or_with_the_same_truth_are_refused(tmp_path: Path) -> None:
    found = results_of().scores.matches
    assert found is not None
    first = int(np.flatnonzero(found >= 0)[0])

    def no_truth(arrays: dict[str, Any]) -> None:
        arrays["matches"][first] = 99

    def same_truth(arrays: dict[str, Any]) -> None:
        arrays["matches"][arrays["matches"] >= 0] = 0

    for change in (no_truth, same_truth):
        path = saved(results_of(), tmp_path)
        rewritten(path, change)
        with pytest.raises(mg.UnreadableFile, match="results.mg: .*matches do not fit its truth"):
            mg.load_results(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("protocol", {"name": "x", "cutoffs": [-1]}),
        ("protocol", {"name": "x", "unheard_of": 1}),
        ("protocol", []),
        ("tokens", ["a"]),
        ("tokens", None),
        ("metrics", ["pld", "accuracy"]),
        ("class_names", ["divider"]),
        ("scenes", ["one"]),
        ("ranges", [0, 1, 2, 3, 4]),
        ("inputs", []),
        ("layout", "1"),
    ],
)
def test_a_header_that_cannot_be_right_is_refused(key: str, value: object, tmp_path: Path) -> None:
    path = saved(results_of(), tmp_path)

    def change(arrays: dict[str, Any]) -> None:
        arrays["header"][key] = value

    rewritten(path, change)
    with pytest.raises(mg.UnreadableFile, match="results.mg"):
        mg.load_results(path)


@pytest.mark.parametrize(
    ("key", "value", "place"), [("layout", 1, r"\$"), ("tokens", ["a:b"], r"\$"), ("cutoffs", [1], r"\$\.protocol")]
)
def test_a_key_that_occurs_twice_in_the_header_is_refused(key: str, value: object, place: str, tmp_path: Path) -> None:
    path = saved(results_of(), tmp_path)

    def change(arrays: dict[str, Any]) -> None:
        twice = f'"{key}": {json.dumps(value)}, "{key}":'
        text = json.dumps(arrays["header"]).replace(f'"{key}":', twice, 1)
        arrays["header"] = np.frombuffer(text.encode(), np.uint8)

    rewritten(path, change)
    with pytest.raises(mg.UnreadableFile, match=rf'results.mg: .*{place}: the key "{key}" occurs twice, expected once'):
        mg.load_results(path)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = saved(results_of(), tmp_path)
    data = path.read_bytes()
    for size in range(0, len(data), 97):
        path.write_bytes(data[:size])
        with pytest.raises(mg.UnreadableFile, match="results.mg"):
            mg.load_results(path)


def test_a_file_with_changed_bytes_is_refused_or_read_as_it_was(tmp_path: Path, rng: np.random.Generator) -> None:
    path = saved(results_of(), tmp_path)
    data = np.frombuffer(path.read_bytes(), np.uint8)
    refused = 0
    for _ in range(300):
        damaged = data.copy()
        places = rng.integers(len(data), size=rng.choice([1, 1, 1, 4]))
        damaged[places] ^= rng.integers(1, 256, len(places), dtype=np.uint8)
        path.write_bytes(damaged.tobytes())
        try:
            found = mg.load_results(path)
        except mg.UnreadableFile:
            refused += 1
        else:
            assert_equal(found, results_of())
    assert refused > 150


def test_a_file_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(mg.MapgaugeError, match="cannot be written"):
        results_of().save(tmp_path / "no such folder" / "results.mg")


def test_loaded_results_take_up_the_data_they_came_from(tmp_path: Path) -> None:
    truth = truth_of(np.random.default_rng(1), frames=3)
    predictions = predictions_of(np.random.default_rng(2), truth)
    results = mg.evaluate(predictions, truth)
    path = saved(results, tmp_path)
    token = truth.tokens[1]
    with pytest.raises(mg.InvalidInput, match="does not hold the geometry"):
        mg.load_results(path).assignment(token)
    found, expected = mg.load_results(path, predictions, truth).assignment(token), results.assignment(token)
    assert [match.distance for match in found.matches] == [match.distance for match in expected.matches]
    with pytest.raises(mg.InvalidInput, match="not the predictions that were evaluated"):
        mg.load_results(path, predictions.with_confidence(1), truth)
    with pytest.raises(mg.InvalidInput, match="not the truth that"):
        mg.load_results(path, predictions, truth.rotate(90))
