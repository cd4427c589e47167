"""The same argument has the same default everywhere, and siblings give the same number for the same pair."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mapgauge as mg

RULE = {"cutoff": 1.5, "order": 1.0, "closed": False, "directed": True, "normalised": False}
PAGE = Path(__file__).parents[1] / "docs/reference/api.md"
TABLE = PAGE.read_text(encoding="utf-8").split("| function | cutoff |")[1].split("\n\n")[0].splitlines()[2:]
ROWS = {cells[0].strip("`"): cells[1:] for cells in ([cell.strip() for cell in row.split("|")[1:-1]] for row in TABLE)}
X, Y = [[0.0, 0.0], [1.0, 0.1], [2.0, 0.0]], [[0.0, 0.5], [1.0, 0.4]]


def function_named(name: str) -> Any:
    if not name.startswith("torch."):
        return getattr(mg, name)
    pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
    import mapgauge.torch

    return getattr(mapgauge.torch, name.removeprefix("torch."))


def defaults_of(name: str) -> dict[str, Any]:
    parameters = inspect.signature(function_named(name)).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if parameter.name in RULE}


@pytest.mark.whole
@pytest.mark.parametrize("name", ROWS)
def test_a_function_has_the_defaults_of_the_rule_and_of_the_table(name: str) -> None:
    defaults = defaults_of(name)
    assert defaults == {argument: RULE[argument] for argument in defaults}
    assert ROWS[name] == [f"{defaults[key]:g}" if key in ("cutoff", "order") and key in defaults
                          else str(defaults.get(key, "-")) for key in RULE]  # fmt: skip


@pytest.mark.whole
def test_the_table_has_every_function_with_these_arguments() -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
    del torch
    import mapgauge.torch

    functions = [name for name in mg.__all__ if inspect.isfunction(getattr(mg, name))]
    functions += [f"torch.{name}" for name in mapgauge.torch.__all__]
    having = {name for name in functions if {"closed", "directed"} & set(defaults_of(name))}
    assert set(ROWS) == having | {"chamfer"}


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("order", [1.0, 2.0])
def test_siblings_agree_to_the_last_bit(normalised: bool, order: float) -> None:
    expected = mg.sospa(X, Y, order=order, normalised=normalised)
    aligned = mg.sospa_align(X, Y, order=order)
    assert (aligned.normalised if normalised else aligned.value) == expected
    assert mg.sospa_matrix([X], [Y], order=order, normalised=normalised).tolist() == [[expected]]
    apart = np.linalg.norm(np.array(X)[:, None] - np.array(Y)[None], axis=2)
    assert mg.sospa_from_distances(apart, order=order, normalised=normalised) == expected


@pytest.mark.whole
@pytest.mark.parametrize("normalised", [False, True])
def test_torch_agrees_with_the_functions(normalised: bool) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
    from mapgauge.torch import SospaLoss, pld_loss, sospa_cost, sospa_matching

    x, y = (torch.tensor([line], dtype=torch.float64) for line in (X, Y))
    expected = pytest.approx(mg.sospa(X, Y, normalised=normalised), rel=1e-12)
    assert sospa_cost(x, y, normalised=normalised).item() == expected
    assert sospa_matching(x, y, normalised=normalised).cost.item() == expected
    assert SospaLoss(normalised=normalised)(x, y).item() == expected
    result = mg.pld([X], [Y], confidence=[0.5])
    expected = pytest.approx(result.normalised if normalised else result.value, rel=1e-12)
    assert pld_loss(x, y, torch.tensor([0.5], dtype=torch.float64), normalised=normalised).item() == expected


@pytest.mark.needs_feature("tracks")
def test_pld_of_one_scene_without_changes_is_the_same_by_both_functions() -> None:
    rng = np.random.default_rng(0)
    ring = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    turned = (np.array([*ring[1:3], ring[0], ring[1]]) + rng.normal(0, 0.01, (4, 2))).tolist()
    for settings in ({}, {"closed": "auto"}, {"directed": False}):
        expected = mg.pld([ring, X], [turned, X[::-1]], **settings).value
        sides = [{"a": ring, "b": X}], [{"c": turned, "d": X[::-1]}]
        assert mg.track_pld(*sides, **settings).value == pytest.approx(expected, rel=1e-12)
