"""``mapgauge masks``: IoU of the masks of a segmentation head."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mapgauge.cli import options as o
from mapgauge.cli import output as out
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Piece, Printing, emit
from mapgauge.cli.inputs import InputReader, check_files
from mapgauge.cli.parsing import listed, refuse
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.features.raster.masks import MaskIou


@dataclass(frozen=True, kw_only=True)
class MasksOptions(Printing):
    """The options of ``mapgauge masks``."""

    predictions: Annotated[
        Path, o.files_argument("PREDICTIONS", "MapTracker's submission_vector.json with masks (semantic_mask).")
    ]
    truth: o.TruthArgument
    protocol: o.ProtocolOption = None
    json: o.JsonOption = False


@command
def masks(options: MasksOptions) -> None:
    """Compute IoU of segmentation masks.

    Compares the masks of a segmentation head with truth that is drawn by the rules of a protocol, such as
    maptracker-iou-60x30. To draw predicted polylines as well, use `mapgauge evaluate` with the same protocol.
    """
    names = listed(options.protocol)
    if len(names) != 1:
        given = "none is given"
        if names:
            given = f"got {len(names)}"
        refuse("--protocol", f"name one protocol with rules for drawing, such as maptracker-iou-60x30; {given}")
    check_files(options.predictions, options.truth)

    from mapgauge.features.raster.masks import mask_iou

    measured = mask_iou(options.predictions, InputReader().truth(options.truth), names[0])
    if measured.frames_missing and options.form == "text":
        lacking = counted(measured.frames_missing, "frame of the truth has", "frames of the truth have")
        out.warn(f"{lacking} no mask, which counts as empty")
    emit(options, MasksCompared(measured, names[0]))


@dataclass(frozen=True)
class MasksCompared(Document):
    """IoU of masks."""

    measured: "MaskIou"
    protocol: str

    def text(self) -> Iterator[Piece]:
        """Return one table."""
        title = f"IoU of masks, {self.protocol}, pixels of all frames pooled"
        header, rows = self.measured.cells()
        yield out.Table(title=title, header=header, rows=rows, fixed=1)

    def to_dict(self) -> Any:
        """Return all values."""
        return self.measured.to_dict()
