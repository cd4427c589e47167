"""MapTracker's tracks read in columns, for sound files. ``maptracker`` describes the files."""

from collections.abc import Mapping

import numpy as np

from mapgauge.frames.map_frames import MapFrames, Names
from mapgauge.io._collect import Collector
from mapgauge.io._pose import Column
from mapgauge.io._tree_columns import (
    arrays_of,
    codes_of,
    numbered,
    numbers_of,
    points_of,
    stacked_points_of,
    track_names,
    wholes_of,
)
from mapgauge.io.files.pickle_tree import PickleTree, Rows, expect
from mapgauge.typing import Indices


def read_tracks(tree: PickleTree, collector: Collector) -> tuple[Column, Column, Indices]:
    """Add the frames and instances of predictions with tracks.

    Return the translations and rotations of the frames, and their indices.
    """
    tree.expect(tree.root, "LIST")
    frames = tree.items(tree.root)[1]
    expect(len(frames) > 0)
    keys = ("scene_name", "local_idx", "meta", "vectors", "labels", "scores", "global_ids")
    names, places, meta, vectors, classes, confidences, tracks = tree.members(frames, *keys)
    scenes = tree.texts(names)
    indices = tree.wholes(places)
    expect(indices >= 0, indices < 2**31)
    collector.tokens += tree.texts(tree.member(meta, "token"))
    collector.scenes += scenes
    if tree.only(vectors, "ARRAY"):
        counts, sizes, coords = stacked_points_of(tree, vectors, flat=True)
    else:
        counts, inside = tree.items(vectors)
        sizes, coords = points_of(tree, inside, flat=True)
    lengths, labels = wholes_of(tree, classes)
    scored, scores = numbers_of(tree, confidences)
    tracked, ids = wholes_of(tree, tracks)
    expect(lengths == counts, scored == counts, tracked == counts)
    code = codes_of(collector, labels)
    frame = np.repeat(np.arange(len(frames)), counts)
    track = _names(scenes, frame, list(collector.codes), code, ids)
    collector.add_columns(frame, code, scores, sizes, coords, track)
    moves, turns = (_given(tree, tree.find(meta, f"ego2global_{part}")) for part in ("translation", "rotation"))
    return moves, turns, indices


def _given(tree: PickleTree, rows: Rows) -> Column:
    """Return values of all frames; None where one is missing."""
    if (rows >= 0).all():
        return arrays_of(tree, rows)
    return [None if row < 0 else tree.value(row) for row in rows.tolist()]


def _names(scenes: list[str], frame: Indices, classes: list[str], code: Indices, ids: Indices) -> Names:
    """Return the names of tracks: ``scene/class/id``."""
    known = {scene: i for i, scene in enumerate(dict.fromkeys(scenes))}
    group = np.array([known[scene] for scene in scenes], np.int64)[frame] * len(classes) + code
    return track_names([f"{scene}/{name}" for scene in known for name in classes], group, *numbered(ids))


def read_truth_tracks(
    tree: PickleTree, frames: MapFrames, names: Mapping[int, str]
) -> tuple[Names, list[str], Indices]:
    """Return the tracks of all instances of the truth, and the scene and the index in the scene of its frames.

    The scene of a frame that the file leaves out is "".
    """
    scenes, (counts, _, entries) = tree.keys(int(tree.root[0])), tree.pairs(tree.root)
    expect(all(isinstance(scene, str) and scene for scene in scenes), len(scenes) > 0)
    lengths, positions = wholes_of(tree, tree.member(entries, "sample_ids"))
    given, groups = tree.items(tree.member(entries, "instance_ids"))
    expect(lengths == given, positions >= 0, positions < len(frames))
    expect(np.bincount(positions, minlength=len(frames)) <= 1)
    scene = np.repeat(np.arange(len(scenes)), lengths)
    index = np.arange(len(positions)) - np.repeat(lengths.cumsum() - lengths, lengths)

    counts, keys, insides = tree.pairs(groups)
    labels = tree.wholes(keys)
    tree.expect(keys, "WHOLE")
    which = np.repeat(positions, counts)
    codes = [frames.classes.index(name) if name in frames.classes else -1 for name in names.values()]
    expect(len(set(names.values())) == len(names), min(codes, default=-1) >= 0)
    unique, inverse = numbered(labels)
    expect(all(label in names for label in unique))
    table = dict(zip(names, codes, strict=True))
    code = np.array([table[label] for label in unique], np.int64)[inverse]
    width = max(len(frames.classes), 1)
    group = which * width + code  # a frame and a class
    expect(np.bincount(group, minlength=1) <= 1)

    sizes, keys, values = tree.pairs(insides)
    tree.expect(keys, "WHOLE")
    numbers, ids = tree.wholes(keys), tree.wholes(values)
    here = frames.frame * width + frames.label
    covered = np.zeros(len(frames), np.bool_)
    covered[positions] = True
    counted = np.bincount(here[covered[frames.frame]], minlength=len(frames) * width)
    listed = np.zeros(len(frames) * width, np.int64)
    listed[group] = sizes
    expect(counted == listed, numbers >= 0, numbers < np.repeat(sizes, sizes))

    order = np.argsort(here, kind="stable")
    start = np.searchsorted(here[order], np.repeat(group, sizes))
    row = order[start + numbers]
    expect(np.bincount(row, minlength=1) <= 1)
    prefixes = [f"{scene}/{name}" for scene in scenes for name in frames.classes]
    scene_of = np.zeros(len(frames), np.int64)
    scene_of[positions] = scene
    found = track_names(prefixes, scene_of[frames.frame[row]] * width + frames.label[row], *numbered(ids))
    track = np.zeros(len(frames.label), found.dtype)
    track[row] = found
    scene_names, indices = [""] * len(frames), np.zeros(len(frames), np.int64)
    for position, number in zip(positions.tolist(), scene.tolist(), strict=True):
        scene_names[position] = scenes[number]
    indices[positions] = index
    return track, scene_names, indices
