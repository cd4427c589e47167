"""Data frames have the rows of ``Results.frames`` and the values of the summary."""

import math
from typing import Any

import pytest

import mapgauge as mg
from mapgauge.demo import demo_world

PACKAGES = ["pandas", "polars", "pyarrow"]
METHODS = {"pandas": "to_pandas", "polars": "to_polars", "pyarrow": "to_arrow"}


@pytest.fixture(scope="module")
def results() -> mg.Results:
    return mg.evaluate(*demo_world(12, predictions=15), ranges=(0, 15, 30))


def rows_of(package: str, results: mg.Results, *level: Any) -> list[dict[str, Any]]:
    pytest.importorskip(package)
    table = getattr(results, METHODS[package])(*level)
    rows: list[dict[str, Any]]
    if package == "pandas":
        rows = table.to_dict("records")
        return [{key: None if is_nan(value) else value for key, value in row.items()} for row in rows]
    rows = table.to_dicts() if package == "polars" else table.to_pylist()
    return rows


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


@pytest.mark.parametrize("package", PACKAGES)
def test_frames_are_the_rows_of_the_results(results: mg.Results, package: str) -> None:
    expected = sorted(results.frames(), key=lambda row: results.tokens.index(row["token"]))
    assert rows_of(package, results) == expected
    assert list(rows_of(package, results)[0]) == list(expected[0])


@pytest.mark.parametrize("package", PACKAGES)
def test_classes_are_the_rows_of_each_class(results: mg.Results, package: str) -> None:
    found = rows_of(package, results, "classes")
    assert [(row["token"], row["class"]) for row in found] == [
        (token, name) for token in results.tokens for name in results.class_names
    ]
    for name in results.class_names:
        expected = {row["token"]: row | {"class": name} for row in results.frames(class_name=name)}
        assert {row["token"]: row for row in found if row["class"] == name} == expected


@pytest.mark.parametrize("package", PACKAGES)
def test_the_summary_has_a_row_per_class_and_the_mean(results: mg.Results, package: str) -> None:
    found = {row.pop("class"): row for row in rows_of(package, results, "summary")}
    counts: dict[str, float | None] = {"predictions": None, "truth": None}  # which have no mean
    assert found == results.classes | {"mean": counts | results.mean}


@pytest.mark.parametrize("package", PACKAGES)
def test_columns_have_the_same_types_with_and_without_values(package: str) -> None:
    """PLD of order 2 has no parts, and no scenes are known here."""
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    settings = mg.protocol("paper-60x30", classes=["divider"], order=2)
    table = getattr(
        mg.evaluate(truth.with_confidence(1.0), truth, settings), METHODS[pytest.importorskip(package).__name__]
    )()
    if package == "pandas":
        kinds = {str(kind) for kind in table.drop(columns="token").dtypes}
    elif package == "polars":
        kinds = {str(kind).lower() for kind in table.drop("token").dtypes}
    else:
        kinds = {str(kind).replace("double", "float64") for kind in table.drop_columns("token").schema.types}
    assert kinds == {"int64", "float64"}
    assert "scene" not in rows_of(package, mg.evaluate(truth.with_confidence(1.0), truth))[0]


def test_an_unknown_level_is_refused(results: mg.Results) -> None:
    with pytest.raises(mg.InvalidInput, match="'frames', 'classes', 'summary', got 'frame'"):
        results.to_arrow("frame")  # type: ignore[arg-type]


def test_loaded_results_have_the_same_rows(results: mg.Results, tmp_path: Any) -> None:
    pytest.importorskip("pyarrow")
    results.save(tmp_path / "run.mg")
    loaded = mg.load_results(tmp_path / "run.mg")
    for level in ("frames", "classes", "summary"):
        assert loaded.to_arrow(level).equals(results.to_arrow(level))


def _with_an_empty_frame() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return predictions and truth: the first frame has an error, the second is empty, the third is perfect."""
    line = [[[0, 0], [9, 0]]]
    frames: dict[str, Any] = {"a": {"divider": line}, "b": {}, "c": {"divider": line}}
    truth = mg.MapFrames.of(frames, classes=["divider", "boundary"])
    sure: dict[str, Any] = {"a": {"divider": [0.5]}, "c": {"divider": [1.0]}}
    return mg.MapFrames.of(frames, confidence=sure, classes=["divider", "boundary"]), truth


def test_a_frame_without_lines_has_no_value_and_comes_last() -> None:
    results = mg.evaluate(*_with_an_empty_frame(), metrics=["pld"])
    rows = results.frames()
    assert [row["token"] for row in rows] == ["a", "c", "b"]
    assert [row["pld"] is None for row in rows] == [False, False, True]
    assert rows[1]["pld"] == 0
    assert rows[2]["missed"] is None
    assert all(row["pld"] is None for row in results.frames(class_name="boundary"))
    assert results.where("pld < 0.1").tokens == ("c",)
    with pytest.raises(mg.InvalidInput, match="no frame"):
        results.of_frames([1]).where("pld >= 0")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_frame_without_lines_has_no_value_in_data_frames(package: str) -> None:
    results = mg.evaluate(*_with_an_empty_frame(), metrics=["pld"])
    assert [row["pld"] is None for row in rows_of(package, results)] == [False, True, False]
    filled = [(row["token"], row["class"]) for row in rows_of(package, results, "classes") if row["pld"] is not None]
    assert filled == [("a", "divider"), ("c", "divider")]
