"""Measures how often the bands of precision-recall and calibration curves cover the true curves.

Run it with ``python -m benchmarks.coverage_bands [WORLDS]``. It prints a table in GitHub markdown, which is in
``docs/explanation/interval-study.md``.
"""

import sys

import numpy as np
from tests.results.made_up_curves import BINS, RECALLS, covered

SIZES = (6, 10, 30, 150)  # scenes


def main(worlds: int) -> None:
    """Print the table."""
    recalls = " | ".join(f"precision at recall {recall:g}" for recall in RECALLS.tolist())
    print(f"| scenes | {recalls} | share of hits, {BINS} bins |")
    print("| --- |" + " ---: |" * (len(RECALLS) + 1))
    rng = np.random.default_rng(0)
    for count in SIZES:
        of_precision, of_share = covered(worlds, count, rng)
        cells = [f"{100 * share:.0f} %" for share in (*of_precision.tolist(), float(of_share.mean()))]
        print(f"| {count} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
