"""A section of the report: the price of each method."""

from collections.abc import Mapping, Sequence

import mapgauge as mg
from mapgauge.plugin import Html, Section, element


class PriceSection(Section):
    """A sentence for each method that has a price."""

    def bodies(self, methods: Sequence[mg.Results], names: Sequence[str]) -> Mapping[str, tuple[str, Html]]:
        """Return the section, if there is a price."""
        priced = {}
        for name, method in zip(names, methods, strict=True):
            price = method.mean.get("price")
            if price is not None:
                priced[name] = price
        if not priced:
            return {}
        items = [element("li", f"{name}: {price:.2f} EUR") for name, price in priced.items()]
        return {"prices": ("Prices", element("ul", items))}


SECTION = PriceSection()
