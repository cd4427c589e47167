"""``Accumulator``: the result of ``evaluate``, batch by batch."""

import math
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.integrations.batches import FRAMES, MAPTR, batch_of, world

import mapgauge as mg
from mapgauge.results.flat import flat

PREDICTIONS, TRUTH = world()
TOKENS = TRUTH.tokens
LINE = [[0.0, 0.0], [9.0, 0.0]]


def predicted(*lines: Any, labels: Any = None, scores: Any = None) -> dict[str, Any]:
    names = ["divider"] * len(lines) if labels is None else labels
    return {"polylines": list(lines), "labels": names, "confidence": [0.9] * len(lines) if scores is None else scores}


def true(*lines: Any, labels: Any = None) -> dict[str, Any]:
    return {"polylines": list(lines), "labels": ["divider"] * len(lines) if labels is None else labels}


def fill(accumulator: mg.Accumulator, tokens: tuple[str, ...], size: int = 5) -> mg.Accumulator:
    for start in range(0, len(tokens), size):
        some = tokens[start : start + size]
        accumulator.update(batch_of(PREDICTIONS, some), batch_of(TRUTH, some), some)
    return accumulator


@pytest.mark.parametrize("size", [1, 5, FRAMES])
def test_batches_of_any_size_give_the_bits_of_evaluate(size: int) -> None:
    assert fill(mg.Accumulator(), TOKENS, size).compute() == flat(mg.evaluate(PREDICTIONS, TRUTH))


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "streammapnet-60x30"},
        {"name": "maptr"},
        {"name": "paper-60x30", "cutoffs": (0.5, 1.5), "settings": {"ap_sospa": {"thresholds": (0.3, 0.6)}}},
        {"name": "paper-60x30", "order": 2.0, "region": (30.0, 20.0), "crop": True},
        {"name": "paper-100x50", "classes": ("boundary",)},
    ],
    ids=lambda settings: " ".join(map(str, settings.values())),
)
def test_every_protocol_gives_the_bits_of_evaluate(settings: dict[str, Any]) -> None:
    protocol = mg.protocol(**settings)
    expected = flat(mg.evaluate(PREDICTIONS, TRUTH, protocol))
    numbers = ("boundary", "ped_crossing", "divider")
    accumulator = mg.Accumulator(protocol, classes=numbers)
    for start in range(0, FRAMES, 7):
        some = TOKENS[start : start + 7]
        accumulator.update(batch_of(PREDICTIONS, some, numbers), batch_of(TRUTH, some, numbers))
    assert accumulator.compute() == expected


def test_order_and_merging_do_not_change_a_bit(rng: np.random.Generator) -> None:
    expected = flat(mg.evaluate(PREDICTIONS, TRUTH))
    for _ in range(3):
        shuffled = tuple(rng.permutation(TOKENS).tolist())
        first, second = sorted(rng.integers(0, FRAMES, 2).tolist())
        shares = [shuffled[:first], shuffled[first:second], shuffled[second:]]
        parts = [fill(mg.Accumulator(), share, size=int(rng.integers(1, 9))) for share in shares]
        whole = mg.Accumulator()
        for k in rng.permutation(3).tolist():
            whole.merge(parts[k])
        assert whole.compute() == expected
        assert sum(map(len, parts)) == len(whole) == FRAMES


def test_frames_as_columns_meet_by_token_and_may_lack_predictions() -> None:
    some = PREDICTIONS.at(range(FRAMES - 4, 2, -1))
    expected = mg.evaluate(some, TRUTH)
    accumulator = mg.Accumulator()
    accumulator.update(some.at(range(3)), TRUTH.at([TRUTH.index[token] for token in some.tokens[:3]]))
    rest = [token for token in TOKENS if token not in some.tokens[:3]]
    here = [some.index[token] for token in rest if token in some.index]
    accumulator.update(some.at(here), TRUTH.at([TRUTH.index[token] for token in rest]))
    assert accumulator.compute() == flat(expected)
    results = accumulator.results()
    assert results.frames_missing == expected.frames_missing == 6
    assert set(results.scenes or ()) == set(TRUTH.scenes or ())


def test_numbers_mean_what_classes_say() -> None:
    accumulator = mg.Accumulator(classes=MAPTR)
    accumulator.update(batch_of(PREDICTIONS, TOKENS, MAPTR), batch_of(TRUTH, TOKENS, MAPTR))
    assert accumulator.compute() == flat(mg.evaluate(PREDICTIONS, TRUTH))


def test_classes_that_the_protocol_does_not_compare_are_left_out() -> None:
    accumulator = mg.Accumulator(classes=(*MAPTR, "centerline"))
    accumulator.update([predicted(LINE, LINE, labels=[0, 3])], [true(LINE, labels=[0])])
    assert accumulator.results().classes["divider"]["predictions"] == 1
    assert "pld/centerline" not in accumulator.compute()


@pytest.mark.parametrize("dimension", [2, 3])
def test_one_array_of_polylines_is_the_same_as_a_list(rng: np.random.Generator, dimension: int) -> None:
    points = rng.normal(0, 5, (6, 20, dimension)).astype(np.float32)
    labels, scores = rng.integers(0, 3, 6), rng.random(6).astype(np.float32)
    given = []
    for polylines in (points, [line.tolist() for line in points], tuple(points)):
        accumulator = mg.Accumulator(classes=MAPTR)
        accumulator.update(
            [{"polylines": polylines, "labels": labels, "confidence": scores}],
            [{"polylines": polylines[:4], "labels": labels[:4].tolist()}],
        )
        given.append(accumulator.compute())
    assert given[0] == given[1] == given[2]


@pytest.mark.parametrize("nothing", [[], (), np.empty((0, 20, 2)), np.empty(0)], ids=repr)
def test_nothing_may_be_predicted(nothing: Any) -> None:
    accumulator = mg.Accumulator()
    accumulator.update([{"polylines": nothing, "labels": [], "confidence": np.empty(0)}], [true(LINE)])
    assert accumulator.compute()["pld/mean/missed"] == 1.0


class Tensor:
    """What a tensor on a device looks like: numpy gets at its values only by the way that libraries document."""

    def __init__(self, values: Any, steps: tuple[str, ...] = ()) -> None:
        self.values, self.steps = np.asarray(values), steps
        self.ndim, self.dtype = self.values.ndim, self.values.dtype

    def detach(self) -> "Tensor":
        return Tensor(self.values, (*self.steps, "detach"))

    def cpu(self) -> "Tensor":
        return Tensor(self.values, (*self.steps, "cpu"))

    def is_floating_point(self) -> bool:
        return self.values.dtype.kind == "f"

    def double(self) -> "Tensor":
        return Tensor(self.values.astype(np.float64), (*self.steps, "double"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        assert self.steps[:2] == ("detach", "cpu")
        assert "double" in self.steps or not self.is_floating_point()
        return self.values


def test_tensors_are_taken_from_their_device_without_knowing_their_library() -> None:
    accumulator = mg.Accumulator(classes=MAPTR)
    scores = Tensor(np.array([0.5], np.float16))
    accumulator.update(
        [{"polylines": Tensor([LINE]), "labels": Tensor([0]), "confidence": scores}],
        [{"polylines": [Tensor(LINE)], "labels": Tensor([0])}],
    )
    assert accumulator.compute()["pld/divider"] == 0.5


def test_keys_are_flat_and_every_logger_takes_them() -> None:
    accumulator = mg.Accumulator(mg.protocol("paper-60x30", cutoffs=(1.5, 0.5)), metrics=["pld", "ap_chamfer"])
    accumulator.update([predicted(LINE)], [true(LINE)])
    values = accumulator.compute()
    parts = ["localisation", "detection", "matched_points", "unmatched_points", "confidence", "missed", "false"]
    parts += ["localisation_by_instances", "detection_by_instances", "frame_mean"]
    expected = set()
    for name in ("mean", "divider"):
        expected |= {f"pld/{name}", f"pld/{name}/0.5", f"pld/{name}/1.5"}
        expected |= {f"pld/{name}/{part}{cutoff}" for part in parts for cutoff in ("", "/0.5", "/1.5")}
        expected |= {f"ap_chamfer/{name}{threshold}" for threshold in ("", "/0.5", "/1.0", "/1.5")}
    assert set(values) == expected
    assert all(re.fullmatch(r"[\w./-]+", key) for key in values)
    assert all(type(value) is float and math.isfinite(value) for value in values.values())
    assert next(iter(values)) == "pld/mean"


def test_frames_with_nothing_in_them_have_no_values() -> None:
    accumulator = mg.Accumulator()
    accumulator.update([predicted()], [true()])
    assert accumulator.compute() == {}


def test_rings_have_keys_too() -> None:
    values = flat(mg.evaluate(PREDICTIONS, TRUTH, ranges=(0, 10, 30)))
    assert {"pld/mean/0-10m", "pld/divider/10-30m"} <= set(values)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (predicted(LINE, [[0, 0], [math.nan, 1]]), r"predictions[1]['polylines'][1]: coordinate 0 of point 1 is nan"),
        (predicted(LINE, [[0, 0]]), r"predictions[1]['polylines'][1] has 1 points, expected at least 2"),
        (predicted(LINE, [1, 2, 3]), r"predictions[1]['polylines'][1] is one flat list of 3 numbers"),
        (predicted([[0, 0, 0, 0], [1, 1, 1, 1]]), r"['polylines'][0]: points have 4 coordinates, expected 2"),
        (predicted(LINE, [[0, 0, 0], [1, 1, 1]]), r"['polylines'][1]: points have 3 coordinates, expected 2"),
        (predicted(LINE) | {"polylines": np.zeros((5, 2))}, r"['polylines'] has shape (5, 2), expected (polylines,"),
        (predicted(LINE) | {"polylines": np.zeros((1, 1, 5, 2))}, r"['polylines'] has shape (1, 1, 5, 2)"),
        (predicted(LINE) | {"polylines": "LINESTRING"}, r"['polylines'] must be a list of polylines or one array"),
        (predicted(["a", "b"]), r"predictions[1]['polylines'][0] must hold numbers"),
        (
            predicted(LINE, LINE, scores=[0.5, 7.3]),
            r"predictions[1]['confidence'] 1 is 7.3, expected a number in [0, 1]",
        ),
        (predicted(LINE, scores=[math.nan]), r"predictions[1]['confidence'][0] is nan"),
        (predicted(LINE, scores=[0.5, 0.6]), r"['confidence'] must be 1 numbers, one per polyline, got shape (2,)"),
        (predicted(LINE, scores=["high"]), r"['confidence'] must be numbers in [0, 1], got values of type <U4"),
        (predicted(LINE, labels=[0]), r"predictions[1]['labels'] holds numbers, but no class names were given"),
        (predicted(LINE, LINE, labels=["divider", "kerb"]), r"predictions[1]['labels'][1] is 'kerb', expected one of"),
        (predicted(LINE, labels=[0.0]), r"['labels'] must be whole numbers or names, got values of type float64"),
        (predicted(LINE, labels=[True]), r"['labels'] must be whole numbers or names, got values of type bool"),
        (predicted(LINE, labels=[["divider"]]), r"['labels'] must be 1 labels, one per polyline, got shape (1, 1)"),
        (true(LINE), r"predictions[1] has no confidence. It has: polylines, labels"),
        ([LINE], r"predictions[1] must be a dict with polylines, labels, confidence, got a list"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_is_refused_with_its_place_and_leaves_no_trace(predictions: Any, message: str) -> None:
    accumulator = mg.Accumulator()
    with pytest.raises(mg.InvalidInput, match=re.escape(message)):
        accumulator.update([predicted(LINE), predictions], [true(LINE), true(LINE)], ["a", "b"])
    accumulator.update([predicted(LINE)], [true(LINE)], ["a"])
    assert len(accumulator) == 1


@pytest.mark.parametrize("label", [-1, 3])
def test_a_number_without_a_name_is_refused(label: int) -> None:
    with pytest.raises(mg.InvalidInput, match=re.escape(f"truth[0]['labels'][1] is {label}, expected one of: 0 div")):
        mg.Accumulator(classes=MAPTR).update([predicted(labels=[])], [true(LINE, LINE, labels=np.array([0, label]))])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([predicted(LINE)], []), "1 prediction for 0 frames of truth"),
        ((predicted(LINE), true(LINE)), "predictions must be a list with a dict per frame, got a dict"),
        (
            ([predicted(LINE)], [predicted(LINE)]),
            "truth[0] has confidence, expected truth without confidences. Check that",
        ),
        (([predicted(LINE)], [true(LINE)], ["a", "b"]), "2 tokens for 1 frames"),
        (([predicted(LINE)], [true(LINE)], "a"), "tokens must be a list with one string per frame"),
        (([predicted(LINE)], [true(LINE)], [7]), "tokens[0] must be a string that is not empty, got 7"),
        (([predicted(LINE)], [true(LINE)], ["a"], [""]), "scenes[0] must be a string that is not empty"),
        (([predicted([[0, 0, 0], [1, 1, 1]])], [true(LINE)]), "predictions are 3-D and truth is 2-D"),
        ((PREDICTIONS, batch_of(TRUTH, TOKENS)), "predictions and truth must both be MapFrames"),
        ((PREDICTIONS, TRUTH, TOKENS), "tokens, scenes, timestamps and poses are not allowed with MapFrames"),
        ((TRUTH, TRUTH), "demo-truth: no confidences"),
        ((PREDICTIONS, TRUTH.at(range(3))), "predicted frames are not in the truth"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sides_that_do_not_fit_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=re.escape(message)):
        mg.Accumulator().update(*arguments)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mg.Accumulator("papr"), "unknown protocol 'papr'"),
        (lambda: mg.Accumulator(metrics=["pdl"]), "unknown metric 'pdl'"),
        (lambda: mg.Accumulator(classes="divider"), "classes must be a list of names"),
        (lambda: mg.Accumulator(classes=["divider", "divider"]), "classes must be one or more different names"),
        (lambda: mg.Accumulator(classes=["divider"]), "classes lacks ped_crossing, boundary, which the protocol"),
        (lambda: mg.Accumulator(mg.protocol("maptr", classes=None)), "has no classes. Pass classes="),
        (lambda: mg.Accumulator(degenerate="ignore"), "degenerate must be 'strict' or 'drop', got 'ignore'"),  # type: ignore[arg-type]
        (lambda: mg.Accumulator(repeated="ignore"), "repeated must be 'error' or 'drop', got 'ignore'"),  # type: ignore[arg-type]
        (lambda: mg.Accumulator().compute(), "no frames to compare. Call update first"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_settings_that_cannot_be_right_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=re.escape(message)):
        make()


def test_what_is_no_polyline_is_dropped_and_counted_if_asked_for() -> None:
    accumulator = mg.Accumulator(degenerate="drop")
    odd = predicted(LINE, [[1, 1]], [[0, math.inf], [1, 1]], LINE, scores=[0.8, 0.7, 0.6, math.nan])
    accumulator.update([odd, predicted(LINE)], [true(LINE, []), true(LINE)])
    sound = mg.Accumulator()
    sound.update([predicted(LINE, scores=[0.8]), predicted(LINE)], [true(LINE), true(LINE)])
    assert accumulator.compute() == sound.compute()
    again = mg.Accumulator(degenerate="drop")
    again.merge(accumulator)
    dropped = [(finding.code, finding.count, str(finding)[:16]) for finding in again.results().findings]
    code = "dropped-degenerate"
    assert dropped == [(code, 3, "warning: predict"), (code, 1, "warning: truth: ")]


def test_a_frame_that_comes_again_is_refused() -> None:
    accumulator = fill(mg.Accumulator(), TOKENS[:6])
    with pytest.raises(mg.InvalidInput, match=rf"2 of 5 frames were seen before \(first: {TOKENS[4]}\). Call reset"):
        fill(accumulator, TOKENS[4:9])
    with pytest.raises(mg.InvalidInput, match="1 of 3 frames were seen before"):
        accumulator.merge(fill(mg.Accumulator(), TOKENS[5:8]))
    assert len(accumulator) == 6
    accumulator.reset()
    assert len(fill(accumulator, TOKENS[:6])) == 6


def test_a_frame_that_comes_again_is_dropped_and_counted_if_asked_for() -> None:
    accumulator = fill(mg.Accumulator(repeated="drop"), (*TOKENS[:6], TOKENS[5], TOKENS[0]))
    other = fill(mg.Accumulator(repeated="drop"), TOKENS[3:])
    other.merge(accumulator)
    assert other.compute() == flat(mg.evaluate(PREDICTIONS, TRUTH))
    (finding,) = other.results().findings
    assert (finding.code, finding.count) == ("dropped-repeated", 5)


def test_frames_without_names_are_all_new() -> None:
    accumulator = mg.Accumulator()
    for _ in range(2):
        accumulator.update([predicted(LINE)] * 2, [true(LINE)] * 2)
    assert accumulator.results().tokens == ("#0", "#1", "#2", "#3")


def test_other_settings_do_not_merge() -> None:
    with pytest.raises(mg.InvalidInput, match="their settings differ"):
        mg.Accumulator().merge(mg.Accumulator("paper-100x50"))
    with pytest.raises(mg.InvalidInput, match="cannot merge a dict"):
        mg.Accumulator().merge({})  # type: ignore[arg-type]


def hashes_of(results: mg.Results) -> list[str]:
    return [read.hash for read in results.inputs]


def test_inputs_have_the_hash_of_evaluate(rng: np.random.Generator) -> None:
    expected = hashes_of(mg.evaluate(PREDICTIONS, TRUTH))
    assert hashes_of(fill(mg.Accumulator(), TOKENS).results()) == expected
    order = [TOKENS[i] for i in rng.permutation(FRAMES)]
    first, second = (fill(mg.Accumulator(repeated="drop"), tuple(some)) for some in (order[:9], order[6:]))
    first.merge(pickle.loads(pickle.dumps(second)))
    assert hashes_of(first.results()) == expected
    columns = mg.Accumulator()
    fewer = PREDICTIONS.at([i for i in range(FRAMES) if i % 4])
    for start in range(0, FRAMES, 5):
        some = TOKENS[start : start + 5]
        columns.update(
            fewer.at([fewer.index[token] for token in some if token in fewer.index]),
            TRUTH.at([TRUTH.index[token] for token in some]),
        )
    assert hashes_of(columns.results()) == hashes_of(mg.evaluate(fewer, TRUTH))


def test_other_content_has_another_hash() -> None:
    batch = batch_of(PREDICTIONS, TOKENS[:3]), batch_of(TRUTH, TOKENS[:3])
    found = [mg.Accumulator() for _ in range(3)]
    found[0].update(*batch, TOKENS[:3])
    found[1].update(*batch, TOKENS[3:6])
    found[2].update(*batch)
    assert len({tuple(hashes_of(one.results())) for one in found}) == 3
    again = mg.Accumulator()
    for k in (2, 0, 1):  # frames without tokens in another order
        again.update([batch[0][k]], [batch[1][k]])
    assert hashes_of(again.results()) == hashes_of(found[2].results())


def test_it_survives_pickling_and_goes_on() -> None:
    accumulator = pickle.loads(pickle.dumps(fill(mg.Accumulator(), TOKENS[:9])))
    assert fill(accumulator, TOKENS[9:]).compute() == flat(mg.evaluate(PREDICTIONS, TRUTH))
    assert repr(accumulator) == "<Accumulator paper-60x30: pld, ap_chamfer, ap_frechet of 24 frames>"
    assert len(accumulator.fresh()) == 0
    assert len(accumulator) == FRAMES


def test_geometry_is_not_kept() -> None:
    sizes = []
    for count in (2, 2000):
        accumulator = mg.Accumulator()
        line = np.linspace([0, 0], [9, 0], count)
        accumulator.update([predicted(line, line)], [true(line)])
        sizes.append(len(pickle.dumps(accumulator)))
    assert sizes[0] == sizes[1]


def test_results_are_saved_and_compared_as_those_of_evaluate(tmp_path: Path) -> None:
    scenes = dict(zip(TRUTH.tokens, TRUTH.scenes or (), strict=True))
    accumulator = mg.Accumulator()
    for some in (TOKENS[12:], TOKENS[:12]):
        accumulator.update(batch_of(PREDICTIONS, some), batch_of(TRUTH, some), some, [scenes[token] for token in some])
    results, expected = accumulator.results(), mg.evaluate(PREDICTIONS, TRUTH)
    assert results.table() == expected.table()
    assert results.frames(count=3) == expected.frames(count=3)
    results.save(tmp_path / "results.mg")
    comparison = mg.compare([mg.load_results(tmp_path / "results.mg"), expected], names=["a", "b"], samples=20)
    assert comparison.drawn == "scene"
    assert comparison.differences["a", "b"]["mean"]["pld"][:3] == (0.0, 0.0, 0.0)
