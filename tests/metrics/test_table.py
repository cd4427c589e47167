"""Keys, titles and the choice of metrics, by hand."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.metrics.toy_metrics import FLICKER

import mapgauge as mg
from mapgauge.metrics.average_precision import AP_CHAMFER, AP_FRECHET, AP_SOSPA
from mapgauge.metrics.completeness import COMPLETENESS
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import (
    METRICS,
    chosen_metrics,
    column_title,
    flat_key,
    hit_metrics,
    sum_metrics,
    title_of,
    value_keys,
    value_named,
)
from mapgauge.plugin import HitRows, Metric, Setting, SumRows, Value

PAPER = mg.protocol("paper-60x30")
KNOWN = f"Known: {', '.join(METRICS)}"


@pytest.mark.parametrize(
    ("key", "text", "plain"),
    [
        (ValueKey("pld"), "pld", True),
        (ValueKey("localisation", 0.5), "localisation@0.5", False),
        (ValueKey("pld", ring=(0.0, 10.0)), "pld:0-10m", False),
        (ValueKey("pld", "1.0", "10-22.5m"), "pld@1.0:10-22.5m", False),
        (ValueKey("ap_chamfer", 1.0, hits=True), "hits:ap_chamfer@1.0", False),
        (ValueKey("ap_chamfer", hits=True), "hits:ap_chamfer", False),
    ],
)
def test_keys_are_written_and_parsed(key: ValueKey, text: str, plain: bool) -> None:
    assert str(key) == text
    assert ValueKey.parse(text) == key
    assert key.plain is plain


def test_the_fields_of_a_key() -> None:
    key = ValueKey("pld", ring=(5.0, 10.0))
    assert (key.name, key.setting, key.ring, key.hits) == ("pld", "", "5-10m", False)
    key = ValueKey.parse("hits:ap_chamfer@1.0")
    assert (key.name, key.setting, key.ring, key.hits) == ("ap_chamfer", "1.0", "", True)


def test_words_of_values_and_metrics() -> None:
    assert Value(key="matched_points", part="", title="matched", role="part").words == "matched points"
    assert Value(key="ap_chamfer", part="", title="Chamfer-AP", role="main").words == "Chamfer-AP"
    assert (PLD.arrow_of(PLD.main), PLD.better) == (" ↓", "lower is better")
    assert (AP_SOSPA.arrow_of(AP_SOSPA.main), AP_SOSPA.better) == (" ↑", "higher is better")
    assert COMPLETENESS.better == "arrows point to better values"
    assert [column_title(key) for key in ("completeness", "mean_offset")] == ["completeness ↑", "mean offset m ↓"]
    assert PLD.main.key == "pld"
    assert [value.key for value in PLD.with_role("headline", "main")] == ["pld", "localisation", "detection"]
    assert FLICKER.stated(PAPER) == ""


def test_the_rows_of_average_precision() -> None:
    assert [row.name for row in (AP_CHAMFER, AP_FRECHET, AP_SOSPA)] == ["ap_chamfer", "ap_frechet", "ap_sospa"]
    assert [row.title for row in (AP_CHAMFER, AP_FRECHET, AP_SOSPA)] == ["Chamfer-AP", "Fréchet-AP", "SOSPA-AP"]
    assert AP_FRECHET.stated(PAPER) == "mean over thresholds in metres"
    row = AP_SOSPA
    assert (row.name, row.title, row.symbol, row.lower_is_better) == ("ap_sospa", "SOSPA-AP", "AP", False)
    assert (row.stated(PAPER), row.limits) == ("mean over thresholds at the cutoff 1.5 m", (0.0, 1.0))
    assert row.values == (Value(key="ap_sospa", part="", title="SOSPA-AP", role="main"),)
    assert row.setting == Setting("thresholds", "threshold", "")
    assert isinstance(row.rows, HitRows)


def test_settings_are_those_of_the_protocol() -> None:
    assert FLICKER.settings(PAPER) == (None,)
    assert PLD.settings(PAPER.replace(cutoffs=(1.0, 2.0))) == (1.0, 2.0)
    assert PLD.settings(PAPER.replace(cutoffs=())) == ()


def test_metrics_are_chosen_in_the_order_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_metrics(PAPER, None) == ("pld", "ap_chamfer", "ap_frechet")
    assert chosen_metrics(PAPER, "ap_chamfer") == ("ap_chamfer",)
    assert chosen_metrics(PAPER, ["ap_chamfer", "pld"]) == ("pld", "ap_chamfer")
    for default, expected in ((True, ("pld", "flicker")), (False, ("pld",))):
        monkeypatch.setitem(METRICS, "flicker", replace(FLICKER, default=default))
        assert chosen_metrics(PAPER.replace(settings={"ap_chamfer": None, "ap_frechet": None}), None) == expected
        assert chosen_metrics(PAPER, ["flicker"]) == ("flicker",)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (7, f"metrics must be a sequence of names, got 7. {KNOWN}"),
        ([], f"metrics must have at least one name, got (). {KNOWN}"),
        (["pld", "mAP", "x"], f"unknown metric 'mAP'. Did you mean c_map? {KNOWN}"),
        (
            ["pld", "ap_sospa"],
            "the protocol paper-60x30 has no thresholds for ap_sospa. Set it: "
            'mg.protocol("paper-60x30", settings={"ap_sospa": {"thresholds": ...}})',
        ),
    ],
)
def test_metrics_that_cannot_be_computed_are_refused(metrics: Any, message: str) -> None:
    with pytest.raises(mg.InvalidInput) as caught:
        chosen_metrics(PAPER, metrics)
    assert str(caught.value) == message


@pytest.mark.whole
@pytest.mark.parametrize(
    ("protocol", "metric", "remedy"),
    [
        (PAPER.replace(cutoffs=()), "pld", "Give them: --cutoff with numbers, separated by commas"),
        (PAPER, "ap_sospa", "Give one: --set ap_sospa.thresholds=VALUE"),
        (PAPER, "c_map", "Give one: --set c_map.thresholds=0.5,1,1.5"),
        (PAPER, "olus", "Choose a protocol of this metric; mapgauge list protocols names them"),
    ],
)
def test_the_remedy_for_the_shell_has_an_option_where_there_is_one(
    protocol: mg.Protocol, metric: str, remedy: str
) -> None:
    with pytest.raises(mg.InvalidInput) as caught:
        chosen_metrics(protocol, [metric])
    assert caught.value.remedy is not None
    assert caught.value.remedy.shell == remedy


def test_both_kinds_of_rows() -> None:
    names = ("ap_chamfer", "pld", "ap_sospa")
    assert [(metric, rows) for metric, rows in sum_metrics(names)] == [(PLD, PLD.rows)]
    assert [metric for metric, _ in hit_metrics(names)] == [AP_CHAMFER, AP_SOSPA]
    assert [rows for _, rows in hit_metrics(names)] == [AP_CHAMFER.rows, AP_SOSPA.rows]


def test_values_by_name() -> None:
    assert value_named("detection") == (PLD, PLD.values[2])
    assert value_named("pld_frame_mean") == (
        PLD,
        Value(key="pld_frame_mean", part="frame_mean", title="PLD frame mean"),
    )
    assert value_named("ap_chamfer") == (AP_CHAMFER, AP_CHAMFER.main)
    assert value_named("truth") is None


@pytest.mark.parametrize(
    ("function", "key", "text"),
    [
        (title_of, "localisation", "Loc"),
        (title_of, ValueKey("ap_chamfer", 0.5), "Chamfer-AP@0.5"),
        (title_of, "pld:0-10m", "PLD 0-10m"),
        (title_of, "hits:ap_chamfer@0.5", "hits of Chamfer-AP@0.5"),
        (title_of, "true_lines", "true lines"),
        (column_title, "pld", "PLD ↓"),
        (column_title, "ap_sospa", "AP ↑"),
        (column_title, "localisation", "Loc"),
        (column_title, ValueKey("pld", 0.5), "PLD 0.5 m"),
        (column_title, "localisation@0.5", "Loc 0.5 m"),
        (column_title, "ap_sospa@0.5", "AP 0.5"),
        (column_title, "flicker@0.5", "changes 0.5"),  # this metric has no setting
        (column_title, "pld:0-10m", "PLD 0-10m"),
        (column_title, "hits:ap_chamfer@0.5", "hits of Chamfer-AP@0.5"),
        (column_title, "true_lines", "true lines"),
    ],
)
def test_titles(function: Callable[[Any], str], key: Any, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "flicker", FLICKER)
    assert function(key) == text


def test_no_two_values_that_are_compared_have_the_same_title() -> None:
    shown = [value for metric in METRICS.values() for value in metric.values if value.role in ("main", "headline")]
    titles = [value.title for value in shown]
    assert sorted(set(titles)) == sorted(titles)


def test_full_titles() -> None:
    assert title_of("matched_points@0.5", full=True) == "matched points@0.5"
    assert title_of("ap_chamfer", full=True) == "Chamfer-AP"


@pytest.mark.parametrize(
    ("key", "flat"),
    [
        ("pld", "pld/divider"),
        ("localisation@0.5", "pld/divider/localisation/0.5"),
        (ValueKey("pld", ring=(0, 10)), "pld/divider/0-10m"),
        ("pld_frame_mean", "pld/divider/frame_mean"),
        ("truth", "truth/divider"),
    ],
)
def test_flat_keys(key: str | ValueKey, flat: str) -> None:
    assert flat_key(key, "divider") == flat


@pytest.mark.parametrize(
    ("metric", "keys"),
    [
        (PLD, "pld pld@0.5 pld@1.5 pld:0-10m pld:10-20m"),
        (AP_CHAMFER, "ap_chamfer ap_chamfer@1.0"),
        (FLICKER, "flicker"),
    ],
)
def test_keys_of_a_table(metric: Metric, keys: str) -> None:
    protocol = PAPER.replace(cutoffs=(1.5, 0.5), settings={"ap_chamfer": {"thresholds": (1.0,)}})
    assert " ".join(map(str, value_keys(metric, protocol, (0.0, 10.0, 20.0), "main"))) == keys


def test_one_cutoff_has_no_key_of_its_own() -> None:
    found = value_keys(PLD, PAPER.replace(cutoffs=(1.5,)), (), "main", "headline")
    assert list(map(str, found)) == ["pld", "localisation", "detection"]


@pytest.mark.whole
def test_values_of_many_sums_are_those_of_each(rng: np.random.Generator) -> None:
    protocol = mg.protocol(
        "paper-60x30",
        settings={
            "track_pld": {"switch_cost": 0.5},
            "lane_graph_pld": {"link_cost": 0.1},
            "network_pld": {"break_cost": 0.5},
        },
    )
    for name, metric in METRICS.items():
        if not isinstance(metric.rows, SumRows):
            continue
        sums = rng.uniform(0.5, 1.0, (2, 3, len(metric.rows.columns)))
        together = metric.rows.values(sums, protocol)
        for place in np.ndindex(2, 3):
            alone = metric.rows.values(sums[place], protocol)
            assert alone.keys() == together.keys()
            for key, value in alone.items():
                assert np.array_equal(together[key][place], value, equal_nan=True), (name, key)
