"""The scores of OpenLane-V2."""

from mapgauge.manifest import Feature

FEATURE = Feature(
    metrics=(
        "openlane:DET_L",
        "openlane:DET_L_CH",
        "openlane:DET_LS",
        "openlane:DET_A",
        "openlane:DET_T",
        "openlane:TOP_LL",
        "openlane:TOP_LT",
        "openlane:OLS",
        "openlane:OLUS",
        "openlane:OLS_L",
        "openlane:F_LANE",
    ),
    protocols=("protocols:protocols_of_openlane",),
    citations=("citations:LANESEGNET", "citations:PERSFORMER", "citations:LANES"),
    selections=("selections:parts_of_lanes",),
)
