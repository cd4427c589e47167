"""Values of a batch as arrays: tensors of any library and device, or plain lists."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput


def plain(value: Any) -> Any:
    """Return a tensor in a form that numpy accepts: without gradient, on the CPU, with a type that numpy has."""
    if hasattr(value, "detach"):
        value = value.detach()
    if hasattr(value, "cpu"):
        value = value.cpu()
    floating = getattr(value, "is_floating_point", None)
    return value.double() if callable(floating) and floating() else value  # numpy has no bfloat16


def as_array(value: Any, where: str) -> NDArray[Any]:
    """Return numbers or names, which may be tensors on any device, as an array."""
    try:
        return np.asarray([plain(one) for one in value] if isinstance(value, list | tuple) else plain(value))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"{where} is not an array: {error}") from error
