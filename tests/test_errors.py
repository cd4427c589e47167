"""Errors keep their message and their remedy apart, in this process and from workers."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import mapgauge as mg

KINDS = [mg.MapgaugeError, mg.InvalidInput, mg.UnreadableFile, mg.MissingDependency]
REMEDY = mg.Remedy('Pass unknown="ignore"', "Pass --ignore-unknown")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("remedy", [None, "Update mapgauge", REMEDY])
def test_an_error_survives_pickling(kind: type[mg.MapgaugeError], remedy: mg.Remedy | str | None) -> None:
    error = kind("a.json: 2 tokens are unknown", remedy=remedy)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert type(again) is kind
        assert (again.message, again.remedy) == (error.message, error.remedy)
        assert (str(again), again.for_shell()) == (str(error), error.for_shell())


def fail(kind: type[mg.MapgaugeError]) -> None:
    raise kind("no frames", remedy=REMEDY).and_also(mg.Remedy("Try again", "Try it again"))


def test_an_error_of_another_process_keeps_its_remedies() -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        for kind in KINDS:
            with pytest.raises(kind) as caught:
                pool.submit(fail, kind).result()
            assert str(caught.value) == 'no frames. Pass unknown="ignore". Try again'
            assert caught.value.for_shell() == "no frames. Pass --ignore-unknown. Try it again"


@pytest.mark.parametrize("kind", KINDS)
def test_another_remedy_follows_the_first(kind: type[mg.MapgaugeError]) -> None:
    more = mg.Remedy("Continue with resume=True", "Continue with --resume")
    both = kind("x.parquet: broken", remedy=REMEDY).and_also(more)
    assert type(both) is kind
    assert both.message == "x.parquet: broken"
    assert both.remedy == mg.Remedy(
        'Pass unknown="ignore". Continue with resume=True', "Pass --ignore-unknown. Continue with --resume"
    )
    only = kind("x.parquet: broken").and_also(more)
    assert only.remedy == more
    assert only.for_shell() == "x.parquet: broken. Continue with --resume"


def test_a_text_is_the_same_remedy_everywhere() -> None:
    error = mg.UnreadableFile("x.mg: written by a newer mapgauge", remedy="Update mapgauge")
    assert str(error) == error.for_shell() == "x.mg: written by a newer mapgauge. Update mapgauge"
    assert str(mg.InvalidInput("no frames")) == mg.InvalidInput("no frames").for_shell() == "no frames"
