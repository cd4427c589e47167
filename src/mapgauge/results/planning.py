"""Plans from the standard error of a difference: how small a difference scenes show, and how many scenes one needs.

All of it is the power of the paired test of ``estimation.difference``, two-sided at ``1 - level``. With the standard
error ``s`` and its degrees of freedom ``f``, a true difference ``d`` is decided with the probability ``power`` if

    d = (t(f, level) + t(f, power)) * s

where the first is the quantile of the test and the second the quantile below which Student's t lies with the
probability ``power`` (W. G. Cochran and G. M. Cox, "Experimental Designs", 1957, section 2.21). With ``k`` times as
many scenes of the same kind, ``s`` is divided by ``sqrt(k)``.
"""

import math
from typing import Literal, NamedTuple, TypeAlias

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput
from mapgauge.results.bootstrap import SAMPLES
from mapgauge.results.comparison import Comparison
from mapgauge.results.intervals import FEWEST, LEVEL, Difference
from mapgauge.results.student import quantile

POWER = 0.8  # the usual choice of planned studies (J. Cohen, "Statistical Power Analysis", 1988)
_MOST = 10_000_000  # scenes; a difference that needs more is not shown by any data set
_MANY = 10_000  # degrees of freedom; beyond them the quantiles change by less than 0.02 %

MarginVerdict: TypeAlias = Literal["better", "not worse", "worse", "cannot tell"]


class Planned(NamedTuple):
    """What scenes can show about one value of two methods."""

    smallest: float  # the smallest true difference that today's scenes decide with the power; NaN without an interval
    scenes: int | None  # how many scenes decide the difference that was named; None if it is not known, or too many


def one_sided(share: float, freedom: int) -> float:
    """Return the number below which Student's t lies with the probability ``share``, of at least a half.

    >>> round(one_sided(0.95, 9), 3)
    1.833
    """
    return quantile(2 * share - 1, min(freedom, _MANY))


def check_power(power: float) -> None:
    """Refuse a power for which there is no plan."""
    if not isinstance(power, float | int) or not 0.5 < power < 1:
        raise InvalidInput(f"power must be between 0.5 and 1, got {power!r}")


def smallest_difference(difference: Difference, *, power: float = POWER, level: float = LEVEL) -> float:
    """Return the smallest true difference that as many scenes decide with a probability.

    Args:
        difference: A difference of ``compare``. Its value does not matter, only how uncertain it is.
        power: The probability.
        level: The level of the comparison.

    Returns:
        The difference; NaN if there is no interval, or if there are too few scenes to decide anything.

    >>> difference = Difference(0.01, -0.01, 0.03, False, 0.3, error=0.0101, freedom=149)
    >>> round(smallest_difference(difference), 3)
    0.028
    """
    check_power(power)
    if math.isnan(difference.error) or difference.decided is None:
        return math.nan
    return _quantiles(difference.freedom, power=power, level=level) * difference.error


def scenes_needed(
    difference: Difference,
    smallest: float,
    scenes: int,
    *,
    power: float = POWER,
    level: float = LEVEL,
    samples: int = SAMPLES,
) -> int | None:
    """Return how many scenes decide a true difference with a probability.

    The other scenes are taken to be of the same kind as those of the comparison.

    Args:
        difference: A difference of ``compare``. Its value does not matter, only how uncertain it is.
        smallest: The true difference that should be decided, above 0.
        scenes: Number of scenes of the comparison: ``Comparison.units``.
        power: The probability with which it is decided.
        level: The level of the comparison.
        samples: Number of bootstrap samples of the comparison.

    Returns:
        The number of scenes, at least 5; None if there is no interval, or if it were more than ten million.

    >>> scenes_needed(Difference(0.01, -0.01, 0.03, False, 0.3, error=0.0101, freedom=149), 0.005, 150)
    4806
    """
    check_power(power)
    check_whole("scenes", scenes, 1)
    if not isinstance(smallest, float | int) or not 0 < smallest < math.inf:
        raise InvalidInput(f"the difference to show must be a positive number, got {smallest!r}")
    if math.isnan(difference.error) or difference.decided is None:
        return None

    # A mean over classes has fewer degrees of freedom if classes occur in a part of the scenes. Their number grows with
    # the scenes. With fewer samples than scenes, the samples limit it, and not the scenes.
    is_full = difference.freedom + 1 >= min(scenes, samples)

    def decides(count: int) -> bool:
        ratio = count / scenes
        if is_full:
            freedom = count - 1
        else:
            freedom = max(int((difference.freedom + 1) * ratio) - 1, 1)
        return _quantiles(freedom, power=power, level=level) * difference.error / math.sqrt(ratio) <= smallest

    if not decides(_MOST):
        return None
    too_few = FEWEST - 1
    enough = _MOST
    # More scenes never show less, so the smallest number is found by halving.
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if decides(middle):
            enough = middle
        else:
            too_few = middle
    return enough


def _quantiles(freedom: int, *, power: float, level: float) -> float:
    """Return how many standard errors away a true difference is that is decided with a probability."""
    return quantile(level, min(freedom, _MANY)) + one_sided(power, freedom)


def margin_verdict(difference: Difference, margin: float, *, lower_is_better: bool = True) -> MarginVerdict:
    """Return whether the second method is better than the first, not worse by more than a margin, or worse.

    The loss is the difference in the direction that is worse. The verdict compares the ends of its interval with 0 and
    with the margin. Each end of a 95 % interval is a one-sided bound that holds with 97.5 %, which is the usual level
    of a test of non-inferiority (ICH E9, "Statistical principles for clinical trials", 1998, section 3.5).

    Args:
        difference: A difference of ``compare``, second minus first.
        margin: The loss that does not matter, above 0.
        lower_is_better: Whether a lower value is better.

    Returns:
        "better" if the whole interval of the loss is below 0; "not worse" if it is at most the margin; "worse" if it is
        above 0 and reaches beyond the margin; otherwise "cannot tell", also if there are too few scenes to decide.

    >>> loss = Difference(0.001, -0.002, 0.004, False, 0.5)
    >>> margin_verdict(loss, 0.005, lower_is_better=True), margin_verdict(loss, 0.002, lower_is_better=True)
    ('not worse', 'cannot tell')
    """
    if not isinstance(margin, float | int) or not 0 < margin < math.inf:
        raise InvalidInput(f"margin must be a positive number, got {margin!r}")
    if difference.decided is None:
        return "cannot tell"
    if lower_is_better:
        least = difference.low
        most = difference.high
    else:
        least = -difference.high
        most = -difference.low
    if most < 0:
        return "better"
    if most <= margin:
        return "not worse"
    if least > 0:
        return "worse"
    return "cannot tell"


def plan(
    comparison: Comparison, smallest: float | None = None, *, power: float = POWER
) -> dict[tuple[str, str], dict[str, dict[str, Planned]]]:
    """Return what the scenes of a comparison can show, and how many scenes a difference needs.

    Args:
        comparison: A comparison of two or more methods.
        smallest: A true difference that should be decided; None if only today's scenes are of interest.
        power: The probability with which it should be decided.

    Returns:
        By pair of methods, class name (or ``"mean"``) and key.

    >>> import mapgauge as mg
    >>> good, truth = mg.demo.demo_world(60)
    >>> poor, _ = mg.demo.demo_world(60, quality="poor")
    >>> methods = [mg.evaluate(good, truth), mg.evaluate(poor, truth)]
    >>> planned = mg.plan(mg.compare(methods, names=["good", "poor"]), 0.01)
    >>> mean = planned["good", "poor"]["mean"]["pld"]
    >>> mean.smallest > 0.01, mean.scenes > 6
    (True, True)
    """
    level = comparison.level

    def of(found: Difference) -> Planned:
        scenes = None
        if smallest is not None:
            scenes = scenes_needed(
                found, smallest, comparison.units, power=power, level=level, samples=comparison.samples
            )
        return Planned(smallest_difference(found, power=power, level=level), scenes)

    return {
        pair: {name: {key: of(found) for key, found in by_key.items()} for name, by_key in by_class.items()}
        for pair, by_class in comparison.differences.items()
    }
