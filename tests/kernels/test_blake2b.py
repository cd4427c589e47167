"""The hashes of the kernel are those of hashlib."""

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.io.rich_frames import rich_frames

import mapgauge as mg
from mapgauge.frames.content import content_hash, frame_hashes


@given(frames=rich_frames(repeated_tokens=True), tracks=st.booleans())
def test_any_frames_have_the_same_hashes(frames: mg.MapFrames, tracks: bool) -> None:
    assert frame_hashes(frames, tracks=tracks, compiled=True) == frame_hashes(frames, tracks=tracks)


def test_tokens_of_all_lengths_around_the_ends_of_blocks() -> None:
    tokens = ["é" * (k // 2) + "x" * (k % 2) for k in range(300)]
    empty = mg.MapFrames.of({str(k): {} for k in range(300)})
    expected = [hashlib.blake2b(token.encode(), digest_size=16).digest() for token in tokens]
    assert frame_hashes(empty, tokens, compiled=True) == expected


def test_frames_of_very_different_lengths_share_lanes(rng: np.random.Generator) -> None:
    counts = rng.permutation([0, 0, 1, 2, 3, 5, 8, 13, 40, 40, 200, 1, 1, 1, 0, 7, 90])
    lines = {f"t{k}": {"divider": rng.normal(size=(n, 6, 2)).tolist()} for k, n in enumerate(counts.tolist())}
    frames = mg.MapFrames.of(lines, classes=["a much longer name", "divider"])
    assert frame_hashes(frames, compiled=True) == frame_hashes(frames)
    assert content_hash(frames, compiled=True) == content_hash(frames)
