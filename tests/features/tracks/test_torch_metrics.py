"""``mapgauge.torch``: torchmetrics classes of metrics over time. Processes are tried in ``tests/integrations``."""

import pickle
from typing import Any

import pytest
from tests.integrations.batches import FRAMES, MAPTR, batch_of, of_frames, tracked_world, values_over_time, world

import mapgauge as mg

torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
torchmetrics: Any = pytest.importorskip("torchmetrics", reason="torchmetrics is not installed", exc_type=ImportError)

from mapgauge.torch import (  # noqa: E402
    ConsistentPolylineAveragePrecision,
    PolylineStability,
    TrackPolylineLocalisationDetection,
)

TRUTH = world()[1]
TOKENS = TRUTH.tokens


def plain(values: dict[str, Any]) -> dict[str, float]:
    return {key: value.item() for key, value in values.items()}


def test_metrics_over_time_say_which_way_is_better() -> None:
    assert TrackPolylineLocalisationDetection.higher_is_better is False
    assert ConsistentPolylineAveragePrecision.higher_is_better is True
    assert PolylineStability.higher_is_better is True


def test_metrics_of_scenes_give_the_bits_of_evaluate() -> None:
    kinds = [TrackPolylineLocalisationDetection, PolylineStability, ConsistentPolylineAveragePrecision]
    collection = torchmetrics.MetricCollection([kind(classes=MAPTR) for kind in kinds])
    for start in range(0, FRAMES, 7):
        some = TOKENS[::-1][start : start + 7]
        x, y = (batch_of(side, some, MAPTR, tracks=True) for side in tracked_world())
        place = of_frames(TRUTH, some)
        times, poses = torch.tensor(place["timestamps"]), torch.tensor(place["poses"])
        collection.update(x, y, some, place["scenes"], times, poses)
    again = pickle.loads(pickle.dumps(collection)).half()
    assert plain(collection.compute()) == plain(again.compute()) == values_over_time()


def test_the_switch_cost_is_the_argument_or_that_of_the_protocol_or_half() -> None:
    settings = mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.25}})
    made = [TrackPolylineLocalisationDetection(), TrackPolylineLocalisationDetection(settings)]
    made.append(TrackPolylineLocalisationDetection(settings, switch_cost=1))
    assert [metric._empty.settings.protocol.settings["track_pld"].switch_cost for metric in made] == [0.5, 0.25, 1.0]
