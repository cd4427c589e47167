"""Pickles: what is admitted comes out as it went in; nothing else runs, hangs, or takes more memory than the file."""

import io
import os
import pickle
import pickletools
import re
import tracemalloc
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mapgauge as mg
from mapgauge.io.pickles import scan_kernels
from mapgauge.io.pickles.opcodes import SOUND, opcode_table
from mapgauge.io.pickles.unpickling import unpickle

PROTOCOLS = range(6)
LINE = np.arange(8.0).reshape(4, 2)
SHARED = [1.5, "text", LINE]
VALUES: dict[str, Any] = {
    "none and truth": [None, True, False],
    "whole numbers": [0, -1, 255, 65536, -(2**31), 2**63, -(2**100)],
    "real numbers": [0.0, -1.5, 1e300, float("inf")],
    "text": ["", "a", "grün\n'\"\\", "x" * 300, "😀"],
    "bytes": [b"", b"ab\xff\x00", b"x" * 300, bytearray(b""), bytearray(b"ab\xff")],
    "containers": {"list": [[]], "tuple": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], "dict": {1: {}, (2, "a"): 3}},
    "sets": [set(), {1, "a"}, frozenset(), frozenset({(1, 2)})],
    "long list": [str(i) for i in range(2500)],
    "shared": [SHARED, SHARED, (SHARED, SHARED), {"a": SHARED}],
    "array": LINE,
    "fortran order": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "other axes": np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
    "every second": np.arange(24.0).reshape(4, 6)[::2, ::3],
    "no points": np.empty((0, 2)),
    "no width": np.empty((3, 0, 2)),
    "no dimension": np.array(2.5),
    "objects": np.array([None, "a", [1], LINE], dtype=object),
    "scalars": [
        np.float32(1.5),
        np.float64(-2),
        np.int64(3),
        np.uint8(4),
        np.bool_(True),
        np.str_("ab"),
        np.bytes_(b"c"),
    ],
    "empty scalars": [np.str_(""), np.bytes_(b"")],
    **{
        f"array of {kind}": np.array([0, 1, 2, 3], kind)
        for kind in ("?", "i1", "u1", "<i2", ">i4", "i8", "u8", "f2", "f4", "<f8", ">f8", "S3", "U2", ">U2")
    },
}
WRITERS: dict[str, Callable[[Any, int], bytes]] = {
    "C": lambda value, protocol: pickle.dumps(value, protocol),
    "Python": lambda value, protocol: dumps_in_python(value, protocol),
    "optimised": lambda value, protocol: pickletools.optimize(pickle.dumps(value, protocol)),
}


def dumps_in_python(value: Any, protocol: int) -> bytes:
    file = io.BytesIO()
    pickle._Pickler(file, protocol).dump(value)
    return file.getvalue()


def load(data: bytes) -> Any:
    return unpickle(data, lambda message, *, remedy=None: mg.UnreadableFile(f"file.pkl: {message}", remedy=remedy))


def refusal(data: bytes) -> str:
    """The message with which a pickle is refused, after the name of the file."""
    with pytest.raises(mg.UnreadableFile, match=r"^file\.pkl: ") as caught:
        load(data)
    return str(caught.value).removeprefix("file.pkl: ")


def assert_same(loaded: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        assert isinstance(loaded, np.ndarray)
        assert (loaded.dtype, loaded.shape) == (value.dtype, value.shape)
        if value.dtype == object:
            assert_same(loaded.tolist(), value.tolist())
        else:
            np.testing.assert_array_equal(loaded, value)
    elif isinstance(value, list | tuple):
        assert type(loaded) is type(value)
        assert len(loaded) == len(value)
        for one, other in zip(loaded, value, strict=True):
            assert_same(one, other)
    elif isinstance(value, dict):
        assert type(loaded) is dict
        assert_same(list(loaded), list(value))
        assert_same(list(loaded.values()), list(value.values()))
    else:
        assert type(loaded) is type(value)
        assert loaded == value


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function: Any, *arguments: Any, state: Any = None) -> None:
        self.reduced = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self) -> Any:
        return self.reduced


# What is admitted.


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_out_as_it_went_in(name: str, writer: str) -> None:
    for protocol in PROTOCOLS:
        data = WRITERS[writer](VALUES[name], protocol)
        # not the value itself: numpy changes the order of bytes in old protocols
        assert_same(load(data), pickle.loads(data))


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.tuples(inner, inner).map(lambda pair: [pair, pair[0], pair])
    ),
)


@given(value=plain, protocol=st.sampled_from(PROTOCOLS))
def test_plain_values_come_out_as_they_went_in(value: Any, protocol: int) -> None:
    assert_same(load(pickle.dumps(value, protocol)), value)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_seventy_thousand_values_in_the_memo_are_fine(protocol: int) -> None:
    value = [f"text {i}" for i in range(70_000)]
    assert load(pickle.dumps([value, value], protocol)) == [value, value]


def test_six_thousand_frames_may_share_one_list() -> None:
    frame = {"vectors": [[[float(i), 0.0] for i in range(20)] for _ in range(75)]}
    tokens = [f"{i:032x}" for i in range(6019)]
    loaded = load(pickle.dumps(dict.fromkeys(tokens, frame)))
    assert loaded[tokens[0]] is loaded[tokens[-1]]


def test_a_small_file_cannot_become_millions_of_instances() -> None:
    vectors = [[[float(i), 0.0] for i in range(2)]] * 1000
    data = pickle.dumps({"results": {str(i): {"vectors": vectors} for i in range(4800)}})
    assert len(data) < 120_000
    assert "repeats its values until there are more than" in refusal(data)


def whole(number: int) -> bytes:
    """The opcode for a whole number."""
    data = pickle.encode_long(number)
    return b"\x8a" + bytes([len(data)]) + data


# Written opcode by opcode: Python itself would need minutes for a dictionary of these keys.
COLLIDING: dict[str, Callable[[int], bytes]] = {
    "numbers": lambda k: whole(k * (2**61 - 1)),
    "pairs": lambda k: whole(k) + whole(-k) + b"\x86",
    "pairs in tuples": lambda k: b"U\x01a" + whole(k) + whole(-k) + b"\x86\x86",
    "sets": lambda k: b"(" + whole(k) + b"\x91",
}
CONTAINERS: dict[str, Callable[[list[bytes]], bytes]] = {
    "dictionary at once": lambda keys: b"}(" + b"".join(key + b"N" for key in keys) + b"u.",
    "dictionary one by one": lambda keys: b"}" + b"".join(key + b"Ns" for key in keys) + b".",
    "dictionary of protocol 0": lambda keys: b"(" + b"".join(key + b"N" for key in keys) + b"d.",
    "set": lambda keys: b"\x8f(" + b"".join(keys) + b"\x90.",
    "frozen set": lambda keys: b"(" + b"".join(keys) + b"\x91.",
    "set of a list": lambda keys: b"c__builtin__\nset\n](" + b"".join(keys) + b"e\x85R.",
    "many dictionaries": lambda keys: b"(" + (b"}(" + b"".join(key + b"N" for key in keys[:5000]) + b"u") * 12 + b"l.",
}


@cache
def colliding(kind: str) -> list[bytes]:
    return [COLLIDING[kind](k) for k in range(60_000)]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("keys", COLLIDING)
def test_keys_that_may_have_equal_hashes_are_limited(keys: str, container: str) -> None:
    data = CONTAINERS[container](colliding(keys))
    assert re.search("keys that are large whole numbers|a set of more than", refusal(data))


@pytest.mark.parametrize("protocol", [0, 4])  # one entry at a time, and many at once
def test_usual_keys_are_not_limited(protocol: int) -> None:
    keys = [*range(60_000), *map(str, range(60_000)), *(("val", str(k), k) for k in range(60_000)), 2**62, -1.5, None]
    documents = [dict.fromkeys(keys), [{np.int64(k): k for k in range(3)} for _ in range(20_000)]]
    assert load(pickle.dumps(documents, protocol)) == documents


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_special_dictionaries_become_plain_ones(protocol: int) -> None:
    loaded = load(pickle.dumps([OrderedDict(a=1), defaultdict(list, b=[2]), defaultdict(None, c=3)], protocol))
    assert_same(loaded, [{"a": 1}, {"b": [2]}, {"c": 3}])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("before", "after"), [(b"numpy._core.", b"numpy.core."), (b"numpy.core.", b"numpy._core.")])
def test_arrays_of_every_numpy_version_are_read(protocol: int, before: bytes, after: bytes) -> None:
    data = pickle.dumps([LINE, np.float32(2.5)], min(protocol, 3))  # later protocols count the letters of a name
    assert_same(load(data.replace(before, after)), [LINE, np.float32(2.5)])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_arrays_cannot_be_written_to(protocol: int) -> None:
    with pytest.raises(ValueError, match="read-only"):
        load(pickle.dumps(LINE, protocol))[0] = 1


def test_what_is_computed_from_an_array_is_plain() -> None:
    array = load(pickle.dumps(LINE, 4))
    assert type(array + 1) is type(np.concatenate([array])) is type(np.ascontiguousarray(array)) is np.ndarray
    assert type(array.max()) is np.float64


# What is not.


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (os.system, ("touch was_run",), f"{os.system.__module__}.system"),
        (eval, ("open('was_run', 'w')",), "eval"),
        (exec, ("open('was_run', 'w')",), "exec"),
        (getattr, ("", "__class__"), "getattr"),
        (open, ("was_run", "w"), "open"),
        (np.save, ("was_run", 1), "numpy.save"),
        (np.ndarray.tofile, (LINE, "was_run"), "getattr"),
        (Path, ("was_run",), "Path"),
        (Fraction, (1, 2), "fractions.Fraction"),
        (complex, (1, 2), "complex"),
    ],
)
def test_what_is_not_admitted_is_refused_by_name_and_does_not_run(
    function: Any,
    arguments: tuple[Any, ...],
    name: str,
    protocol: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    message = refusal(pickle.dumps({"results": [LINE, Calls(function, *arguments)]}, protocol))
    assert name in message
    assert "numpy arrays, numbers, text and plain containers only" in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "set.__class__"),
        ("builtins", "dict.fromkeys"),
        ("numpy", "dtype.type"),
        ("numpy.core.multiarray", "fromfile"),
        ("numpy.core.multiarray", "_reconstruct.__globals__"),
        ("collections", "OrderedDict.__init__.__globals__"),
        ("mapgauge.io.pickles.unpickling", "ADMITTED"),
        ("os\\nsystem", "\u202e" * 200),
    ],
)
def test_there_is_no_way_from_a_name_to_what_is_in_it(module: str, name: str) -> None:
    data = pickle.dumps((module, name), 4).replace(pickle.TUPLE2, pickle.STACK_GLOBAL)
    message = refusal(data)
    assert "plain containers only" in message
    assert message.isascii()
    assert len(message) < 400


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("torch._utils _rebuild_tensor_v2", r"torch tensors.*\.cpu\(\)\.numpy\(\)"),
        ("torch FloatStorage", r"torch tensors.*\.cpu\(\)\.numpy\(\)"),
        ("pandas.core.frame DataFrame", r"plain containers only.*to_dict"),
        ("numpy.ma.core _mareconstruct", r"plain containers only.*numpy\.asarray"),
        ("mmcv.parallel.data_container DataContainer", r"plain containers only.*save plain dictionaries"),
    ],
)
def test_a_refusal_says_how_to_save_it_otherwise(name: str, advice: str) -> None:
    with pytest.raises(mg.UnreadableFile, match=rf"^file\.pkl: {name.replace(' ', '.')}: .*{advice}"):
        load(b"c" + name.replace(" ", "\n").encode() + b"\n.")


@pytest.mark.parametrize("kind", ["c16", "M8[s]", "m8[s]", "V3", "f8, f8", [("a", "f8")], "g"])
def test_arrays_of_unusual_types_are_refused(kind: Any) -> None:
    if kind == "g" and np.dtype("g").itemsize == 8:
        pytest.skip("long double is double here")
    assert "an array of the numpy type" in refusal(pickle.dumps(np.zeros(2, kind), 4))


def test_arrays_with_metadata_or_of_a_subclass_are_refused() -> None:
    assert "metadata" in refusal(pickle.dumps(np.zeros(2, np.dtype("f8", metadata={"a": 1})), 4))
    assert "plain containers only" in refusal(pickle.dumps(np.ma.zeros(2), 4))
    assert "plain containers only" in refusal(pickle.dumps(np.zeros(2).view(np.recarray), 4))


def test_objects_outside_of_the_pickle_are_refused() -> None:
    buffers: list[pickle.PickleBuffer] = []
    assert "NEXT_BUFFER at byte" in refusal(pickle.dumps(LINE, 5, buffer_callback=buffers.append))
    assert "PERSID at byte 0" in refusal(b"Pid\n.")
    assert "BINPERSID at byte 1" in refusal(b"NQ.")
    assert "EXT1 at byte 2" in refusal(b"\x80\x02\x82\x01.")


# Stand-ins: a pickle can neither change them nor get round their checks.


def named(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def body(value: Any) -> bytes:
    """The opcodes of a value, to be put into a larger pickle; without memo, so that they fit anywhere."""
    return pickletools.optimize(pickle.dumps(value, 3))[2:-1]


DTYPE = named("numpy", "dtype") + body(("f8", False, True)) + pickle.REDUCE
OBJECT = named("numpy", "dtype") + body(("O8", False, True)) + pickle.REDUCE
NEW = (
    named("numpy.core.multiarray", "_reconstruct") + b"(" + named("numpy", "ndarray") + body((0,)) + body(b"b") + b"tR"
)


def filled(shape: Any, dtype: bytes, content: Any, fortran: Any = False) -> bytes:
    """An array in the old protocols."""
    return NEW + b"(" + body(1) + body(shape) + dtype + body(fortran) + body(content) + b"tb"


def test_the_pieces_of_the_next_tests_make_sound_arrays() -> None:
    assert_same(load(filled((2,), DTYPE, bytes(16)) + b"."), np.zeros(2))
    assert_same(load(filled((2,), OBJECT, [1, "a"]) + b"."), np.array([1, "a"], object))


@pytest.mark.parametrize("state", [{"a": 1}, (None, {"_call": 1}), (None, {"__class__": 1}), ({}, {"x": 1})])
@pytest.mark.parametrize("name", ["set", "list", "bytearray"])
def test_a_pickle_cannot_change_what_it_names(name: str, state: Any) -> None:
    assert "tries to change what it names" in refusal(named("builtins", name) + body(state) + pickle.BUILD + b".")
    assert load(pickle.dumps({1}, 2)) == {1}


@pytest.mark.parametrize("state", [(3, ">", None, None, None, -1, -1, 0), (3, "<", None, None, None, -1, -1, 63)])
def test_a_pickle_cannot_change_the_types_of_numpy(state: Any) -> None:
    before = np.dtype("f8").__reduce__()
    load(DTYPE + body(state) + pickle.BUILD + b".")
    assert np.dtype("f8").__reduce__() == before
    assert np.dtype("f8").isnative


@pytest.mark.parametrize(
    "state",
    [
        (3, "<", (np.float64, 3), None, None, -1, -1, 0),
        (3, "<", None, ("a",), {"a": 1}, -1, -1, 0),
        (3, "<", None, None, None, 1 << 40, -1, 0),
        (3, "<", None, None, None, -1, -1, 0, {"metadata": 1}),
        (4, "<", None, None, None, -1, -1, 0),
        (3, "x", None, None, None, -1, -1, 0),
        (3, None, None, None, None, -1, -1, 0),
        (),
        None,
    ],
)
def test_types_are_not_made_of_anything(state: Any) -> None:
    refusal(DTYPE + body(state) + pickle.BUILD + b".")


@pytest.mark.parametrize(
    "data",
    [
        filled((10**12,), DTYPE, bytes(16)),
        filled((2**31, 2**31, 2**31), DTYPE, bytes(16)),
        filled((-1, -2), DTYPE, bytes(16)),
        filled((2.0,), DTYPE, bytes(16)),
        filled(2, DTYPE, bytes(16)),
        filled((1,) * 40, DTYPE, bytes(8)),
        filled((2**40, 0), DTYPE, b""),
        filled((0, 2**70), DTYPE, b""),
        filled((10**12,), OBJECT, [1, 2]),
        filled((1,), OBJECT, [1, 2]),
        filled((1,), OBJECT, bytes(8)),
        filled((2,), DTYPE, [1.0, 2.0]),
        filled((2,), DTYPE, "x" * 16),
        filled((2,), body(None), bytes(16)),
        filled((2,), body("f8"), bytes(16)),
        filled((1,), named("numpy", "dtype") + body(("U1", False, True)) + b"R", b"\xff\xff\xff\xff"),
        filled((10**9,), named("numpy", "dtype") + body(("S0", False, True)) + b"R", b""),
        filled((2,), DTYPE, bytes(16)) + b"(" + body(1) + body((1,)) + DTYPE + body(False) + body(bytes(8)) + b"tb",
        filled((2,), DTYPE, bytes(16)) + body(0) + body(1.5) + pickle.SETITEM,
        NEW.replace(body((0,)), body((10**12,))),
        NEW.replace(named("numpy", "ndarray"), named("builtins", "list")),
        named("numpy", "ndarray") + body((10**12,)) + b"\x85R",
        named("numpy.core.multiarray", "scalar") + DTYPE + body(bytes(7)) + b"\x86R",
        named("numpy.core.multiarray", "scalar") + OBJECT + body([1]) + b"\x86R",
        named("numpy.core.multiarray", "scalar") + DTYPE + b"\x85R",
        named("numpy.core.numeric", "_frombuffer") + b"(" + body(bytes(8)) + OBJECT + body((1,)) + body("C") + b"tR",
        named("numpy.core.numeric", "_frombuffer") + b"(" + body(bytes(8)) + DTYPE + body((9,)) + body("C") + b"tR",
        named("numpy.core.numeric", "_frombuffer") + b"(" + body(bytes(8)) + DTYPE + body((1,)) + body("A") + b"tR",
        named("numpy", "dtype") + body(("f8,f8", False, True)) + b"R",
        named("numpy", "dtype") + body((LINE.tolist(), False, True)) + b"R",
        named("builtins", "bytearray") + body(10**12) + b"\x85R",
        named("builtins", "bytes") + body(10**12) + b"\x85R",
        named("builtins", "set") + body("text") + b"\x85R",
        named("builtins", "int") + body("9" * 4000) + b"\x85R",
        named("collections", "defaultdict") + body("text") + b"\x85R",
        named("collections", "OrderedDict") + body({"a": 1}) + b"\x85R",
        named("_codecs", "encode") + body(("text", "rot13")) + b"R",
        named("builtins", "set") + b")\x81",
        named("builtins", "set") + b")}\x92",
        b"(" + named("builtins", "list") + b"o",
        body({}) + body({"a": 1}) + pickle.BUILD,
        body([]) + body((None, {"append": 1})) + pickle.BUILD,
        body({1: 2}) + named("builtins", "set") + body(1) + pickle.SETITEM + body([]) + body([]) + pickle.SETITEM,
    ],
)
def test_stand_ins_check_what_they_are_given(data: bytes) -> None:
    refusal(data + b".")


# Pickles that would take hours or all memory.


def doubled(levels: int, join: bytes, first: bytes = b"I1\n") -> bytes:
    """A value of two of two of two ..., each stored once and fetched once more."""
    return first + b"".join(b"p%d\ng%d\n" % (i, i) + join for i in range(levels))


def nested(levels: int) -> bytes:
    return b"(" * levels + b"t" * levels


def doubled_lists(levels: int) -> Any:
    value: Any = [1]
    for _ in range(levels):
        value = [value, value]
    return value


ENDS, HEAVY, DEEP, FAR = "before its STOP", "repeats its values", "more than 100 containers", "stored far beyond"
BOMBS = {
    "memo index": (b"Nr\xff\xff\xff\xff.", FAR),
    "memo index, decimal": (b"Np99999999999\n.", FAR),
    "memo index, later": (pickle.dumps(list("abc"), 3)[:-1] + b"r\x00\x00\x00\x10.", FAR),
    "bytes": (b"\x8e" + b"\xff" * 7 + b"\x00N.", ENDS),
    "bytearray": (b"\x96" + b"\xff" * 5 + b"\x00\x00\x00N.", ENDS),
    "text": (b"\x8d" + b"\xff" * 8 + b"N.", ENDS),
    "negative text": (b"T\xff\xff\xff\xffN.", ENDS),
    "frame": (b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\x00\x00N.", ENDS),
    "number": (b"\x8b\xff\xff\xff\x7fN.", "LONG4"),
    "large number": (pickle.dumps(1 << 2100), "LONG4"),
    "number of many digits": (b"L" + b"9" * 100_000 + b"L\n.", "4300 digits"),
    "doubled tuples": (doubled(64, b"\x86") + b".", HEAVY),
    "doubled lists": (pickle.dumps(doubled_lists(64)), HEAVY),
    "doubled lists, old protocol": (pickle.dumps(doubled_lists(64), 0), HEAVY),
    "doubled tuples as a key": (b"}" + doubled(64, b"\x86") + b"Ns.", HEAVY),
    "doubled tuples in a set": (b"\x8f(" + doubled(64, b"\x86") + b"\x90.", HEAVY),
    "doubled arrays": (filled((1000,), DTYPE, bytes(8000)) + doubled(20, b"\x86", b"") + b".", HEAVY),
    "one text many times": (pickle.dumps(["x" * 65536] * 100_000), HEAVY),
    "one large key in many dictionaries": (doubled(20, b"\x86") + b"p20\n" + b"}g20\nNs0" * 10_000 + b".", HEAVY),
    "deep tuples": (nested(100_000) + b".", DEEP),
    "deep tuples as a key": (b"}" + nested(100_000) + b"Ns.", DEEP),
    "deep lists": (b"]" * 100_000 + b"a" * 99_999 + b".", DEEP),
    "marks": (b"(" * 100_000, DEEP),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_pickle_cannot_take_more_than_it_holds(name: str) -> None:
    data, message = BOMBS[name]
    load(b"N.")  # compile and import before memory is counted
    tracemalloc.start()
    try:
        assert message in refusal(data)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("data", [b"N(0.", b"N(NN1.", b"NN0.", b"((l0N."])
def test_values_may_be_thrown_away(data: bytes) -> None:
    assert load(data) is None


def test_what_contains_itself_is_refused() -> None:
    own: list[Any] = []
    own.append(own)
    table: dict[str, Any] = {}
    table["a"] = [table]
    objects = np.empty(1, object)
    objects[0] = [objects]
    for value in (own, table, (own,), objects):
        for protocol in PROTOCOLS:
            assert "contains itself" in refusal(pickle.dumps(value, protocol))


def test_a_value_that_grows_after_it_was_used_is_refused() -> None:
    inner = b"]p0\n"  # an empty list, which goes into a tuple that is stored and put into the list afterwards
    assert "contains itself" in refusal(inner + b"g0\n\x850" + b"I1\na.")
    assert "contains itself" in refusal(b"]p0\n0g0\nI1\na.")


def test_one_index_is_not_used_twice() -> None:
    assert "stored twice" in refusal(b"]p0\np1\n.")
    assert "stored twice" in refusal(b"]p0\n0]p0\n.")


# Damaged files.


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pickle_that_is_cut_off_says_so_at_every_byte(protocol: int) -> None:
    data = pickle.dumps({"results": {"a": [LINE, "text", 1.5, 70000, np.float32(2), {1, 2}, b"bytes"]}}, protocol)
    for size in range(len(data)):
        assert f"ends at byte {size}, before its STOP" in refusal(data[:size])


def test_what_follows_the_pickle_is_not_dropped() -> None:
    assert "5 bytes follow the end of the pickle at byte 5" in refusal(pickle.dumps(1, 2) + pickle.dumps(2, 2))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_flipped_bytes_end_in_a_value_or_in_our_error(protocol: int, rng: np.random.Generator) -> None:
    sound = pickle.dumps(
        {
            "a": {0: [LINE, LINE[:1]], 1: (1, 2.5, "text", None)},
            "b": [np.float32(1), np.array(["x"]), {1}, [SHARED] * 3],
        },
        protocol,
    )
    messages = []
    for _ in range(1000):
        data = bytearray(sound)
        for place in rng.integers(0, len(data), rng.integers(1, 4)):
            data[place] = rng.integers(0, 256)
        try:
            load(bytes(data))
        except mg.UnreadableFile as error:
            messages.append(str(error))
    assert len(messages) > 250
    assert max(map(len, messages)) < 600


def opcodes(data: bytes) -> list[tuple[Any, Any, int]]:
    """As the standard library reads them, as far as it does: it also looks into text and numbers, the scan does not."""
    found = []
    try:
        for opcode, argument, position in pickletools.genops(data):
            found.append((opcode, argument, position or 0))
    except (ValueError, UnicodeDecodeError):
        found.append((pickletools.opcodes[[o.name for o in pickletools.opcodes].index("STOP")], None, len(data) - 1))
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_scan_agrees_with_the_standard_library_on_where_opcodes_begin(
    protocol: int, rng: np.random.Generator
) -> None:
    sound = pickle.dumps([LINE, {"a": (1, 2.5, "text")}, [b"bytes"] * 2], protocol)
    table = opcode_table()
    for _ in range(500):
        data = bytearray(sound)
        data[rng.integers(0, len(data))] = rng.integers(0, 256)
        found, _ = scan_kernels.scan(
            np.frombuffer(bytes(data), np.uint8), table, *map(np.uint64, (1 << 20, 100, 1 << 20))
        )
        if found == SOUND:
            end = [(position, opcode.name) for opcode, _, position in opcodes(bytes(data))][-1]
            assert end == (len(data) - 1, "STOP")


# Sound pickles of something else: in a file of each format, every value and every key is replaced by odd ones.

HIGH = np.column_stack([LINE, LINE[:, 0]]).astype(np.float32)
VECTOR = {"pts": LINE, "pts_num": 4, "type": 1, "confidence_level": 0.5}
FRAME = ("val", "00001", "315")
META = {"token": "t0", "ego2global_translation": [1, 2, 3], "ego2global_rotation": [1.0, 0, 0, 0]}
DOCUMENTS: dict[str, Any] = {
    "vectormapnet": {"results": {"t0": {"vectors": [VECTOR]}}, "groundTruth": {"t0": {"vectors": []}}},
    "openlanev2": {
        "results": {
            FRAME: {
                "predictions": {
                    "lane_segment": [
                        {"id": 1, "centerline": HIGH, "left_laneline": HIGH, "right_laneline": HIGH, "confidence": 0.5}
                    ],
                    "area": [{"id": 2, "category": 1, "points": HIGH.tolist(), "confidence": np.float32(0.5)}],
                }
            }
        }
    },
    "openlanev2-truth": {
        FRAME: {
            "pose": {"rotation": np.eye(3), "translation": np.zeros(3)},
            "annotation": {"lane_centerline": [{"id": 1, "points": HIGH}]},
        }
    },
    "maptracker-tracks": [
        {
            "vectors": [LINE.ravel(), LINE.tolist()],
            "labels": [1, 0],
            "scores": [0.5, 0.6],
            "scene_name": "s",
            "local_idx": 0,
            "global_ids": [3, 4],
            "meta": META,
        }
    ],
    "maptracker-truth-tracks": {"s": {"sample_ids": [0, 1], "instance_ids": [{1: {0: 3}}, {0: {}}]}},
}
ODD: list[Any] = [
    *(None, True, 0, -1, 7, 10**600, 0.5, float("nan"), float("inf"), "", "text", "1", b"x", bytearray(b"ab")),
    *([], [1], [[1]], [[1, 2]], [[1, 2, 3], [1, 2]], [[0, 0], [1, None]], [["a", "b"], [1, 2]], [[]], [[], []], [{}]),
    *((), (1, 2), {}, {"a": 1}, {1: 2}, set(), {1}, frozenset(), list, np.ndarray),
    *(
        np.array(3.0),
        [np.array(1.0)] * 2,
        np.zeros(0),
        np.zeros((0, 2)),
        np.zeros(3),
        np.zeros((2, 2)),
        np.zeros((2, 2, 2)),
        np.zeros((2, 5)),
    ),
    *(np.array([None, 1], object), np.array(["a", "b"]), np.array([True, False]), np.zeros((2, 2), ">f4")),
    *(np.float32("nan"), np.int8(3), np.str_("x"), np.bytes_(b"x")),
]
ODD_KEYS: list[Hashable] = [None, True, 7, 10**600, float("nan"), "text", b"x", (1, 2), frozenset(), list, np.str_("x")]


def variants(value: Any, place: Iterator[int]) -> Iterator[Any]:
    """The value with one odd thing in it, at every place in turn: every third of them, from one place to the next."""
    first = next(place) % 3
    yield from ODD[first::3]
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: changed} for changed in variants(inner, place))
            others = {name: one for name, one in value.items() if name != key}
            yield from (others | {odd: inner} for odd in ODD_KEYS[first::3])
            yield others
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from ([*value[:i], changed, *value[i + 1 :]] for changed in variants(inner, place))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_with_one_odd_value_is_read_or_refused(name: str, tmp_path: Path) -> None:
    path, truth = tmp_path / "file.pkl", tmp_path / "truth.pkl"
    truth.write_bytes(pickle.dumps({"t0": {1: [LINE]}, "t1": {0: []}}))
    messages = []
    for case, document in enumerate(variants(DOCUMENTS[name], count())):
        path.write_bytes(pickle.dumps(document, 4 + case % 2))
        try:
            if name == "maptracker-truth-tracks":
                mg.read(truth, tracks=path)
            else:
                mg.read(path, name, degenerate="drop" if case % 3 else "strict")
        except mg.UnreadableFile as error:
            messages.append(str(error))
    assert len(messages) > 100
    assert all(message.startswith(f"{path}: ") for message in messages)
    assert max(map(len, messages)) < 1000
