"""The table of metrics. A new metric is one module and one row here, or an entry point of another distribution."""

from typing import TYPE_CHECKING

from mapgauge.plugins import Table, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.metrics.metric import Metric
    from mapgauge.protocols import Protocol

# Results, tables and files list the metrics in this order. The modules are imported when the table is first used.
_ROWS = {
    "pld": "metrics.pld:PLD",
    "completeness": "metrics.completeness:COMPLETENESS",
    "causes": "features.causes.metric:CAUSES_OF_PLD",
    "track_pld": "features.tracks.track_pld:TRACK_PLD",
    "lane_graph_pld": "features.lanes.lane_graph_pld:LANE_GRAPH_PLD",
    "network_completeness": "features.network.lengths:NETWORK_COMPLETENESS",
    "network_pld": "features.network.network_pld:NETWORK_PLD",
    "ap_chamfer": "metrics.average_precision:AP_CHAMFER",
    "ap_frechet": "metrics.average_precision:AP_FRECHET",
    "ap_sospa": "metrics.average_precision:AP_SOSPA",
    "raster_ap": "features.raster.raster_ap:RASTER_AP",
    "raster_iou": "features.raster.raster_iou:RASTER_IOU",
    "raster_frame_iou": "features.raster.raster_iou:RASTER_FRAME_IOU",
    "c_map": "features.tracks.consistent_ap:C_MAP",
    "mas": "features.tracks.consistent_ap:MAS",
    "det_l": "features.lanes.openlane:DET_L",
    "det_l_ch": "features.lanes.openlane:DET_L_CH",
    "det_ls": "features.lanes.openlane:DET_LS",
    "det_a": "features.lanes.openlane:DET_A",
    "det_t": "features.lanes.openlane:DET_T",
    "top_ll": "features.lanes.openlane:TOP_LL",
    "top_lt": "features.lanes.openlane:TOP_LT",
    "ols": "features.lanes.openlane:OLS",
    "olus": "features.lanes.openlane:OLUS",
    "ols_l": "features.lanes.openlane:OLS_L",
    "f_lane": "features.lanes.openlane:F_LANE",
    "geo": "features.lanes.graph_scores:GEO",
    "topo": "features.lanes.graph_scores:TOPO",
    "jtopo": "features.lanes.graph_scores:JTOPO",
    "apls": "features.lanes.graph_scores:APLS",
    "sda": "features.lanes.graph_scores:SDA",
    "reach": "features.lanes.graph_scores:REACH",
}
# Functions that leave out instances which a protocol does not compare.
_SELECTIONS = ("features.lanes.lane_parts:lanes_of_part",)


def _built_in() -> "Mapping[str, Metric]":
    return {name: named(f"mapgauge.{place}") for name, place in _ROWS.items()}


METRICS: "Table[Metric]" = Table("mapgauge.metrics", "mapgauge.metrics.metric:Metric", _built_in)


def selected(predictions: "MapFrames", truth: "MapFrames", protocol: "Protocol") -> "tuple[MapFrames, MapFrames]":
    """Return aligned sides without the instances that the protocol does not compare."""
    for place in _SELECTIONS:
        predictions, truth = named(f"mapgauge.{place}")(predictions, truth, protocol)
    return predictions, truth
