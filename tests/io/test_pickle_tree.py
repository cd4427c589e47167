"""Reading a pickle in columns: it gives what the objects give, and accepts nothing that the unpickler refuses."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.io.rich_frames import assert_same

import mapgauge as mg
from mapgauge.io import hdmapnet
from mapgauge.io.pickles import tree_kernels
from mapgauge.io.pickles.tree import Irregular, PickleTree, read_tree
from mapgauge.io.pickles.unpickling import unpickle
from mapgauge.plugin import Content

LINE = np.arange(8.0).reshape(4, 2)
HIGH = np.column_stack([LINE, LINE[:, 0]]).astype(np.float32)
POSE = {"rotation": np.eye(3), "translation": np.arange(3.0)}
ODD: list[Any] = [
    *(None, True, 0, -1, 3, 2**40, 2**70, 0.5, float("nan"), "", "é", "日", b"x", [], (), {}, [1], [[1, 2], [3, 4]]),
    *(np.array(3.0), np.zeros(0), np.zeros((0, 2)), np.zeros((2, 2)), np.zeros((2, 3)), np.zeros((2, 2, 2))),
    *(np.zeros((3, 2), ">f4"), np.asfortranarray(np.eye(3)[:, :2]), np.array([None, 1], object), np.array(["a"])),
    *(np.float32(0.5), np.int8(2), np.uint64(2**63), np.bool_(True), np.eye(2, dtype=np.int8), np.eye(2) * 2),
]


def lane(number: Any, **other: Any) -> dict[str, Any]:
    return {"id": number, "points": HIGH, "is_intersection_or_connector": number == 7} | other


def segment(number: Any, **other: Any) -> dict[str, Any]:
    sides = {"centerline": HIGH, "left_laneline": HIGH + 1, "right_laneline": HIGH.astype(np.float16)}
    return {"id": number, **sides, "is_intersection_or_connector": True} | other


def element(number: Any, attribute: int = 2, **other: Any) -> dict[str, Any]:
    return {"id": number, "category": 1, "attribute": attribute, "points": LINE[:2]} | other


def area(number: Any, category: int = 1, **other: Any) -> dict[str, Any]:
    return {"id": number, "category": category, "points": HIGH + number} | other


def tracks(**other: Any) -> dict[str, Any]:
    meta = {"token": "t0", "ego2global_translation": [1, 2, 3.5], "ego2global_rotation": np.eye(3).tolist()}
    frame = {"scene_name": "s", "local_idx": 0, "labels": [1, 0], "scores": [0.5, 1], "global_ids": [3, 4]}
    return {**frame, "vectors": [LINE, LINE[:3].ravel()], "meta": meta} | other


def vectors(*points: Any, **other: Any) -> dict[str, Any]:
    return {"vectors": [{"pts": one, "pts_num": 4, "type": 1, **other} for one in points]}


SURE: dict[str, Any] = {"confidence": np.float32(0.5)}
STACK = np.stack([LINE.ravel(), LINE.ravel() + 1])
DOCUMENTS: dict[str, tuple[str, Any]] = {
    "tracks of lists": ("maptracker-tracks", [tracks(), tracks(labels=[], scores=[], global_ids=[], vectors=[])]),
    "tracks of flat lists": ("maptracker-tracks", [tracks(vectors=[LINE.ravel().tolist(), (1, 2, 3.5, 4)])]),
    "tracks of arrays": (
        "maptracker-tracks",
        [
            tracks(
                vectors=STACK, labels=np.array([2, 2]), scores=np.array([0.1, 0.2], "f4"), global_ids=np.array([9, 1])
            )
        ],
    ),
    "vectormapnet": (
        "vectormapnet",
        {
            "results": {"t1": vectors(LINE, LINE[:2], confidence_level=np.float32(0.25))},
            "groundTruth": {"t0": vectors(LINE), "t1": vectors(LINE.tolist())},
        },
    ),
    "results of arrays": (
        "streammapnet",
        {"results": {"a": {"vectors": [LINE, LINE[1:]], "scores": [0.5, 1], "labels": np.array([0, 2])}}},
    ),
    "results of lists": (
        "streammapnet",
        {"results": {"a": {"vectors": [LINE.tolist(), [[1, 2], [3, 4.5]]], "scores": [0.5, 1], "labels": [0, 2]}}},
    ),
    "truth": ("streammapnet-truth", {"t0": {0: [LINE, LINE[:2]], 1: []}, "t1": {}, "t2": {2: (LINE.astype("i4"),)}}),
    "lanes": (
        "openlanev2",
        {
            "method": "m",
            "results": {
                ("val", "s", "2"): {
                    "predictions": {
                        "lane_centerline": [lane(7, **SURE), lane(8, **SURE)],
                        "traffic_element": [element(9, 5, **SURE), element(1, **SURE)],
                        "topology_lclc": np.array([[0, 0.5], [1, 0]], np.float32),
                        "topology_lcte": np.array([[0.25, 0], [0, 1]]),
                    }
                },
                ("val", "s", "3"): {"predictions": {"lane_centerline": [], "traffic_element": [element(1, **SURE)]}},
            },
        },
    ),
    "true lanes": (
        "openlanev2-truth",
        {
            ("val", "s", "2"): {
                "pose": POSE,
                "annotation": {
                    "lane_centerline": [lane(7), lane(8), lane(2)],
                    "traffic_element": [element("x")],
                    "topology_lclc": np.eye(3, k=1, dtype=np.int8),
                    "topology_lcte": np.ones((3, 1), np.bool_),
                },
            },
            ("val", "t", "3"): {"pose": POSE, "annotation": {"lane_centerline": [lane(7)], "traffic_element": []}},
        },
    ),
    "segments": (
        "openlanev2",
        {"results": {"a/b/c": {"predictions": {"lane_segment": [segment(1, **SURE)], "area": [area(1, 2, **SURE)]}}}},
    ),
    "true segments": (
        "openlanev2-truth",
        {
            ("val", "s", 2): {
                "annotation": {
                    "area": [area(7), area(9, 2)],
                    "lane_segment": [segment(7), segment(8)],
                    "traffic_element": [element(4)],
                    "topology_lsls": np.eye(2, k=1, dtype=np.int8),
                    "topology_lste": np.ones((2, 1), np.int8),
                    "inter_points": 0,
                }
            }
        },
    ),
}
Outcome = mg.MapFrames | str


def outcome(path: Path, format: str, degenerate: Any) -> tuple[Outcome, bool]:
    """What a file gives: frames, or the message of an error; and whether its objects were not needed."""
    content = Content(path)
    try:
        frames = mg.read(content, format, degenerate=degenerate)
    except mg.InvalidInput as error:
        return str(error), False
    return frames, "document" not in content.__dict__


def check(path: Path, format: str, degenerate: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Outcome, bool]:
    """Compare both ways of reading a file, and return the fast one."""
    found, fast = outcome(path, format, degenerate)
    with monkeypatch.context() as patch:
        patch.setattr("mapgauge.io.files.source.read_tree", lambda data: None)
        expected, _ = outcome(path, format, degenerate)
    if isinstance(found, str) or isinstance(expected, str):
        assert found == expected
    else:
        assert_same(found, expected)
        assert found.findings == expected.findings
        assert (found.format, found.forward, found.boxes) == (expected.format, expected.forward, expected.boxes)
    return found, fast


@pytest.fixture
def path(tmp_path: Path) -> Path:
    truth = {"t0": {0: [LINE, LINE + 1]}, "t1": {1: [LINE]}, "t2": {2: [LINE]}}
    (tmp_path / "truth.pkl").write_bytes(pickle.dumps(truth))
    return tmp_path / "file.pkl"


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_columns_give_what_the_objects_give(
    name: str, protocol: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    format, document = DOCUMENTS[name]
    path.write_bytes(pickle.dumps(document, protocol))
    found, fast = check(path, format, "strict", monkeypatch)
    assert isinstance(found, mg.MapFrames)
    assert fast
    assert len(found.label) >= 2


def places(value: Any) -> list[tuple[Any, Any]]:
    """All containers of a document, each with a key of it."""
    found = []
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            found += [(value, key), *places(value[key])]
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_odd_value_gives_the_same_frames_or_the_same_error(
    name: str, path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    format, document = DOCUMENTS[name]
    for case in range(40):
        changed = pickle.loads(pickle.dumps(document))
        spots = places(changed)
        container, key = spots[rng.integers(len(spots))]
        kind = rng.integers(8)
        if kind == 0:
            del container[key]
        elif kind == 1:
            container[key] = pickle.loads(pickle.dumps(spots[rng.integers(len(spots))][0]))
        elif kind == 2 and isinstance(container, dict):
            container[("a", 1, "1", ("a", "b", 3), (1, 2), 2.0, None)[rng.integers(7)]] = container.pop(key)
        else:
            container[key] = ODD[rng.integers(len(ODD))]
        path.write_bytes(pickle.dumps(changed, 2 + case % 4))
        check(path, format, "drop" if case % 3 else "strict", monkeypatch)


def plain(tree: PickleTree, row: int) -> Any:
    """A value of the table as an object."""
    rows = np.array([row])
    if tree.are(rows, "DICT").all():
        values = [plain(tree, value) for value in tree.pairs(rows)[2].tolist()]
        return dict(zip(tree.values(tree.pairs(rows)[1]), values, strict=True))
    if tree.are(rows, "LIST", "TUPLE").all():
        values = [plain(tree, value) for value in tree.items(rows)[1].tolist()]
        return values if tree.are(rows, "LIST").all() else tuple(values)
    return tree.value(row)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_what_the_table_accepts_is_what_the_unpickler_loads(
    protocol: int, path: Path, rng: np.random.Generator
) -> None:
    error = Content(path.with_name("truth.pkl")).error
    line = LINE.astype(np.float32)
    document = {"a": [1, -2, 0.5, "é", None, True], ("b", 3): (line, line[0]), "c": {"x": np.float32(2), "y": [[], ()]}}
    document["e"] = [line[:1], np.float32(3), [0.5, 2.5], line[1:]]
    document["d"] = [document["a"], *([i, "z"] for i in range(30))]
    data = pickle.dumps(document, protocol)
    accepted = 0
    for _ in range(500):
        damaged = bytearray(data)
        for at in rng.integers(len(data), size=rng.integers(1, 3)):
            damaged[at] = rng.integers(256) if rng.random() < 0.5 else data[rng.integers(len(data))]
        tree = read_tree(bytes(damaged))
        if tree is not None:
            accepted += 1
            loaded = unpickle(bytes(damaged), error)
            try:
                again = plain(tree, int(tree.root[0]))
            except Irregular:  # a function by itself, or bytes
                continue
            np.testing.assert_equal(again, loaded)
    assert 20 < accepted < 450


@pytest.mark.parametrize("opcode", [b"h", b"j"])
def test_a_part_of_an_array_may_be_used_again(opcode: bytes) -> None:
    data = pickle.dumps([LINE, LINE + 1, 7, *range(99)], 4)
    shared = 0
    for index in range(40):
        number = bytes([index]) if opcode == b"h" else index.to_bytes(4, "little")
        changed = data[:2] + data[11:].replace(b"K\x07", opcode + number)  # without the length of the frame
        tree = read_tree(changed)
        if tree is None:  # nothing is stored there, or a function
            continue
        shared += 1
        try:
            found = plain(tree, int(tree.root[0]))
        except Irregular:
            continue
        np.testing.assert_equal(found, pickle.loads(changed))
    assert shared >= 4


def test_letters_of_latin_1_are_counted_and_copied(rng: np.random.Generator) -> None:
    outcomes = []
    for case in range(400):
        content = rng.integers(256 if case % 4 else 128, size=case % 40, dtype=np.uint8).tobytes()
        text = bytearray(content.decode("latin1").encode())
        if case % 3 == 0 and text:
            text[rng.integers(len(text))] = rng.integers(256)
        try:
            expected = text.decode().encode("latin1")
        except ValueError:
            expected = None
        symbols = np.frombuffer(bytes(text) + b"\x80" * 8, np.uint8)
        count = tree_kernels.count_letters(symbols, np.uint64(0), np.uint64(len(text)))
        outcomes.append(expected is None)
        assert int(count) == (2**64 - 1 if expected is None else len(expected))
        if expected is not None:
            out = np.zeros(len(expected) + 1, np.uint8)
            start, size = np.zeros(1, np.uint64), np.array([len(expected)], np.uint64)
            tree_kernels.copy_content(symbols, start, size, np.ones(1, np.bool_), out)
            assert out.tobytes() == expected + b"\0"
    assert 20 < sum(outcomes) < 200


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i1", "u1", "b1", "i4"])
def test_matrices_of_all_types_give_the_same_links(kind: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    format, document = DOCUMENTS["lanes"]
    changed = pickle.loads(pickle.dumps(document))
    frame = changed["results"]["val", "s", "2"]["predictions"]
    frame["topology_lclc"] = np.array([[0.25, 0], [1, 1]]).astype(kind)
    path.write_bytes(pickle.dumps(changed))
    found, fast = check(path, format, "strict", monkeypatch)
    assert isinstance(found, mg.MapFrames)
    assert fast
    assert found.links is not None
    assert len(found.links.of_kind("successor")) == (2 if kind in ("i1", "u1", "i4") else 3)
    frame["topology_lclc"] = np.array([[0.25, 0], [2, 1]]).astype(kind)
    path.write_bytes(pickle.dumps(changed))
    assert isinstance(check(path, format, "strict", monkeypatch)[0], mg.MapFrames) == (kind == "b1")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data + b".",
        lambda data: data.replace(b"numpy", b"numpi"),
        lambda data: b"\x80\x06" + data[2:],
        lambda data: data.replace(b"f8", b"V8"),
    ],
)
def test_a_damaged_pickle_gives_no_table(change: Callable[[bytes], bytes]) -> None:
    data = pickle.dumps({"a": LINE}, 4)
    assert read_tree(data) is not None
    assert read_tree(change(data)) is None


def test_long_lists_whose_values_hold_others_are_read() -> None:
    values = [[i, [i]] for i in range(5000)]
    tree = read_tree(pickle.dumps(values))
    assert tree is not None
    assert plain(tree, int(tree.root[0])) == values


def test_a_small_file_cannot_make_a_large_table() -> None:
    data = b"\x80\x04]" + b"(]K\x01ae" * 200_000 + b"."  # one long list, filled one by one with others in between
    assert read_tree(data) is None


def test_jsons_of_hdmapnet_are_read_alike_both_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.json"
    frames = mg.MapFrames.of({"a": {"divider": [LINE]}, "b": {"boundary": [LINE, LINE + 0.1]}}).with_confidence(0.5)
    mg.write(frames, path, "hdmapnet")
    path.write_text(path.read_text(encoding="utf-8").replace('"pts_num":4', '"pts_num":5', 1), encoding="utf-8")
    content = Content(path)
    found = mg.read(content)
    assert "document" not in content.__dict__
    monkeypatch.setattr(hdmapnet, "_read_sound_json", lambda *arguments: None)
    expected = mg.read(path)
    assert_same(found, expected)
    assert found.findings == expected.findings
    assert [finding.code for finding in found.findings] == ["points-number"]
