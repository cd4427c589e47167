from dataclasses import replace

import numpy as np
import pytest

import mapgauge as mg


def test_the_last_gap_is_shorter() -> None:
    assert mg.resample([[0, 0], [1.2, 0]], spacing=0.5).tolist() == [[0, 0], [0.5, 0], [1.0, 0], [1.2, 0]]


@pytest.mark.parametrize("spacing", [0.1, 0.3, 0.5, 0.7])
def test_no_second_copy_of_the_end_when_the_length_is_a_multiple_up_to_rounding(spacing: float) -> None:
    for times in range(1, 60):
        for length in (times * spacing, np.nextafter(times * spacing, 0), np.nextafter(times * spacing, 1e9)):
            points = mg.resample([[0, 0], [length, 0]], spacing=spacing)
            assert len(points) == times + 1
            assert points[-1, 0] == length


def test_even_sampling_has_round_of_length_over_spacing_equal_pieces() -> None:
    for length, pieces in ((0.1, 1), (0.7, 1), (0.75, 2), (1.2, 2), (1.3, 3), (10.25, 21)):
        points = mg.resample([[0, 0], [length, 0]], spacing=0.5, sampling="even")
        assert points[:, 0] == pytest.approx(np.linspace(0, length, pieces + 1), abs=1e-15)


def test_evenly_sampled_reversals_have_the_same_points(rng: np.random.Generator) -> None:
    for _ in range(200):
        steps = rng.choice([[0.25, 0.0], [0.1, 0.2], [-0.15, 0.05]], int(rng.integers(1, 12)))
        line = np.concatenate([[[0.0, 0.0]], np.cumsum(steps, axis=0)])
        forth, back = (mg.resample(points, spacing=0.5, sampling="even") for points in (line, line[::-1]))
        assert forth == pytest.approx(back[::-1], abs=1e-12)


def test_even_sampling_needs_a_spacing() -> None:
    with pytest.raises(mg.InvalidInput, match='"even" needs a spacing'):
        mg.resample([[0, 0], [1, 0]], count=3, sampling="even")
    with pytest.raises(mg.InvalidInput, match='sampling must be "paper" or "even", got \'odd\''):
        mg.resample([[0, 0], [1, 0]], spacing=1, sampling="odd")  # type: ignore[arg-type]
    assert mg.protocol("even-60x30", count=20).sampling == "paper"


def test_a_spacing_longer_than_the_line_keeps_both_ends() -> None:
    assert mg.resample([[0, 0], [1, 0], [1, 1]], spacing=50).tolist() == [[0, 0], [1, 1]]


def test_lines_without_length() -> None:
    for line in ([[3, 4]], [[3, 4], [3, 4]], [[3, 4], [3, 4], [3, 4]]):
        assert mg.resample(line, spacing=0.5).tolist() == [[3, 4], [3, 4]]
        assert mg.resample(line, count=3).tolist() == [[3, 4]] * 3


def test_repeated_points_do_not_matter() -> None:
    line, repeated = [[0, 0], [1, 0], [1, 2]], [[0, 0], [0, 0], [1, 0], [1, 0], [1, 0], [1, 2], [1, 2]]
    assert mg.resample(line, spacing=0.4).tolist() == mg.resample(repeated, spacing=0.4).tolist()
    assert mg.resample(line, count=9).tolist() == mg.resample(repeated, count=9).tolist()


def test_closed_lines_are_walked_to_their_closing_point() -> None:
    ring = mg.resample([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]], spacing=0.5)
    assert len(ring) == 9
    assert ring[0].tolist() == ring[-1].tolist()


def test_three_dimensions() -> None:
    points = mg.resample([[0, 0, 0], [0, 3, 4]], spacing=2.5)
    assert points.tolist() == [[0, 0, 0], [0, 1.5, 2], [0, 3, 4]]


def test_many_at_once_equal_one_by_one(rng: np.random.Generator) -> None:
    lines = [rng.normal(0, 5, (n, 2)) for n in (4, 0, 1, 9)]
    zeros = np.zeros(len(lines), np.int64)
    frames = mg.MapFrames(
        tokens=("a",), classes=("divider",), frame=zeros, label=zeros, polylines=mg.Polylines.of(lines)
    )
    for one, line in zip(frames.resample(spacing=0.7).polylines, lines, strict=True):
        assert np.array_equal(one, mg.resample(line, spacing=0.7))


@pytest.mark.parametrize("far", [1e8, 1e155, 1e300])
def test_a_line_too_long_for_a_map_is_refused_before_memory_is_allocated(far: float) -> None:
    frames = mg.MapFrames.of({"a": {}, "b": {"divider": [[[0, 0], [9, 0]], [[0, 0], [far, 0]]]}})
    frames = replace(frames, name="p.json")
    place = r"p.json: frame b, instance 1 \(divider\) is .* m long, too long to resample"
    with pytest.raises(mg.InvalidInput, match=place):
        frames.resample(spacing=0.5)
    with pytest.raises(mg.InvalidInput, match=place):
        mg.evaluate(frames.with_confidence(1), frames.select(["divider"]))
    with pytest.raises(mg.InvalidInput, match="x is .* m long, too long"):
        mg.resample([[0, 0], [far, 0]], spacing=0.5)


@pytest.mark.parametrize("utm", [(366_000.0, 143_000.0), (500_000.0, 5_400_000.0)])
@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_a_line_in_utm_that_is_padded_with_zeros_is_refused_as_such(utm: tuple[float, float], order: slice) -> None:
    line = [utm, (utm[0] + 9, utm[1]), (0.0, 0.0), (0.0, 0.0)][order]
    frames = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]], line]}})
    with pytest.raises(mg.InvalidInput, match=r"^frame a, instance 1 .*are zero"):
        frames.resample(spacing=0.5)


def test_a_long_line_through_the_origin_is_not_padded() -> None:
    assert len(mg.resample([[-50_000, 0], [0, 0], [100, 0]], spacing=0.5)) == 100_201


def test_points_of_a_frame_are_limited_before_memory_is_allocated() -> None:
    frames = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {"divider": [[[0, 0], [1e6, 0]]] * 20}})
    with pytest.raises(mg.InvalidInput, match=r"gives 40000020 points .*frame b, instance 0"):
        frames.resample(spacing=0.5)
    assert len(frames.resample(spacing=50).polylines) == 21


def test_many_long_lines_are_refused_before_memory_is_allocated() -> None:
    frames = mg.MapFrames.of({"a": {"divider": [[[0, 0], [1e6, 0]]] * 200}})
    with pytest.raises(mg.InvalidInput, match="gives 400000200 points.*The longest, frame a, instance 0"):
        frames.resample(spacing=0.5)
    with pytest.raises(mg.InvalidInput, match="gives 2000000000 points"):
        frames.resample(count=10_000_000)
