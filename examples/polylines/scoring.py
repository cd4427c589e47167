"""Scores predictions by the protocol of the paper."""

from pathlib import Path
from typing import Any

import numpy as np
from examples.polylines.worlds import CLASSES

import mapgauge as mg
from mapgauge.results.flat import flat

METRICS = ("pld", "ap_chamfer", "ap_frechet")
NAMES = ("pld/mean", "pld/mean/localisation", "pld/mean/detection", "ap_chamfer/mean", "ap_frechet/mean")
SCALES = [(slope, shift) for slope in (0.7, 1.0, 1.5, 2.5, 4.0) for shift in (-1.5, -0.75, 0.0, 0.75)]
TRUTH: dict[str, mg.MapFrames] = {}  # the frames of the parts, in each process that scores


def know(truth: dict[str, mg.MapFrames]) -> None:
    """Keep the frames of the parts in this process."""
    TRUTH.update(truth)


def score(path: Path, seed: int, part: str, metrics: tuple[str, ...], scale: tuple[float, float] = (1.0, 0.0)) -> Any:
    """PLD with its parts and average precision of one seed in a file of predictions.

    ``scale`` is a slope and a shift of the logits of the confidences.
    """
    truth = TRUTH[part]
    with np.load(path) as file:
        chance, lines = file["chance"][seed].astype(np.float64), file["points"][seed].astype(np.float64)
    label, best = chance.argmax(-1), chance.max(-1)
    if scale != (1.0, 0.0):
        safe = best.clip(1e-6, 1 - 1e-6)
        best = 1 / (1 + np.exp(-(scale[0] * np.log(safe / (1 - safe)) + scale[1])))
    rings = np.concatenate([lines, lines[:, :, :1]], 2)
    wanted, given = [], []
    for i in range(len(truth.tokens)):
        start, stop = truth.offsets[i : i + 2]
        own = [truth.polylines[j] for j in range(start, stop)]
        wanted.append({"polylines": own, "labels": truth.label[start:stop]})
        predicted = [(rings if k == 0 else lines)[i, q] for q, k in enumerate(label[i])]
        given.append({"polylines": predicted, "labels": label[i], "confidence": best[i]})
    accumulator = mg.Accumulator("paper-60x30", metrics=metrics, classes=CLASSES, degenerate="drop")
    accumulator.update(given, wanted, tokens=list(truth.tokens))
    values = flat(accumulator.results())
    return {name: float(values[name]) for name in NAMES if name in values}


def rescaled(folder: Path, name: str, seed: int) -> Any:
    """The scores of a variant on the test part, with its confidences rescaled: what calibration alone gives.

    The scale is the best one for PLD on the validation part.
    """
    tried = [score(folder / f"validation~{name}.npz", seed, "validation", ("pld",), how)["pld/mean"] for how in SCALES]
    return score(folder / f"test~{name}.npz", seed, "test", METRICS, SCALES[int(np.argmin(tried))])
