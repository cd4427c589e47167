"""Type aliases for the arrays and arguments used throughout the package."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Points: TypeAlias = NDArray[np.float64]  # (n, dimension), metres
Offsets: TypeAlias = NDArray[np.int64]  # (instances + 1,)
Flags: TypeAlias = NDArray[np.bool_]  # (instances,)
Confidences: TypeAlias = NDArray[np.float64]  # (instances,), in [0, 1]
Pairs: TypeAlias = NDArray[np.int64]  # (k, 2)
Indices: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

# A shapely geometry is anything with ``geom_type``. The package does not import shapely for its types.
PolylineLike: TypeAlias = ArrayLike | Any
PolylinesLike: TypeAlias = Iterable[PolylineLike] | Any
Closed: TypeAlias = bool | Literal["auto"]
Degenerate: TypeAlias = Literal["strict", "drop"]  # what to do with instances that are not valid polylines
Sampling: TypeAlias = Literal["paper", "even"]  # where the points of a resampled polyline lie
Forward: TypeAlias = Literal["x", "y"]  # the axis that points forward; y to the left of x, x to the right of y
Bounds: TypeAlias = tuple[float, float, float, float]  # x_min, y_min, x_max, y_max
Progress: TypeAlias = Callable[[int, int], None]  # gets the number of finished pieces of work, and of all
