"""MapTracker's files of tracks. A track is the same object in several frames.

Predictions are ``pos_predictions.pkl``, or the output of ``prepare_pred_tracks.py`` for other methods
(``pos_predictions_5.pkl``): a list of frames, each ::

    {"vectors": [points, ...], "labels": [...], "scores": [...], "global_ids": [...],
     "scene_name": "scene-0003", "local_idx": 7,
     "meta": {"token": ..., "ego2global_translation": ..., "ego2global_rotation": ...}}

The points of a polyline may be a flat row ``x, y, x, y, ...``. Truth, ``*_gt_tracks.pkl``, has ids and no points::

    {scene_name: {"sample_ids": [frame in the data set, ...], "instance_ids": [{label: {instance: id}}, ...]}}

Ids of predictions are unique within a scene, ids of the truth only within a scene and a class. A track is therefore
named ``scene/class/id``. The files have no times, so the time stamp of a frame is its index in the scene:
``local_idx``, or the place in ``sample_ids``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mapgauge.errors import Remedy
from mapgauge.frames.findings import findings_about
from mapgauge.frames.map_frames import MapFrames, Names
from mapgauge.io._collect import Collector, Column, with_poses
from mapgauge.io._format import Format, ReadOptions, known_ids
from mapgauge.io._values import ValueChecker
from mapgauge.io.files.json_documents import gc_paused
from mapgauge.io.files.source import Content
from mapgauge.io.pickles.tree import PickleTree, arrays_of, expect, numbers_of, points_of, stacked_points_of, wholes_of
from mapgauge.typing import Indices

CLASSES = ("ped_crossing", "divider", "boundary")
_LISTS = ("vectors", "labels", "scores", "global_ids")
_IDS = ("sample_ids", "instance_ids")
_OTHER_TRUTH = "Check that the tracks were made for this truth"


def _have(values: list[Any], keys: Sequence[str]) -> bool:
    """Whether the first of some values is a dictionary that has all keys."""
    return bool(values) and isinstance(values[0], dict) and all(key in values[0] for key in keys)


def _read_tracks(content: Content, options: ReadOptions) -> MapFrames:
    def locate(frame: int, token: str, instance: int) -> str:
        return f"[{frame}].vectors[{instance}]"

    collector = partial(Collector, content, TRACKS.name, options, locate, CLASSES, confidence=True)
    columns = collector()
    read = content.columns(_add_tracks, columns)
    if read is None:
        return _read_objects(content, collector())
    translations, rotations, indices = read
    return replace(with_poses(columns.finish(), translations, rotations), timestamps=indices)


def _add_tracks(tree: PickleTree, collector: Collector) -> tuple[Column, Column, Indices]:
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
    code = collector.codes_of(labels)
    expect(lengths == counts, scored == counts, tracked == counts, code >= 0)
    frame = np.repeat(np.arange(len(frames)), counts)
    classes = list(collector.codes)
    named = zip(frame.tolist(), code.tolist(), ids.tolist(), strict=True)
    track = [f"{scenes[i]}/{classes[k]}/{number}" for i, k, number in named]
    collector.add_columns(frame, code, scores, sizes=sizes, coords=coords, track=track)
    translations, rotations = tree.find_all(meta, "ego2global_translation", "ego2global_rotation")
    return _values_at(tree, translations), _values_at(tree, rotations), indices


def _values_at(tree: PickleTree, rows: Indices) -> Column:
    """Return the values at some rows of the tree, None for each frame that has no row."""
    if (rows >= 0).all():
        return arrays_of(tree, rows)
    values: list[Any] = []
    for row in rows.tolist():
        if row < 0:
            values.append(None)
        else:
            values.append(tree.value(row))
    return values


def _read_objects(content: Content, collector: Collector) -> MapFrames:
    """Read a file with a fault, slowly."""
    check = collector.check
    document = check.top(content.document, list, f"a list of frames with {', '.join(_LISTS)}")
    poses: list[list[Any]] = [[], []]  # translations and rotations
    indices: list[int] = []
    without_token: list[str] = []
    with gc_paused():
        for number, frame in enumerate(document):
            where = f"[{number}]"
            lists = check.sequences(frame, _LISTS, where)
            scene = check.text(check.member(frame, "scene_name", where), f"{where}.scene_name")
            meta = frame.get("meta")
            if not isinstance(meta, dict):
                meta = {}
            if "token" in meta:
                token = check.text(meta["token"], f"{where}.meta.token")
            else:
                token = f"{scene}_{check.whole(check.member(frame, 'local_idx', where), f'{where}.local_idx')}"
                without_token.append(token)
            if "local_idx" in frame:
                index = check.whole(frame["local_idx"], f"{where}.local_idx")
                if not 0 <= index < 2**31:
                    raise check.error(f"{where}.local_idx is {index}, expected the index of a frame in its scene")
                indices.append(index)
            collector.add_frame(token, scene=scene)
            for column, name in zip(poses, ("translation", "rotation"), strict=True):
                column.append(meta.get(f"ego2global_{name}"))
            for i, (points, label, score, track) in enumerate(zip(*lists.values(), strict=True)):
                class_name = collector.class_of(label, f"{where}.labels[{i}]")
                name = f"{scene}/{class_name}/{check.whole(track, f'{where}.global_ids[{i}]')}"
                collector.add_instance(points, class_name, confidence=score, track=name, flat=True)
    text = (
        f"{collector.name}: {len(without_token)} of {len(document)} frames have no meta.token. Their tokens were made "
        "from scene and index and do not match the tokens of a truth file"
    )
    collector.findings += findings_about(without_token, "note", "tokens-made-up", text=text)
    frames = with_poses(collector.finish(), *poses)
    if len(indices) == len(frames):
        return replace(frames, timestamps=np.array(indices, np.int64))
    return frames


def _read_truth_tracks(content: Content, options: ReadOptions) -> MapFrames:
    call = f'mapgauge.read("tmp_gts_....pkl", tracks="{content.path}")'
    raise content.error(
        "this file has ids of tracks and no geometry",
        remedy=Remedy(
            f"Read the truth that it was made for together with it: {call}",
            "Give it with the truth that it was made for, in the same folder: "
            f"tmp_gts_....pkl,tracks={Path(content.path).name}",
        ),
    )


def attach_tracks(frames: MapFrames, content: Content, table: Mapping[int, str] | None = None) -> MapFrames:
    """Return the frames of a truth file (``tmp_gts_*.pkl``) with the tracks of their instances.

    Frames are numbered as in the truth file, and instances within their class and frame. A file that does not match
    every instance was made for other truth and is refused. It may leave out whole frames: their instances then have no
    track, a finding counts them, and scenes are not set.
    ``table`` has the names of the numeric labels; by default these are the classes of the truth in their order.
    """
    if table is None:
        table = dict(enumerate(frames.classes))
    track, scenes, indices = _read_ids(frames, content, table)
    uncovered = [token for token, scene in zip(frames.tokens, scenes, strict=True) if not scene]
    if uncovered:
        count = len(uncovered)
        text = f"{content.path}: {count} of {len(frames)} frames of the truth belong to no scene and have no tracks"
        findings = (*frames.findings, *findings_about(uncovered, "warning", "frames-without-tracks", text=text))
        return replace(frames, track=track, scenes=None, findings=findings)
    if frames.timestamps is None:
        times = indices
    else:
        times = frames.timestamps
    return replace(frames, track=track, scenes=tuple(scenes), timestamps=times)


def _read_ids(frames: MapFrames, content: Content, names: Mapping[int, str]) -> tuple[Names, list[str], Indices]:
    """Return the tracks of all instances of the truth, and the scene and the index in the scene of its frames.

    The scene of a frame that the file leaves out is "".
    """
    if content.kind == "pickle":
        document = content.document
    else:
        document = None
    if not isinstance(document, dict) or not _have(list(document.values()), _IDS):
        raise content.error("not a file of truth tracks, expected {scene: {sample_ids, instance_ids}}")
    check = ValueChecker(content.error)
    truth = frames.name or "the truth"
    tracks = [""] * len(frames.polylines)
    scenes = [""] * len(frames)
    indices = np.zeros(len(frames), np.int64)
    labels = frames.label.tolist()
    offsets = frames.offsets.tolist()
    for scene, entry in document.items():
        check.text(scene, "the name of a scene")
        lists = check.sequences(entry, _IDS, f'["{scene}"]')
        for k, (position, groups) in enumerate(zip(*lists.values(), strict=True)):
            where = f'["{scene}"].sample_ids[{k}]'
            frame = check.whole(position, where)
            if not 0 <= frame < len(frames):
                raise content.error(
                    f"{where} is {frame}, but the last frame of {truth} is {len(frames) - 1}", remedy=_OTHER_TRUTH
                )
            if scenes[frame]:
                raise content.error(f"{where} is {frame}, which also belongs to scene {scenes[frame]}")
            scenes[frame] = scene
            indices[frame] = k
            where = f'["{scene}"].instance_ids[{k}]'
            ids = _ids_by_class(groups, names, where, check=check)
            rows: dict[str, list[int]] = {name: [] for name in (*frames.classes, *ids)}
            for row in range(offsets[frame], offsets[frame + 1]):
                rows[frames.classes[labels[row]]].append(row)
            for name, instances in rows.items():
                given = ids.get(name, {})
                if sorted(given) != list(range(len(instances))):
                    raise check.error(
                        f"{where} has ids of {len(given)} instances of {name}, but {truth} has {len(instances)} in its "
                        f"frame {frames.tokens[frame]}",
                        remedy=_OTHER_TRUTH,
                    )
                for i, row in enumerate(instances):
                    tracks[row] = f"{scene}/{name}/{given[i]}"
    return np.array(tracks, np.str_), scenes, indices


def _ids_by_class(groups: Any, names: Mapping[int, str], where: str, check: ValueChecker) -> dict[str, dict[int, int]]:
    """Return the ids of one frame by class and by the index of the instance within its class."""
    if not isinstance(groups, dict):
        raise check.error(f"{where} is a {type(groups).__name__}, expected {{label: {{instance: id}}}}")
    ids: dict[str, dict[int, int]] = {}
    for key, group in groups.items():
        label = check.whole(key, f"{where}: a label")
        if label not in names:
            raise check.error(f"{where}: unknown label {label}. Known: {known_ids(names)}")
        if not isinstance(group, dict):
            raise check.error(f"{where}[{label}] is a {type(group).__name__}, expected {{instance: id}}")
        ids[names[label]] = {
            check.whole(i, f"{where}[{label}]: an instance"): check.whole(value, f"{where}[{label}]: an id")
            for i, value in group.items()
        }
    return ids


TRACKS = Format(
    name="maptracker-tracks",
    about="predictions with tracks: pos_predictions.pkl of MapTracker, and the output of its prepare_pred_tracks.py",
    recognise=lambda content: content.is_pickled(list) and _have(content.outline, _LISTS),
    read=_read_tracks,
    forward="x",
)
TRUTH_TRACKS = Format(
    name="maptracker-truth-tracks",
    about="ids of truth tracks without geometry: *_gt_tracks.pkl of MapTracker, for tracks= of streammapnet-truth",
    recognise=lambda content: content.is_pickled(dict) and _have(list(content.outline.values()), _IDS),
    read=_read_truth_tracks,
    forward="x",
)
