"""Checks the plain values of a document: numbers, texts, lists, members of objects, points."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from mapgauge.io.files.json_documents import MakeError
from mapgauge.typing import Points

T = TypeVar("T")
_REMEDIES = {"scores": "Give each polyline a score. It can be 1 for all if the method has no confidences"}


@dataclass(frozen=True, slots=True)
class ValueChecker:
    """Checks values of one file. ``where`` is the place of a value in the file, for error messages."""

    error: MakeError

    def top(self, value: Any, kind: type[T], expected: str) -> T:
        """Return the whole document, which must be of a type."""
        if not isinstance(value, kind):
            raise self.error(f"{short(value)}, expected {expected}")
        return value

    def member(self, value: Any, key: str, where: str) -> Any:
        """Return a required member of an object."""
        if not isinstance(value, dict):
            raise self.error(f"{where} is {short(value)}, expected a dictionary with {key!r}")
        if key not in value:
            raise self.error(f"{where} has no {key!r}", remedy=_REMEDIES.get(key))
        return value[key]

    def sequence(self, value: Any, where: str) -> Sequence[Any]:
        """Return a list, a tuple, or an array with rows."""
        if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
            return value  # type: ignore[return-value]  # an array has a length and rows in order, which is enough
        raise self.error(f"{where} is {short(value)}, expected a list")

    def sequences(self, value: Any, keys: Sequence[str], where: str) -> dict[str, Sequence[Any]]:
        """Return parallel lists, which are required members of an object and must have the same length."""
        lists = {key: self.sequence(self.member(value, key, where), f"{where}.{key}") for key in keys}
        if len({len(values) for values in lists.values()}) > 1:
            lengths = ", ".join(f"{len(values)} {name}" for name, values in lists.items())
            raise self.error(f"{where} has {lengths}; expected the same number of each")
        return lists

    def number(self, value: Any, where: str) -> float:
        """Return a real number. Null is NaN, which makes an instance degenerate."""
        if value is None:
            return float("nan")
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
            raise self.error(f"{where} is {short(value)}, expected a number")
        try:
            return float(value)
        except OverflowError:
            return float("inf")

    def whole(self, value: Any, where: str) -> int:
        """Return a whole number."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or abs(int(value)) >= 1 << 63:
            raise self.error(f"{where} is {short(value)}, expected a whole number of at most 63 bits")
        return int(value)

    def text(self, value: Any, where: str) -> str:
        """Return a text that is not empty, such as a token or a name."""
        if not isinstance(value, str) or not value or not is_text(value):
            raise self.error(f"{where} is {short(value)}, expected a text")
        return str(value)

    def points(self, value: Any, where: str, *, flat: bool = False) -> Points:
        """Return points ``(n, 2 or 3)`` from an array or nested lists. ``flat`` also allows ``x, y, x, y, ...``.

        Null is NaN, which makes an instance degenerate.
        """
        if isinstance(value, np.ndarray) and value.ndim:
            array = value
        elif isinstance(value, list | tuple):
            try:
                array = np.array(value)
                # Without this check True would be read as 1.
                if bool in set(map(type, value if array.ndim == 1 else chain.from_iterable(value))):
                    array = np.empty(0, object)
            except (ValueError, TypeError, OverflowError):
                array = np.empty(0, object)
        else:
            raise self.error(f"{where} is {short(value)}, expected a list of points")
        if flat and array.ndim == 1 and array.dtype.kind in "iuf":
            if len(array) % 2:
                raise self.error(f"{where} has {len(array)} numbers, expected x, y, x, y, ...")
            array = array.reshape(-1, 2)
        if not len(value):
            return np.empty((0, 2))
        if array.dtype.kind not in "iuf" or array.ndim != 2:
            array = self._point_by_point(value, where)
        if array.shape[1] not in (2, 3):
            raise self.error(f"{where}: points have {array.shape[1]} coordinates, expected 2 or 3")
        return np.ascontiguousarray(array, np.float64)

    def _point_by_point(self, value: Iterable[Any], where: str) -> Points:
        """Return points from lists that numpy cannot convert to a table of numbers, or say which value is wrong."""
        rows: list[list[float]] = []
        for i, point in enumerate(value):
            if isinstance(point, int | float | np.number):
                raise self.error(
                    f"{where} is a flat list of numbers, expected a list of points such as [[0, 0], [1, 0]]"
                )
            if not isinstance(point, list | tuple | np.ndarray) or getattr(point, "ndim", 1) == 0:
                raise self.error(f"{where}[{i}] is {short(point)}, expected a point of 2 or 3 numbers")
            rows.append([self.number(x, f"{where}[{i}][{k}]") for k, x in enumerate(point)])
            if len(rows[-1]) != len(rows[0]):
                raise self.error(
                    f"{where}[{i}] has {len(rows[-1])} coordinates, the points before it have {len(rows[0])}"
                )
        return np.array(rows).reshape(len(rows), -1)


def short(value: Any) -> str:
    """Return a value as an error message shows it.

    >>> short(None), short("high"), short([1, 2])
    ('null', "'high'", 'a list')
    """
    if value is None:
        return "null"
    if isinstance(value, str | int | float):
        text = repr(value)
        if len(text) <= 40:
            return text
        return text[:37] + "..."
    return f"a {type(value).__name__}"


def is_text(value: str) -> bool:
    """Whether a text has valid characters only. JSON and pickles may hold halves of pairs of surrogates.

    >>> is_text("scène"), is_text(chr(0xD800))
    (True, False)
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
