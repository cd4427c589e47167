"""Figure 1 of the paper: Chamfer-AP rates a map as perfect that is shifted by 1 m and has a scrambled instance.

The paper prints neither the coordinates nor the numbers of its figure. This road follows its caption: everything is
shifted diagonally by 1 m, one instance is in random order, thresholds are 1.0, 1.5 and 2.0 m, the cutoff is 1.5 m.
"""

import numpy as np
from numpy.typing import NDArray

import mapgauge as mg

Lines = dict[str, list[NDArray[np.float64]]]

DIAGONAL = np.sqrt([0.5, 0.5])  # one metre


def road() -> Lines:
    """Two boundaries, two dividers and two crossings, with a point every half metre, as the protocol samples them."""
    x = np.arange(-20, 20.1, 0.5)
    lines = [np.c_[x, 0.004 * x**2 + y] for y in (-7.0, -2.0, 2.0, 7.0)]
    around = np.concatenate([np.c_[np.zeros(20), np.arange(0, 10, 0.5)], np.c_[np.arange(0, 3, 0.5), np.full(6, 10.0)]])
    crossing = np.concatenate([around, np.array([3.0, 10.0]) - around, [[0.0, 0.0]]])
    return {
        "ped_crossing": [crossing + np.array([at, -5.0]) for at in (-15.0, 10.0)],
        "divider": lines[1:3],
        "boundary": [lines[0], lines[3]],
    }


def shifted(truth: Lines) -> Lines:
    """The same road shifted by 1 m, with the first divider in random order."""
    predictions = {name: [line + DIAGONAL for line in lines] for name, lines in truth.items()}
    predictions["divider"][0] = np.random.default_rng(1).permutation(predictions["divider"][0])
    return predictions


def main() -> None:
    """Print Chamfer-AP, Fréchet-AP and PLD."""
    truth = road()
    predictions = mg.MapFrames.of({"frame": shifted(truth)}).with_confidence(1)
    results = mg.evaluate(predictions, mg.MapFrames.of({"frame": truth}), "paper-100x50")
    print("Figure 1 of the paper: cutoff 1.5 m, Chamfer-AP at 1.0, 1.5 and 2.0 m, Fréchet-AP at 1, 2 and 3 m")
    print(f"{'':14}{'PLD':>7}{'Loc':>7}{'Det':>7}{'CD-AP':>8}{'FD-AP':>7}")
    for name, values in [*results.classes.items(), ("mean", results.mean)]:
        numbers = [values[key] or 0.0 for key in ("pld", "localisation", "detection", "ap_chamfer", "ap_frechet")]
        print(f"{name:14}{numbers[0]:7.3f}{numbers[1]:7.3f}{numbers[2]:7.3f}{numbers[3]:8.3f}{numbers[4]:7.3f}")


if __name__ == "__main__":
    main()
