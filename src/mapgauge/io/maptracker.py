"""MapTracker's files of tracks, which name what is the same thing in several frames.

Predictions, ``pos_predictions.pkl``, and what ``prepare_pred_tracks.py`` makes of the results of other methods
(``pos_predictions_5.pkl``): a list of frames, each ::

    {"vectors": [points, ...], "labels": [...], "scores": [...], "global_ids": [...],
     "scene_name": "scene-0003", "local_idx": 7,
     "meta": {"token": ..., "ego2global_translation": ..., "ego2global_rotation": ...}}

The points of a polyline may be one row ``x, y, x, y, ...``. Truth, ``*_gt_tracks.pkl``, has ids and no points::

    {scene_name: {"sample_ids": [frame in the data set, ...], "instance_ids": [{label: {instance: id}}, ...]}}

Ids are counted for each scene, those of the truth for each class too. So a track is named ``scene/class/id``.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mapgauge.errors import UnreadableFile
from mapgauge.files.pickles import member, sequence
from mapgauge.files.source import Content
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import EXAMPLES, Collector, Settings
from mapgauge.io._format import Format
from mapgauge.io._json import collector_paused
from mapgauge.io._pose import with_poses

CLASSES = ("ped_crossing", "divider", "boundary")
_LISTS = ("vectors", "labels", "scores", "global_ids")
_IDS = ("sample_ids", "instance_ids")


def _is_tracks(content: Content) -> bool:
    if content.kind != "pickle" or not isinstance(content.document, list):
        return False
    return all(isinstance(frame, dict) and all(key in frame for key in _LISTS) for frame in content.document[:1] or [0])


def _read_tracks(content: Content, settings: Settings) -> MapFrames:
    collector = Collector(
        str(content.path),
        TRACKS.name,
        settings,
        locate=lambda frame, token, instance: f"[{frame}].vectors[{instance}]",
        classes=CLASSES,
        confidence=True,
    )
    error = collector.error
    document = content.document
    if not isinstance(document, list):
        raise error(f"a {type(document).__name__}, expected a list of frames with {', '.join(_LISTS)}")
    poses: list[tuple[Any, Any]] = []
    without_token: list[str] = []
    with collector_paused():
        for number, frame in enumerate(document):
            where = f"[{number}]"
            lists = {key: sequence(member(frame, key, where, error), f"{where}.{key}", error) for key in _LISTS}
            collector.same_length(where, **lists)
            scene = collector.text(member(frame, "scene_name", where, error), f"{where}.scene_name")
            meta = frame.get("meta")
            meta = meta if isinstance(meta, dict) else {}
            if "token" in meta:
                token = collector.text(meta["token"], f"{where}.meta.token")
            else:
                token = f"{scene}_{_whole(member(frame, 'local_idx', where, error), f'{where}.local_idx', error)}"
                without_token.append(token)
            collector.frame(token, scene=scene)
            poses.append((meta.get("ego2global_translation"), meta.get("ego2global_rotation")))
            for i, (points, label, score, track) in enumerate(zip(*lists.values(), strict=True)):
                class_name = collector.class_of(label, f"{where}.labels[{i}]")
                name = f"{scene}/{class_name}/{_whole(track, f'{where}.global_ids[{i}]', error)}"
                collector.instance(points, class_name=class_name, confidence=score, track=name, flat=True)
    if without_token:
        text = (
            f"{collector.name}: {len(without_token)} of {len(document)} frames have no meta.token and are named by "
            "scene and number, which are not the tokens of a truth file"
        )
        examples = tuple(without_token[:EXAMPLES])
        collector.findings.append(Finding("note", "tokens-made-up", text, len(without_token), examples))
    return with_poses(collector.finish(), poses)


def _whole(value: Any, where: str, error: Callable[[str], UnreadableFile]) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise error(f"{where} is a {type(value).__name__}, expected a whole number")
    return int(value)


def _is_truth_tracks(content: Content) -> bool:
    return content.kind == "pickle" and _has_ids(content.document)


def _has_ids(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    return all(
        isinstance(scene, dict) and all(key in scene for key in _IDS) for scene in list(document.values())[:1] or [0]
    )


def _read_truth_tracks(content: Content, settings: Settings) -> MapFrames:
    raise content.error(
        "this file has ids of tracks and no geometry. Read the truth that it was made for together with it: "
        f'mapgauge.read("tmp_gts_....pkl", tracks="{content.path}")'
    )


def attach_tracks(frames: MapFrames, content: Content, table: Mapping[int, str] | None = None) -> MapFrames:
    """Give the instances of a truth file (``tmp_gts_*.pkl``) the names of their tracks.

    Frames are counted as in the truth file, and instances among those of their class in their frame. A file that does
    not fit instance by instance was made for other truth and is refused. It may leave out whole frames: their instances
    have no track then, a finding counts them, and scenes are not set.

    Args:
        frames: The truth.
        content: The file with the ids, ``*_gt_tracks.pkl``.
        table: The names of the numeric labels; the classes of the truth in their order if None.
    """
    document = content.document if content.kind == "pickle" else None
    if not isinstance(document, dict) or not _has_ids(document):
        raise content.error("not a file of truth tracks, expected {scene: {sample_ids, instance_ids}}")
    error = content.error
    names = dict(enumerate(frames.classes)) if table is None else table
    tracks = [""] * len(frames.polylines)
    scenes = [""] * len(frames)
    for scene, entry in document.items():
        if not isinstance(scene, str) or not scene:
            raise error(f"a scene's name is a {type(scene).__name__}, expected a text")
        where = f'["{scene}"]'
        samples, instances = (sequence(member(entry, key, where, error), f"{where}.{key}", error) for key in _IDS)
        if len(samples) != len(instances):
            raise error(f"{where} has {len(samples)} sample_ids and {len(instances)} instance_ids; expected as many")
        for k, (position, groups) in enumerate(zip(samples, instances, strict=True)):
            frame = _whole(position, f"{where}.sample_ids[{k}]", error)
            if not 0 <= frame < len(frames):
                raise error(
                    f"{where}.sample_ids[{k}] is {frame}, but the last frame of {frames.name} is {len(frames) - 1}. "
                    "Were the tracks made for other truth?"
                )
            if scenes[frame]:
                raise error(f"{where}.sample_ids[{k}] is {frame}, which the scene {scenes[frame]} has too")
            scenes[frame] = scene
            ids = _ids_by_class(groups, names, f"{where}.instance_ids[{k}]", error)
            _name_tracks(tracks, frames, frame, ids, scene, f"{where}.instance_ids[{k}]", error)
    uncovered = [token for token, scene in zip(frames.tokens, scenes, strict=True) if not scene]
    findings = frames.findings
    if uncovered:
        text = f"{content.path}: {len(uncovered)} of {len(frames)} frames of the truth are in no scene, without tracks"
        findings += (Finding("warning", "frames-without-tracks", text, len(uncovered), tuple(uncovered[:EXAMPLES])),)
    track = np.array(tracks, np.str_)
    return replace(frames, track=track, scenes=None if uncovered else tuple(scenes), findings=findings)


def _ids_by_class(
    groups: Any, names: Mapping[int, str], where: str, error: Callable[[str], UnreadableFile]
) -> dict[str, dict[int, int]]:
    """The ids of one frame by class and by the instance's number in it."""
    if not isinstance(groups, dict):
        raise error(f"{where} is a {type(groups).__name__}, expected {{label: {{instance: id}}}}")
    ids: dict[str, dict[int, int]] = {}
    for key, group in groups.items():
        label = _whole(key, f"{where}: a label", error)
        if label not in names:
            known = ", ".join(f"{number} {name}" for number, name in names.items())
            raise error(f"{where}: unknown label {label}. Known: {known}")
        if not isinstance(group, dict):
            raise error(f"{where}[{label}] is a {type(group).__name__}, expected {{instance: id}}")
        ids[names[label]] = {
            _whole(i, f"{where}[{label}]: an instance", error): _whole(value, f"{where}[{label}]: an id", error)
            for i, value in group.items()
        }
    return ids


def _name_tracks(
    tracks: list[str],
    frames: MapFrames,
    frame: int,
    ids: dict[str, dict[int, int]],
    scene: str,
    where: str,
    error: Callable[[str], UnreadableFile],
) -> None:
    """Write the names of one frame's instances into ``tracks``."""
    start, stop = frames.offsets[frame : frame + 2].tolist()
    rows: dict[str, list[int]] = {name: [] for name in (*frames.classes, *ids)}
    for row in range(start, stop):
        rows[frames.classes[frames.label[row]]].append(row)
    for name, instances in rows.items():
        given = ids.get(name, {})
        if sorted(given) != list(range(len(instances))):
            raise error(
                f"{where} has ids of {len(given)} instances of {name}, but {frames.name} has {len(instances)} in its "
                f"frame {frames.tokens[frame]}. Were the tracks made for other truth?"
            )
        for i, row in enumerate(instances):
            tracks[row] = f"{scene}/{name}/{given[i]}"


TRACKS = Format(
    "maptracker-tracks",
    "predictions with tracks: pos_predictions.pkl of MapTracker, and what its prepare_pred_tracks.py writes",
    _is_tracks,
    _read_tracks,
)
TRUTH_TRACKS = Format(
    "maptracker-truth-tracks",
    "ids of truth tracks without geometry: *_gt_tracks.pkl of MapTracker, for tracks= of streammapnet-truth",
    _is_truth_tracks,
    _read_truth_tracks,
)
