"""Prices: what missed polylines cost. An example of a plug-in of mapgauge with one of everything."""

from mapgauge.plugin import Command, Feature, Figure

FEATURE = Feature(
    metrics=("metric:PRICE",),
    protocols=("protocols:protocols",),
    citations=("citation:SOURCE",),
    formats=("lines:LINES",),
    columns=("column:COST",),
    checks=("check:checks",),
    commands={
        "prices": Command(place="command:prices", group="Ask", examples=("results.mg", "A.mg")),
    },
    lists={"prices": "command:recommended"},
    figures={
        "prices": Figure(place="figure:prices", command="prices", about="the price of each class"),
    },
    sections=("section:SECTION",),
    sentences=("metric:sentence",),
)
