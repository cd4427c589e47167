"""A sweep is one evaluation per region and sampling, each with all cutoffs."""

from functools import cache

import numpy as np
import pytest
from tests.checks.world import predictions_of, truth_of

import mapgauge as mg


@cache
def sides() -> tuple[mg.MapFrames, mg.MapFrames]:
    truth = truth_of(np.random.default_rng(1), frames=5)
    return predictions_of(np.random.default_rng(2), truth), truth


def test_every_row_is_an_evaluation_of_its_own() -> None:
    found = mg.sweep(
        *sides(), cutoffs=[0.5, 1.5], spacings=[0.25, 0.75], counts=[50], regions=[(30, 20), (60, 30)], workers=2
    )
    rows = found.rows
    assert len(found.results) == 6
    assert len(rows) == 12
    for row in rows:
        sampling = {"spacing": row["spacing"]} if row["count"] is None else {"count": row["count"]}
        settings = mg.protocol("paper-60x30", cutoffs=(row["cutoff"],), region=row["region"], crop=True, **sampling)
        alone = mg.evaluate(*sides(), settings)
        for key in ("pld", "localisation", "detection", "ap_chamfer", "ap_frechet"):
            assert row[key] == alone.mean[key], (row, key)
    assert len({row["pld"] for row in rows}) == 12


def test_what_is_not_swept_is_the_protocols() -> None:
    (row,) = mg.sweep(*sides()).rows
    assert (row["region"], row["spacing"], row["count"], row["cutoff"]) == ((60, 30), 0.5, None, 1.5)
    assert row["pld"] == mg.evaluate(*sides()).mean["pld"]


def test_without_cutoffs_only_average_precision_is_swept() -> None:
    rows = mg.sweep(*sides(), "streammapnet-60x30", counts=[20, 40]).rows
    assert [row["count"] for row in rows] == [20, 40]
    assert all("pld" not in row and row["cutoff"] is None for row in rows)


def test_numpy_arrays_can_be_swept() -> None:
    found = mg.sweep(*sides(), cutoffs=np.array([0.5, 1.0]), spacings=np.array([0.5, 1.0]), metrics=["pld"])  # type: ignore[arg-type]
    assert len(found.rows) == 4


def test_the_table_says_which_setting_each_row_has() -> None:
    lines = mg.sweep(*sides(), "maptr", spacings=[0.5], counts=[20], regions=[(30, 20)]).table().splitlines()
    assert lines[0].split() == ["region", "sampling", "cutoff", "ap_chamfer"]
    assert [line.split()[:-1] for line in lines[1:]] == [
        ["30x20,", "cropped", "0.5", "m", "-"],
        ["30x20,", "cropped", "N", "=", "20", "-"],
    ]


def test_a_region_says_whether_both_sides_were_cropped_to_it() -> None:
    for regions, crop, shown in ((None, False, "60x30"), ([(60, 30)], True, "60x30, cropped")):
        found = mg.sweep(*sides(), regions=regions)
        (row,) = found.rows
        assert row["crop"] == crop
        assert found.table().splitlines()[1].startswith(f"{shown}  ")


@pytest.mark.parametrize("metrics", [["pld"], ["ap_chamfer"]])
def test_metrics_can_be_chosen(metrics: list[str]) -> None:
    (row,) = mg.sweep(*sides(), metrics=metrics).rows
    assert ("pld" in row, "ap_chamfer" in row) == ("pld" in metrics, "ap_chamfer" in metrics)
