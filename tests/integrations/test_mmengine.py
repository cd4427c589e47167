"""``mapgauge.mmengine``: a metric for mmengine's evaluators, tried with the real ones."""

import re
import subprocess
import sys
from typing import Any

import pytest
from tests.integrations.batches import FRAMES, MAPTR, batch_of, of_frames, tracked_world, world

import mapgauge as mg
from mapgauge.results.flat import flat

torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
evaluator: Any = pytest.importorskip("mmengine.evaluator", reason="mmengine is not installed", exc_type=ImportError)
structures: Any = pytest.importorskip("mmengine.structures", reason="mmengine is not installed", exc_type=ImportError)

from mapgauge.mmengine import MapgaugeMetric  # noqa: E402

PREDICTIONS, TRUTH = world()
TOKENS = TRUTH.tokens


def samples(tokens: tuple[str, ...]) -> list[Any]:
    """Data samples as mmdet has them."""
    found = []
    for token in tokens:
        ((x,), (y,)) = batch_of(PREDICTIONS, (token,), MAPTR), batch_of(TRUTH, (token,), MAPTR)
        sample = structures.BaseDataElement(metainfo={"sample_token": token, "scene": token[:10]})
        sample.pred_instances = structures.InstanceData(
            polylines=x["polylines"],
            labels=torch.tensor(x["labels"]),
            scores=torch.tensor(x["confidence"], dtype=torch.float64),
        )
        sample.gt_instances = structures.InstanceData(polylines=y["polylines"], labels=torch.tensor(y["labels"]))
        found.append(sample)
    return found


def evaluated(settings: dict[str, Any], classes: tuple[str, ...] | None = MAPTR, **keywords: Any) -> dict[str, float]:
    runner = evaluator.Evaluator([{"type": "MapgaugeMetric"} | settings])
    runner.dataset_meta = {} if classes is None else {"classes": classes}
    for start in range(0, FRAMES, 5):
        runner.process(samples(TOKENS[start : start + 5]), {"inputs": None})
    values: dict[str, float] = runner.evaluate(keywords.get("size", FRAMES))
    return values


def test_an_evaluator_gives_the_bits_of_evaluate_by_the_classes_of_the_data_set() -> None:
    assert evaluated({}) == flat(mg.evaluate(PREDICTIONS, TRUTH))


def test_settings_come_from_the_configuration() -> None:
    settings = {"protocol": "paper-100x50", "metrics": ["ap_chamfer"], "classes": list(MAPTR), "prefix": "val"}
    settings |= {"token": "sample_token", "scene": "scene"}
    expected = flat(mg.evaluate(PREDICTIONS, TRUTH, "paper-100x50", metrics=["ap_chamfer"]))
    assert evaluated(settings, None) == {f"val/{key}": value for key, value in expected.items()}


def test_frames_that_the_sampler_repeats_are_left_out_by_mmengine() -> None:
    metric = MapgaugeMetric(classes=MAPTR, token="sample_token")
    metric.process(None, [one.to_dict() for one in samples((*TOKENS, TOKENS[0]))])
    assert len(metric.results) == FRAMES + 1
    assert metric.evaluate(FRAMES) == flat(mg.evaluate(PREDICTIONS, TRUTH))


@pytest.mark.needs_feature("tracks")
def test_metrics_of_scenes_take_tracks_times_and_poses() -> None:
    predictions, truth = tracked_world()
    protocol = mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}, "mas": {"intervals": (2,)}})
    paths: dict[str, Any] = {"token": "token", "scene": "scene", "timestamp": "time", "pose": "pose", "tracks": "ids"}
    metric = MapgaugeMetric(protocol, metrics=["track_pld", "mas"], classes=MAPTR, **paths)
    for token in TOKENS[::-1]:
        sides = [batch_of(side, (token,), MAPTR, tracks=True)[0] for side in (predictions, truth)]
        x, y = ({key if key != "tracks" else "ids": value for key, value in side.items()} for side in sides)
        place = of_frames(truth, (token,))
        more = {"token": token, "scene": place["scenes"][0], "time": place["timestamps"][0], "pose": place["poses"][0]}
        metric.process(None, [{"pred_instances": x | {"scores": x["confidence"]}, "gt_instances": y} | more])
    expected = flat(mg.evaluate(predictions, truth, protocol, metrics=["track_pld", "mas"]))
    assert metric.evaluate(FRAMES) == expected


def test_polylines_may_be_anywhere_in_a_sample() -> None:
    metric = MapgaugeMetric(
        classes=MAPTR,
        predictions="map.predicted",
        truth="map.true",
        polylines="vectors",
        labels="types",
        confidence="confidence",
        token="meta.token",
    )
    for token in TOKENS:
        ((x,), (y,)) = batch_of(PREDICTIONS, (token,), MAPTR), batch_of(TRUTH, (token,), MAPTR)
        sides = {
            "predicted": {"vectors": x["polylines"], "types": x["labels"], "confidence": x["confidence"]},
            "true": structures.InstanceData(vectors=y["polylines"], types=y["labels"]),
        }
        metric.process(None, [{"map": sides, "meta": {"token": token}}])
    assert metric.evaluate(FRAMES) == flat(mg.evaluate(PREDICTIONS, TRUTH))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"truth": "gt"}, "data_samples[0]: gt.polylines: gt not found; available: "),
        ({"confidence": "sure"}, "data_samples[0]: pred_instances.sure: sure not found"),
        ({"classes": None}, "data_samples[0]: predictions[0]['labels'] holds numbers"),
        ({"token": "sample_token.x"}, "sample_token.x: x not found in a str"),
    ],
    ids=str,
)
def test_what_is_not_there_is_named(settings: dict[str, Any], message: str) -> None:
    metric = MapgaugeMetric(**({"classes": MAPTR} | settings))
    with pytest.raises(mg.InvalidInput, match=re.escape(message)):
        metric.process(None, [one.to_dict() for one in samples(TOKENS[:1])])


def test_wrong_settings_are_refused_before_the_first_epoch() -> None:
    with pytest.raises(mg.InvalidInput, match="unknown protocol 'papr'"):
        MapgaugeMetric("papr")
    with pytest.raises(mg.InvalidInput, match="unknown metric 'pdl'"):
        MapgaugeMetric(metrics=["pdl"])


def test_a_protocol_without_classes_takes_those_of_the_data_set() -> None:
    protocol = mg.protocol("paper-60x30", classes=None)
    assert evaluated({"protocol": protocol}) == flat(mg.evaluate(PREDICTIONS, TRUTH))


def test_without_mmengine_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['mmengine'] = None; import mapgauge.mmengine"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, encoding="utf-8")
    assert "MissingDependency: the metric for mmengine needs mmengine and torch" in done.stderr
    assert "pip install 'mapgauge[mmengine]'" in done.stderr
