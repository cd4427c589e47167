"""PLD and network PLD of a road boundary that is predicted in pieces, in part, twice, out of order or too long.

N-PLD is network PLD with a break cost. The true boundary is 30 m long, with a point every 0.5 m. The prediction is
0.1 m beside it. The last cases have two true boundaries, one behind the other.
"""

import numpy as np

import mapgauge as mg

OFFSET = 0.1  # metres
COSTS = (0.25, 0.5)


def line(start: float = 0.0, offset: float = 0.0) -> np.ndarray:
    """Return a straight line of 30 m with a point every 0.5 m."""
    along = start + np.arange(61) * 0.5
    return np.stack([along, np.full(61, offset)], axis=1)


def cases(offset: float = OFFSET) -> dict[str, tuple[list[np.ndarray], list[np.ndarray]]]:
    """Return the predictions and the truth of each case."""
    truth, good = [line()], line(offset=offset)
    behind, far = line(30.5), line(offset=10.0)
    shuffled = good[np.random.default_rng(0).permutation(61)]
    return {
        "whole": ([good], truth),
        "in 2 pieces": (np.array_split(good, 2), truth),
        "in 3 pieces": (np.array_split(good, 3), truth),
        "in 6 pieces": (np.array_split(good, 6), truth),
        "in 2 pieces that share a point": ([good[:31], good[30:]], truth),
        "half missing": ([good[:31]], truth),
        "predicted twice": ([good, good], truth),
        "points shuffled": ([shuffled], truth),
        "10 m away": ([far], truth),
        "two boundaries, two predictions": ([good, line(30.5, offset)], [*truth, behind]),
        "two boundaries joined": ([np.concatenate([good, line(30.5, offset)])], [*truth, behind]),
    }


def main() -> None:
    """Print the table."""
    titles = ("PLD", *(f"N-PLD {cost:g}" for cost in COSTS), "breaks", "false joins", "split", "merge")
    print(" " * 31 + "".join(f"{title:>12}" for title in titles))
    for name, (predictions, truth) in cases().items():
        found = [mg.network_pld(predictions, truth, break_cost=cost, directed=False) for cost in COSTS]
        last = found[-1]
        plain = mg.pld(predictions, truth, directed=False).normalised
        numbers = [f"{value:.3f}" for value in (plain, *(f.normalised for f in found))]
        numbers += [f"{last.break_count}", f"{last.false_join_count}"]
        numbers += ["-" if bits is None else f"{bits:.2f}" for bits in (last.split_entropy, last.merge_entropy)]
        print(f"{name:31}" + "".join(f"{number:>12}" for number in numbers))


if __name__ == "__main__":
    main()
