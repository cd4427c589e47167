"""Types of arrays in tests."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Points: TypeAlias = NDArray[np.float64]  # (n, dimension)
Floats: TypeAlias = NDArray[np.float64]
Confidences: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.int64]
