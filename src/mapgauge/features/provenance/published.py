"""``published``: values from papers and repositories, and which of them results may be compared with."""

import csv
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import msgspec

from mapgauge.features.provenance import stored_text
from mapgauge.features.provenance.citations import rests_on_pld
from mapgauge.features.provenance.origin import TITLES, Origin, origin_of
from mapgauge.metrics.metric import CombinedRows
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import CLASSES, PROTOCOLS, Protocol
from mapgauge.results.differences import settings_apart
from mapgauge.results.results import Results

# Settings without an effect on scores, or that are compared apart. Evaluators break ties in their own ways.
_IRRELEVANT = ("name", "about", "region", "ties", "headline", "settings")
_OF_GLOBAL_MAPS = "gap"
_OF_PLD = ("cutoffs", "order")  # without an effect on scores of hits


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published value, in per cent. Papers print PLD as a share, here 0.893 is 89.3."""

    method: str
    dataset: str
    split: str
    rules: str  # the protocol with these rules, or the name of an evaluator that is no protocol
    metric: str
    value: float  # mean over classes
    source: str  # the address at which the value was read
    variant: str = ""  # backbone, sensors, epochs
    region: str = ""
    rate: float | None = None  # frames per second, of a data set with more frames than were evaluated
    thresholds: tuple[float, ...] = ()  # in metres; the cutoff of PLD
    spacing: float | None = None  # metres between points, if it is not that of the rules
    count: int | None = None  # number of points of a line, if the rules have a spacing
    classes: dict[str, float] = field(default_factory=dict)
    note: str = ""
    own: float | None = None  # the value of the results that it is compared with
    reasons: tuple[str, ...] = ()  # why these results may not be compared with it


@cache
def _rows() -> tuple[Published, ...]:
    rows = []
    for line in csv.DictReader(stored_text("published.csv").splitlines()):
        given = {name: value for name, value in line.items() if value}
        lists = {"thresholds": line["thresholds"].split(), "classes": {k: given[k] for k in CLASSES if k in given}}
        rows.append(msgspec.convert(given | lists, Published, strict=False))
    return tuple(rows)


def published(like: Results | None = None) -> list[Published]:
    """Return published values.

    Args:
        like: Results to compare with. Each row then has the value of the results and the reasons why they may not be
            compared; rows with few reasons come first. The truth of the results must also be cut to the same region
            by the same rules, which results do not record.

    >>> import mapgauge as mg
    >>> row = next(row for row in mg.published() if row.method == "StreamMapNet" and row.split == "new-val")
    >>> row.dataset, row.region, row.metric, row.value
    ('argoverse2', '60x30', 'ap_chamfer', 58.3)
    """
    if like is None:
        return list(_rows())
    origin = origin_of(like)
    compared = []
    for row in _rows():
        own = None
        if row.metric in like.metrics:
            own = like.mean[METRICS[row.metric].main.key]
        percent = None
        if own is not None:
            percent = 100 * own
        compared.append(replace(row, own=percent, reasons=tuple(reasons_of(row, like, origin))))
    return sorted(compared, key=lambda row: len(row.reasons))


def reasons_of(row: Published, results: Results, origin: Origin, metrics: Collection[str] = METRICS) -> Iterator[str]:
    """Yield why results may not be compared with a row: what the row has, and what the results have.

    ``metrics`` are those of all installed features.
    """
    if row.metric == _OF_GLOBAL_MAPS:
        yield f"{row.metric} is a value of `mapgauge global`, not of results"
    elif row.metric not in metrics:
        yield f"{row.metric} is a metric of no installed feature"
    elif row.metric not in results.metrics:
        yield f"the results have no {METRICS[row.metric].title}"
    if row.dataset != origin.dataset:
        yield f"of {TITLES[row.dataset]}" + _here(TITLES.get(origin.dataset), origin)
    elif row.split != origin.split:
        yield f"of split {row.split}" + _here(origin.split, origin)
    elif row.rate is not None and row.rate != origin.rate:
        yield f"frames at {row.rate:g} Hz, here {f'{origin.rate:g} Hz' if origin.rate else 'not known'}"
    if row.rules not in PROTOCOLS:
        yield f"no protocol has the rules of {row.rules}"
        return
    region = results.protocol.region
    if row.region and region is not None and row.region != (size := "x".join(f"{length:g}" for length in region)):
        yield f"region {row.region}, here {size}"
    if row.metric in results.metrics:
        rules = _rules_of(row)
        for apart in settings_apart(*(_relevant(protocol, row.metric) for protocol in (rules, results.protocol))):
            yield f"{apart.name} {apart.first}, here {apart.second}"


def _rules_of(row: Published) -> Protocol:
    """Return the protocol that computes as a row was computed."""
    rules = PROTOCOLS[row.rules]
    if row.spacing is not None:
        rules = rules.replace(spacing=row.spacing, count=None)
    if row.count is not None:
        rules = rules.replace(spacing=None, count=row.count)
    if not row.thresholds:
        return rules
    if rests_on_pld(row.metric):
        return rules.replace(cutoffs=row.thresholds)
    return rules.replace(settings={row.metric: {"thresholds": row.thresholds}})


def _here(known: str | None, origin: Origin) -> str:
    if known:
        return f", here {known}"
    return f": {origin.why}"


def _relevant(protocol: Protocol, metric: str) -> dict[str, Any]:
    """Return the settings that the values of a metric depend on."""
    row = METRICS[metric]
    plain = protocol.to_dict()
    if plain["classes"] is not None:
        plain["classes"] = sorted(plain["classes"])
    if isinstance(row.rows, CombinedRows):
        parts = row.rows.of
    else:
        parts = (metric,)
    settings = {name: values for name, values in plain["settings"].items() if name in parts}
    needless = set(_IRRELEVANT)
    if not rests_on_pld(metric):
        needless.update(_OF_PLD)
    if plain["cutoffs"]:
        plain["cutoffs"] = plain["cutoffs"][:1]  # the value of results is that of their first cutoff
    return {name: value for name, value in plain.items() if name not in needless} | {"settings": settings}
