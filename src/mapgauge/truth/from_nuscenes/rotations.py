"""Rotations of poses, rounded as the public converters of nuScenes round them.

The last bit of the heading of a frame decides where the outline of a crossing falls apart at the edge of the region,
and where the union of polygons that touch has a slit. So these functions compute in the same order as the converters.
In exact arithmetic, ``geometry.poses.rotations`` is the same.
"""

import math

import numpy as np
from numpy.typing import NDArray

from mapgauge.typing import Points

_UNIT = 1e-14  # quaternions whose squared norm is this close to 1 are not normalised
_LEFT = np.array([(0, 1, 2, 3), (1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0)])  # which component of a quaternion
_LEFT_SIGN = np.array([(1, -1, -1, -1), (1, 1, -1, 1), (1, 1, 1, -1), (1, -1, 1, 1)])
_RIGHT_SIGN = np.array([(1, -1, -1, -1), (1, 1, 1, -1), (1, -1, 1, 1), (1, 1, -1, 1)])


def matrices_of(quaternions: Points) -> NDArray[np.float64]:
    """Return the ``(n, 3, 3)`` rotation matrices of quaternions ``w, x, y, z``.

    A rotated point is the product of the quaternion, the point and the conjugate. The two products are matrices.
    """
    square = np.array([one @ one for one in quaternions]).reshape(-1, 1)
    unit = np.where(np.abs(1.0 - square) < _UNIT, quaternions, quaternions / np.sqrt(square))
    left, right = unit[:, _LEFT] * _LEFT_SIGN, unit[:, _LEFT] * _RIGHT_SIGN
    # One product at a time: numpy rounds a product of stacks in another order.
    both = np.array([one @ other.T for one, other in zip(left, right, strict=True)]).reshape(-1, 4, 4)
    return np.ascontiguousarray(both[:, 1:, 1:])


def quaternion_of(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quaternion ``w, x, y, z`` of a rotation matrix ``(3, 3)``. Its largest component is positive."""
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    if i < 0 and a > e:
        square, rest = 1 + a - e - i, (h - f, None, b + d, c + g)
    elif i < 0:
        square, rest = 1 - a + e - i, (c - g, b + d, None, f + h)
    elif a < -e:
        square, rest = 1 - a - e + i, (d - b, c + g, f + h, None)
    else:
        square, rest = 1 + a + e + i, (None, h - f, c - g, d - b)
    parts = np.array([square if part is None else part for part in rest], np.float64)
    parts *= 0.5
    parts /= math.sqrt(square)
    return parts


def heading(pose: NDArray[np.float64]) -> float:
    """Return the direction of the x axis of a pose, seen from above, in degrees from the x axis of the map."""
    return float(np.arctan2(pose[1, 0], pose[0, 0]) / np.pi * 180)
