"""``cite``: BibTeX of the metrics, rules, data sets and splits of results."""

from collections.abc import Iterator

from mapgauge.features.provenance.origin import TITLES, origin_of
from mapgauge.manifest import each_object
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import METRICS
from mapgauge.results.metadata import DIGEST_ADVICE
from mapgauge.results.results import Results
from mapgauge.version import __version__

_PAPER = "paper"  # protocols of the paper
_EVEN = "even"  # the same with another sampling
_SOFTWARE = "software"


def rests_on_pld(metric: str) -> bool:
    """Whether a metric is PLD, or comes from its assignment or its rules."""
    setting = METRICS[metric].setting
    return setting is not None and setting.field == "cutoffs"


def entries() -> dict[str, tuple[str, ...]]:
    """Return the uses of each entry of BibTeX: names of metrics, "rules:maptr", "data:nuscenes", "split:new".

    They are made from the citations that manifests name. Several features may cite the same entry.
    """
    citations = [citation for _, citation in each_object("citations")]
    uses: dict[str, tuple[str, ...]] = {}
    for citation in sorted(citations, key=lambda citation: citation.order):
        uses[citation.entry] = (*uses.get(citation.entry, ()), *citation.uses)
    return uses


def cite(results: Results) -> str:
    """Return BibTeX of the metrics, the rules, the data set and the split of results, and of mapgauge.

    The entry of mapgauge is for the software, and for metrics and rules that are no paper's but its own.

    Args:
        results: The results to cite for.

    Returns:
        An entry per source, with comments that say what it is cited for and where the entry was read. What has no
        source is a comment at the end.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    >>> results = mg.evaluate(truth.with_confidence(1), truth, "paper-60x30", metrics=["pld"])
    >>> print(mg.cite(results).splitlines()[0])
    % Cited for: PLD, the rules of paper-60x30
    """
    uses = dict(_uses(results))
    # "rules:maptr-hard" is a kind of "rules:maptr".
    cited = {
        text: [use for use in uses if any(use == own or use.startswith(f"{own}-") for own in of_entry)]
        for text, of_entry in entries().items()
    }
    blocks = [
        f"% Cited for: {', '.join(uses[use] for use in used)}\n{text.replace('VERSION', __version__)}\n"
        for text, used in cited.items()
        if used
    ]
    lacking = [words for use, words in uses.items() if not any(use in used for used in cited.values())]
    return "\n".join([*blocks, *(f"% No entry: {words}\n" for words in lacking), _truth_of(results)])


def _truth_of(results: Results) -> str:
    """Return a comment with the digest of the truth, which authors should print."""
    truth = results.inputs[1].hash
    if not truth:
        return "% The digest of the truth is not known: mapgauge skipped a part of it\n"
    return f"% Digest of the truth: {truth}\n% {DIGEST_ADVICE}\n"


def _uses(results: Results) -> Iterator[tuple[str, str]]:
    """Yield what is to be cited, as a use of entries and in words."""
    for name in results.metrics:
        yield name, METRICS[name].title
    if any(rests_on_pld(name) for name in results.metrics):
        yield PLD.name, PLD.title
    rules = results.protocol.name
    if rules.startswith(_EVEN):
        yield f"rules:{_PAPER}", f"the rules of {rules} but for its sampling"
        yield f"rules:{rules}", "even sampling"
    else:
        yield f"rules:{rules}", f"the rules of {rules}"
    origin = origin_of(results)
    if origin.dataset:
        dataset = TITLES[origin.dataset]
    else:
        dataset = f"({origin.why})"
    yield _SOFTWARE, "the software that computed the values"
    yield f"data:{origin.dataset}", f"the data set {dataset}"
    if origin.dataset and (not origin.split or origin.split.startswith("new-")):
        yield f"split:{origin.split}", f"the split {origin.split}" if origin.split else f"the split ({origin.why})"
