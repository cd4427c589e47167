"""Plans from the standard error of a difference: how small a difference scenes show, and how many scenes one needs.

All of it is the power of the paired test of ``estimation.difference``, two-sided at ``1 - level``. If the standard
error ``s`` of the planned test were known, with its degrees of freedom ``f``, a true difference ``d`` would be decided
with the probability that Student's t lies below

    d / s - t(f, level)

where the second is the quantile of the test (W. G. Cochran and G. M. Cox, "Experimental Designs", 1957, section 2.21).
But ``s`` is an estimate from the scenes that one has. If these are few, it is often too small, and a plan that takes it
for the truth reaches less than the power that it promises: 74 % instead of 80 % with 10 scenes. So the probability is
averaged over what the true standard error may be, by the chi distribution of the estimate (S. A. Julious and R. J.
Owen, "Sample size calculations for clinical studies allowing for uncertainty about the variance", Pharmaceutical
Statistics 5, 2006). With ``k`` times as many scenes of the same kind, ``s`` is divided by ``sqrt(k)``.
"""

import math
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput
from mapgauge.results.bootstrap import SAMPLES
from mapgauge.results.comparison import Comparison
from mapgauge.results.intervals import FEWEST, LEVEL, Difference
from mapgauge.results.runs import RunComparison
from mapgauge.results.student import quantile, share_below

POWER = 0.8  # the usual choice of planned studies (J. Cohen, "Statistical Power Analysis", 1988)
_MOST = 10_000_000  # scenes; a difference that needs more is not shown by any data set
_MANY = 10_000  # degrees of freedom; beyond them the quantiles change by less than 0.02 %
_NODES = 41  # standard errors over which the power is averaged; more change it by less than 1e-6
_WIDTH = 6.0  # standard deviations of the estimated standard error, on both sides
_ROUNDING = 1e-12  # a standard error up to this size is rounding: nothing varies between scenes

MarginVerdict: TypeAlias = Literal["better", "not worse", "worse", "cannot tell"]


class Planned(NamedTuple):
    """What scenes can show about one value of two methods."""

    smallest: float  # the smallest true difference that as many scenes decide with the power; NaN if it is not known
    scenes: int | None  # how many scenes decide the difference that was named; None if it is not known, or no number is


def check_power(power: float) -> None:
    """Refuse a power for which there is no plan."""
    if not isinstance(power, float | int) or not 0.5 < power < 1:
        raise InvalidInput(f"power must be between 0.5 and 1, got {power!r}")


def _check_level(level: float) -> None:
    if not isinstance(level, float | int) or not 0 < level < 1:
        raise InvalidInput(f"level must be between 0 and 1, got {level!r}")


def smallest_difference(difference: Difference, *, power: float = POWER, level: float = LEVEL) -> float:
    """Return the smallest true difference that as many scenes decide with a probability.

    Args:
        difference: A difference of ``compare``. Its value does not matter, only how uncertain it is.
        power: The probability, for other scenes of this kind.
        level: The level of the comparison.

    Returns:
        The difference; NaN if there is no interval, if there are too few scenes to decide anything, or if the two
        methods differ by the same in all scenes, so that nothing is known about how much scenes vary.

    >>> difference = Difference(0.01, -0.01, 0.03, False, 0.3, error=0.0101, freedom=149)
    >>> round(smallest_difference(difference), 3)
    0.029
    """
    check_power(power)
    _check_level(level)
    if not _is_known(difference):
        return math.nan
    freedom = min(difference.freedom, _MANY)
    return _errors_away(freedom, power=power, level=level) * difference.error


def scenes_needed(
    difference: Difference,
    smallest: float,
    scenes: int,
    *,
    power: float = POWER,
    level: float = LEVEL,
    samples: int = SAMPLES,
    of_seeds: float = 0.0,
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
        of_seeds: The share of the variance that is due to seeds, ``Spread.of_seeds``, which more scenes leave.

    Returns:
        The number of scenes, at least 5; None if it is not known, or if ten million were not enough.

    >>> scenes_needed(Difference(0.01, -0.01, 0.03, False, 0.3, error=0.0101, freedom=149), 0.005, 150)
    4861
    """
    check_power(power)
    _check_level(level)
    check_whole("scenes", scenes, least=1)
    if not isinstance(smallest, float | int) or not 0 < smallest < math.inf:
        raise InvalidInput(f"the difference to show must be a positive number, got {smallest!r}")
    if not isinstance(of_seeds, float | int) or not 0 <= of_seeds <= 1:
        raise InvalidInput(f"of_seeds must be a share from 0 to 1, got {of_seeds!r}")
    if not _is_known(difference):
        return None

    # A mean over classes has fewer degrees of freedom if classes occur in a part of the scenes. Their number grows with
    # the scenes. With fewer samples than scenes, the samples limit it, and not the scenes.
    known = min(difference.freedom, _MANY)
    is_full = difference.freedom + 1 >= min(scenes, samples)

    def decides(count: int) -> bool:
        ratio = count / scenes
        if of_seeds:
            freedom = difference.freedom  # scenes add nothing to what is known about seeds
        elif is_full:
            freedom = count - 1
        else:
            freedom = max(int((difference.freedom + 1) * ratio) - 1, 1)
        error = difference.error * math.sqrt(of_seeds + (1 - of_seeds) / ratio)
        return _power(smallest / error, min(freedom, _MANY), known, level=level) >= power

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


def _is_known(difference: Difference) -> bool:
    """Whether it is known how much a difference varies between scenes."""
    if math.isnan(difference.error) or difference.freedom < 1 or difference.decided is None:
        return False
    return difference.error > _ROUNDING


def _power(away: float, freedom: int, known: int, level: float) -> float:
    """Return the probability with which a test decides a true difference.

    Args:
        away: The difference, in standard errors of the test as they were estimated.
        freedom: The degrees of freedom of the test.
        known: The degrees of freedom of the estimate.
        level: The level of the test.
    """
    ratios, weights = _true_errors(known)
    critical = quantile(level, freedom)
    shares = [share_below(away * ratio - critical, freedom) for ratio in ratios]
    return math.fsum(share * weight for share, weight in zip(shares, weights, strict=True))


@lru_cache(maxsize=256)
def _true_errors(known: int) -> tuple[list[float], list[float]]:
    """Return ratios of an estimated to the true standard error, and how probable they are.

    The ratio, squared and times the degrees of freedom, has the chi-squared distribution.
    """
    half = _WIDTH / math.sqrt(2 * known)
    ratios = np.linspace(max(1 - half, 1e-6), 1 + half, _NODES)
    logarithms = (known - 1) * np.log(ratios) - known * ratios**2 / 2
    weights = np.exp(logarithms - logarithms.max())
    return ratios.tolist(), (weights / weights.sum()).tolist()


@lru_cache(maxsize=256)
def _errors_away(freedom: int, *, power: float, level: float) -> float:
    """Return how many estimated standard errors away a true difference is that a test of the same size decides."""
    low = 0.0
    high = 1.0
    while _power(high, freedom, freedom, level=level) < power:
        low = high
        high = 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if _power(middle, freedom, freedom, level=level) < power:
            low = middle
        else:
            high = middle
    return high


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
    comparison: Comparison | RunComparison, smallest: float | None = None, *, power: float = POWER
) -> dict[tuple[str, str], dict[str, dict[str, Planned]]]:
    """Return what the scenes of a comparison can show, and how many scenes a difference needs.

    Args:
        comparison: A comparison of two or more methods, or of methods with several runs. Verdicts are taken to be
            without a correction.
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
    spreads = {}
    if isinstance(comparison, RunComparison):
        spreads = comparison.spreads

    def of(pair: tuple[str, str], name: str, key: str) -> Planned:
        found = comparison.differences[pair][name][key]
        spread = spreads.get(pair, {}).get(name, {}).get(key)
        scenes = None
        if smallest is not None:
            scenes = scenes_needed(
                found,
                smallest,
                comparison.units,
                power=power,
                level=level,
                samples=comparison.samples,
                of_seeds=0.0 if spread is None else spread.of_seeds,
            )
        return Planned(smallest_difference(found, power=power, level=level), scenes)

    return {
        pair: {name: {key: of(pair, name, key) for key in by_key} for name, by_key in by_class.items()}
        for pair, by_class in comparison.differences.items()
    }
