"""No frame is resampled and grouped twice for what a command will need anyway."""

from pathlib import Path

import pytest
from tests.commands import said

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.metrics.groups import Block
from mapgauge.scoring.data import BlockWork, Data
from mapgauge.scoring.prepare import prepare
from mapgauge.scoring.score import score_frames

FRAMES = 60  # two blocks


@pytest.fixture
def data() -> Data:
    protocol = mg.protocol("paper-60x30")
    return Data.of(*prepare(*demo_world(FRAMES), protocol, "error"), protocol)


@pytest.fixture
def grouped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of frames of each block, as soon as it is grouped."""
    sizes: list[int] = []
    block = Data.block

    def counted(data: Data, frames: slice, **settings: object) -> Block:
        sizes.append(frames.stop - frames.start)
        return block(data, frames, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(Data, "block", counted)
    return sizes


def size_of(block: Block) -> int:
    return len(block.groups.row)


def test_expected_work_is_done_by_the_next_pass(data: Data, grouped: list[int]) -> None:
    work = BlockWork("sizes", size_of)
    expected = data.outcomes_of(work)
    alone = score_frames(data, ("pld",))
    grouped.clear()
    data.expect(work)
    data.expect(work)
    scores = score_frames(data, ("pld",), workers=2)
    assert data.outcomes_of(work) == expected
    assert sum(grouped) == FRAMES
    assert (scores.sums["pld"] == alone.sums["pld"]).all()


def test_outcomes_are_taken_once(data: Data, grouped: list[int]) -> None:
    work = BlockWork("sizes", size_of)
    data.expect(work)
    score_frames(data, ("pld",))
    data.expect(work)  # the outcomes are there
    first = data.outcomes_of(work)
    assert not data.outcomes
    assert data.outcomes_of(work) == first
    assert sum(grouped) == 2 * FRAMES


def test_expected_work_that_is_asked_for_first_is_done_once(data: Data) -> None:
    seen = []
    work = BlockWork("sizes", lambda block: seen.append(block.frames))
    data.expect(work)
    data.outcomes_of(work)
    assert len(seen) == 2
    assert not data.outcomes


def test_other_frames_expect_nothing(data: Data) -> None:
    data.expect(BlockWork("sizes", size_of))
    assert not data.at(data.sides[1].tokens[:3]).expected


def test_progress_is_told_for_work_that_was_done_before(data: Data) -> None:
    told: list[tuple[int, int]] = []
    work = BlockWork("sizes", size_of)
    data.expect(work)
    score_frames(data, ("pld",))
    data.outcomes_of(work, progress=lambda done, total: told.append((done, total)))
    assert told == [(FRAMES, FRAMES)]


@pytest.mark.parametrize(
    ("options", "passes"), [("", 1), ("--json", 1), ("--csv", 1), ("--metrics ap_chamfer", 1), ("--report a.html", 2)]
)
def test_a_command_groups_all_frames_once_and_drawn_frames_once_more(
    tmp_path: Path, grouped: list[int], options: str, passes: int
) -> None:
    predictions, truth = demo_world(FRAMES)
    mg.write(predictions, tmp_path / "x.json", "streammapnet")
    mg.write(truth, tmp_path / "y.geojson")
    said(f"evaluate x.json y.geojson {options}", tmp_path)
    assert sum(grouped) == passes * FRAMES


def test_a_report_of_results_without_causes_takes_two_passes(tmp_path: Path, grouped: list[int]) -> None:
    mg.evaluate(*demo_world(FRAMES)).save(tmp_path / "x.mg", geometry="original")
    grouped.clear()
    said("report x.mg -o x.html", tmp_path)
    assert sum(grouped) == 2 * FRAMES


@pytest.mark.needs_feature("confidence")  # whose advice needs a pass of its own, beside metrics that were asked for
def test_an_answer_takes_one_pass(grouped: list[int]) -> None:
    results = mg.evaluate(*demo_world(FRAMES))
    grouped.clear()
    mg.answer(results)
    assert sum(grouped) == FRAMES
    mg.answer(mg.evaluate(*demo_world(FRAMES), extra=("completeness", "causes")))
    assert sum(grouped) == 3 * FRAMES


def test_a_report_of_data_without_poses_takes_two_passes(tmp_path: Path, grouped: list[int]) -> None:
    predictions, truth = demo_world(FRAMES)
    for name, side in (("x.json", predictions), ("y.json", truth)):
        mg.write(side, tmp_path / name, "streammapnet" if name == "x.json" else "maptr-truth")
    page = said("evaluate x.json y.json --report z.html", tmp_path)
    assert "report" in page
    assert sum(grouped) == 2 * FRAMES
