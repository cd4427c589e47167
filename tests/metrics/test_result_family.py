"""All kinds of PLD return the same kind of result."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mapgauge as mg

NEAR, FAR = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], [[0.0, 9.0], [1.0, 9.0], [2.0, 9.0]]
MOVED = [[0.0, 0.3], [1.0, 0.3], [2.0, 0.3]]
LINES, TRUTH = [FAR, MOVED], [NEAR, FAR]


def some_results() -> dict[str, Any]:
    tracks = [dict(zip("ab", LINES, strict=True))], [dict(zip("cd", TRUTH, strict=True))]
    return {
        "pld": mg.pld(LINES, TRUTH),
        "track_pld": mg.track_pld(*tracks),
        "lane_graph_pld": mg.lane_graph_pld(LINES, TRUTH),
        "network_pld": mg.network_pld(LINES, TRUTH),
    }


@pytest.mark.needs_feature("tracks", "lane_graph", "network")
@pytest.mark.parametrize("name", ["pld", "track_pld", "lane_graph_pld", "network_pld"])
def test_results_have_the_same_fields(name: str) -> None:
    result = some_results()[name]
    assert isinstance(result, mg.PooledPld)
    assert sum(result.parts) == pytest.approx(result.value)
    assert sum(result.normalised_parts) == pytest.approx(result.normalised)
    assert type(result.parts) is type(result.normalised_parts)
    assert result.cutoff == 1.5
    assert result.assignment is not None
    assert result.assignment.dtype == np.int64
    assert sorted(result.assignment.tolist()) == [[0, 1], [1, 0]]
    assert f"{result.value:.6g}" in result._repr_html_()
    pooled = sum([result, result])
    assert type(pooled) is type(result)
    assert pooled.value == pytest.approx(2 * result.value)
    assert pooled.normalised == pytest.approx(result.normalised)
    assert pooled.assignment is None
    assert not getattr(pooled, "matches", ())
    with pytest.raises(mg.InvalidInput, match=f"cannot pool {result.TITLE} of cutoff 1.5, .* with .* of cutoff 2"):
        result + replace(result, cutoff=2.0)
    other = next(found for key, found in some_results().items() if key != name)
    with pytest.raises(TypeError):
        result + other
