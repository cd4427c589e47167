"""PLD by cause: a partition of all costs of PLD, such as localisation, fragments, duplicates and missed truth.

``docs/explanation/causes.md`` has the definitions. The causes add up to PLD. They exist for order 1 only.
"""

from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.metrics.assigned import assigned
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.metrics.pld import added
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats, Indices

# The order of the columns of ``kernels.causes``, with a sentence about each cause.
CAUSES = {
    "localisation": "a match lies beside the truth, within the cutoff, or winds around it",
    "extent": "a match is too short or too long",
    "wrong_shape": "closed against open, or points in the wrong order or direction",
    "displaced": "beyond the cutoff, but clearly the same line",
    "fragment": "one true line in several pieces",
    "merge": "one prediction over several true lines",
    "duplicate": "a true line that another prediction has already",
    "wrong_class": "fits true lines of another class",
    "background": "no truth nearby, with a low confidence",
    "missed": "true lines that no prediction explains",
    "faint": "a match with a confidence below 0.1",
    "under_confident": "a match that fits, with too low a confidence",
    "over_confident": "no truth nearby, with a high confidence",
}

# The causes in five families, for sentences and first screens. Every cause is in exactly one of them.
FAMILIES: dict[str, tuple[str, ...]] = {
    "place": ("localisation", "displaced", "wrong_shape"),
    "missing": ("missed", "extent", "faint"),
    "extra": ("duplicate", "background", "fragment", "merge", "over_confident"),
    "confidence": ("under_confident",),
    "class": ("wrong_class",),
}

_LABELS = {"faint": "found only faintly", "under_confident": "under-confident", "over_confident": "over-confident"}
# Causes as nouns in a sentence, where the label does not read well.
_NOUNS = {
    "displaced": "displaced lines",
    "fragment": "fragments",
    "merge": "merges",
    "duplicate": "duplicates",
    "missed": "missed lines",
    "faint": "lines found only faintly",
    "under_confident": "under-confidence",
    "over_confident": "over-confidence",
}


def label_of(cause: str) -> str:
    """Return the name of a cause in tables."""
    return _LABELS.get(cause, cause.replace("_", " "))


def noun_of(cause: str) -> str:
    """Return the name of a cause in a sentence."""
    return _NOUNS.get(cause, label_of(cause))


def family_of(cause: str) -> str:
    """Return the family of a cause.

    >>> family_of("displaced")
    'place'
    """
    return next(family for family, causes in FAMILIES.items() if cause in causes)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The numbers that the definitions of causes use. Their sum, PLD, does not depend on them."""

    covered: float = 0.5  # share of a line that must be within the cutoff of another to belong to it
    reach: float = 2.0  # how far away, in cutoffs, a displaced line may be
    winding: float = 0.25  # share of unmatched points near the partner from which a pair has the wrong shape
    sure: float = 0.5  # confidence from which a false alarm is over-confident
    faint: float = 0.1  # confidence below which a match is found only faintly
    worth: float = 0.7  # distance of a match from which more confidence would not help: about the break-even of PLD

    def __post_init__(self) -> None:
        """Raise an error for numbers for which the causes are not defined."""
        bounds = {"covered": (0.01, 1.0), "reach": (1.0, 100.0)}
        for name, value in asdict(self).items():
            least, most = bounds.get(name, (0.0, 1.0))
            if not isinstance(value, int | float) or not least <= value <= most:
                raise InvalidInput(f"the threshold {name} must be between {least:g} and {most:g}, got {value!r}")


THRESHOLDS = Thresholds()


class Costs(NamedTuple):
    """The costs of all instances of groups, as parts of PLD that are not normalised."""

    cost: Floats  # (instances, causes)
    cause: Indices  # (instances,): cause of a prediction that is unmatched or in a loose pair; -1 for others
    about: Indices  # (instances,): the true instance that such a prediction is about; -1 for others


def costs_of(groups: Groups, protocol: Protocol, cutoff: float, thresholds: Thresholds = THRESHOLDS) -> Costs:
    """Return the costs of all instances by cause, for order 1. The groups must have whole frames."""
    from mapgauge.kernels.causes import Rules, causes_of_groups

    count = len(groups.confidence)
    costs = Costs(np.zeros((count, len(CAUSES))), np.full(count, -1), np.full(count, -1))
    if len(groups.bounds):
        numbers = {name: float(number) for name, number in asdict(thresholds).items()}
        rules = Rules(cutoff=cutoff, **numbers | {"reach": cutoff * thresholds.reach})
        matches = assigned(groups, protocol, cutoff)[:4]
        causes_of_groups(
            groups.lines,
            groups.closed,
            groups.confidence,
            bounds=groups.bounds,
            classes=groups.classes,
            assigned=matches,
            rules=rules,
            out=costs.cost,
            cause_of=costs.cause,
            about=costs.about,
        )
    return costs


def _score(groups: Groups, protocol: Protocol, cutoff: float) -> Floats:
    """Return the costs of each group by cause, and its mass."""
    block = np.zeros((len(groups.bounds), len(CAUSES) + 1))
    if protocol.order == 1:
        np.add.at(block[:, :-1], groups.side // 2, costs_of(groups, protocol, cutoff).cost)
    np.add.at(block[:, -1], groups.side // 2, 0.5 * groups.confidence)
    return block


def normalised_costs(sums: Floats) -> Floats:
    """Return the causes of normalised PLD, ``(..., causes)``. They add up to it.

    Args:
        sums: ``(..., causes + 1)``: costs and the mass.
    """
    costs = sums[..., :-1]
    total = (sums[..., -1] + added(np.moveaxis(costs, -1, 0)))[..., None]
    parts: Floats = np.divide(2 * costs, total, out=np.zeros_like(costs), where=total > 0)
    return parts


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return PLD and its causes. Other orders than 1 have none."""
    if protocol.order != 1:
        return {"causes": np.full(sums.shape[:-1], np.nan)}
    parts = np.moveaxis(normalised_costs(sums), -1, 0)
    return {"causes": np.minimum(added(parts), 1.0)} | {
        f"due_to_{name}": part for name, part in zip(CAUSES, parts, strict=True)
    }


CAUSES_OF_PLD = Metric(
    name="causes",
    title="PLD by cause",
    symbol="PLD",
    lower_is_better=True,
    values=(
        Value(key="causes", part="", title="PLD by cause", role="main"),
        *(
            Value(
                key=f"due_to_{name}",
                part=name,
                title=label_of(name),
                role="part",
                full_title=f"due to {label_of(name)}",
            )
            for name in CAUSES
        ),
    ),
    rows=SumRows((*CAUSES, "mass"), _score, _values, mass=len(CAUSES)),
    setting=Setting("cutoffs", "cutoff"),
    stated=lambda protocol: f"cutoff {protocol.cutoffs[0]:g} m",
    ignores=True,
    default=False,
    limits=(0.0, 1.0),
    repeats="pld",
    order=2,
)
