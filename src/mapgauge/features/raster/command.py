"""``mapgauge masks``: IoU of the masks of a segmentation head."""

from pathlib import Path
from typing import Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli import output as out
from mapgauge.cli.inputs import Reading, check_files
from mapgauge.cli.parsing import listed, refuse
from mapgauge.words import counted


def masks(
    context: typer.Context,
    predictions: Annotated[
        Path, o.files_argument("PREDICTIONS", "MapTracker's submission_vector.json with masks (semantic_mask).")
    ],
    truth: o.TruthArgument,
    protocol: o.ProtocolOption = None,
    json: o.JsonOption = False,
) -> None:
    """Compute IoU of masks.

    Compares the masks of a segmentation head with truth that is drawn by the rules of a protocol, such as
    maptracker-iou-60x30. To draw predicted polylines as well, use `mapgauge evaluate` with the same protocol.
    """
    names = listed(protocol)
    if len(names) != 1:
        given = "none is given"
        if names:
            given = f"got {len(names)}"
        refuse("--protocol", f"name one protocol with rules for drawing, such as maptracker-iou-60x30; {given}")
    check_files(predictions, truth)

    from mapgauge.features.raster.masks import mask_iou

    measured = mask_iou(predictions, Reading().truth(truth), names[0])
    if json:
        out.write_json(measured.to_dict())
        return
    if measured.frames_missing:
        lacking = counted(measured.frames_missing, "frame of the truth has", "frames of the truth have")
        out.warn(f"{lacking} no mask, which counts as empty")
    out.show_table(out.Table(f"IoU of masks, {names[0]}, pixels of all frames pooled", *measured.cells(), 1), gap=False)
