"""Other users of the machine see the arguments of a browser. They do not see the token of the server."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.features.view.conftest import Open

import mapgauge as mg
from mapgauge.errors import InvalidInput
from mapgauge.features.view.geometry import GeometryReading
from mapgauge.features.view.server import Server

BROWSER = """#!/bin/sh
echo "$@" > "{folder}/arguments.new"
path=$(echo "$1" | sed 's|^file://||')
stat -c %a "$path" > "{folder}/mode" 2>/dev/null || stat -f %Lp "$path" > "{folder}/mode"
cp "$path" "{folder}/page"
mv "{folder}/arguments.new" "{folder}/arguments"
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_the_browser_gets_a_private_file(files: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(BROWSER.format(folder=tmp_path), encoding="utf-8")
    browser.chmod(0o755)
    command = [sys.executable, "-m", "mapgauge", "view", "good.mg"]
    environment = os.environ | {"BROWSER": f"{browser} %s"}
    with subprocess.Popen(
        command, cwd=files, stdout=-1, stderr=-1, text=True, env=environment, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        while not (tmp_path / "arguments").exists():
            assert process.poll() is None
        (given,) = (tmp_path / "arguments").read_text(encoding="utf-8").split()
        assert Path(given.removeprefix("file://")).exists()
        process.send_signal(signal.SIGINT)
        process.communicate()
    token = address.rstrip("/").rpartition("/")[2]
    assert len(token) > 20
    assert token not in given
    assert (tmp_path / "mode").read_text(encoding="utf-8") == "600\n"
    assert f'content="0; url={address}"' in (tmp_path / "page").read_text(encoding="utf-8")
    assert not Path(given.removeprefix("file://")).exists()


def test_the_private_file_leads_to_the_page(show: Open, server: Server) -> None:
    with server.page() as path:
        page = show(path.as_uri())
        page.wait_for_url(f"{server.address}**")
        page.wait_for_selector("#where")
    assert not path.exists()


def test_nothing_is_said_of_reading_after_the_end() -> None:
    """A thread that cannot be started any more is no reason why frames cannot be drawn."""

    def read() -> mg.Results:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    said: list[str] = []
    reading = GeometryReading([read], tell=said.append)
    reading.end()
    with pytest.raises(InvalidInput, match="cannot schedule"):
        reading.wait()
    assert said == []
