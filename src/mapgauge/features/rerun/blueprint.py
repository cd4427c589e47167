"""How the viewer arranges a recording: bird's eye and world, cameras, curves, and the frame in words."""

from collections.abc import Sequence
from typing import Any

from mapgauge.dependencies import require
from mapgauge.features.rerun.colours import BACKGROUND
from mapgauge.features.rerun.values import PARTS, WHOLE, ValueCurve

HEIGHT = 66.0  # metres of the eye above the vehicle; a region of 60 x 30 m fills the view
LINES = ("+ /world/ego/truth/**", "+ /world/ego/predictions/**", "+ /world/ego/matches")


def blueprint(curves: Sequence[ValueCurve], cameras: Sequence[str], rate: float, *, ego: bool) -> Any:
    """Return the arrangement, for frames at a rate per second. With an ego, the first view looks down on it."""
    rrb = require("rerun.blueprint", "a recording", "rerun")
    background = rrb.Background(color=BACKGROUND)
    eye = None
    if ego:
        eye = rrb.EyeControls3D(position=(0, 0, HEIGHT), look_target=(0, 0, 0), eye_up=(1, 0, 0))
    above = rrb.Spatial3DView(
        origin="/world/ego",
        contents=list(LINES),
        name="Bird's eye",
        background=background,
        eye_controls=eye,
    )
    world = rrb.Spatial3DView(origin="/world", contents=["+ /world/**"], name="World", background=background)
    images = [
        rrb.Spatial2DView(origin=f"/world/ego/cameras/{camera}", contents=["+ $origin/**", *LINES[:2]], name=camera)
        for camera in cameras
    ]
    rows = []
    shares = []
    if images:
        rows.append(rrb.Grid(*images, name="Cameras"))
        shares.append(3)
    for plot in _plots(rrb, curves):
        rows.append(plot)
        shares.append(2)
    rows.append(rrb.TextDocumentView(origin="/frame", name="Frame"))
    shares.append(1)
    return rrb.Blueprint(
        rrb.Horizontal(rrb.Tabs(above, world), rrb.Vertical(*rows, row_shares=shares), column_shares=[1, 1]),
        rrb.TimePanel(timeline="frame", play_state="paused", fps=rate, state="collapsed"),
        rrb.SelectionPanel(state="collapsed"),
        rrb.BlueprintPanel(state="collapsed"),
        auto_layout=False,
        auto_views=False,
    )


def _plots(rrb: Any, curves: Sequence[ValueCurve]) -> list[Any]:
    """Return the plots: the main values, and a tab for the parts of each metric."""
    groups = dict.fromkeys(curve.entity.rpartition("/")[0] for curve in curves)
    plots = []
    if WHOLE in groups:
        plots.append(rrb.TimeSeriesView(origin=f"/{WHOLE}", name="Values"))
    parts = [
        rrb.TimeSeriesView(origin=f"/{group}", name=f"Parts of {group.rpartition('/')[2]}")
        for group in groups
        if group.startswith(f"{PARTS}/")
    ]
    if parts:
        plots.append(rrb.Tabs(*parts))
    return plots
