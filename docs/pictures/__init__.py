"""The pictures of the documentation, as SVG.

mapgauge computes every pair, mark and number in them. They need only numpy and mapgauge.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.pictures.causes import draw_causes
from docs.pictures.changes import draw_changes
from docs.pictures.charts import draw_confidence, draw_frames, draw_offsets, draw_prices, draw_switches
from docs.pictures.drawing import Drawing
from docs.pictures.fragments import draw_fragments
from docs.pictures.polylines import draw_alignment, draw_chamfer_and_frechet, draw_cutoffs, draw_cyclic
from docs.pictures.rasters import draw_rasters
from docs.pictures.regions import draw_regions
from docs.pictures.rooms import draw_rooms
from docs.pictures.sets import draw_figure_1, draw_groupings, draw_parts, draw_table_1
from docs.pictures.training import draw_training

IMAGES = Path(__file__).parents[1] / "images"

PICTURES: Mapping[str, Callable[[], Drawing]] = {
    "alignment": draw_alignment,
    "causes": draw_causes,
    "changes": draw_changes,
    "chamfer-and-frechet": draw_chamfer_and_frechet,
    "confidence": draw_confidence,
    "cutoffs": draw_cutoffs,
    "cyclic": draw_cyclic,
    "figure-1": draw_figure_1,
    "fragments": draw_fragments,
    "frames": draw_frames,
    "groupings": draw_groupings,
    "offsets": draw_offsets,
    "parts": draw_parts,
    "prices": draw_prices,
    "rasters": draw_rasters,
    "regions": draw_regions,
    "rooms": draw_rooms,
    "switches": draw_switches,
    "table-1": draw_table_1,
    "training": draw_training,
}
