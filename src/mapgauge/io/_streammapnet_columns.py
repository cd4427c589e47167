"""StreamMapNet's pickles read in columns, for sound files. ``streammapnet`` describes the files."""

import numpy as np

from mapgauge.io._collect import Collector
from mapgauge.io._tree_columns import codes_of, expect_texts, numbers_of, points_of, stacked_points_of, wholes_of
from mapgauge.io.files.pickle_tree import PickleTree, expect


def read_results(tree: PickleTree, collector: Collector) -> Collector:
    """Add the frames and instances of predictions."""
    results = tree.member(tree.root, "results")
    collector.tokens += expect_texts(tree.keys(int(results[0])))
    frames = tree.pairs(results)[2]
    vectors, confidences, classes = tree.members(frames, "vectors", "scores", "labels")
    if len(vectors) and tree.only(vectors, "ARRAY"):
        counts, sizes, coords = stacked_points_of(tree, vectors)
    else:
        counts, lines = tree.items(vectors)
        sizes, coords = points_of(tree, lines)
    scored, scores = numbers_of(tree, confidences)
    lengths, labels = wholes_of(tree, classes)
    expect(scored == counts, lengths == counts)
    frame = np.repeat(np.arange(len(frames)), counts)
    collector.add_columns(frame, codes_of(collector, labels), scores, sizes, coords)
    return collector


def read_truth(tree: PickleTree, collector: Collector) -> dict[str, set[int]]:
    """Add the frames and instances of truth. Return the labels that each frame has."""
    tokens = expect_texts(tree.keys(int(tree.root[0])))
    collector.tokens += tokens
    counts, keys, groups = tree.pairs(tree.pairs(tree.root)[2])
    tree.expect(keys, "WHOLE")
    labels = tree.wholes(keys)
    code = codes_of(collector, labels)
    found = labels.tolist()
    ends = counts.cumsum().tolist()
    labels_of = {token: set(found[end - n : end]) for token, n, end in zip(tokens, counts.tolist(), ends, strict=True)}
    expect(sum(map(len, labels_of.values())) == len(found))  # no key occurs twice
    lengths, lines = tree.items(groups)
    sizes, coords = points_of(tree, lines)
    frame = np.repeat(np.repeat(np.arange(len(tokens)), counts), lengths)
    collector.add_columns(frame, np.repeat(code, lengths), None, sizes, coords)
    return labels_of
