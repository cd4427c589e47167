"""The bar of PLD in the table of a terminal: its parts in signs."""

from hypothesis import given
from hypothesis import strategies as st

from mapgauge.cli.overview import _BLOCKS, _bar

shares = st.lists(st.floats(0, 0.25), min_size=len(_BLOCKS), max_size=len(_BLOCKS))


@given(shares, st.integers(5, 20))
def test_a_larger_part_never_has_fewer_signs_and_the_bar_is_as_long_as_pld(parts: list[float], width: int) -> None:
    scaled = [part / max(1.0, sum(parts)) for part in parts]
    bar = _bar(dict(zip(_BLOCKS, scaled, strict=True)), width)
    signs = [bar.count(block) for block in _BLOCKS.values()]
    assert len(bar) == round(sum(width * part for part in scaled))
    for part, count in zip(scaled, signs, strict=True):
        assert all(count >= fewer for less, fewer in zip(scaled, signs, strict=True) if less < part)
