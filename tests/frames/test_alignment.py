"""Tests alignment: frames are matched by token and classes by name."""

import pytest

import mapgauge as mg

LINE = [[0.0, 0.0], [4.0, 0.0]]


def predictions(*tokens: str, name: str = "divider") -> mg.MapFrames:
    return mg.MapFrames.of(
        {token: {name: [[[i, 0], [i, 1]]]} for i, token in enumerate(tokens)},
        confidence={token: {name: [0.5]} for token in tokens},
    )


def truth(*tokens: str, name: str = "divider") -> mg.MapFrames:
    return mg.MapFrames.of({token: {name: [LINE]} for token in tokens})


def test_the_order_of_the_predictions_does_not_matter() -> None:
    x, y = mg.align(predictions("c", "a", "b"), truth("a", "b", "c"))
    assert x.tokens == y.tokens == ("a", "b", "c")
    assert [x[token][0].points[0, 0] for token in "abc"] == [1, 2, 0]


def test_a_frame_without_predictions_is_predicted_empty() -> None:
    x, _ = mg.align(predictions("b"), truth("a", "b"))
    assert x["a"] == []
    assert len(x["b"]) == 1


def test_a_frame_without_predictions_is_refused_if_asked() -> None:
    with pytest.raises(mg.InvalidInput, match=r'1 of 2 frames of the truth have no predictions \(first: a\).*"empty"'):
        mg.align(predictions("b"), truth("a", "b"), missing="error")


def test_a_predicted_frame_that_the_truth_lacks_is_refused() -> None:
    message = r'1 of 2 predicted frames are not in the truth \(first: z\).*"ignore"'
    with pytest.raises(mg.InvalidInput, match=message) as caught:
        mg.align(predictions("a", "z"), truth("a"))
    assert caught.value.for_shell().endswith("the same data set and split, or pass --ignore-unknown to leave them out")


def test_frames_with_other_tokens_are_refused_with_a_token_of_each_side() -> None:
    with pytest.raises(mg.InvalidInput, match=r"2 of 2 predicted .* \(first: y; the truth has a\). Check that both"):
        mg.align(predictions("y", "z"), truth("a", "b"))


def test_predictions_without_any_frame_of_the_truth_are_not_to_be_ignored() -> None:
    with pytest.raises(mg.InvalidInput, match="2 of 2 predicted frames") as caught:
        mg.align(predictions("y", "z"), truth("a"))
    assert caught.value.for_shell().endswith("Check that both files belong to the same data set and split")


def test_a_predicted_frame_that_the_truth_lacks_can_be_ignored() -> None:
    x, y = mg.align(predictions("z", "a"), truth("a"), unknown="ignore")
    assert x.tokens == y.tokens == ("a",)
    assert x["a"][0].points[0, 0] == 1


def test_tokens_that_occur_twice_are_refused() -> None:
    twice = predictions("a", "b").at([0, 1, 0])
    with pytest.raises(mg.InvalidInput, match=r"predictions: 1 tokens .*more than once"):
        mg.align(twice, truth("a", "b"))


def test_classes_meet_by_name_and_none_is_lost() -> None:
    x, y = mg.align(predictions("a", name="boundary"), truth("a", name="divider"))
    assert x.classes == y.classes == ("divider", "boundary")
    assert x.counts == {"divider": 0, "boundary": 1}
    assert y.counts == {"divider": 1, "boundary": 0}


def test_classes_can_be_chosen() -> None:
    x, y = mg.align(predictions("a"), truth("a"), classes=["boundary", "divider"])
    assert x.classes == y.classes == ("boundary", "divider")


def test_height_on_one_side_only_is_refused() -> None:
    flat = mg.MapFrames.of({"a": {"divider": [LINE]}})
    high = mg.MapFrames.of({"a": {"divider": [[[0, 0, 1], [1, 0, 1]]]}}).with_confidence(1)
    with pytest.raises(mg.InvalidInput, match=r"predictions are 3-D and truth is 2-D.*planar\(\)") as caught:
        mg.align(high, flat)
    assert caught.value.for_shell().endswith("Give the file with height as FILE,planar to compare in the plane")


@pytest.mark.parametrize("setting", ["missing", "unknown"])
def test_a_policy_must_be_known(setting: str) -> None:
    with pytest.raises(mg.InvalidInput, match=f"{setting} must be"):
        mg.align(predictions("a"), truth("a"), **{setting: "perhaps"})  # type: ignore[arg-type]
