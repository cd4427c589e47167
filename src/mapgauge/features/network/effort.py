"""How much is tried for the assignment of two networks. None of it changes a value that is proven."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The sizes at which the search for the best runs changes its way, and where it ends."""

    # Points from which connected parts are solved one by one: 10 km of lines with a point every 0.5 m.
    large: int = 20_000
    some_runs: int = 500  # near pairs and runs up to which all of them are tried
    all_runs: int = 10_000  # the same, at last
    solutions: int = 500  # of the programme; five are usual. Then the gap to the bound is reported


USUAL = Effort()
