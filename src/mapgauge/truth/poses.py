"""Poses in the tables of data sets: unit quaternions and translations."""

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import UnreadableFile
from mapgauge.typing import Points


def motions(quaternions: Points, translations: Points, where: str) -> NDArray[np.float64]:
    """Rotations, as unit quaternions ``w, x, y, z``, and translations as ``(n, 4, 4)`` matrices.

    ``where`` says in an error which of them is none.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        length = np.linalg.norm(quaternions, axis=1)
    bad = np.flatnonzero(~(np.abs(length - 1) < 1e-3) | ~np.isfinite(translations).all(axis=1))
    if len(bad):
        k = int(bad[0])
        raise UnreadableFile(
            f"{where} {k} is no rotation and translation: quaternion {quaternions[k].tolist()}, "
            f"translation {translations[k].tolist()} ({len(bad)} of {len(length)})"
        )
    w, x, y, z = (quaternions / length[:, None]).T
    made = np.zeros((len(length), 4, 4))
    made[:, 0, :3] = np.column_stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)])
    made[:, 1, :3] = np.column_stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)])
    made[:, 2, :3] = np.column_stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    made[:, :3, 3] = translations
    made[:, 3, 3] = 1
    return made
