"""Eq. 12 and 13 exist once, for arrays of sums. ``PldResult`` has the same bits for each of them."""

import math

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.metrics.pld import normalised_parts, normalised_pld, pld_value

SHAPES = [(), (40,), (5, 8)]


def random_sums(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Five parts that do not exceed the mass, and the mass. Some sums are 0."""
    sums = rng.uniform(0, 3, (*shape, 6)) * (rng.random((*shape, 6)) < 0.8)
    sums[..., 5] = sums[..., :5].sum(axis=-1) * rng.uniform(1, 4, shape)
    if shape:
        sums[..., 0, :] = 0
    return sums


def result_of(sums: np.ndarray, order: float) -> mg.PldResult:
    return mg.PldResult(parts=mg.Parts(*sums[:5].tolist()), mass=float(sums[5]), cutoff=1.5, order=order)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
def test_values_of_arrays_are_those_of_single_results(
    shape: tuple[int, ...], order: float, rng: np.random.Generator
) -> None:
    for _ in range(20):
        sums = random_sums(rng, shape)
        values, normalised = pld_value(sums, order), normalised_pld(sums, order)
        assert np.shape(values) == np.shape(normalised) == shape
        for place in np.ndindex(shape):
            result = result_of(sums[place], order)
            assert result.value == values[place]
            assert result.normalised == min(normalised[place], 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
def test_values_are_those_of_the_equations(shape: tuple[int, ...], order: float, rng: np.random.Generator) -> None:
    sums = random_sums(rng, shape)
    normalised = normalised_pld(sums, order)
    for place in np.ndindex(shape):
        *parts, mass = sums[place].tolist()
        value, bound = math.fsum(parts) ** (1 / order), mass ** (1 / order)
        expected = 2 * value / (bound + value) if mass else 0
        assert normalised[place] == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("shape", SHAPES)
def test_parts_of_arrays_are_those_of_single_results_and_add_up(
    shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    for _ in range(20):
        sums = random_sums(rng, shape)
        parts = normalised_parts(sums)
        assert parts.shape == (*shape, 5)
        assert parts.sum(axis=-1) == pytest.approx(normalised_pld(sums, 1.0), abs=1e-14)
        for place in np.ndindex(shape):
            result = result_of(sums[place], 1.0)
            assert result.normalised_parts == mg.Parts(*parts[place].tolist())
            assert result.localisation == parts[place][0]
            assert result.localisation + result.detection == pytest.approx(result.normalised, abs=1e-14)


def test_no_confidence_on_either_side_has_the_value_0() -> None:
    assert normalised_pld(np.zeros(6), 1.0) == 0
    assert normalised_parts(np.zeros((3, 6))).tolist() == np.zeros((3, 5)).tolist()


def test_a_mass_below_1_by_hand() -> None:
    sums = np.array([0.125, 0.0, 0.0, 0.125, 0.0, 0.375])
    assert normalised_pld(sums, 1.0) == 2 * 0.25 / (0.375 + 0.25)
    assert normalised_parts(sums).tolist() == [0.25 / 0.625, 0, 0, 0.25 / 0.625, 0]
