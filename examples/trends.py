"""The studies of the paper's appendix on synthetic data: the effect of sampling and cutoff on PLD and Chamfer-AP.

The paper uses nuScenes and three methods. Here two detectors predict synthetic roads (``mapgauge.demo``), so the
numbers differ. Compare the trends.
"""

import mapgauge as mg
from mapgauge.demo import demo_world

FRAMES = 80
KEYS = ("ap_chamfer", "pld", "localisation", "detection")


def main() -> None:
    """Print both tables."""
    good, truth = demo_world(FRAMES)
    poor, _ = demo_world(FRAMES, quality="poor")

    print("Sampling (the good detector, cutoff 1.5 m; differences to 0.5 m in percent)")
    print(f"{'samples':>10}" + "".join(f"{name:>16}" for name in ("Chamfer-mAP", "mPLD", "Loc", "Det")))
    rows = mg.sweep(
        good, truth, spacings=[0.5, 0.25, 0.75], counts=[200], cutoffs=[1.5], metrics=["pld", "ap_chamfer"]
    ).rows
    usual = next(row for row in rows if row["spacing"] == 0.5)
    for row in sorted(rows, key=lambda row: row["spacing"] or 1):
        name = f"{row['count']} points" if row["spacing"] is None else f"{row['spacing']:g} m"
        cells = (f"{row[key]:8.3f} {100 * (row[key] / usual[key] - 1):+6.1f}%" for key in KEYS)
        print(f"{name:>10}" + "".join(cells))

    print("\nCutoff (a sample every 0.5 m)")
    print(f"{'':>10}" + "".join(f"{f'{cutoff} m: mPLD':>16}{'Loc':>7}{'Det':>7}" for cutoff in (1.0, 1.5, 2.0)))
    for name, predictions in (("good", good), ("poor", poor)):
        study = mg.sweep(predictions, truth, cutoffs=[1.0, 1.5, 2.0], metrics=["pld"])
        cells = (f"{row['pld']:16.3f}{row['localisation']:7.3f}{row['detection']:7.3f}" for row in study.rows)
        print(f"{name:>10}" + "".join(cells))


if __name__ == "__main__":
    main()
