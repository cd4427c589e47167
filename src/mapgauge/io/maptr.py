"""MapTR's files, which most other methods write as well, and those of VAD, which have the same instances.

Results, ``nuscmap_results.json`` and ``av2map_results.json``, truth, ``*_map_anns*.json``, and VAD's
``results_nusc.pkl`` or ``.json``, whose boxes and plans are stepped over::

    {"meta": {...}, "results": [{"sample_token": token, "vectors": [instance, ...]}, ...]}
    {"GTs": [{"sample_token": token, "vectors": [instance, ...]}, ...]}
    {"meta": ..., "results": boxes, "map_results": {token: {"vectors": [instance, ...]}}, "plan_results": plans}
    instance = {"pts": [[x, y], ...], "pts_num": 20, "cls_name": "divider", "type": 0, "confidence_level": 0.9}

Coordinates are metres. On nuScenes they are in the frame of the LiDAR, x to the right, y forward (``.rotate(-90)``
makes x point forward). On Argoverse 2 they are in the frame of the ego vehicle, x forward. ``cls_name`` is the class.
``type`` is used only if there is no name, or if the caller gives a table of ids.
"""

import re
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector
from mapgauge.io._format import Format, ReadOptions, confidences_of, ids_of, points_by_frame
from mapgauge.io._json import NumberLists, Place, decode, decoded_keys_are_all
from mapgauge.io.files.json_documents import gc_paused
from mapgauge.io.files.source import Content
from mapgauge.io.pickles.unpickling import NO_TENSORS, SteppedOver, unpickle

CLASSES = ("divider", "ped_crossing", "boundary")
RARE = ("centerline",)
_NAMES = {"results": "maptr", "GTs": "maptr-truth", "map_results": "vad"}  # the format, by the key of its frames


class _True(msgspec.Struct, gc=False):
    pts: Place
    cls_name: str = ""
    type: int | None = None
    pts_num: int | None = None


class _Prediction(_True, gc=False, kw_only=True):
    confidence_level: float


Vector = TypeVar("Vector", _True, _Prediction)


class _MapTrFrame(msgspec.Struct, Generic[Vector], gc=False):
    sample_token: str
    vectors: list[Vector]


class _VadFrame(msgspec.Struct, gc=False):
    vectors: list[_Prediction]
    sample_token: str | msgspec.UnsetType = msgspec.UNSET


class _MapTrResults(msgspec.Struct, gc=False):
    results: list[_MapTrFrame[_Prediction]]
    meta: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Truth(msgspec.Struct, gc=False):
    GTs: list[_MapTrFrame[_True]]
    meta: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Vad(msgspec.Struct, gc=False):
    map_results: dict[str, _VadFrame]
    meta: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    results: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    plan_results: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_VAD_KEY = re.compile(rb"(?:X\x0b\0\0\0|\x8c\x0b|V)map_results")  # a text of a pickle, by protocol
_SCHEMAS: dict[str, Any] = {"results": _MapTrResults, "GTs": _Truth, "map_results": _Vad}


def _is_vad(content: Content) -> bool:
    if content.kind == "json":  # boxes can come first, and fill the beginning of the file
        boxes_first = content.keys >= {"results", "sample_token"} and "pts" not in content.keys
        return "map_results" in content.keys or (boxes_first and b'"map_results"' in content.text)
    return content.kind == "pickle" and _VAD_KEY.search(content.data) is not None


def _is_results(content: Content) -> bool:
    if content.kind != "json" or "results" not in content.keys:
        return False
    return "sample_token" in content.keys or content.text.rstrip().endswith((b"[]}", b"[] }"))  # no frames


def _read(content: Content, options: ReadOptions, key: str) -> MapFrames:
    def locate(frame: int, token: str, instance: int) -> str:
        if key == "map_results":
            return f'$.{key}["{token}"].vectors[{instance}].pts'
        return f"$.{key}[{frame}].vectors[{instance}].pts (token {token})"

    predicted = key != "GTs"
    collector = partial(Collector, content, _NAMES[key], options, locate, CLASSES, rare=RARE, confidence=predicted)
    if content.kind == "pickle":
        sound = None
    else:
        sound = _read_sound_json(content, collector(), key)
    if sound is None:
        return _read_objects(content, collector(), key)
    return sound


def _read_sound_json(content: Content, collector: Collector, key: str) -> MapFrames | None:
    """Read a file without faults, fast."""
    lists = NumberLists.of(content.text, collector.options.workers)
    if lists is None:
        return None
    document: Any = decode(lists.text, _SCHEMAS[key])
    if document is None:
        return None
    found = getattr(document, key)
    if isinstance(found, dict):
        tokens = list(found)
        frames = list(found.values())
        others = [document.meta, document.results, document.plan_results]
        # A frame may say its token again.
        stated = [(frame.sample_token, token) for token, frame in found.items()]
        stated = [pair for pair in stated if pair[0] is not msgspec.UNSET]
        if any(name != token for name, token in stated):
            return None
    else:
        tokens = [frame.sample_token for frame in found]
        frames = found
        others = [document.meta]
        stated = []
    keys = 1 + 2 * len(tokens) + len(stated)
    vectors = [vector for frame in frames for vector in frame.vectors]
    points = lists.points([vector.pts for vector in vectors])
    if points is None or not all(tokens):
        return None
    kinds = {kind: i for i, kind in enumerate(dict.fromkeys((vector.cls_name, vector.type) for vector in vectors))}
    try:
        names = [_class_name(collector, *kind, "") for kind in kinds]
    except UnreadableFile:
        return None
    kind = np.array([kinds[vector.cls_name, vector.type] for vector in vectors], np.int64)
    counted = np.array([-1 if vector.pts_num is None else vector.pts_num for vector in vectors], np.int64)
    named = np.array([(name != "") + (number is not None) for name, number in kinds], np.int64)
    confidence = None
    keys += len(vectors)
    if collector.has_confidence:
        confidence = np.array([vector.confidence_level for vector in vectors], np.float64)
        keys += len(vectors)
    keys += int(np.count_nonzero(counted >= 0) + named[kind].sum())
    if not decoded_keys_are_all(lists.text, keys, (), *others):
        return None
    codes = np.array([collector.codes.setdefault(name, len(collector.codes)) for name in names], np.int64)
    collector.tokens += tokens
    index = np.repeat(np.arange(len(frames)), [len(frame.vectors) for frame in frames])
    collector.add_columns(
        index,
        codes[kind],
        confidence,
        sizes=points.sizes,
        coords=points.coords,
    )
    collector.note_wrong_counts(index, np.flatnonzero((counted >= 0) & (counted != points.sizes)))
    return _finish(collector, set(kinds))


def _read_objects(content: Content, collector: Collector, key: str) -> MapFrames:
    """Read a file with a fault, slowly."""
    by_token = key == "map_results"
    # VAD's plans are tensors of torch.
    is_vad_pickle = by_token and content.kind == "pickle"
    if is_vad_pickle:
        document = unpickle(content.data, content.error, without="torch")
    else:
        document = content.document
    if by_token:
        form = '{token: {"vectors": ...}}'
        frames_are = "an object by token"
        keys = "vectors"
    else:
        form = '[{"sample_token": ..., "vectors": ...}]'
        frames_are = "a list of frames"
        keys = "sample_token and vectors"
    if not isinstance(document, dict) or key not in document:
        raise collector.error(f'no key "{key}" at the top, expected {{"{key}": {form}}}')
    given = document[key]
    if isinstance(given, dict) and not by_token:
        raise collector.error(
            f"$.{key} is an object, as in StreamMapNet's files, expected a list of frames",
            remedy=Remedy(
                "Pass format='streammapnet' for files of StreamMapNet",
                "Write FILE,format=streammapnet for files of StreamMapNet",
            ),
        )
    if by_token and isinstance(given, dict):
        frames = {f'$.{key}["{token}"]': (token, frame) for token, frame in given.items()}
    elif isinstance(given, list) and not by_token:
        frames = {f"$.{key}[{place}]": (place, frame) for place, frame in enumerate(given)}
    else:
        raise collector.error(f"$.{key} is not {frames_are}")
    kinds: set[tuple[str, Any]] = set()
    with gc_paused():
        for where, (place, frame) in frames.items():
            if not isinstance(frame, dict) or "vectors" not in frame or not (by_token or "sample_token" in frame):
                raise collector.error(f"{where} is not an object with {keys}")
            token = collector.check.text(frame.get("sample_token", place), f"{where}.sample_token")
            if by_token and token != place:
                raise collector.error(f"{where}.sample_token is {token[:80]!r}, expected {place!r}")
            collector.add_frame(token)
            if not isinstance(frame["vectors"], list):
                raise collector.error(f"{where}.vectors is not a list")
            for k, vector in enumerate(frame["vectors"]):
                if isinstance(vector, dict) and any(isinstance(value, SteppedOver) for value in vector.values()):
                    raise collector.error(f"{where}.vectors[{k}] holds torch tensors", remedy=NO_TENSORS)
                kinds.add(_add(collector, vector, f"{where}.vectors[{k}]"))
    return _finish(collector, kinds)


def _add(collector: Collector, vector: Any, where: str) -> tuple[str, Any]:
    """Add an instance, and return its class name and its number."""
    if not isinstance(vector, dict) or "pts" not in vector:
        raise collector.error(f"{where} is not an object with pts")
    if collector.has_confidence and "confidence_level" not in vector:
        raise collector.error(f"{where} has no confidence_level")
    class_name = vector.get("cls_name", "")
    number = vector.get("type")
    if not isinstance(class_name, str):
        raise collector.error(f"{where}.cls_name is not a text")
    collector.add_vector(vector, _class_name(collector, class_name, number, where=where), where)
    return class_name, number if isinstance(number, int | float) else None


def _class_name(collector: Collector, class_name: str, number: Any, where: str) -> str:
    """Return the class of an instance: its name, or its number if there is no name or the caller gave a table."""
    if class_name and collector.options.classes is None:
        return class_name
    return collector.class_of(number, f"{where}.type")


def _finish(collector: Collector, kinds: set[tuple[str, Any]]) -> MapFrames:
    """Return the frames, with a finding if names and numbers disagree.

    Public evaluators use the number, mapgauge uses the name.
    """
    named = {(name, number) for name, number in kinds if name and number is not None}
    if len({name for name, _ in named}) != len(named) or len({number for _, number in named}) != len(named):
        pairs = ", ".join(f"{name} {number}" for name, number in sorted(named, key=str))
        text = f"{collector.name}: cls_name and type contradict each other ({pairs}); the name was used"
        collector.findings.append(Finding("warning", "class-ids", text, count=len(named)))
    frames = collector.finish()
    # The classes of Bench2Drive are others, and the classes of nuScenes are not missing there.
    own = [name for name, count in frames.counts.items() if count or name not in CLASSES]
    is_other = collector.format_name == "vad" and own and not set(own) & set(CLASSES)
    if is_other:
        return frames.as_classes(own)
    return frames


def _write(frames: MapFrames, classes: dict[int, str] | None, key: str) -> bytes:
    ids = ids_of(frames, CLASSES + RARE, classes, format_name=_NAMES[key])
    confidence: list[Any] = [None] * len(frames.label)
    if key == "results":
        confidence = confidences_of(frames, _NAMES[key])
    instances = zip(frames.label.tolist(), confidence, strict=True)
    entries = []
    for token, lines in zip(frames.tokens, points_by_frame(frames), strict=True):
        vectors = []
        for points in lines:
            label, certainty = next(instances)
            vector = {"pts": points, "pts_num": len(points), "cls_name": frames.classes[label], "type": ids[label]}
            vectors.append(vector if certainty is None else vector | {"confidence_level": certainty})
        entries.append(msgspec.json.encode({"sample_token": token, "vectors": vectors}))
    meta = b""
    if key == "results":
        meta = b'"meta":{},'
    return b"{" + meta + f'"{key}":['.encode() + b",\n".join(entries) + b"]}"


RESULTS = Format(
    name=_NAMES["results"],
    about="predictions: nuscmap_results.json and av2map_results.json of MapTR, MapTRv2 and most others",
    recognise=_is_results,
    read=partial(_read, key="results"),
    write=partial(_write, key="results"),
    forward="longer",
)
TRUTH = Format(
    name=_NAMES["GTs"],
    about="truth: nuscenes_map_anns_val.json, av2_gt_map_anns_val.json of MapTR, MapTRv2 and most others",
    recognise=lambda content: content.kind == "json" and "GTs" in content.keys,
    read=partial(_read, key="GTs"),
    write=partial(_write, key="GTs"),
    forward="longer",
)
VAD = Format(
    name=_NAMES["map_results"],
    about="predictions: map_results in results_nusc.pkl or results_nusc.json of VAD, and of Bench2Drive",
    recognise=_is_vad,
    read=partial(_read, key="map_results"),
    forward="y",
)
