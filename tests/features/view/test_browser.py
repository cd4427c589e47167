"""``mapgauge view`` in a real browser. The fixture ``show`` fails on any complaint."""

import json
from pathlib import Path

import pytest
from tests.features.view.conftest import Open, drawn, serving, started, until

import mapgauge as mg
from mapgauge.features.view.server import Server

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def tokens(page: "object") -> list[str]:
    return page.locator("#list tbody tr[data-frame] td:first-child").all_inner_texts()  # type: ignore[attr-defined, no-any-return]


def test_every_frame_is_listed_and_can_be_drawn(look: Open, server: Server, files: Path) -> None:
    page = look(server.address)
    results = mg.load_results(files / "good.mg").with_data()
    assert page.locator("#count").inner_text() == "30 of 30 frames"
    assert tokens(page) == [row["token"] for row in results.frames()]
    for place in (0, 11, 29):
        page.locator("#list tbody tr[data-frame]").nth(place).click()
        token = tokens(page)[place]
        assignment = results.assignment(token)
        drawn(page)
        assert page.locator("#chosen").inner_text().startswith(token)
        assert page.locator(".panel").first.locator(".instance.truth").count() == len(assignment.truth)
        assert page.locator(".panel").first.locator("path.pairs").count() == len(assignment.matches)
    assert page.locator("#status").inner_text() == ""


def test_a_condition_filters_the_list_and_says_what_is_wrong(look: Open, server: Server, files: Path) -> None:
    page = look(server.address)
    results = mg.load_results(files / "good.mg")
    page.fill("#where", "pld > 0.78 and truth.divider > 2")
    expected = set(results.where("pld > 0.78 and truth.divider > 2").tokens)
    page.wait_for_function(
        "n => document.getElementById('count').textContent.startsWith(n + ' of')", arg=str(len(expected))
    )
    assert set(tokens(page)) == expected
    page.fill("#where", "pld > 0.78 and lenght > 2")
    wrong = page.locator("#where-wrong")
    wrong.wait_for()
    assert wrong.inner_text().splitlines()[2].index("^") - 2 == len("pld > 0.78 and ")
    assert page.locator("#where").get_attribute("aria-invalid") == "true"
    assert set(tokens(page)) == expected  # the list stays
    page.click("#clear")
    page.wait_for_function("() => document.getElementById('count').textContent === '30 of 30 frames'")
    assert wrong.is_hidden()


def test_the_address_holds_the_condition_and_the_frame(look: Open, show: Open, server: Server) -> None:
    page = look(server.address)
    page.fill("#where", "pld > 0.78")
    page.wait_for_function("() => !document.getElementById('count').textContent.startsWith('30 of')")
    page.locator("#list tbody tr[data-frame]").nth(2).click()
    named = "token => location.hash.includes('where=') && location.hash.includes(`frame=${token}`)"
    page.wait_for_function(named, arg=tokens(page)[2])
    again = show(page.url)
    again.wait_for_function("() => !document.getElementById('count').textContent.startsWith('30 of')")
    assert tokens(again) == tokens(page)
    assert again.locator("#chosen").inner_text() == page.locator("#chosen").inner_text()
    assert again.input_value("#where") == "pld > 0.78"


def test_the_filters_become_a_command_and_a_list_of_tokens(look: Open, server: Server, tmp_path: Path) -> None:
    page = look(server.address)
    page.fill("#where", "truth > 3 or pld > 0.9")
    page.select_option("#scene", "scene-0001")
    page.fill("#low", "0.7")
    page.wait_for_function("() => document.getElementById('copy-command').title.includes('truth > 3')")
    command = page.locator("#copy-command").get_attribute("title")
    assert command is not None
    condition = "(truth > 3 or pld > 0.9) and scene = 'scene-0001' and pld >= 0.7"
    assert command.startswith("mapgauge frames ")
    assert command.endswith(f'good.mg --where "{condition}"')
    with page.expect_download() as saved:
        page.click("#save-tokens")
    saved.value.save_as(tmp_path / "tokens.txt")
    assert (tmp_path / "tokens.txt").read_text(encoding="utf-8").split() == tokens(page)


def test_two_windows_do_not_disturb_each_other(look: Open, show: Open, server: Server) -> None:
    one, two = look(server.address), show(server.address)
    one.locator("#list tbody tr[data-frame]").nth(4).click()
    two.select_option("#method", "1")
    two.locator("#list tbody tr[data-frame]").nth(9).click()
    for page, place in ((one, 4), (two, 9)):
        page.wait_for_selector(".panel .instance", state="attached")
        assert page.locator("#chosen").inner_text().startswith(tokens(page)[place])


def test_what_cannot_be_drawn_says_why(show: Open, files: Path, tmp_path: Path) -> None:
    truth = mg.read(files / "truth.parquet").at(range(4))
    mg.write(mg.read(files / "good.parquet").at(range(4)), tmp_path / "lost.parquet")
    mg.evaluate(mg.read(tmp_path / "lost.parquet"), truth).save(tmp_path / "results.mg")
    (tmp_path / "lost.parquet").unlink()
    with serving(tmp_path / "results.mg") as server:
        page = show(server.address)
        page.wait_for_selector("#status.failed")
        assert "lost.parquet: no such file" in page.locator("#status").inner_text()
        assert "lost.parquet: no such file" in page.locator(".panel .none").inner_text()
        assert page.locator("#count").inner_text() == "4 of 4 frames"


def test_files_that_vanish_after_they_were_read_are_not_missed(show: Open, files: Path, tmp_path: Path) -> None:
    for name in ("good.parquet", "truth.parquet"):
        mg.write(mg.read(files / name).at(range(4)), tmp_path / name)
    predictions, truth = (mg.read(tmp_path / name) for name in ("good.parquet", "truth.parquet"))
    mg.evaluate(predictions, truth).save(tmp_path / "results.mg")
    with serving(tmp_path / "results.mg") as server:
        page = show(server.address)
        page.wait_for_selector(".panel .instance", state="attached")
        for name in ("good.parquet", "truth.parquet", "results.mg"):
            (tmp_path / name).unlink()
        first = page.locator("#chosen").inner_text()
        page.keyboard.press("j")
        page.wait_for_function("first => document.getElementById('chosen').textContent !== first", arg=first)
        drawn(page)


def test_the_page_says_so_when_the_server_has_ended(show: Open, files: Path) -> None:
    with started(files, "good.mg") as (_, address):
        page = show(address, quiet=False)  # the browser reports lost connections
        page.wait_for_selector(".panel .instance", state="attached")
    page.fill("#where", "pld > 0.8")
    page.wait_for_selector("#where-wrong:visible")
    assert page.locator("#where-wrong").inner_text() == "The server has ended. Start mapgauge view again."


def test_closing_the_last_tab_ends_the_server_and_loading_it_again_does_not(show: Open, files: Path) -> None:
    with serving(files / "good.mg", tabs=True) as server:
        tabs = server.tabs.seen
        page = show(server.address)
        until(lambda: len(tabs) == 1)
        other = show(server.address)
        until(lambda: len(tabs) == 2)
        before = set(tabs)
        page.reload()
        until(lambda: len(tabs) == 2 and set(tabs) != before)
        other.close()
        until(lambda: len(tabs) == 1)
        assert not set(tabs) & before
        assert not server.tabs.ended()
        server.tabs.grace = 0.1
        page.close()
        until(lambda: server.fileno() < 0)


HOSTILE = '<img src=x onerror="document.title=1">'


def test_names_from_files_are_text(show: Open, tmp_path: Path) -> None:
    name = f"</script>{HOSTILE}${{1}}"
    line = [[0, 0], [9, 0]]
    truth = mg.MapFrames.of({name: {HOSTILE: [line]}, "b": {HOSTILE: [line]}})
    protocol = mg.protocol("paper-60x30", classes=[HOSTILE])
    scenes = {name: HOSTILE, "b": "</script>"}
    results = mg.evaluate(truth.with_confidence(1), truth, protocol, scenes=scenes)
    results.save(tmp_path / "results.mg", geometry="original")
    with serving(tmp_path / "results.mg", title=HOSTILE) as server:
        page = show(server.address)
        page.wait_for_selector(".panel .instance", state="attached")
        assert page.title() == HOSTILE
        assert page.locator("h1").inner_text() == HOSTILE
        assert page.locator("img").count() == 0
        assert name[:12] in tokens(page)[0] + tokens(page)[1]
        page.select_option("#scene", HOSTILE)
        assert page.locator("#count").inner_text() == "1 of 2 frames"
        assert json.loads(page.locator("#meta").inner_text())["tokens"] == [name, "b"]
