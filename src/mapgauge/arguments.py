"""Checks single arguments of public functions. Each check returns the value in the form used by the package."""

import math
import operator
from collections.abc import Callable, Iterable
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.typing import Closed, Confidences, Forward

# Lengths whose squares neither underflow nor overflow.
_SMALLEST = 1e-100
_LARGEST = 1e100
_HIGHEST_ORDER = 32  # with a higher order, powers of distances well above 0 underflow
_LARGEST_SWITCH_COST = 1e6  # far above the cost of all frames of a scene; solvers lose digits with larger numbers
# Metres. Up to the highest order, their powers are ordinary numbers.
_SMALLEST_CUTOFF = 1e-9
_LARGEST_CUTOFF = 1e9


def _number(name: str, value: object, expected: str, is_valid: Callable[[float], bool]) -> float:
    """Return a real number for which ``is_valid`` is true. Booleans and text are refused."""
    try:
        if not isinstance(value, bool | np.bool_ | str | bytes) and np.ndim(value) == 0:  # type: ignore[arg-type]
            number = float(value)  # type: ignore[arg-type]
            if is_valid(number):
                return number
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be {expected}, got {value!r}") from error
    raise InvalidInput(f"{name} must be {expected}, got {value!r}")


def _between(name: str, value: object, least: float, most: float, what: str = "a number", unit: str = "") -> float:
    """Return a number in a range that messages name."""
    expected = f"{what} from {least:g} to {most:g}{unit}"
    return _number(name, value, expected, is_valid=lambda number: least <= number <= most)


def check_number(name: str, value: object, expected: str = "a finite number") -> float:
    """Return a finite number."""
    return _number(name, value, expected, is_valid=math.isfinite)


def check_not_negative(name: str, value: object) -> float:
    """Return a finite number of at least 0, such as a weight or a temperature."""
    return _number(name, value, "a number of at least 0", is_valid=lambda number: 0 <= number < math.inf)


def check_length(name: str, value: object) -> float:
    """Return a positive, finite length in metres, such as a cutoff or a spacing."""
    return _number(name, value, "a positive length in metres", is_valid=lambda length: _SMALLEST <= length <= _LARGEST)


def check_cutoff(name: str, value: object) -> float:
    """Return a cutoff in metres: a length whose powers of any accepted order neither underflow nor overflow."""
    check_length(name, value)
    return _between(name, value, _SMALLEST_CUTOFF, most=_LARGEST_CUTOFF, what="a length", unit=" metres")


def check_order(order: object) -> float:
    """Return the order ``p`` of a metric: at least 1, and not so high that powers underflow."""
    return _between("order", order, 1, most=_HIGHEST_ORDER)


def check_switch_cost(name: str, value: object) -> float:
    """Return the cost of a switch of tracks or of a wrong link: a finite number of at least 0."""
    return _between(name, value, 0, most=_LARGEST_SWITCH_COST)


def check_link_floor(name: str, value: object) -> float:
    """Return the score up to which there is no link: a number from 0 to below 1."""
    return _number(name, value, "a number from 0 to below 1", is_valid=lambda number: 0 <= number < 1)


def check_share(name: str, value: object) -> float:
    """Return a number from 0 to 1, such as a confidence or an IoU."""
    return _between(name, value, 0, most=1)


def check_tolerance(tolerance: object) -> float:
    """Return the largest distance between first and last point of a polyline that ``closed="auto"`` calls closed."""
    expected = "a length of at least 0 in metres"
    return _number("closed_tolerance", tolerance, expected, is_valid=lambda number: 0 <= number < math.inf)


def check_flag(name: str, value: object) -> bool:
    """Return True or False. Other values that Python treats as true or false are refused."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_forward(forward: object) -> Forward | None:
    """Return the axis that points forward, or None if it is unknown."""
    if forward not in ("x", "y", None):
        raise InvalidInput(f'forward must be "x", "y", or None if it is unknown, got {forward!r}')
    return forward


def check_closed(closed: object, *, auto: bool = True) -> Closed:
    """Return True, False or "auto", which only functions that have the points support."""
    if isinstance(closed, bool | np.bool_):
        return bool(closed)
    if auto and isinstance(closed, str) and closed == "auto":
        return "auto"
    if auto:
        hint = 'True, False or "auto"'
    else:
        hint = 'True or False ("auto" needs the points)'
    raise InvalidInput(f"closed must be {hint}, got {closed!r}")


def check_count(name: str, count: SupportsIndex) -> int:
    """Return a number of points to resample to: a whole number of at least 2."""
    return check_whole(name, count, least=2)


def check_whole(name: str, value: SupportsIndex, least: int) -> int:
    """Return a whole number of at least ``least``."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or operator.index(value) < least:
        raise InvalidInput(f"{name} must be a whole number of at least {least}, got {value!r}")
    return operator.index(value)


def check_workers(workers: SupportsIndex | None) -> int | None:
    """Return a number of workers, or None for one per processor."""
    if workers is None:
        return None
    return check_whole("workers", workers, least=1)


def check_not_mean(classes: Iterable[str]) -> None:
    """Refuse a class named "mean": results have the mean over classes under this name."""
    if "mean" in classes:
        raise InvalidInput(
            "a class is named 'mean', which is the name of the mean over classes in results",
            remedy=Remedy(
                'Rename the class: frames.rename({"mean": "other"})',
                "Rename the class where a file is given: FILE,rename=mean:OTHER",
            ),
        )


def check_class_names(classes: Iterable[str]) -> tuple[str, ...]:
    """Return class names as a tuple. A single text is refused: it would be taken for a sequence of letters."""
    if isinstance(classes, str):
        raise InvalidInput(f"classes must be a sequence of names, got the text {classes!r}", remedy="Put it in a list")
    return tuple(classes)


def check_confidence(name: str, confidence: ArrayLike | None, count: int, of: str) -> Confidences:
    """Return one number in [0, 1] per instance; None means 1 for all."""
    if confidence is None:
        return np.ones(count)
    try:
        values = np.asarray(confidence)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must be {count} numbers in [0, 1], one per {of}: {error}") from error
    if values.shape != (count,):
        raise InvalidInput(f"{name} must be {count} numbers, one per {of}, got shape {values.shape}")
    if count and values.dtype.kind not in "iuf":
        raise InvalidInput(f"{name} must be numbers in [0, 1], got values of type {values.dtype}")
    values = values.astype(np.float64)
    bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(bad):
        k = int(bad[0])
        if len(bad) > 1:
            more = f" ({len(bad)} of {count} values are outside)"
        else:
            more = ""
        raise InvalidInput(
            f"{name} {k} is {values[k]!s}, expected a number in [0, 1]{more}",
            remedy="Apply a sigmoid to logits, divide percentages by 100",
        )
    return values
