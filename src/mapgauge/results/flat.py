"""Results as one flat dictionary of floats, as loggers take them."""

from mapgauge.results.results import Results
from mapgauge.scoring.score import METRICS


def flat(results: Results) -> dict[str, float]:
    """All values of all classes and their means under one key each: ``metric/class``, then part, then setting.

    Keys have letters that every logger admits: MLflow refuses ``@``, which the keys of ``results.mean`` have. A value
    that does not exist, that of a class with neither predictions nor truth, has no key: NaN would spoil the axes of a
    plot and stop what watches a number.

    Args:
        results: What ``evaluate`` or an ``Accumulator`` gave.

    Returns:
        ``pld/mean``, ``pld/divider``, ``pld/mean/localisation``, ``pld/divider/missed``, ``ap_chamfer/mean``,
        ``ap_chamfer/divider/0.5`` and so on; the means come first.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    >>> values = flat(mg.evaluate(truth.with_confidence(0.5), truth))
    >>> round(values["pld/mean"], 3), round(values["pld/divider/confidence"], 3), values["ap_chamfer/divider/0.5"]
    (0.5, 0.5, 1.0)
    """
    rows = [("mean", results.mean), *results.classes.items()]
    return {
        flat_key(key, class_name): float(value)
        for class_name, values in rows
        for key, value in values.items()
        if value is not None and key not in ("predictions", "truth")
    }


def flat_key(key: str, class_name: str) -> str:
    """The key of a value of a class.

    >>> flat_key("localisation@0.5", "divider"), flat_key("pld_frame_mean", "mean"), flat_key("pld:0-10m", "mean")
    ('pld/divider/localisation/0.5', 'pld/mean/frame_mean', 'pld/mean/0-10m')
    """
    name, _, setting = key.partition("@")
    metric = name if name in METRICS else "pld"
    part = name.removeprefix(metric).lstrip("_:")
    return "/".join(word for word in (metric, class_name, part, setting) if word)
