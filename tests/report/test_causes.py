"""The causes of PLD in the report: values of all frames, costs of drawn instances, and colours in the drawings."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.report.test_file import contents

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.evaluation.evaluate import with_metrics
from mapgauge.metrics.causes import CAUSES, CAUSES_OF_PLD, FAMILIES
from mapgauge.metrics.table import cause_colours, family_colours, part_colours
from mapgauge.report import write_report
from mapgauge.scoring.data import Data
from mapgauge.views.report.explorer import geometry_arrays

if TYPE_CHECKING:
    from playwright.sync_api import Page

Show = Callable[..., "Page"]


STROKES = "all => all.map((node) => node.getAttribute('stroke'))"


def test_costs_of_drawn_instances_add_up_to_the_causes_of_their_frame(two: Path, methods: list[mg.Results]) -> None:
    meta, arrays = contents(two)
    assert [cause["key"] for cause in meta["causes"]] == [f"due_to_{name}" for name in CAUSES]
    assert {cause["key"]: cause["colour"] for cause in meta["causes"]} == part_colours(CAUSES_OF_PLD)
    for k, method in enumerate(methods):
        sums = np.zeros((len(meta["drawn"]), 3, len(CAUSES)))
        for side in ("predictions", "truth"):
            label, counts, first = (arrays[f"{k}.{side}.{name}"] for name in ("label", "causes", "frames"))
            owner = np.repeat(np.arange(len(counts)), counts)
            frame = np.searchsorted(first, owner, side="right") - 1
            np.add.at(sums, (frame, label[owner], arrays[f"{k}.{side}.cause"]), arrays[f"{k}.{side}.cost"])
        expected = method.scores.sums["causes"][0][meta["drawn"], :, :-1]
        np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-6)


def test_drawn_frames_are_resampled_and_matched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    results = with_metrics(mg.evaluate(*demo_world(3)), ["causes"])
    calls = []
    block = Data.block

    def counted(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments[1])
        return block(*arguments, **named)

    monkeypatch.setattr(Data, "block", counted)
    columns = geometry_arrays(0, results, None, advance=lambda: None, centred=False)
    assert "0.predictions.cost" in columns
    assert len(calls) == 1


def test_causes_are_left_out_if_they_are_not_wanted(tmp_path: Path) -> None:
    results = mg.evaluate(*demo_world(3), metrics=["pld"])

    def written(wanted: bool | None = None) -> tuple[str, bool]:
        write_report(results, tmp_path / "page.html", frames=1, causes=wanted)
        return (tmp_path / "page.html").read_text(encoding="utf-8"), bool(contents(tmp_path / "page.html")[0]["causes"])

    page, coloured = written()
    assert "the causes add up to PLD" in page
    assert "<p>Largest causes: " in page
    assert coloured
    page, coloured = written(False)
    assert "due_to_missed" not in page
    assert not coloured
    assert "the causes add up to PLD" in written(True)[0]


def test_differences_between_methods_are_split_by_cause(two: Path, methods: list[mg.Results]) -> None:
    page = two.read_text(encoding="utf-8")
    assert "causes of the difference in PLD</span>" in page
    change = mg.compare_causes(*methods)["mean"]["under_confident"]
    row = page.partition("causes of the difference in PLD</span>")[2].partition("under-confident</th>")[2]
    assert f"{change.value:+.3f} <small>" in row.partition("</tr>")[0]


def test_order_two_has_no_causes(tmp_path: Path) -> None:
    results = mg.evaluate(*demo_world(2), mg.protocol("paper-60x30", order=2), metrics=["pld"])
    write_report(results, tmp_path / "page.html")
    assert contents(tmp_path / "page.html")[0]["causes"] == []
    with pytest.raises(mg.InvalidInput, match="order 1 only"):
        write_report(results, tmp_path / "page.html", causes=True)


def test_a_click_on_a_cause_lists_its_frames_and_colours_its_instances(
    look: Show, two: Path, methods: list[mg.Results]
) -> None:
    page = look(two)
    assert page.locator("#modes [aria-pressed=true]").inner_text() == "errors"
    assert page.locator(".casing").count() == 0
    page.locator("#parts .legend a", has_text="duplicate").click()
    page.wait_for_selector("#cause-key button")
    assert page.locator("#modes [aria-pressed=true]").inner_text() == "causes"
    worst = max(methods[0].frames(), key=lambda row: row["due_to_duplicate"])
    assert page.locator("#chosen").inner_text().startswith(worst["token"])
    assert page.locator("#list th[aria-sort=descending]").inner_text().rstrip(" ▾") == "due to duplicate"
    labels = page.locator(".instance.caused").evaluate_all("all => all.map((node) => node.getAttribute('aria-label'))")
    assert labels
    assert all("duplicate" in label.split("cause")[1] for label in labels)
    colour = part_colours(CAUSES_OF_PLD)["due_to_duplicate"]
    assert page.locator(f".instance.caused:has(.casing + .stroke[stroke='{colour}'])").count() == len(labels)
    assert page.locator(".instance:not(.caused):not(.aside)").count() == 0
    dimmed = page.locator(".instance.aside .stroke").first
    assert dimmed.evaluate("node => getComputedStyle(node).stroke") == "rgb(208, 215, 222)"  # --line in page.css
    family, pressed = page.locator("#cause-key button[aria-pressed=true]").all()
    assert family.inner_text().strip().startswith("extra ")
    assert pressed.locator(".picture path").count() == 2  # the truth, and the two predictions
    assert pressed.inner_text().strip() == f"duplicate {worst['due_to_duplicate']:.3f} | " + pressed.inner_text()[-5:]


def test_causes_are_chosen_by_keyboard_and_kept_in_the_address(look: Show, two: Path) -> None:
    page = look(two, "#cause=every")
    assert page.locator(".instance.caused").count() > page.locator(".instance.aside").count()
    listed = page.locator("#cause-key button")
    families = listed.evaluate_all("all => all.map((node) => node.dataset.cause)")
    assert set(families) <= {f"family:{name}" for name in FAMILIES}
    name = families[1]
    listed.nth(1).focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.cause") == name  # the focus stays
    page.wait_for_url(f"**cause={name.replace(':', '%3A')}*")
    opened = page.locator("#cause-key .cause button").evaluate_all("all => all.map((node) => node.dataset.cause)")
    assert opened
    assert set(opened) <= {f"due_to_{cause}" for cause in FAMILIES[name.removeprefix("family:")]}
    address = page.evaluate("location.hash")
    look(two)
    pressed = look(two, address).locator("#cause-key [aria-pressed=true]")
    assert pressed.get_attribute("data-cause") == name
    pressed.focus()
    page.keyboard.press("Enter")
    assert page.locator("#cause-key .cause").count() == 0
    page.click("#modes [data-mode=errors]")
    assert page.locator(".caused, .aside, .casing").count() == 0


def test_families_have_their_colours_and_causes_their_shades(look: Show, two: Path) -> None:
    page = look(two, "#cause=every")
    colours = set(family_colours().values())
    caused = page.locator(".instance.caused .stroke").evaluate_all(
        "all => all.map((node) => node.getAttribute('stroke'))"
    )
    assert set(caused) <= colours
    assert len(set(caused)) > 2
    page.click("#cause-key [data-cause='family:place']")
    shades = {cause_colours()[cause] for cause in FAMILIES["place"]}
    found = page.locator(".instance.caused .stroke").evaluate_all(
        "all => all.map((node) => node.getAttribute('stroke'))"
    )
    assert set(found) <= shades
