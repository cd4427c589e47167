"""mapgauge against the public evaluators, on made-up files that are part of the repository.

``tests/data/parity/README.md`` describes the files. ``reference.json`` has the numbers that four public evaluators
print for them: the code of the paper's authors (SOSPA), StreamMapNet's, MapTRv2's and MapTracker's. No confidence
occurs twice in a file, so the order in which an evaluator sorts equal confidences cannot matter.

Tolerances: the authors' code keeps costs in float32, which moves PLD by up to 6.7e-9 here. MapTRv2 stores average
precision as float32. The other values of average precision agree to the last bits.
"""

import gzip
import hashlib
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.listed import written
from tests.shared_data import PARITY

import mapgauge as mg

QUALITIES = ("good", "poor")
CLASSES = ("ped_crossing", "divider", "boundary")
CUTOFFS = (0.5, 1.0, 1.5)
SCHEMAS = {
    "streammapnet": ("submission_vector_{}.json.gz", "tmp_gts_demo_60x30.pkl"),
    "maptr": ("nuscmap_results_{}.json.gz", "demo_map_anns.json"),
}
REFERENCE: dict[str, Any] = json.loads((PARITY / "reference.json").read_text(encoding="utf-8"))
FILES: dict[str, Any] = REFERENCE["data"]["files"]
ADDED = {"README.md", "reference.json"}  # the only files without a checksum

every_quality = pytest.mark.parametrize("quality", QUALITIES)
every_schema = pytest.mark.parametrize("schema", SCHEMAS)


def files(schema: str, quality: str) -> tuple[Path, Path]:
    predictions, truth = SCHEMAS[schema]
    return PARITY / predictions.format(quality), PARITY / truth


@cache
def results_of(protocol: str, schema: str, quality: str) -> mg.Results:
    settings: dict[str, Any] = {}
    if protocol == "paper-60x30":
        settings = {"cutoffs": CUTOFFS, "settings": {"ap_frechet": {"thresholds": (0.5, 1.0, 1.5, 2.0, 3.0)}}}
    return mg.evaluate(*files(schema, quality), mg.protocol(protocol, **settings))


def by_class(frames: mg.MapFrames, token: str) -> list[tuple[str, float | None, bytes]]:
    """Return the instances of a frame sorted by class name, in file order within a class, points to the last bit."""
    rows = [(i.class_name, i.confidence, (i.points + 0.0).tobytes()) for i in frames[token]]
    return sorted(rows, key=lambda row: row[0])


@every_schema
@every_quality
@pytest.mark.parametrize("name", CLASSES)
def test_pld_and_its_parts_are_the_authors(schema: str, quality: str, name: str) -> None:
    values, public = results_of("paper-60x30", schema, quality).classes[name], sospa(quality)[name]
    assert (values["predictions"], values["truth"]) == (public["num_preds"], public["num_gts"])
    for cutoff in CUTOFFS:
        localisation = public[f"Loc@{cutoff}"]
        if name == "ped_crossing":  # the authors' code scales Loc of closed truth by one point too many
            localisation = REFERENCE["sospa"]["loc_ring_points_counted_once"]["values"][quality][f"Loc@{cutoff}"]
        assert values[f"pld@{cutoff}"] == pytest.approx(public[f"PLD@{cutoff}"], abs=1e-8)
        assert values[f"localisation@{cutoff}"] == pytest.approx(localisation, abs=1e-8)
        # Det is a difference of the two, so their errors add up.
        assert values[f"detection@{cutoff}"] == pytest.approx(public[f"PLD@{cutoff}"] - localisation, abs=2e-8)


@every_schema
@every_quality
@pytest.mark.parametrize("name", CLASSES)
def test_average_precision_is_the_authors(schema: str, quality: str, name: str) -> None:
    values, public = results_of("paper-60x30", schema, quality).classes[name], sospa(quality)[name]
    for threshold in CUTOFFS:
        assert values[f"ap_chamfer@{threshold}"] == pytest.approx(public[f"CD-AP@{threshold}"], abs=1e-14)
    for threshold in (0.5, 1.0, 1.5, 2.0, 3.0):
        assert values[f"ap_frechet@{threshold}"] == pytest.approx(public[f"FD-AP@{threshold}"], abs=1e-14)


@every_schema
@every_quality
def test_means_are_those_that_the_authors_print(schema: str, quality: str) -> None:
    mean, printed = results_of("paper-60x30", schema, quality).mean, sospa(quality)["printed"]
    plds = [mean[f"pld@{cutoff}"] or 0.0 for cutoff in CUTOFFS]
    assert np.mean(plds) == pytest.approx(printed["mPLD (mean of cutoffs)"], abs=1e-8)
    assert mean["ap_chamfer"] == pytest.approx(printed["mAP chamfer"], abs=1e-14)
    for thresholds, key in (((0.5, 1.0, 1.5), "0.5/1.0/1.5"), ((1.0, 2.0, 3.0), "1/2/3")):
        values = [mean[f"ap_frechet@{threshold}"] or 0.0 for threshold in thresholds]
        assert np.mean(values) == pytest.approx(printed[f"mAP frechet {key}"], abs=1e-14)


@every_schema
@every_quality
@pytest.mark.parametrize(
    ("protocol", "evaluator", "tolerance"),
    [("streammapnet-60x30", "streammapnet", 1e-14), ("maptr", "maptrv2", 1e-7)],
)
def test_chamfer_ap_is_that_of_the_field(
    schema: str, quality: str, protocol: str, evaluator: str, tolerance: float
) -> None:
    results, public = results_of(protocol, schema, quality), REFERENCE[evaluator]["values"][quality]
    for name in CLASSES:
        for threshold in CUTOFFS:
            found = results.classes[name][f"ap_chamfer@{threshold}"]
            assert found == pytest.approx(public[name][f"AP@{threshold}"], abs=tolerance), (name, threshold)
        assert results.classes[name]["ap_chamfer"] == pytest.approx(public[name]["AP"], abs=tolerance)
    assert results.mean["ap_chamfer"] == pytest.approx(public["mAP"], abs=tolerance)


@pytest.mark.parametrize(("quality", "without_buffers"), [("good", 0.6362), ("poor", 0.5645)])
def test_maptrs_buffers_decide_pairs_here(quality: str, without_buffers: float) -> None:
    """Some short dividers lie within 1.5 m of a true one although the buffers of the two do not meet."""
    results = mg.evaluate(*files("maptr", quality), mg.protocol("maptr", settings={"ap_chamfer": {"buffers": None}}))
    assert results.classes["divider"]["ap_chamfer@1.5"] == pytest.approx(without_buffers, abs=5e-5)
    with_buffers = results_of("maptr", "maptr", quality).classes["divider"]["ap_chamfer@1.5"]
    assert with_buffers is not None
    assert with_buffers < without_buffers - 0.01


@every_quality
@pytest.mark.parametrize("name", CLASSES)
def test_pld_of_single_frames_pools_to_the_authors_number(quality: str, name: str) -> None:
    predictions, truth = (mg.read(path).resample(spacing=0.5) for path in files("maptr", quality))
    frames = []
    for token in truth.tokens:
        mine = [one for one in predictions[token] if one.class_name == name]
        true = [one.points for one in truth[token] if one.class_name == name]
        confidence = [one.confidence or 0.0 for one in mine]
        lines = [one.points for one in mine]
        frames.append(mg.pld(lines, true, confidence=confidence, cutoff=0.5, closed="auto", directed=False))
    pooled = sum(frames[1:], frames[0])
    assert pooled.normalised == pytest.approx(sospa(quality)[name]["PLD@0.5"], abs=1e-8)


@every_quality
def test_paths_and_frames_and_both_schemas_give_the_same_results(quality: str) -> None:
    expected = results_of("paper-60x30", "streammapnet", quality)
    sides = [mg.read(path) for path in files("streammapnet", quality)]
    assert mg.evaluate(sides[0], sides[1], expected.protocol).to_dict() == expected.to_dict()
    predictions, truth = map(str, files("streammapnet", quality))
    as_text = mg.evaluate(predictions, truth, "paper-60x30", metrics=["pld"])
    assert as_text.inputs == expected.inputs
    assert as_text.mean["pld"] == expected.mean["pld@1.5"]
    assert (expected.frames_missing, expected.frames_ignored) == (1, 0)
    turned = [mg.read(path).rotate(-90) for path in files("maptr", quality)]
    found = mg.evaluate(turned[0], turned[1], expected.protocol)
    assert (found.frames_missing, found.frames_ignored) == (0, 0)
    assert found.tokens == expected.tokens
    assert found.classes == expected.classes


@every_quality
def test_both_schemas_hold_the_same_frames_after_the_change_of_axes(quality: str) -> None:
    absent = REFERENCE["data"]["facts"][quality]["frame absent from the StreamMapNet file (empty in the MapTR file)"]
    ours, theirs = (
        [mg.read(path) for path in files("streammapnet", quality)],
        [mg.read(path).rotate(-90) for path in files("maptr", quality)],
    )
    assert theirs[0].tokens == theirs[1].tokens == ours[1].tokens
    assert [token for token in theirs[0].tokens if token not in ours[0].tokens] == [absent]
    assert by_class(theirs[0], absent) == []
    for side, turned in zip(ours, theirs, strict=True):
        for token in side.tokens:
            assert by_class(side, token) == by_class(turned, token), token
    as_json = mg.read(PARITY / "tmp_gts_demo_60x30.json")
    assert all(by_class(as_json, token) == by_class(ours[1], token) for token in ours[1].tokens)


@every_quality
def test_the_axes_of_the_other_schema_are_found(quality: str) -> None:
    predictions, truth = mg.read(files("maptr", quality)[0]), mg.read(files("streammapnet", quality)[1])
    found = {finding.code for finding in mg.check(predictions, truth) if finding.level != "note"}
    assert found == {"axes-turned"}
    assert all(finding.level == "note" for finding in mg.check(predictions.rotate(-90), truth))


@every_schema
@pytest.mark.parametrize("name", written())
def test_the_frames_go_through_every_writer_unchanged(tmp_path: Path, schema: str, name: str) -> None:
    kinds = {"streammapnet": ("streammapnet", "streammapnet-truth"), "maptr": ("maptr", "maptr-truth")}
    written = 0
    for path, kind in zip(files(schema, "poor"), kinds[schema], strict=True):
        frames = mg.read(path)
        assert (frames.format, frames.findings) == (kind, ())
        if name.startswith("openlanev2"):
            frames = frames.rename({"divider": "centerline"})
        if name in ("geojson", "parquet") or kind.endswith("truth") == name.endswith("truth"):
            if frames.confidence is None and name == "hdmapnet":
                continue
            mg.write(frames, tmp_path / "file", name)
            again = mg.read(tmp_path / "file")
            assert again.tokens == frames.tokens
            assert all(by_class(again, token) == by_class(frames, token) for token in frames.tokens)
            written += 1
    assert written


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_the_one_that_the_evaluators_read(name: str) -> None:
    data, expected = (PARITY / name).read_bytes(), FILES[name]
    if name.endswith(".gz"):
        expected = expected["of the unzipped file"]
        assert len(data) == expected["bytes_gz"]
        data = gzip.decompress(data)
    assert len(data) == expected["bytes"]
    assert hashlib.sha256(data).hexdigest() == expected["sha256"]


def test_every_file_has_a_checksum() -> None:
    assert {path.name for path in PARITY.iterdir()} == {*FILES, *ADDED}


@every_quality
def test_tracks_of_maptrackers_predictions_are_read(quality: str) -> None:
    frames, facts = mg.read(PARITY / f"pos_predictions_{quality}.pkl"), REFERENCE["data"]["tracks"][quality]
    assert frames.format == "maptracker-tracks"
    assert frames.tokens == mg.read(PARITY / "tmp_gts_demo_60x30.pkl").tokens
    assert dict(zip(frames.tokens, frames.scenes or (), strict=True)) == scenes()
    assert frames.track is not None
    assert len(frames.polylines) == facts["predictions"]
    assert len(set(frames.track.tolist())) == facts["predicted_tracks"]
    tracks = [Counter(one.track for one in frames[token]) for token in frames.tokens]
    assert sum(not frame for frame in tracks) == facts["frames_without_predictions"]
    assert sum(max(frame.values(), default=0) > 1 for frame in tracks) == facts["frames_with_an_id_twice_in_a_class"]


def test_tracks_of_the_truth_are_read() -> None:
    truth = mg.read(PARITY / "tmp_gts_demo_60x30.pkl", tracks=PARITY / "demo_gt_tracks.pkl")
    assert truth.findings == ()
    assert truth.track is not None
    assert dict(zip(truth.tokens, truth.scenes or (), strict=True)) == scenes()
    found = Counter(track.rpartition("/")[0] for track in set(truth.track.tolist()))
    expected = REFERENCE["data"]["tracks"]["truth_tracks"]
    assert found == {f"{scene}/{name}": count for scene, row in expected.items() for name, count in row.items()}


def sospa(quality: str) -> dict[str, Any]:
    """Return the numbers of the authors' code for some predictions."""
    values: dict[str, Any] = REFERENCE["sospa"]["values"][quality]
    return values


def scenes() -> dict[str, str]:
    """Return the scene of each frame."""
    found: dict[str, str] = json.loads((PARITY / "scenes.json").read_text(encoding="utf-8"))
    return found
