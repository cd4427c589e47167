"""Protocols of lines, and what protocols of features share with them."""

from collections.abc import Iterable, Mapping
from typing import Any

from mapgauge.protocols.protocol import Protocol

NEAR = (0.5, 1.0, 1.5)  # metres
REGIONS = {"60x30": ((60.0, 30.0), NEAR), "100x50": ((100.0, 50.0), (1.0, 1.5, 2.0))}  # with usual thresholds


def sized(
    name: str,
    about: str,
    metrics: Iterable[str] = ("ap_chamfer",),
    settings: Mapping[str, Any] | None = None,
    **shared: Any,
) -> Iterable[Protocol]:
    """Yield a protocol for each region. Some metrics have the usual thresholds there."""
    for size, (region, thresholds) in REGIONS.items():
        own = {metric: {"thresholds": thresholds} for metric in metrics} | dict(settings or {})
        words = about.format(size.replace("x", " x "))
        yield Protocol(name=f"{name}-{size}", about=words, region=region, settings=own, **shared)


def protocols_of_lines() -> Iterable[Protocol]:
    """Yield the protocols of lines."""
    for name, sampling, more in (
        ("paper", "paper", ""),
        ("even", "even", ", with equal pieces: a line and its reversal are equal"),
    ):
        yield from sized(
            name,
            f"the paper's evaluation at {{}} m{more}",
            spacing=0.5,
            sampling=sampling,
            cutoffs=(1.5,),
            settings={"ap_frechet": {"thresholds": (1.0, 2.0, 3.0)}},
        )
    hard = {"ap_chamfer": {"thresholds": (0.2, 0.5, 1.0)}}  # of BeMapNet and PivotNet, then GeMap, MapQR and DAMap
    yield from sized("streammapnet", "StreamMapNet's and MapTracker's Chamfer-AP at {} m", count=200)
    yield from sized("hard", "StreamMapNet's Chamfer-AP at {} m with the hard thresholds", settings=hard, count=200)
    yield Protocol(
        name="maptr",
        about="MapTR's and MapTRv2's Chamfer-AP: 100 points, pairs whose 2 m buffers do not meet are left out",
        count=100,
        settings={"ap_chamfer": {"thresholds": NEAR, "buffers": 2.0}},
    )
    yield Protocol(
        name="maptr-hard",
        about="MapTR's Chamfer-AP with the hard thresholds of GeMap, MapQR and others",
        count=100,
        settings={"ap_chamfer": hard["ap_chamfer"] | {"buffers": 2.0}},
    )
