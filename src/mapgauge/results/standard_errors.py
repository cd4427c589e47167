"""Standard errors of values and of means over classes, with their degrees of freedom, from bootstrap samples."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapgauge.results.intervals import FEWEST
from mapgauge.typing import Floats

# Degrees of freedom of a class in fewer units than FEWEST, because it borrows from other classes. Chosen by simulation:
# see docs/explanation/interval-study.md.
_RARE = 3


class Draws(NamedTuple):
    """The values of the bootstrap samples, and how many units they rest on."""

    samples: Floats  # samples without a value are NaN and do not count
    units: int  # number of scenes or frames that have a part in the value
    classes: "tuple[Draws, ...]" = ()  # the draws of each class, if this is the mean over classes


def standard_error(draws: Draws) -> tuple[float, int]:
    """Return the standard error and its degrees of freedom; NaN if there are no two units or samples with values.

    The standard error of the bootstrap is the standard deviation of the samples (B. Efron, "Bootstrap methods: another
    look at the jackknife", Annals of Statistics 7, 1979). Samples of n units vary less than n new units do, by the
    factor ``sqrt((n - 1) / n)``, which is mended here (T. C. Hesterberg, "What teachers should know about the
    bootstrap", The American Statistician 69, 2015).
    """
    finite = draws.samples[np.isfinite(draws.samples)]
    count = min(draws.units, len(finite))
    if count < 2:
        return math.nan, 0
    if len(draws.classes) > 1 and any(part.units < draws.units for part in draws.classes):
        return error_of_mean(draws.classes, most=count - 1)
    deviation = float(np.std(finite, ddof=1))
    return deviation * math.sqrt(draws.units / (draws.units - 1)), count - 1


def error_of_mean(classes: Sequence[Draws], most: int) -> tuple[float, int]:
    """Return the standard error of a mean over classes that occur in different numbers of units.

    The variance of the mean is the sum of the shares of the classes. The share of a class is the sum of its row of the
    covariance matrix of all classes, over the squared number of classes. The share of a rare class has the degrees of
    freedom of its own units. The degrees of freedom of the sum follow from F. E. Satterthwaite's equation ("An
    approximate distribution of estimates of variance components", Biometrics Bulletin 2, 1946). The equation is for
    independent variances. Here the shares have covariances of classes in them, so it is an approximation, which the
    simulation in docs/explanation/interval-study.md checks.

    Args:
        classes: The draws of each class.
        most: The degrees of freedom of all units. The mean has at most these.

    Returns:
        The standard error and its degrees of freedom; NaN and 0 if no class occurs in two units.
    """
    units = np.array([of_class.units for of_class in classes], np.float64)
    total = float((units - 1).sum())
    if total < 1:
        return math.nan, 0

    covariance = _covariance(classes, units)
    covariance += np.diag(_added_for_few(np.diag(covariance), units, total))
    shares = covariance.sum(axis=1) / len(classes) ** 2
    variance = max(float(shares.sum()), 0.0)

    # Satterthwaite: (sum of shares)^2 / sum of (share^2 / its degrees of freedom).
    spread = float((shares**2 / np.maximum(units - 1, min(_RARE, total))).sum())
    freedom = most
    if spread > 0:
        freedom = int(variance**2 / spread)
    return math.sqrt(variance), min(max(freedom, 1), most)


def _covariance(classes: Sequence[Draws], units: Floats) -> Floats:
    """Return the covariances of the errors of classes, ``(classes, classes)``.

    Two classes have the covariance of the samples in which both have a value. As in ``standard_error``, it is made
    wider because samples of n units vary less than n new units.
    """
    samples = np.stack([of_class.samples for of_class in classes])
    finite = np.isfinite(samples).astype(np.float64)
    filled = np.where(finite > 0, samples, 0.0)
    centre = filled.sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    away = (filled - centre[:, None]) * finite
    pairs = np.maximum(np.einsum("is,js->ij", finite, finite) - 1, 1)
    wider = np.sqrt(units / np.maximum(units - 1, 1))
    covariance: Floats = np.einsum("is,js->ij", away, away) / pairs * wider[:, None] * wider
    return covariance


def _added_for_few(own: Floats, units: Floats, total: float) -> Floats:
    """Return what is added to the variances of classes in few units.

    Few units can be similar by chance, so a unit of a rare class varies at least as much as a unit of all classes on
    average: the variances of units, pooled by their degrees of freedom. That a variance of few values borrows from a
    pooled one is the idea of moderated variances (G. K. Smyth, "Linear models and empirical Bayes methods for assessing
    differential expression in microarray experiments", Statistical Applications in Genetics and Molecular Biology 3,
    2004). That it only grows, and below how many units, are rules of this tool, chosen with the simulation in
    docs/explanation/interval-study.md.

    Args:
        own: The variances of the classes.
        units: In how many units each class occurs.
        total: The degrees of freedom of all classes together.
    """
    of_unit = (own * units * (units - 1)).sum() / total
    with np.errstate(divide="ignore", invalid="ignore"):  # a class without units: the error of the mean is not known
        least = of_unit / units
    return np.where(units < FEWEST, np.maximum(least - own, 0.0), 0.0)
