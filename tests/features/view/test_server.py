"""The server refuses what is not its page, and serves nothing but its routes."""

import http.client
import json
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from tests.features.view.conftest import FRAMES, POLL, serving, started

import mapgauge as mg
from mapgauge.features.view.server import Server, Tabs, as_json


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def unpacked(body: bytes) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    (length,) = struct.unpack("<Q", body[:8])
    header = json.loads(body[8 : 8 + length])
    arrays = {
        name: np.frombuffer(body, kind, size, 8 + length + start)
        for name, (kind, start, size) in header["arrays"].items()
    }
    return header, arrays


def below(server: Server, path: str) -> str:
    return f"/{server.token}/{path}"


def test_the_page_comes_with_a_policy_and_cannot_be_framed_or_cached(server: Server) -> None:
    answer, body = ask(server, below(server, ""))
    assert answer.status == 200
    assert b"<!DOCTYPE html>" in body
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/values", "//values", "/{token}x/", "/{token}"])
def test_an_address_without_the_token_is_refused(server: Server, path: str) -> None:
    answer, body = ask(server, path.format(token=server.token))
    assert answer.status in (403, 404)
    assert b"DOCTYPE" not in body


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "192.168.0.1", ""])
def test_a_foreign_host_is_refused(server: Server, host: str) -> None:
    assert ask(server, below(server, "values"), Host=host)[0].status == 403


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "localhost:9999", "[::1]:8000"])
def test_hosts_of_this_machine_and_of_tunnels_are_answered(server: Server, host: str) -> None:
    assert ask(server, below(server, "values"), Host=host.format(port=server.port))[0].status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(server: Server, origin: str) -> None:
    assert ask(server, below(server, "values"), Origin=origin.format(port=server.port))[0].status == 403


def test_its_own_origin_is_answered(server: Server) -> None:
    assert ask(server, below(server, "values"), Origin=f"http://127.0.0.1:{server.port}")[0].status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_questions_are_answered(server: Server, method: str) -> None:
    answer, body = ask(server, below(server, "values"), method)
    assert (answer.status, body) == (501, b"Not Implemented.")
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Connection"] == "close"


def sent_bytes(server: Server, request: str) -> bytes:
    """Send the bytes of a request, and return everything that is answered until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as connection:
        connection.sendall(request.encode())
        connection.shutdown(socket.SHUT_WR)
        answered = b""
        while part := connection.recv(65536):
            answered += part
    return answered


@pytest.mark.parametrize("header", ["Content-Length: {length}", "Transfer-Encoding: chunked"])
def test_the_body_of_a_question_is_not_taken_for_the_next_one(server: Server, header: str) -> None:
    inner = f"GET /{server.token}/values HTTP/1.1\r\nHost: localhost\r\n\r\n"
    first = f"GET /wrong/ HTTP/1.1\r\nHost: localhost\r\n{header.format(length=len(inner))}\r\n\r\n"
    answered = sent_bytes(server, first + inner)
    assert answered.startswith(b"HTTP/1.1 403 ")
    assert answered.count(b"HTTP/1.1 ") == 1
    both = sent_bytes(server, f"GET /wrong/ HTTP/1.1\r\nHost: localhost\r\n\r\n{inner}")
    assert both.count(b"HTTP/1.1 ") == 2  # without a body, the connection stays open


@pytest.mark.parametrize("line", ["GET", "GET / HTTP/9.9", "\x01\x02\x03 x y z", f"GET /{'a' * 70_000} HTTP/1.1"])
def test_what_is_no_request_is_answered_with_a_policy(server: Server, line: str) -> None:
    answered = sent_bytes(server, f"{line}\r\n\r\n")
    if answered.startswith(b"HTTP/1.1"):  # HTTP 0.9 has no headers
        assert b"\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n" in answered
    assert b"<" not in answered


def test_the_length_of_what_is_sent_is_one_number(server: Server) -> None:
    start = f"POST /{server.token}/video HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
    assert sent_bytes(server, f"{start}Content-Length: {'9' * 5000}\r\n\r\n").startswith(b"HTTP/1.1 413 ")
    assert sent_bytes(server, f"{start}Content-Length: 0\r\nContent-Length: 5\r\n\r\n").startswith(b"HTTP/1.1 411 ")
    assert sent_bytes(server, f"{start}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n").startswith(b"HTTP/1.1 411 ")


def test_only_its_own_page_can_send_pictures_and_only_these(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    video, origin = below(server, "video"), {"Origin": f"http://127.0.0.1:{server.port}"}

    def sent(path: str = video, length: str = "0", **headers: str) -> tuple[int, bytes]:
        answer, body = ask(server, path, "POST", **{"Content-Length": length}, **headers)
        return answer.status, body

    assert sent()[0] == 403
    assert sent(Origin="http://evil.example")[0] == 403
    assert sent(f"/wrong/{video}", **origin)[0] == 403
    assert sent(below(server, "values"), **origin)[0] == 405
    assert ask(server, video)[0].status == 405
    assert sent(length="-1", **origin)[0] == 411
    assert sent(length=str(2**40), **origin)[0] == 413
    monkeypatch.setenv("PATH", str(tmp_path))
    assert sent(**origin) == (422, b"ffmpeg is not installed. Save the frames instead")
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho no picture >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    assert sent(**origin) == (422, b"ffmpeg made no video: no picture")
    for rate in ("0", "nan", "1e9", "x", "-i"):
        assert b"the rate must be above 0" in sent(f"{video}?rate={rate}", **origin)[1]


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "frame/../../../etc/passwd",
        "frame/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "frame//etc/passwd",
        "page.css",
        "nothing",
        "frame",
        "frame/1/2",
        "frame/999999",
        "frame/-1",
        "frame/%C2%B2",
        "frame/1%00",
        "values/1",
        "where",
        "where?query=pld&query2=1",
    ],
)
def test_other_addresses_find_nothing(server: Server, path: str) -> None:
    answer, body = ask(server, below(server, path))
    assert answer.status in (404, 422)
    assert b"root:" not in body
    assert answer.headers["Content-Type"].startswith("text/plain")


def test_the_server_is_bound_to_this_machine(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    outside = socket.gethostbyname(socket.gethostname())
    if outside.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((outside, server.port), timeout=2)


def test_the_values_are_those_of_the_results(server: Server, files: Path) -> None:
    _, arrays = unpacked(ask(server, below(server, "values"))[1])
    for k, name in enumerate(("good", "poor")):
        rows = {row["token"]: row for row in mg.load_results(files / f"{name}.mg").frames()}
        tokens = mg.load_results(files / f"{name}.mg").tokens
        assert arrays[f"{k}.value.pld"][:FRAMES].tolist() == [np.float32(rows[token]["pld"]) for token in tokens]
        assert arrays[f"{k}.value.truth"][:FRAMES].tolist() == [rows[token]["truth"] for token in tokens]


def test_a_frame_has_the_instances_of_all_methods(server: Server, files: Path) -> None:
    _, arrays = unpacked(ask(server, below(server, "frame/7"))[1])
    for k, name in enumerate(("good", "poor")):
        results = mg.load_results(files / f"{name}.mg").with_data()
        assignment = results.assignment(results.tokens[7])
        assert arrays[f"{k}.truth.frames"].tolist() == [0, len(assignment.truth)]
        assert arrays[f"{k}.predictions.frames"].tolist() == [0, len(assignment.predictions)]
        assert len(arrays[f"{k}.matches.distance"]) == len(assignment.matches)


def test_a_condition_finds_the_frames_of_the_shell(server: Server, files: Path) -> None:
    results = mg.load_results(files / "poor.mg")
    _, arrays = unpacked(ask(server, below(server, "where?query=pld+%3E+0.85+and+truth.divider+%3E+2&method=1"))[1])
    expected = results.where("pld > 0.85 and truth.divider > 2").tokens
    assert [results.tokens[frame] for frame in arrays["frames"]] == list(expected)
    answer, body = ask(server, below(server, "where?query=pld+%3E"))
    assert answer.headers["Content-Type"] == "application/json"
    assert json.loads(body)["place"] == 5


def test_lost_files_are_named_and_the_values_stay(tmp_path: Path, files: Path) -> None:
    results = tmp_path / "results.mg"
    predictions, truth = (mg.read(files / f"{name}.parquet") for name in ("good", "truth"))
    mg.write(predictions, tmp_path / "lost.parquet")
    mg.evaluate(mg.read(tmp_path / "lost.parquet"), truth).save(results)
    (tmp_path / "lost.parquet").unlink()
    with serving(results) as server:
        assert ask(server, below(server, "values"))[0].status == 200
        header, _ = unpacked(ask(server, below(server, "geometry"))[1])
        assert header["state"] == "failed"
        assert "lost.parquet: no such file" in str(header["failure"])
        answer, body = ask(server, below(server, "frame/0"))
        assert answer.status == 422
        assert b"lost.parquet: no such file" in body


def test_a_port_that_is_taken_is_a_clear_error(server: Server) -> None:
    with pytest.raises(mg.InvalidInput, match=f"port {server.port} cannot be used"):
        Server({}, server.port)


def test_the_server_ends_some_time_after_the_last_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    tabs = Tabs()
    now[0] += 1000
    assert not tabs.ended()  # no tab was opened yet
    tabs.alive("a")
    tabs.alive("b")
    tabs.close("a")
    now[0] += 60
    assert not tabs.ended()
    tabs.close("b")
    assert not tabs.ended()
    now[0] += 1
    tabs.alive("b")  # loaded again
    now[0] += 100
    assert not tabs.ended()
    now[0] += 100  # nothing was heard of it for too long
    assert not tabs.ended()
    now[0] += 5
    assert tabs.ended()


def test_many_connections_at_once_wait_for_a_busy_server() -> None:
    """None is dropped or reset before the server accepts it, as some were while it was busy."""
    server = Server({"values": lambda: as_json(1)}, poll=POLL)
    request = f"GET /{server.token}/values HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with ExitStack() as stack:
        connections = []
        for _ in range(60):  # the server listens, and accepts none yet
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            connection.sendall(request.encode())
            connections.append(connection)
        thread = threading.Thread(target=server.run)
        thread.start()
        answers = [connection.recv(100) for connection in connections]
        server.shutdown()
        thread.join()
    assert {answer[:12] for answer in answers} == {b"HTTP/1.1 200"}


def status(address: str, path: str = "") -> int:
    place = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", place.port or 0, timeout=120)
    connection.request("GET", place.path + path)
    found = connection.getresponse().status
    connection.close()
    return found


def test_the_command_prints_its_address_and_a_tunnel_and_ends_with_an_interrupt(files: Path) -> None:
    with started(files, "good.mg") as (process, address):
        assert status(address) == 200
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    port = urlsplit(address).port
    assert f"ssh -L {port}:127.0.0.1:{port}" in errors
    assert "Traceback" not in errors


# The command, with a server that waits less for a page that is loaded again.
HASTY = """
from functools import partial
from mapgauge.cli import main
from mapgauge.features.view import server
server.Tabs = partial(server.Tabs, grace=0.1)
main()
"""


def test_the_command_ends_with_the_last_tab_if_asked(files: Path) -> None:
    with started(files, "good.mg", "--until-closed", program=("-c", HASTY)) as (process, address):
        assert [status(address, path) for path in ("alive/one", "closed/one")] == [200, 200]
        assert process.wait(120) == 0


@pytest.mark.parametrize(("option", "message"), [("--images", "lost is no folder"), ("--poses", "lost does not exist")])
def test_a_place_that_is_not_there_is_refused_at_once(files: Path, option: str, message: str) -> None:
    command = [sys.executable, "-m", "mapgauge", "view", "good.mg", option, "lost", "--no-browser"]
    done = subprocess.run(
        command, cwd=files, capture_output=True, text=True, check=False, timeout=120, encoding="utf-8"
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


PAGE = Path(__file__).parents[3] / "docs/how-to/view.md"


@pytest.mark.parametrize("line", re.findall(r"^mapgauge view (.+)$", PAGE.read_text(encoding="utf-8"), re.M))
def test_a_command_of_the_page_serves(line: str, files: Path) -> None:
    (files / "images").mkdir(exist_ok=True)
    words = [word.replace("8000", "0") for word in shlex.split(line) if word != "--no-browser"]
    with started(files, *words) as (_, address):
        assert status(address) == 200


def test_no_other_program_can_take_the_port_of_the_view() -> None:
    code = """
import http.server, sys, numpy, mapgauge.views.report.pack
for sys.platform in ("linux", "win32"):
    from mapgauge.features.view.server import Server
    print(Server.allow_reuse_address)
    del sys.modules["mapgauge.features.view.server"]
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert ended.stdout.split() == ["True", "False"]
