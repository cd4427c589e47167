"""TOP and lane-graph PLD on a small lane graph: what the two scores see, and what they do not.

The graph is a road with an intersection: two lanes lead into five turns, which lead into four exits. All predicted
lanes are in the right place, so that only lanes that are missed or false and links make a difference.
"""

from dataclasses import replace

import numpy as np

import mapgauge as mg
from mapgauge.frames.links import Links

# The lanes by their first and last point, in metres. A lane leads into all lanes that begin where it ends.
LANES = (
    *(((-40.0, -2.0), (-10.0, -2.0)), ((-40.0, 2.0), (-10.0, 2.0))),
    *(((-10.0, -2.0), (10.0, -2.0)), ((-10.0, 2.0), (10.0, 2.0)), ((-10.0, 2.0), (2.0, 15.0))),
    *(((-10.0, -2.0), (-2.0, -15.0)), ((-10.0, -2.0), (10.0, 2.0))),
    *(((10.0, -2.0), (40.0, -2.0)), ((10.0, 2.0), (40.0, 2.0)), ((2.0, 15.0), (2.0, 40.0))),
    ((-2.0, -15.0), (-2.0, -40.0)),
)
COUNT = len(LANES)


def graph(links: np.ndarray, keep: np.ndarray | None = None, false: int = 0) -> mg.MapFrames:
    """Return the lanes with links. The confidences are close to 1, and all different.

    Args:
        links: The scores of the links, ``(lanes, lanes)``. False lanes are the last rows and columns.
        keep: The true lanes that are predicted. If None, all.
        false: The number of false lanes, far from all true ones.
    """
    kept = np.arange(COUNT) if keep is None else keep
    lines = [np.linspace(*LANES[i], 11) for i in kept.tolist()]
    lines += [np.linspace((60.0, 5.0 * k), (80.0, 5.0 * k), 11) for k in range(false)]
    source, target = np.nonzero(links)
    return mg.MapFrames(
        tokens=("frame",),
        classes=("centerline",),
        frame=np.zeros(len(lines), np.int64),
        label=np.zeros(len(lines), np.int64),
        polylines=mg.Polylines.of(lines),
        confidence=np.linspace(0.999, 0.998, len(lines)),
        links=Links.of(source, target, weight=links[source, target]),
    )


def cases(true: np.ndarray) -> dict[str, mg.MapFrames]:
    """Return the predictions of each case."""
    rng = np.random.default_rng(0)
    without = np.delete(np.arange(COUNT), 3)
    wired = np.ones((COUNT + 50, COUNT + 50))
    wired[:COUNT, :COUNT] = true
    # Under-confident scores: most true links have higher scores than false ones, but few are above 0.5.
    weak = np.where(true > 0, rng.uniform(0.2, 0.6, true.shape), rng.uniform(0.0, 0.3, true.shape))
    return {
        "the truth": graph(true),
        "one lane missed, all its links too": graph(true[np.ix_(without, without)], without),
        "50 false lanes": graph(np.pad(true, (0, 50)), false=50),
        "50 false lanes, wired to everything": graph(wired, false=50),
        "no links": graph(np.zeros_like(true)),
        "every link at 0.9": graph(np.full_like(true, 0.9)),
        "under-confident links": graph(weak),
        "the same, remapped to 0.5 .. 1": graph(0.5 + 0.5 * weak),
    }


def main() -> None:
    """Print a row for each case."""
    ends = np.array(LANES)
    true = (ends[:, None, 1] == ends[None, :, 0]).all(axis=2).astype(np.float64)
    truth = replace(graph(true), confidence=None)
    field = mg.protocol("openlanev2-v1.1", classes=["centerline"])
    ours = mg.protocol("lane-graph", classes=["centerline"])
    names = ("TOP_ll v1.1", "PLD", "lane-graph PLD", "false", "missing", "half")
    print(f"{'':36}" + "".join(f"{name:>{len(name) + 2}}" for name in names))
    for name, predictions in cases(true).items():
        top = mg.evaluate(predictions, truth, field, metrics=["top_ll"]).mean["top_ll"]
        found = mg.evaluate(predictions, truth, ours).classes["centerline"]
        counts = [found[f"{kind}_link_count"] for kind in ("false", "missing", "half")]
        print(f"{name:36}{top:13.3f}{found['pld']:5.2f}{found['lane_graph_pld']:16.3f}", end="")
        print("".join(f"{count:{len(kind) + 2}.0f}" for kind, count in zip(names[3:], counts, strict=True)))


if __name__ == "__main__":
    main()
