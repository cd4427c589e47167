"""Bad and odd inputs on which the public evaluators print tracebacks or misleading numbers: none may pass in silence.

The numbers are those of a survey of the public tools (toy frames, one fault each). Here every case ends in one of
three ways: the reader refuses the file in its own words, ``check`` reports a finding about the fault, or the input only
looks odd. Then there are no errors and warnings, and the values are those of the sound files.
"""

import json
import math
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shared_data import SURVEY

import mapgauge as mg

TOKENS = tuple(f"frame-{letter}" for letter in "abcdefghijkl")
PED, DIVIDER, BOUNDARY = 0, 1, 2


@dataclass
class Files:
    """A few toy frames as the two files of StreamMapNet hold them."""

    predictions: Any
    truth: Any
    region: Any = None
    results: Any = field(init=False)

    def __post_init__(self) -> None:
        self.results = self.predictions["results"]

    def line(self, token: int = 0, instance: int = 1) -> Any:
        return self.results[TOKENS[token]]["vectors"][instance]

    def each(self, key: str, change: Callable[[Any], Any]) -> None:
        """Change every score, label or vector."""
        for frame in self.results.values():
            frame[key] = [change(value) for value in frame[key]]


def sound() -> Files:
    truth, results = {}, {}
    for i, token in enumerate(TOKENS):
        shift = float(i % 3)
        ring = np.array([[-3, -8], [3, -8], [3, -4], [-3, -4], [-3, -8]], np.float64) + np.array([shift, 0])
        lines = [np.array([[-28, y + shift], [0, y + 0.5], [28, y + shift]]) for y in (-2.0, 2.0)]
        edges = [np.array([[-29, y], [29, y + shift]]) for y in (-12.0, 11.0)]
        truth[token] = {PED: [ring], DIVIDER: lines, BOUNDARY: edges}
        vectors = [line + np.array([0.1, 0.2]) for group in truth[token].values() for line in group]
        results[token] = {
            "vectors": [line.tolist() for line in vectors],
            "scores": [0.9 - 0.1 * k - 0.001 * i for k in range(5)],
            "labels": [PED, DIVIDER, DIVIDER, BOUNDARY, BOUNDARY],
        }
    return Files({"meta": {}, "results": results}, truth)


def _set(place: Any, key: Any, value: Any) -> Any:
    place[key] = value
    return value


def _drop_class(files: Files, label: int, *, predictions: bool = False) -> None:
    for token in TOKENS:
        files.truth[token][label] = []
        if predictions:
            frame = files.results[token]
            kept = [k for k, other in enumerate(frame["labels"]) if other != label]
            for key in frame:
                frame[key] = [frame[key][k] for k in kept]


def _three_d(lines: Any, height: float) -> Any:
    return [np.column_stack([line, np.full(len(line), height)]).tolist() for line in lines]


def _raise_truth(files: Files, height: float) -> Any:
    for groups in files.truth.values():
        for label, lines in groups.items():
            groups[label] = [np.array(line) for line in _three_d(lines, height)]


def _raise_predictions(files: Files, height: float) -> Any:
    for frame in files.results.values():
        frame["vectors"] = _three_d(frame["vectors"], height)


def _rename_tokens(files: Files, change: Callable[[str], str]) -> None:
    files.predictions["results"] = {change(token): frame for token, frame in files.results.items()}


def _exchange_labels(files: Files) -> None:
    files.each("labels", lambda label: {PED: DIVIDER, DIVIDER: PED}.get(label, label))


def _shuffle(files: Files) -> None:
    files.predictions["results"] = dict(reversed(files.results.items()))


def _repeat(files: Files) -> None:
    for frame in files.results.values():
        for key in frame:
            frame[key] += [frame[key][0]] * 4


def _rings(files: Files, change: Callable[[list[Any]], list[Any]]) -> None:
    for frame in files.results.values():
        frame["vectors"][0] = change(frame["vectors"][0])


FEW = r"vectors\[1\] has fewer than 2 points"
NOT_FINITE = "has a coordinate that is not a finite number"
BAD_CONFIDENCE = "has a confidence that is not a finite number"

# What a case does to the sound files, and how it ends: "refused" with a message, "found" with the code of a finding,
# or "fine".
CASES: dict[str, tuple[Callable[[Files], Any], str, str]] = {
    "00": (lambda f: None, "fine", ""),
    "01": (lambda f: _set(f.truth, "frame-b", {PED: [], DIVIDER: [], BOUNDARY: []}), "found", "truth-frames-empty"),
    "02": (lambda f: _drop_class(f, PED), "found", "class-without-truth"),
    "03": (lambda f: _drop_class(f, PED, predictions=True), "found", "class-empty"),
    "04": (lambda f: f.truth["frame-a"].pop(PED), "found", "class-keys-missing"),
    "05": (lambda f: _set(f.truth, "frame-a", {str(k): v for k, v in f.truth["frame-a"].items()}), "fine", ""),
    "06": (
        lambda f: [frame.update(vectors=[], scores=[], labels=[]) for frame in f.results.values()],
        "found",
        "predictions-empty",
    ),
    "07": (lambda f: (f.results.clear(), f.truth.clear()), "found", "frames-none"),
    "10": (lambda f: _set(f.results["frame-a"]["vectors"], 1, [[1, 2]]), "refused", FEW),
    "11": (lambda f: _set(f.results["frame-a"]["vectors"], 1, []), "refused", FEW),
    "12": (lambda f: _set(f.results["frame-a"]["vectors"], 1, [[1, 2], [1, 2]]), "found", "zero-length"),
    "13": (lambda f: f.line().insert(1, f.line()[1]), "found", "repeated-points"),
    "14": (lambda f: _set(f.truth["frame-a"][DIVIDER], 0, np.zeros((1, 2))), "refused", "has fewer than 2 points"),
    "15": (lambda f: _set(f.truth["frame-a"][DIVIDER], 0, np.zeros((2, 2))), "found", "zero-length"),
    "16": (lambda f: _set(f.line()[0], 0, math.nan), "refused", NOT_FINITE),
    "17": (lambda f: _set(f.line()[0], 0, math.inf), "refused", NOT_FINITE),
    "18": (lambda f: _set(f.truth["frame-a"][DIVIDER][0], (0, 0), np.nan), "refused", NOT_FINITE),
    "19": (
        lambda f: (
            _set(f.truth, "frame-a", {PED: []}),
            _set(f.results["frame-a"], "vectors", [[[math.nan] * 2] * 3 for _ in f.results["frame-a"]["vectors"]]),
        ),
        "refused",
        NOT_FINITE,
    ),
    "20": (lambda f: _set(f.results["frame-a"]["scores"], 1, math.nan), "refused", BAD_CONFIDENCE),
    "21": (
        lambda f: (_set(f.truth, "frame-a", {}), _set(f.results["frame-a"]["scores"], 1, math.nan)),
        "refused",
        BAD_CONFIDENCE,
    ),
    "22": (lambda f: f.each("scores", lambda score: 5 * score), "found", "confidence-range"),
    "23": (lambda f: f.each("scores", lambda score: 100 * score), "found", "confidence-range"),
    "24": (lambda f: f.each("scores", lambda score: -score), "found", "confidence-range"),
    "25": (lambda f: _set(f.results["frame-a"]["scores"], 1, math.inf), "refused", BAD_CONFIDENCE),
    "26": (lambda f: f.each("scores", lambda score: 0.0), "found", "confidence-zero"),
    "30": (lambda f: _set(f.results["frame-a"]["labels"], 1, 7), "refused", r"vectors\[1\]: unknown label 7"),
    "31": (lambda f: f.each("labels", str), "refused", r"labels\[0\] is the text '0'"),
    "32": (lambda f: f.each("labels", float), "fine", ""),
    "33": (_exchange_labels, "found", "classes-exchanged"),
    "40": (lambda f: _set(f.results, "frame-z", f.results["frame-a"]), "found", "tokens-unknown"),
    "41": (lambda f: f.results.pop("frame-b"), "found", "tokens-missing"),
    "42": (lambda f: _rename_tokens(f, lambda token: "other-" + token), "found", "tokens-disjoint"),
    "43": (_shuffle, "found", "tokens-order"),
    "50": (lambda f: _raise_predictions(f, 1.0), "found", "dimensions-differ"),
    "51": (lambda f: _raise_truth(f, 1.0), "found", "dimensions-differ"),
    "52": (lambda f: (_raise_predictions(f, 1.0), _raise_truth(f, 1.0)), "fine", ""),
    "53": (lambda f: (_raise_predictions(f, 6.0), _raise_truth(f, 1.0)), "found", "height-offset"),
    "54": (
        lambda f: f.each("vectors", lambda line: np.ravel(line).tolist()),
        "refused",
        r"vectors\[0\] is a flat list",
    ),
    "55": (
        lambda f: f.each("vectors", lambda line: [[str(x) for x in point] for point in line]),
        "refused",
        r"vectors\[0\]\[0\]\[0\] is '-2.9', expected a number",
    ),
    "60": (lambda f: f.results["frame-a"]["scores"].pop(), "refused", "5 vectors, 4 scores, 5 labels"),
    "61": (lambda f: f.results["frame-a"]["labels"].pop(), "refused", "5 vectors, 5 scores, 4 labels"),
    "62": (lambda f: _set(f.predictions, "results", list(f.results.values())), "refused", "results is a list"),
    "63": (lambda f: f.predictions.pop("results"), "refused", 'no key "results"'),
    "64": (lambda f: _set(vars(f), "region", (50, 25)), "found", "region-left"),
    "70": (_repeat, "found", "duplicate-instances"),
    "71": (lambda f: _rings(f, lambda ring: ring[::-1]), "fine", ""),
    "72": (lambda f: _rings(f, lambda ring: [*ring[2:-1], *ring[:3]]), "fine", ""),
    "73": (lambda f: _rings(f, lambda ring: ring[:-1]), "found", "closed-differs"),
    "80": (lambda f: f.line().append([1e6, 2.0]), "found", "instances-far-away"),
}


def read(files: Files, folder: Path) -> tuple[mg.MapFrames, mg.MapFrames]:
    (folder / "results.json").write_text(json.dumps(files.predictions), encoding="utf-8")
    (folder / "truth.pkl").write_bytes(pickle.dumps(files.truth))
    return mg.read(folder / "results.json", "streammapnet"), mg.read(folder / "truth.pkl", "streammapnet-truth")


@pytest.mark.parametrize("case", CASES)
def test_no_bad_input_passes_in_silence(tmp_path: Path, case: str) -> None:
    change, end, what = CASES[case]
    files = sound()
    change(files)
    if end == "refused":
        with pytest.raises(mg.UnreadableFile, match=what):
            read(files, tmp_path)
        return
    findings = mg.check(*read(files, tmp_path), region=files.region)
    if end == "found":
        assert what in {finding.code for finding in findings}
    else:
        assert {finding.level for finding in findings} == {"note"}
        expected, found = (mg.evaluate(*read(each, tmp_path)).mean for each in (sound(), files))
        assert found == pytest.approx(expected, abs=1e-12)


def test_every_case_of_the_survey_is_here() -> None:
    if not SURVEY.exists():
        pytest.skip(f"{SURVEY} not found")
    assert set(CASES) == set(re.findall(r"^\| (\d\d) ", SURVEY.read_text(encoding="utf-8"), re.MULTILINE))
