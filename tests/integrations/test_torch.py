"""``mapgauge.torch``: torchmetrics classes, in one process and in two, and the criterion in two."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integrations.batches import FRAMES, MAPTR, batch_of, values_over_time, world
from tests.two_processes import run_two

import mapgauge as mg
from mapgauge.results.flat import flat

torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
torchmetrics: Any = pytest.importorskip("torchmetrics", reason="torchmetrics is not installed", exc_type=ImportError)

from tests.torch.criterion_process import CRITERION, batch, gradient  # noqa: E402

from mapgauge.torch import (  # noqa: E402
    PolylineAveragePrecision,
    PolylineLocalisationDetection,
    PolylineMetric,
)

ROOT = Path(__file__).parents[2]
PREDICTIONS, TRUTH = world()
TOKENS = TRUTH.tokens


def tensors(frames: mg.MapFrames, tokens: tuple[str, ...], dtype: Any = torch.float64) -> list[Any]:
    """Frames as a model gives them; predictions know how they came about."""
    batch = batch_of(frames, tokens, MAPTR)
    for item in batch:
        item["labels"] = torch.tensor(item["labels"], dtype=torch.int64)
        item["polylines"] = [torch.tensor(line, dtype=dtype) for line in item["polylines"]]
        if "confidence" in item:
            item["polylines"] = [line.requires_grad_() for line in item["polylines"]]
            item["confidence"] = torch.tensor(item["confidence"], dtype=dtype)
    return batch


def fed(metric: Any, tokens: tuple[str, ...] = TOKENS, size: int = 7) -> Any:
    for start in range(0, len(tokens), size):
        some = tokens[start : start + size]
        metric.update(tensors(PREDICTIONS, some), tensors(TRUTH, some))
    return metric


def plain(values: dict[str, Any]) -> dict[str, float]:
    assert all(value.ndim == 0 and value.dtype == torch.float64 for value in values.values())
    return {key: value.item() for key, value in values.items()}


@pytest.fixture(scope="module")
def expected() -> dict[str, float]:
    return flat(mg.evaluate(PREDICTIONS, TRUTH))


@pytest.fixture(scope="module")
def of_pld(expected: dict[str, float]) -> dict[str, float]:
    return {key: value for key, value in expected.items() if key.startswith("pld/")}


def test_both_metrics_together_give_the_bits_of_evaluate(expected: dict[str, float]) -> None:
    values = [fed(kind(classes=MAPTR)).compute() for kind in (PolylineLocalisationDetection, PolylineAveragePrecision)]
    assert plain(values[0] | values[1]) == expected


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_tensors_of_lower_precision_count_as_what_they_are(dtype: str) -> None:
    kind = getattr(torch, dtype)
    metric = PolylineLocalisationDetection(classes=MAPTR)
    metric.update(tensors(PREDICTIONS, TOKENS[:3], kind), tensors(TRUTH, TOKENS[:3], kind))
    accumulator = mg.Accumulator(classes=MAPTR, metrics=["pld"])
    for token in TOKENS[:3]:
        x, y = batch_of(PREDICTIONS, (token,), MAPTR), batch_of(TRUTH, (token,), MAPTR)
        for item in (*x, *y):
            item["polylines"] = [torch.tensor(line).to(kind).tolist() for line in item["polylines"]]
        x[0]["confidence"] = torch.tensor(x[0]["confidence"]).to(kind).tolist()
        accumulator.update(x, y)
    assert plain(metric.compute()) == accumulator.compute()


def test_forward_gives_the_value_of_the_batch_and_keeps_it(of_pld: dict[str, float]) -> None:
    metric = PolylineLocalisationDetection(classes=MAPTR)
    for start in range(0, FRAMES, 8):
        some = TOKENS[start : start + 8]
        value = plain(metric(tensors(PREDICTIONS, some), tensors(TRUTH, some), some))
        places = [TRUTH.index[token] for token in some]
        assert value == flat(mg.evaluate(PREDICTIONS.at(places), TRUTH.at(places), metrics=["pld"]))
    assert plain(metric.compute()) == of_pld


def test_reset_forgets_and_clone_and_pickle_remember(of_pld: dict[str, float]) -> None:
    metric = fed(PolylineLocalisationDetection(classes=MAPTR), TOKENS[:9])
    for other in (metric.clone(), pickle.loads(pickle.dumps(metric))):
        metric.reset()
        assert plain(fed(other, TOKENS[9:]).compute()) == of_pld
    assert plain(fed(metric).compute()) == of_pld


def test_nothing_takes_the_states_away_from_float64(of_pld: dict[str, float]) -> None:
    metric = fed(PolylineLocalisationDetection(classes=MAPTR), TOKENS[:9])
    before = plain(metric.compute())  # which torchmetrics keeps, and would round
    module = torch.nn.ModuleDict({"metric": metric})
    module.half().to(torch.bfloat16).type(torch.float16)
    metric.set_dtype(torch.float16).to("cpu", torch.float16)
    assert plain(metric.compute()) == before
    assert plain(fed(metric, TOKENS[9:]).compute()) == of_pld


def test_states_travel_in_a_state_dict_if_asked_for(of_pld: dict[str, float]) -> None:
    metric = fed(PolylineLocalisationDetection(classes=MAPTR))
    assert metric.state_dict() == {}
    metric.persistent(True)
    other = PolylineLocalisationDetection(classes=MAPTR)
    other.load_state_dict(metric.state_dict())
    assert flat(other.results()) == of_pld


def test_states_of_two_metrics_merge(of_pld: dict[str, float]) -> None:
    metric = fed(PolylineLocalisationDetection(classes=MAPTR), TOKENS[9:])
    metric.merge_state(fed(PolylineLocalisationDetection(classes=MAPTR), TOKENS[:9]))
    assert plain(metric.compute()) == of_pld


def test_a_collection_keeps_metrics_of_other_settings_apart() -> None:
    protocols = {"wide": mg.protocol("paper-60x30"), "narrow": mg.protocol("paper-60x30", cutoffs=(1.4,))}
    metrics = {name: PolylineLocalisationDetection(settings, classes=MAPTR) for name, settings in protocols.items()}
    metrics["again"] = PolylineLocalisationDetection(classes=MAPTR)
    collection = torchmetrics.MetricCollection(metrics)
    nothing: dict[str, Any] = {"polylines": [], "labels": []}  # a first batch that looks the same at every cutoff
    collection.update([nothing | {"confidence": []}], [nothing])
    fed(collection)
    assert sorted(map(sorted, collection.compute_groups.values())) == [["again", "wide"], ["narrow"]]
    values = plain(collection.compute())
    for name, settings in protocols.items():
        assert values[f"{name}_pld/mean"] == mg.evaluate(PREDICTIONS, TRUTH, settings, metrics=["pld"]).mean["pld"]
    assert values["again_pld/mean"] == values["wide_pld/mean"] != values["narrow_pld/mean"]


def test_a_collection_has_flat_keys_with_its_prefix(expected: dict[str, float]) -> None:
    metrics = [PolylineLocalisationDetection(classes=MAPTR), PolylineAveragePrecision(classes=MAPTR)]
    collection = torchmetrics.MetricCollection(metrics, prefix="val/")
    assert plain(fed(collection).compute()) == {f"val/{key}": value for key, value in expected.items()}


def test_a_tracker_knows_which_epoch_was_best() -> None:
    collection = torchmetrics.MetricCollection([PolylineLocalisationDetection(classes=MAPTR)])
    tracker = torchmetrics.MetricTracker(collection, maximize=False)
    poor = PREDICTIONS.with_confidence(0.2)
    for predictions in (poor, PREDICTIONS, poor):
        tracker.increment()
        tracker.update(tensors(predictions, TOKENS[:3]), tensors(TRUTH, TOKENS[:3]))
    _, step = tracker.best_metric(return_step=True)
    assert step["pld/mean"] == 1


def test_results_have_names_and_findings() -> None:
    metric = PolylineLocalisationDetection(classes=MAPTR, degenerate="drop", repeated="drop")
    for some in (TOKENS[:3], TOKENS[2:5]):
        x = tensors(PREDICTIONS, some)
        x[0]["polylines"][0] = x[0]["polylines"][0][:1]
        metric.update(x, tensors(TRUTH, some), some, ["Zürich"] * 3)
    results = metric.results()
    assert results.tokens == TOKENS[:5]
    assert results.scenes == ("Zürich",) * 5
    assert [(one.code, one.count) for one in results.findings] == [("dropped-degenerate", 1), ("dropped-repeated", 1)]


@pytest.mark.parametrize("by_call", [False, True], ids=["update", "forward"])
def test_a_token_twice_is_refused_with_the_batch_that_has_it(by_call: bool) -> None:
    """As the accumulator does. ``forward`` of torchmetrics resets the metric on the way."""
    metric = PolylineLocalisationDetection(classes=MAPTR)
    add = metric.forward if by_call else metric.update

    def batch(*tokens: str) -> tuple[Any, Any, tuple[str, ...]]:
        return tensors(PREDICTIONS, tokens), tensors(TRUTH, tokens), tokens

    add(*batch(*TOKENS[:2]))
    add(*batch(*TOKENS[2:4]))
    assert metric.results().tokens == TOKENS[:4]
    with pytest.raises(mg.InvalidInput, match=rf"1 of 2 frames were seen before \(first: {TOKENS[0]}\). Call reset"):
        add(*batch(TOKENS[5], TOKENS[0]))
    metric.reset()
    with pytest.raises(mg.InvalidInput, match="1 of 2 frames were seen before"):
        add(*batch(TOKENS[0], TOKENS[0]))
    metric.reset()
    add(*batch(TOKENS[0]))
    assert metric.results().tokens == TOKENS[:1]


def test_columns_are_taken_too(of_pld: dict[str, float]) -> None:
    metric = PolylineLocalisationDetection()
    metric.update(PREDICTIONS, TRUTH)
    assert plain(metric.compute()) == of_pld
    assert metric.results().tokens == TOKENS
    named = PolylineLocalisationDetection(classes=MAPTR, repeated="drop")
    for some in (TOKENS[:9], TOKENS[5:]):
        named.update(batch_of(PREDICTIONS, some), batch_of(TRUTH, some), some)
    expected = [read.hash for read in mg.evaluate(PREDICTIONS, TRUTH, metrics=["pld"]).inputs]
    assert [[read.hash for read in one.results().inputs] for one in (metric, named)] == [expected, expected]
    with pytest.raises(mg.InvalidInput, match="not allowed with MapFrames"):
        metric.update(PREDICTIONS, TRUTH, TOKENS)


def test_metrics_say_which_way_is_better() -> None:
    assert PolylineLocalisationDetection.higher_is_better is False
    assert PolylineAveragePrecision.higher_is_better is True


def test_average_precision_takes_the_distances_asked_for() -> None:
    settings = mg.protocol("paper-60x30", settings={"ap_sospa": {"thresholds": (0.3,)}})
    values = fed(PolylineAveragePrecision(settings, metrics=["ap_sospa"], classes=MAPTR), TOKENS[:3]).compute()
    assert {key.split("/")[0] for key in values} == {"ap_sospa"}
    for wrong in (["pld"], []):
        with pytest.raises(mg.InvalidInput, match="average precision needs one or more"):
            PolylineAveragePrecision(metrics=wrong)
    with pytest.raises(mg.InvalidInput, match="has no cutoffs for pld"):
        PolylineLocalisationDetection("maptr")


def test_compute_without_frames_is_refused() -> None:
    with pytest.warns(UserWarning, match="before the ``update`` method"), pytest.raises(mg.InvalidInput, match="no fr"):
        PolylineLocalisationDetection().compute()


def test_without_torch_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch'] = None; import mapgauge.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, encoding="utf-8")
    assert "MissingDependency: mapgauge.torch needs torch" in done.stderr
    assert "pip install 'mapgauge[torch]'" in done.stderr


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory: pytest.TempPathFactory, expected: dict[str, float]) -> list[Any]:
    """What each of two processes found. By then kernels are compiled."""
    return run_two(ROOT / "tests" / "integrations" / "process.py", tmp_path_factory.mktemp("processes"))


@pytest.mark.parametrize("case", ["uneven", "one only"])
def test_two_processes_give_the_bits_of_one(two_processes: list[Any], expected: dict[str, float], case: str) -> None:
    assert two_processes[0][case] == two_processes[1][case] == expected


def test_frames_that_a_sampler_repeats_are_noticed_across_processes(
    two_processes: list[Any], of_pld: dict[str, float]
) -> None:
    for found in two_processes:
        assert found["dropped"] == of_pld
        assert "frames were seen before" in found["refused"]


@pytest.mark.needs_feature("tracks")
def test_scenes_that_are_spread_over_processes_are_whole_again(
    two_processes: list[Any],
) -> None:
    expected = {key: value for key, value in values_over_time().items() if not key.startswith("c_map")}
    of_one = {key: value for key, value in expected.items() if key.startswith("track_pld")}
    for found in two_processes:
        assert found["scenes"] == expected
        assert found["scenes, one only"] == of_one


def test_processes_without_predictions_agree(two_processes: list[Any]) -> None:
    for found in two_processes:
        assert found["no predictions"]["pld/mean/missed"] == 1.0


def test_forward_is_of_the_own_batch_and_compute_of_all(two_processes: list[Any], of_pld: dict[str, float]) -> None:
    assert two_processes[0]["of the batch"] != two_processes[1]["of the batch"]
    assert two_processes[0]["after forward"] == two_processes[1]["after forward"] == of_pld


def test_each_process_goes_on_with_its_own_frames(two_processes: list[Any]) -> None:
    assert [found["frames here"] for found in two_processes] == [17, FRAMES - 17]
    assert [found["goes on"] for found in two_processes] == [18, FRAMES - 17 + 1]
    assert two_processes[0]["frames of all"] == two_processes[1]["frames of all"]
    assert set(two_processes[0]["frames of all"]) >= set(TOKENS[3:17] + TOKENS[20:])


def test_two_processes_have_the_gradient_of_one(two_processes: list[Any]) -> None:
    assert two_processes[0]["gradient"] == two_processes[1]["gradient"]
    outputs, targets = batch()
    expected = gradient(torch.nn.Linear(2, 2), outputs, targets)
    assert two_processes[0]["gradient"] == pytest.approx(expected, abs=1e-6)
    assert CRITERION.pld_weight == 0  # pooled PLD of the halves is not the one of the whole


def test_any_metrics_are_computed_by_their_names() -> None:
    metric = PolylineMetric(metrics=["pld", "completeness"], classes=MAPTR)
    metric.update(batch_of(PREDICTIONS, TOKENS, MAPTR), batch_of(TRUTH, TOKENS, MAPTR))
    expected = flat(mg.evaluate(PREDICTIONS, TRUTH, metrics=["pld", "completeness"]))
    assert {key: value.item() for key, value in metric.compute().items()} == pytest.approx(expected, nan_ok=True)
