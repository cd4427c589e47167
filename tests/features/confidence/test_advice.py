"""The advice about confidences at the end of an answer."""

import pytest

import mapgauge as mg
from mapgauge.cli.emit import Line
from mapgauge.cli.overview import statement_lines

TOKENS = [f"t{k}" for k in range(8)]
SETTINGS = mg.protocol("paper-60x30", classes=["divider"])


def test_advice_says_whether_predictions_are_dropped() -> None:
    truth = mg.MapFrames.of({token: {"divider": [[[0, 0], [9, 0]]]} for token in TOKENS})
    alone = str(mg.answer(mg.evaluate(truth.with_confidence(0.7), truth, SETTINGS)))
    assert "Set all confidences to 1 to lower PLD to 0.000 (-0.300)." in alone
    assert "Drop" not in alone
    more = mg.MapFrames.of(
        {token: {"divider": [[[0, 0], [9, 0]], [[0, 8], [9, 8]]]} for token in TOKENS},
        confidence={token: {"divider": [0.7, 0.2]} for token in TOKENS},
    )
    assert "Drop confidences below 0.70 and set others to 1" in str(mg.answer(mg.evaluate(more, truth, SETTINGS)))


def test_advice_says_by_how_much_it_would_change_pld() -> None:
    truth = mg.MapFrames.of({token: {"divider": [[[0, 0], [9, 0]]]} for token in TOKENS})
    answer = mg.answer(mg.evaluate(truth.with_confidence(0.7), truth, SETTINGS))
    advice = {said.about: said.change for said in answer.statements if said.change is not None}
    assert advice == {"confidence": pytest.approx(-0.3)}
    (document,) = [said for said in answer.to_dict()["statements"] if said["about"] == "confidence"]
    assert document["values"]["change"] == advice["confidence"]


def test_of_several_methods_the_advice_that_lowers_pld_most_is_printed() -> None:
    truth = mg.MapFrames.of({token: {"divider": [[[0, 0], [9, 0]]]} for token in TOKENS})
    methods = [mg.evaluate(truth.with_confidence(sure), truth, SETTINGS) for sure in (0.7, 0.4)]
    answer = mg.answer(methods, names=["A", "B"])
    printed = " ".join(line.text for line in statement_lines(answer) if isinstance(line, Line))
    assert printed.count("all confidences") == 1
    assert "(-0.600)" in printed
