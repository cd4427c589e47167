"""Converts results to one flat dictionary of floats, as loggers expect it."""

from collections.abc import Iterator

from mapgauge.errors import InvalidInput
from mapgauge.metrics.table import flat_key
from mapgauge.results.results import Results
from mapgauge.results.values import COUNTS

__all__ = ["flat"]


def flat(results: Results) -> dict[str, float]:
    """Return all values of all classes and their means. A key is ``metric/class``, then the part, then the setting.

    Keys use only characters that every logger accepts. MLflow refuses ``@``, which the keys of ``results.mean``
    contain. A class with neither predictions nor truth has no values and no keys, because NaN would spoil the axes of a
    plot and stop programs that watch a number.

    Args:
        results: Results of ``evaluate`` or of an ``Accumulator``.

    Returns:
        ``pld/mean``, ``pld/divider``, ``pld/mean/localisation``, ``pld/divider/missed``, ``ap_chamfer/mean``,
        ``ap_chamfer/divider/0.5`` and so on. The means come first.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    >>> values = flat(mg.evaluate(truth.with_confidence(0.5), truth))
    >>> round(values["pld/mean"], 3), round(values["pld/divider/confidence"], 3), values["ap_chamfer/divider/0.5"]
    (0.5, 0.5, 1.0)
    """
    values: dict[str, float] = {}
    for name, value, class_name in named_values(results):
        if name in values:  # a slash in the name of a class can look like a part or a setting
            raise InvalidInput(
                f"two values have the key {name!r}, one of them of the class {class_name!r}",
                remedy="Rename the class, without a slash",
            )
        values[name] = value
    return values


def named_values(results: Results) -> Iterator[tuple[str, float, str]]:
    """Yield the key, the value and the class of each value. A key can occur twice."""
    for class_name, values in [("mean", results.mean), *results.classes.items()]:
        for key, value in values.items():
            if value is not None and key not in COUNTS:
                yield flat_key(key, class_name), float(value), class_name
