"""``cite``: BibTeX of the metrics, rules, data sets and splits of results."""

from collections.abc import Iterator
from functools import cache

from mapgauge.features.provenance import stored_text
from mapgauge.features.provenance.origin import TITLES, origin_of
from mapgauge.metrics.table import METRICS
from mapgauge.results.results import Results


@cache
def entries() -> dict[str, tuple[str, ...]]:
    """Return the uses of each entry of ``citations.bib``: metrics, "rules:maptr", "data:nuscenes", "split:new"."""
    blocks = (block.partition("\n") for block in stored_text("citations.bib").strip().split("\n\n"))
    return {text: tuple(head.removeprefix("% For ").split()) for head, _, text in blocks}


def cite(results: Results) -> str:
    """Return BibTeX of the metrics, the rules, the data set and the split of results.

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
    blocks = [f"% Cited for: {', '.join(uses[use] for use in used)}\n{text}\n" for text, used in cited.items() if used]
    lacking = [words for use, words in uses.items() if not any(use in used for used in cited.values())]
    return "\n".join([*blocks, *(f"% No entry: {words}\n" for words in lacking)])


def _uses(results: Results) -> Iterator[tuple[str, str]]:
    """Yield what is to be cited, as a use of entries and in words."""
    for name in results.metrics:
        yield name, METRICS[name].title
    yield f"rules:{results.protocol.name}", f"the rules of {results.protocol.name}"
    origin = origin_of(results)
    dataset = TITLES[origin.dataset] if origin.dataset else f"({origin.why})"
    yield f"data:{origin.dataset}", f"the data set {dataset}"
    if origin.dataset and (not origin.split or origin.split.startswith("new-")):
        yield f"split:{origin.split}", f"the split {origin.split}" if origin.split else f"the split ({origin.why})"
