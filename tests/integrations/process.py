"""One of two processes that share the frames of an evaluation and train together: ``process.py rank store answers``.

Each scenario deals the frames out in its own way. The answers go to a file, for the test to look at.
"""

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.integrations.batches import MAPTR, batch_of, of_frames, tracked_world, world

import mapgauge as mg


def plain(values: dict[str, Any]) -> dict[str, float]:
    return {key: value.item() for key, value in values.items()}


def over_time(padded: tuple[str, ...], one_only: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of metrics over time. Every scene is spread over both processes."""
    from mapgauge.torch import PolylineStability, TrackPolylineLocalisationDetection

    truth = world()[1]
    tracked = tracked_world()[0]

    def of_scenes(metric: Any, some: tuple[str, ...]) -> Any:
        for start in range(0, len(some), 5):
            part = some[start : start + 5]
            batch = batch_of(tracked, part, MAPTR, tracks=True), batch_of(truth, part, MAPTR, tracks=True)
            metric.update(*batch, part, **of_frames(truth, part))
        return metric

    found = {}
    kinds = [TrackPolylineLocalisationDetection, PolylineStability]
    metrics = [of_scenes(kind(classes=MAPTR, repeated="drop"), padded) for kind in kinds]
    found["scenes"] = plain(metrics[0].compute()) | plain(metrics[1].compute())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found["scenes, one only"] = plain(of_scenes(kinds[0](classes=MAPTR), one_only).compute())
    return found


def main(rank: int, store: str, answers: Path) -> None:
    import torch.distributed
    from tests.torch.criterion_process import gradient_of_share

    from mapgauge.torch import (
        PolylineAveragePrecision,
        PolylineLocalisationDetection,
    )

    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    predictions, truth = world()
    tokens = truth.tokens
    found: dict[str, Any] = {}

    def fed(metric: Any, some: tuple[str, ...], *, named: bool = False) -> Any:
        for start in range(0, len(some), 5):
            part = some[start : start + 5]
            batch = batch_of(predictions, part, MAPTR), batch_of(truth, part, MAPTR)
            metric.update(*batch, part if named else None)
        return metric

    def pld(**settings: Any) -> PolylineLocalisationDetection:
        return PolylineLocalisationDetection(classes=MAPTR, **settings)

    uneven = tokens[:17] if rank == 0 else tokens[17:]
    metrics = [fed(pld(), uneven), fed(PolylineAveragePrecision(classes=MAPTR), uneven)]
    found["uneven"] = plain(metrics[0].compute()) | plain(metrics[1].compute())

    one_only = tokens if rank == 0 else ()
    metrics = [fed(pld(), one_only), fed(PolylineAveragePrecision(classes=MAPTR), one_only)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torchmetrics: compute before update, which is the point
        found["one only"] = plain(metrics[0].compute()) | plain(metrics[1].compute())

    # As DistributedSampler deals: every second frame, and some of the first again at the end.
    padded = (*tokens, *tokens[:2])[rank::2]
    found["dropped"] = plain(fed(pld(repeated="drop"), padded, named=True).compute())
    try:
        fed(pld(), padded, named=True).compute()
    except mg.InvalidInput as error:
        found["refused"] = str(error)

    if "track_pld" in dir(mg):  # the feature of these metrics may have been deleted
        found |= over_time(padded, one_only)

    nothing: dict[str, Any] = {"polylines": [], "labels": []}
    metric = pld()
    metric.update([nothing | {"confidence": []}], [{"polylines": [[[0, 0], [9, 0]]], "labels": [0]}])
    found["no predictions"] = plain(metric.compute())

    metric = pld()
    batch = batch_of(predictions, uneven[:3], MAPTR), batch_of(truth, uneven[:3], MAPTR)
    found["of the batch"] = plain(metric(*batch))
    fed(metric, uneven[3:], named=True)
    found["after forward"] = plain(metric.compute())
    found["frames here"] = len(metric.results().tokens)
    with metric.sync_context():
        found["frames of all"] = sorted(metric.results().tokens)
    fed(metric, ("unknown",))
    found["goes on"] = len(metric.results().tokens)

    found["gradient"] = gradient_of_share(rank)

    answers.write_text(json.dumps(found), encoding="utf-8")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    os._exit(0)  # threads of torch sometimes abort the process when Python ends


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
