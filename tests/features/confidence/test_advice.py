"""The advice about confidences at the end of an answer."""

import mapgauge as mg

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
