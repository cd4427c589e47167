"""Protocols of raster scores."""

from collections.abc import Iterable

from mapgauge.protocols.protocol import Protocol
from mapgauge.protocols.rows import REGIONS


def protocols_of_rasters() -> Iterable[Protocol]:
    """Yield the protocols of rasters."""
    crossings = {"filled": ("ped_crossing",)}
    mapvr = crossings | {"pixels": (480, 240), "forward": "rows", "rounding": "nearest", "thickness": 1, "spread": 5}
    yield Protocol(
        name="mapvr-60x30",
        about="MapVR's raster AP and frame IoU: 0.125 m a pixel, lines 5 pixels wide, crossings filled",
        region=(60.0, 30.0),
        settings={"raster_ap": mapvr, "raster_frame_iou": mapvr},
    )
    wide = {"thickness": 5, "cut": True, "floors": (0.5,)}
    for name, region, pixels in (
        ("hdmapnet-60x30", (60.0, 30.0), (400, 200)),
        ("pmapnet-120x60", (120.0, 60.0), (400, 200)),
        ("pmapnet-240x60", (240.0, 60.0), (800, 200)),
    ):
        metres = region[0] / pixels[0]
        whose = "P-MapNet's IoU"
        if name.startswith("hdmapnet"):
            whose = "HDMapNet's IoU, also P-MapNet's"
        yield Protocol(
            name=name,
            about=f"{whose}: {metres:g} m a pixel, lines and outlines of crossings of thickness 5",
            region=region,
            settings={"raster_iou": wide | {"pixels": pixels}},
        )
    for size, (region, _) in REGIONS.items():
        words = f"{region[0] / 200:g} m a pixel, lines of thickness 3"
        yield Protocol(
            name=f"maptracker-iou-{size}",
            about=f"MapTracker's IoU: {words}, crossings filled, one class a pixel in predictions",
            region=region,
            settings={"raster_iou": crossings | {"covers": True}},
        )
        yield Protocol(
            name=f"streammapnet-iou-{size}",
            about=f"StreamMapNet's IoU: {words}, crossings as outlines",
            region=region,
            settings={"raster_iou": {}},
        )
