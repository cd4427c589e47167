"""The price of missed polylines, as a share of all."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import mapgauge as mg
from mapgauge.plugin import Groups, Metric, Settings, SumRows, Value, setting


@dataclass(frozen=True, kw_only=True)
class PriceSettings(Settings):
    """Settings of the price."""

    price: float = setting(1.0, unit="EUR", help="Price of a polyline that has no prediction.")


def score(groups: Groups, protocol: mg.Protocol, _: object) -> Any:
    """Return the cost of lacking predictions and the number of true polylines of each frame and class."""
    predicted, true = np.diff(groups.bounds, axis=1).T
    lacking = np.maximum(true - predicted, 0)
    costs = np.bincount(groups.side, groups.column("cost"), minlength=2 * len(groups.bounds))
    of_truth = costs.reshape(-1, 2)[:, 1]
    return np.stack([of_truth * lacking / np.maximum(true, 1), true], axis=1).astype(float)


def values(sums: Any, protocol: mg.Protocol) -> dict[str, Any]:
    """Return the price of a true polyline from sums of what ``score`` returns."""
    price = protocol.settings["price"].price
    return {"price": price * sums[..., 0] / np.where(sums[..., 1] > 0, sums[..., 1], 1.0)}


def sentence(results: mg.Results, workers: int | None) -> mg.Statement | None:
    """Return the price in words, for the answer of ``mapgauge evaluate`` and of the report."""
    mean = results.mean.get("price")
    if mean is None:
        return None
    return mg.Statement(about="price", text=f"A true polyline costs {mean:.2f} EUR.", values={"price": mean})


PRICE = Metric(
    name="price",
    title="Price",
    symbol="price",
    lower_is_better=True,
    values=(Value(key="price", part="", title="Price", role="main"),),
    rows=SumRows(("lacking", "true"), score, values),
    settings_type=PriceSettings,
    stated=lambda protocol: f"price {protocol.settings['price'].price:g} EUR",
)
