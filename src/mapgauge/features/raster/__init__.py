"""Raster scores: average precision and IoU of drawn polylines."""

from mapgauge.manifest import Command, Feature

FEATURE = Feature(
    metrics=("raster_ap:RASTER_AP", "raster_iou:RASTER_IOU", "raster_iou:RASTER_FRAME_IOU"),
    protocols=("protocols:protocols_of_rasters",),
    citations=("citations:MAPVR", "citations:PMAPNET", "citations:RASTERS", "citations:TRACKED_RASTERS"),
    commands={
        "masks": Command(
            place="command:masks",
            group="Ask",
            order=9,
            examples=(
                "submission_vector.json truth.pkl -p maptracker-iou-60x30",
                "submission_vector.json truth.pkl -p maptracker-iou-100x50 --json",
            ),
        ),
    },
    names={
        "MaskIou": "masks:MaskIou",
        "mask_iou": "masks:mask_iou",
    },
)
