"""Totals of made-up rows, by hand: three frames, two classes, two cutoffs, two rings."""

import numpy as np
import pytest
from tests.metrics.toy_metrics import LENGTH_ERROR

import mapgauge as mg
from mapgauge.metrics.table import METRICS
from mapgauge.scoring.scores import Scores, Sums, Totals, flags_of, per_frame

PROTOCOL = mg.protocol("paper-60x30").replace(
    classes=("divider", "boundary"),
    cutoffs=(1.5, 0.5),
    settings={"ap_chamfer": {"thresholds": (0.5, 1.0)}, "ap_frechet": None},
)
PREDICTED = np.array([[1, 0], [0, 1], [0, 1]])
TRUE = np.array([[0, 0], [2, 0], [1, 3]])
# A digit for the setting or ring, one for the frame, one for the class and one for the column.
SUMS = np.array(
    [[[[1000 * s + 100 * f + 10 * c + k for k in range(6)] for c in (0, 1)] for f in range(3)] for s in (1, 2)]
)


def scores(frames: slice = slice(None)) -> Scores:
    """Rows of some of the frames. The second prediction hits at both thresholds, the third at the larger one."""
    chosen = np.arange(3)[frames]
    return Scores(
        predicted=PREDICTED[chosen],
        true=TRUE[chosen],
        confidence=np.array([0.9, 0.8, 0.7])[chosen],
        sums={"pld": SUMS[:, chosen].astype(np.float64)},
        rings={"pld": SUMS[:, chosen] + 0.5},
        hits={"ap_chamfer": np.array([0b00, 0b11, 0b10], np.uint16)[chosen]},
    )


def test_counts_sums_and_precisions() -> None:
    totals = Totals.of(scores(), PROTOCOL)
    assert (totals.frames, totals.without_truth) == (3, 1)
    assert (totals.predicted.tolist(), totals.true.tolist()) == ([1, 2], [3, 3])
    sums = totals.sums["pld"]
    assert sums.sums.shape == sums.rings.shape == (2, 2, 6)
    assert sums.sums[1, 1, 2] == 2012 + 2112 + 2212
    assert sums.rings[0, 1, 5] == 1015 + 1115 + 1215 + 1.5
    assert sums.frame_values.shape == (2, 2)
    assert totals.precision["ap_chamfer"].tolist() == [[0, 1 / 3], [0, pytest.approx(2 / 3)]]


@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_sums_of_chunks_are_those_of_all_frames(cut: int) -> None:
    whole = Totals.of(scores(), PROTOCOL)
    sums = Sums.of(scores(slice(cut)), PROTOCOL) + Sums.of(scores(slice(cut, None)), PROTOCOL)
    parts = Totals.of_sums(sums, PROTOCOL, ("pld", "ap_chamfer"), 2, whole.precision)
    assert (parts.frames, parts.without_truth) == (3, 1)
    assert (parts.predicted.tolist(), parts.true.tolist()) == (whole.predicted.tolist(), whole.true.tolist())
    for name in ("sums", "frame_values", "rings"):
        assert getattr(parts.sums["pld"], name).tolist() == getattr(whole.sums["pld"], name).tolist()
    assert parts.precision is whole.precision


def test_rows_of_frames_stay_together() -> None:
    rows = per_frame(scores(), PROTOCOL)
    assert rows.shape == (3, 2 * 2 * 6 + 2 * 2 + 2 * 2 * 6)
    assert rows[1, :24].tolist() == SUMS[:, 1].ravel().tolist()
    assert rows[2, -24:].tolist() == (SUMS[:, 2].ravel() + 0.5).tolist()
    assert per_frame(
        Scores(predicted=PREDICTED, true=TRUE, confidence=np.ones(3), sums={}, rings={}, hits={}), PROTOCOL
    ).shape == (3, 0)


def test_a_metric_without_rings_and_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "length_error", LENGTH_ERROR)
    rows = np.arange(12.0).reshape(1, 3, 2, 2)
    sums, rings = {"length_error": rows, "pld": SUMS.astype(np.float64)}, {"pld": SUMS + 0.5}
    both = Totals.of(
        Scores(predicted=PREDICTED, true=TRUE, confidence=np.ones(3), sums=sums, rings=rings, hits={}), PROTOCOL
    )
    assert both.sums["pld"].rings.tolist() == Totals.of(scores(), PROTOCOL).sums["pld"].rings.tolist()
    totals = Totals.of(
        Scores(predicted=PREDICTED, true=TRUE, confidence=np.ones(3), sums={"length_error": rows}, rings={}, hits={}),
        PROTOCOL,
    )
    assert totals.sums["length_error"].sums.tolist() == [[[0 + 4 + 8, 1 + 5 + 9], [2 + 6 + 10, 3 + 7 + 11]]]
    assert totals.sums["length_error"].rings.shape == (0, 2, 2)
    assert np.isnan(totals.sums["length_error"].frame_values).tolist() == [[True, True]]
    assert totals.precision == {}


def test_flags_have_a_column_for_each_setting() -> None:
    hits = np.array([0b00, 0b10, 0b01], np.uint16)
    assert flags_of([hits], [(0, 0), (0, 1)]).tolist() == [[False, False], [False, True], [True, False]]
    assert flags_of([hits], []).shape == (3, 0)
    assert flags_of([], []).shape == (0, 0)
