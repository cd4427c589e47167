# Written by `python -m tools.public_names` from the manifests. Do not edit it.
from mapgauge.features.confidence.figure import calibration as calibration
from mapgauge.features.confidence.figure import confidence as confidence
from mapgauge.features.error_map.figure import errors as errors
from mapgauge.features.global_map.figures import global_map as global_map
from mapgauge.features.splits.figure import splits as splits
from mapgauge.features.tracks.figures import lags as lags
from mapgauge.features.tracks.figures import strip as strip
from mapgauge.views.figures.birdseye import frame as frame
from mapgauge.views.figures.birdseye import scene as scene
from mapgauge.views.figures.causes import causes as causes
from mapgauge.views.figures.curves import cutoffs as cutoffs
from mapgauge.views.figures.curves import histogram as histogram
from mapgauge.views.figures.curves import parts as parts
from mapgauge.views.figures.curves import ranges as ranges
from mapgauge.views.figures.hits import precision_recall as precision_recall
from mapgauge.views.figures.style import save as save

__all__: list[str]
