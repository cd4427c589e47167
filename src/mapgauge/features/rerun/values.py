"""The values of single frames as curves over time."""

from typing import NamedTuple

from mapgauge.features.rerun.colours import rgb
from mapgauge.metrics.table import part_colours, title_of
from mapgauge.results.frame_tables import frame_arrays, frame_precisions
from mapgauge.results.results import Results
from mapgauge.results.values import lists_of_frames
from mapgauge.typing import Floats

WHOLES = ((230, 159, 0), (86, 180, 233), (0, 158, 115), (204, 121, 167))  # seen on dark and on light pages
# Groups of curves.
PARTS = "parts"
WHOLE = "values"


class ValueCurve(NamedTuple):
    """One value of all frames."""

    entity: str
    title: str
    colour: tuple[int, int, int]
    values: Floats  # (frames,); NaN where the value does not exist


def curves_of(results: Results) -> list[ValueCurve]:
    """Return the main values of frames, such as PLD, their parts, and the mean average precisions of each frame."""
    arrays = frame_arrays(results, results.scores, range(len(results.class_names)))
    curves = []
    wholes = {}
    for metric, _ in lists_of_frames(results.metrics):
        if metric.repeats not in results.metrics:  # the causes of PLD add up to it
            wholes[metric.main.key] = arrays[metric.main.key]
        curves += [
            ValueCurve(f"{PARTS}/{metric.name}/{part}", title_of(part, full=True), rgb(colour), values=arrays[part])
            for part, colour in part_colours(metric).items()
            if part in arrays
        ]
    precisions = frame_precisions(results.scores, results.metrics, results.protocol, class_names=results.class_names)
    wholes |= {key: table[0] for key, table in precisions.items()}  # means over classes
    for n, (key, values) in enumerate(wholes.items()):
        title = title_of(key, protocol=results.protocol)
        curves.append(ValueCurve(f"{WHOLE}/{key}", title, WHOLES[n % len(WHOLES)], values=values))
    return curves
