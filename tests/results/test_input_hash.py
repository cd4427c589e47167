"""``Input.hash`` depends on the content alone: not on the format, the order of frames, or how files are read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.streaming.worlds import in_chunks, write_folder

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.frames.content import added_hashes, content_hash, hash_text
from mapgauge.results.values import InputRecords

Sides = tuple[mg.MapFrames, mg.MapFrames]
FRAMES = 30
LINKS = (
    mg.Links.of([0], [1]),
    mg.Links.of([1], [0]),
    mg.Links.of([0], [1], weight=0.5),
    mg.Links.of([0], [1], kind="left"),
    mg.Links.of([0, 1], [1, 0]),
)


@pytest.fixture(scope="module")
def sides() -> Sides:
    return demo_world(FRAMES, predictions=12)


@pytest.fixture(scope="module")
def hashes(sides: Sides) -> tuple[str, str]:
    """The hashes of frames in memory."""
    return hashes_of(mg.evaluate(*sides, metrics=["pld"]))


def hashes_of(results: mg.Results) -> tuple[str, str]:
    first, second = results.inputs
    return first.hash, second.hash


@pytest.mark.parametrize(("suffix", "format"), [("json", "streammapnet"), ("geojson", None), ("parquet", None)])
def test_every_format_has_the_same_hash(
    sides: Sides, hashes: tuple[str, str], suffix: str, format: str | None, tmp_path: Path
) -> None:
    mg.write(sides[0], tmp_path / f"x.{suffix}", format)
    mg.write(sides[1], tmp_path / "y.geojson")
    results = mg.evaluate(tmp_path / f"x.{suffix}", tmp_path / "y.geojson", metrics=["pld"])
    assert results.inputs[0].format.startswith(format or suffix)
    assert hashes_of(results) == hashes


@pytest.mark.parametrize(("group", "chunk", "chunks"), [(40, 80, 5), (160, 160, 2), (1 << 20, 1 << 20, 1)])
@pytest.mark.parametrize("scenes", [True, False])
def test_streamed_chunks_of_any_size_have_the_same_hash(
    sides: Sides,
    hashes: tuple[str, str],
    group: int,
    chunk: int,
    chunks: int,
    scenes: bool,
    tmp_path: Path,
) -> None:
    x, y = (
        write_folder(side if scenes else replace(side, scenes=None), tmp_path / name, group_rows=group)
        for side, name in zip(sides, "xy", strict=True)
    )
    results = in_chunks(x, y, metrics=["pld"], work=tmp_path / "work", most_rows=chunk)
    assert len(list((tmp_path / "work").glob("chunks-*/*.npz"))) >= chunks
    assert hashes_of(results) == hashes_of(mg.load_results(tmp_path / "work")) == hashes


def test_frames_in_any_order_have_the_same_hash(
    sides: Sides, hashes: tuple[str, str], rng: np.random.Generator
) -> None:
    x, y = (side.at(rng.permutation(FRAMES).tolist()) for side in sides)
    assert hashes_of(mg.evaluate(x, y, metrics=["pld"])) == hashes


def test_the_order_of_class_names_does_not_matter(sides: Sides) -> None:
    predictions, _ = sides
    assert content_hash(predictions.as_classes(predictions.classes[::-1])) == content_hash(predictions)


def test_hashes_of_parts_add_up(sides: Sides) -> None:
    parts = [content_hash(sides[0].between(slice(start, start + 7))) for start in range(0, FRAMES, 7)]
    assert added_hashes(parts) == content_hash(sides[0])


def test_links_are_hashed_wherever_their_frame_is_stored(sides: Sides, tmp_path: Path) -> None:
    frames, _ = sides
    linked = replace(frames, links=mg.Links.of(frames.offsets[[3, 8]] + 1, frames.offsets[[3, 8]]))
    parts = [content_hash(linked.between(slice(start, start + 7))) for start in range(0, FRAMES, 7)]
    assert added_hashes(parts) == content_hash(linked) == content_hash(linked.at(range(FRAMES - 1, -1, -1)))
    mg.write(linked, tmp_path / "x.parquet")
    assert content_hash(mg.read(tmp_path / "x.parquet")) == content_hash(linked) != content_hash(frames)
    assert content_hash(replace(frames, links=mg.Links.of([], []))) == content_hash(frames)


def test_a_hash_without_links_stays_as_it_is() -> None:
    frames = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {}})
    assert hash_text(content_hash(frames)) == "f2c99872791ce04e3e5df334bd253330"


@pytest.mark.needs_feature("tracks")
def test_tracks_are_hashed_where_a_metric_uses_them(sides: Sides, hashes: tuple[str, str], tmp_path: Path) -> None:
    predictions, truth = mg.track(sides[0], poses=sides[1], confidence=None), sides[1]
    protocol = mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}})
    assert hashes_of(mg.evaluate(predictions, truth, protocol, metrics=["pld"])) == hashes
    results = mg.evaluate(predictions, truth, protocol, metrics=["track_pld"])
    assert not set(hashes_of(results)) & set(hashes)
    x, y = write_folder(predictions, tmp_path / "x"), write_folder(truth, tmp_path / "y")
    assert hashes_of(mg.evaluate(x, y, protocol, metrics=["track_pld"])) == hashes_of(results)
    results.save(tmp_path / "new.mg")
    loaded = mg.load_results(tmp_path / "new.mg", predictions, truth)
    assert loaded.mean == results.mean
    other = replace(predictions, track=np.asarray(predictions.track)[::-1].copy())
    with pytest.raises(mg.InvalidInput, match="these are not the predictions that were evaluated"):
        mg.load_results(tmp_path / "new.mg", other, truth)
    # A hash without tracks is accepted as well.
    inputs = [side._replace(hash=text) for side, text in zip(results.inputs, hashes, strict=True)]
    plain = replace(results, records=InputRecords.known(*inputs))
    plain.save(tmp_path / "plain.mg")
    assert mg.load_results(tmp_path / "plain.mg", predictions, truth).mean == results.mean


def test_any_change_changes_the_hash(sides: Sides) -> None:
    frames, _ = sides
    assert frames.confidence is not None
    coords, confidence, label = frames.polylines.coords.copy(), frames.confidence.copy(), frames.label.copy()
    coords[17, 1] = np.nextafter(coords[17, 1], np.inf)
    confidence[5] = np.nextafter(confidence[5], 0)
    label[3] = (label[3] + 1) % len(frames.classes)
    shorter = frames.polylines.offsets.copy()
    shorter[1] += 1  # the first polyline gets a point of the second
    changed = [
        replace(frames, polylines=mg.Polylines(coords, frames.polylines.offsets)),
        replace(frames, polylines=mg.Polylines(frames.polylines.coords, shorter)),
        replace(frames, confidence=confidence),
        replace(frames, confidence=None),
        replace(frames, label=label),
        replace(frames, tokens=("another", *frames.tokens[1:])),
        frames.rename({"divider": "lane_divider"}),
        frames.at(range(FRAMES - 1)),
    ]
    changed += [replace(frames, links=links) for links in LINKS]
    assert len({content_hash(frames), *map(content_hash, changed)}) == len(changed) + 1
    assert content_hash(replace(frames, scenes=None, timestamps=None)) == content_hash(frames)
