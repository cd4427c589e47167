"""A key that occurs twice in a JSON object: JSON leaves open which one counts, so the file is refused."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mapgauge as mg
from mapgauge.cli.inputs import read_scenes
from mapgauge.io import FORMATS
from mapgauge.io import _json as fast

NOT_JSON = ("parquet", "streammapnet-truth", "openlanev2", "openlanev2-truth")
JSON = [name for name, row in FORMATS.items() if row.write and name not in NOT_JSON]
LINE = [[0.0, 1.5], [9.25, -2.0]]
WORLD = mg.MapFrames.of(
    {"t0": {"divider": [LINE, LINE], "boundary": [LINE]}, "t1": {}, "t2": {"ped_crossing": [LINE]}},
    classes=["ped_crossing", "divider", "boundary"],
)
TRUTH = {"t0": {"0": [LINE], "1": [LINE]}, "t1": {"2": [LINE]}}  # streammapnet-truth as JSON


def sound(name: str) -> Any:
    if name == "streammapnet-truth":
        return TRUTH
    write = FORMATS[name].write
    assert write is not None
    return json.loads(write(WORLD if "truth" in name else WORLD.with_confidence(0.5), None))


def every_key(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all keys in a document."""
    if isinstance(value, dict):
        return [found for key in value for found in ((*path, key), *every_key(value[key], (*path, key)))]
    if isinstance(value, list):
        return [found for i, inner in enumerate(value) for found in every_key(inner, (*path, i))]
    return []


def with_doubled(value: Any, path: tuple[Any, ...], escaped: bool) -> str:
    """The document as JSON, where the key at a path occurs twice."""
    if isinstance(value, list):
        parts = [
            with_doubled(inner, path[1:], escaped) if path[:1] == (i,) else json.dumps(inner)
            for i, inner in enumerate(value)
        ]
        return f"[{', '.join(parts)}]"
    parts = []
    for key, inner in value.items():
        here = path[:1] == (key,)
        text = with_doubled(inner, path[1:], escaped) if here and len(path) > 1 else json.dumps(inner)
        parts.append(f"{json.dumps(key)}: {text}")
        if here and len(path) == 1:
            again = f'"\\u{ord(key[0]):04x}{key[1:]}"' if escaped else json.dumps(key)
            parts.append(f"{again}: {text}")
    return f"{{{', '.join(parts)}}}"


@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize("name", [*JSON, "streammapnet-truth"])
def test_every_key_that_occurs_twice_is_refused(name: str, escaped: bool, tmp_path: Path) -> None:
    document = sound(name)
    path = tmp_path / "file.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert mg.read(path).format == name
    paths = every_key(document)
    assert len(paths) > 4
    for place in paths:
        path.write_text(with_doubled(document, place, escaped), encoding="utf-8")
        with pytest.raises(mg.UnreadableFile, match=f'\\$.*: the key "{place[-1]}" occurs twice, expected once'):
            mg.read(path, name)


def test_the_place_is_named(tmp_path: Path) -> None:
    frame = '{"vectors": [], "scores": [], "scores": [], "labels": []}'
    (tmp_path / "file.json").write_text(
        f'{{"results": {{"t0": {frame.replace(chr(34) + "scores" + chr(34) + ": [], ", "", 1)}, "4 b": {frame}}}}}',
        encoding="utf-8",
    )
    with pytest.raises(mg.UnreadableFile, match=r'file.json: \$\.results\["4 b"\]: the key "scores" occurs twice'):
        mg.read(tmp_path / "file.json")


@pytest.mark.parametrize("name", ["streammapnet", "maptr", "maptr-truth", "geojson"])
def test_keys_that_nobody_reads_do_not_make_a_file_slow(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = sound(name)
    document["notes: all"] = {"a": {"b": 1}, "b": {"b": "x:y"}}
    frames = next(value for key, value in document.items() if key in ("results", "GTs", "features"))
    for frame in frames.values() if isinstance(frames, dict) else frames:
        frame["more"] = [{"a": [1, 2], "b": 1e9}]
    (tmp_path / "file.json").write_text(json.dumps(document), encoding="utf-8")

    def parse(text: bytes, error: object) -> None:
        pytest.fail("the file was read as plain objects")

    monkeypatch.setattr("mapgauge.io.files.source.parse_json", parse)
    assert mg.read(tmp_path / "file.json").counts == WORLD.counts


def test_a_token_that_has_two_scenes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scenes.json").write_text('{"a": "s", "b": "s", "a": "t"}', encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r'scenes.json: \$: the key "a" occurs twice'):
        read_scenes(tmp_path / "scenes.json")


def test_points_are_left_out_of_the_second_look() -> None:
    text = b'{"a": [[1, 2], [3, 4]], "b": {"c": [5]}}'
    decoded = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    assert fast._without(text, [decoded["a"]]) == b'{"a": 0, "b": {"c": [5]}}'
    assert fast._without(text, list(decoded.values())) == b'{"a": 0, "b": 0}'
    assert fast._without(text, [msgspec.Raw(b"[5]")]) == text
