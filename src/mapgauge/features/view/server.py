"""The server of ``mapgauge view``: answers the requests of one browser on this machine, and nothing else.

It listens on 127.0.0.1 only. Every address begins with a random token, so that other users of the machine and other
pages of the browser cannot guess it. Other users can read the arguments of a browser, so the browser gets the name of a
private file, which leads to the address. Requests whose host or origin is not this machine are refused, which stops
pages that point a name of their own at 127.0.0.1. Answers carry a security policy; nothing from a file is ever markup.
"""

import hmac
import json
import os
import re
import secrets
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from mapgauge.errors import InvalidInput, MapgaugeError
from mapgauge.views.report.pack import ALIGNMENT, Arrays, block_of

Outcome = TypeVar("Outcome")

ADDRESS = "127.0.0.1"
_OWN = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?")  # hosts of this machine, and of tunnels to it
_SILENT = 150.0  # seconds; browsers let hidden pages run once a minute
_LARGEST = 2**30  # bytes that a page may send
_DIGITS = 20  # of the number of these bytes
_REDIRECT = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>mapgauge view</title>
<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={address}"></head>
<body><a href="{address}">mapgauge view</a></body></html>
"""


@dataclass(frozen=True)
class Reply:
    """The body of an answer, and what it is."""

    body: bytes
    kind: str = "application/octet-stream"
    policy: str = "default-src 'none'"
    status: HTTPStatus = HTTPStatus.OK


class RefusedRequest(Exception):
    """A request that is not answered. It has the status and a sentence."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        """Keep both."""
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Posted:
    """A route that takes what the page sends, as its first argument. Only the page itself may send."""

    answer: Callable[..., Reply]


# By the first part of the path; further parts and the query are arguments.
Routes = Mapping[str, Callable[..., Reply] | Posted]


def packed(arrays: Arrays, **more: Any) -> Reply:
    """Return arrays, and further values as JSON: the length of the JSON in 8 bytes, the JSON, and the arrays."""
    directory, block = block_of(arrays)
    text = json.dumps({"arrays": directory, **more}).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return Reply(struct.pack("<Q", len(text)) + text + bytes(block))


def as_json(value: Any) -> Reply:
    """Return a value as JSON."""
    return Reply(json.dumps(value).encode(), "application/json")


def in_thread(work: Callable[[], Outcome]) -> "Future[Outcome]":
    """Begin some work in a thread that does not keep the process alive."""
    future: Future[Outcome] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


@dataclass
class Tabs:
    """The open tabs of the browser, so that the server can end with the last one."""

    grace: float = 3.0  # seconds in which a page may be loaded again after it was closed
    seen: dict[str, float] = field(default_factory=dict)  # by tab: when it was heard of
    closed: float | None = None  # when the last one was closed

    def alive(self, tab: str) -> None:
        """Note that a tab is open."""
        self.seen[tab] = time.monotonic()
        self.closed = None

    def close(self, tab: str) -> None:
        """Note that a tab was closed."""
        if self.seen.pop(tab, None) is not None and not self.seen:
            self.closed = time.monotonic()

    def ended(self) -> bool:
        """Whether there were tabs and all are closed."""
        now = time.monotonic()
        for tab in [tab for tab, heard in self.seen.items() if now - heard > _SILENT]:
            self.close(tab)
        return self.closed is not None and now - self.closed > self.grace


class Server(ThreadingHTTPServer):
    """Serves routes under a random token."""

    daemon_threads = True
    # Connections that wait until they are accepted. A browser opens six for each page. With the five of the standard
    # library, those of a busy machine waited for a second or more, and some systems reset them.
    request_queue_size = 128
    # So that a port can be taken again at once. On Windows another program could take it at the same time.
    allow_reuse_address = sys.platform != "win32"

    def __init__(self, routes: Routes, port: int = 0, poll: float = 0.2) -> None:
        """Bind to a port of this machine; 0 takes a free one.

        ``poll`` is the time in seconds between two looks at whether the server shall end.
        """
        self.routes = routes
        self.poll = poll
        self.token: str = secrets.token_urlsafe(18)
        self.tabs: Tabs = Tabs()
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise InvalidInput(
                f"port {port} cannot be used: {error.strerror or error}", remedy="Leave out --port to take a free one"
            ) from error

    @property
    def address(self) -> str:
        """The address to open."""
        return f"http://{ADDRESS}:{self.port}/{self.token}/"

    @contextmanager
    def page(self) -> Iterator[Path]:
        """Make a page that leads to the address. Only this user can read it, and it is deleted at the end."""
        number, name = tempfile.mkstemp(prefix="mapgauge-view-", suffix=".html")  # with the mode 0600
        path = Path(name)
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(_REDIRECT.format(address=self.address))
            yield path
        finally:
            path.unlink(missing_ok=True)

    @property
    def port(self) -> int:
        """The port."""
        return int(self.server_address[1])

    def run(self, *, until_closed: bool = False) -> None:
        """Answer requests until an interrupt, or until the last tab is closed."""
        if until_closed:
            threading.Thread(target=self._wait_for_tabs, daemon=True).start()
        try:
            self.serve_forever(poll_interval=self.poll)
        finally:
            self.server_close()

    def _wait_for_tabs(self) -> None:
        while not self.tabs.ended():
            time.sleep(self.poll)
        self.shutdown()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that the browser gave up."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "mapgauge"
    sys_version = ""
    timeout = 120  # seconds without a request

    def do_GET(self) -> None:
        """Answer a request."""
        if self.command == "POST" or "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # what is not read would be taken for the next request
        try:
            answer = self._answer()
        except RefusedRequest as error:
            answer = _sentence(error.status, str(error))
        except MapgaugeError as error:
            answer = _sentence(HTTPStatus.UNPROCESSABLE_ENTITY, error.for_shell())
        except Exception as error:  # the browser shows it; the server goes on
            answer = _sentence(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}")
        self._send(answer)

    do_HEAD = do_POST = do_GET

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request, or a request of another kind. The standard library calls this."""
        status = HTTPStatus(code)
        self.close_connection = True
        self._send(_sentence(status, f"{status.phrase}."))

    def _send(self, answer: Reply) -> None:
        self.send_response(answer.status)
        headers = {
            "Content-Type": answer.kind,
            "Content-Length": str(len(answer.body)),
            "Content-Security-Policy": answer.policy + "; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cache-Control": "no-store",
        }
        if self.close_connection:
            headers["Connection"] = "close"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def _answer(self) -> Reply:
        hosts = self.headers.get_all("Host", [])
        origins = self.headers.get_all("Origin", [])
        if len(hosts) != 1 or not _OWN.fullmatch(hosts[0]):
            raise RefusedRequest(HTTPStatus.FORBIDDEN, "This server answers to 127.0.0.1 and localhost only.")
        if any(origin != f"http://{hosts[0]}" for origin in origins) or (self.command == "POST" and not origins):
            raise RefusedRequest(HTTPStatus.FORBIDDEN, "This server answers to its own page only.")
        address = urlsplit(self.path)
        _, token, *parts = address.path.split("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise RefusedRequest(HTTPStatus.FORBIDDEN, "The address lacks the token that mapgauge view printed.")
        match parts:
            case ["alive", tab]:
                self.server.tabs.alive(tab)
                return Reply(b"")
            case ["closed", tab]:
                self.server.tabs.close(tab)
                return Reply(b"")
            case [name, *_] if name in self.server.routes:
                route = self.server.routes[name]
            case _:
                raise RefusedRequest(HTTPStatus.NOT_FOUND, "There is nothing at this address.")
        if isinstance(route, Posted) != (self.command == "POST"):
            raise RefusedRequest(HTTPStatus.METHOD_NOT_ALLOWED, "This address is not used in this way.")
        sent = []
        if isinstance(route, Posted):
            route = route.answer
            sent = [self._sent()]
        query = {name: value for name, value in parse_qsl(address.query, keep_blank_values=True) if name.isidentifier()}
        try:
            return route(*sent, *map(unquote, parts[1:]), **query)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # wrong number of arguments
                raise RefusedRequest(HTTPStatus.NOT_FOUND, "There is nothing at this address.") from error
            raise

    def _sent(self) -> bytes:
        lengths = self.headers.get_all("Content-Length", [])
        if len(set(lengths)) != 1 or "Transfer-Encoding" in self.headers:
            raise RefusedRequest(HTTPStatus.LENGTH_REQUIRED, "The length of what is sent must be known.")
        length = lengths[0]
        if not (length.isascii() and length.isdecimal()):
            raise RefusedRequest(HTTPStatus.LENGTH_REQUIRED, "The length of what is sent must be known.")
        if len(length) > _DIGITS or int(length) > _LARGEST:  # Python converts some thousand digits at most
            raise RefusedRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"At most {_LARGEST >> 20} MiB can be sent.")
        return self.rfile.read(int(length))

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing for each request."""


def _sentence(status: HTTPStatus, message: str) -> Reply:
    return Reply(message.encode("utf-8", "replace"), "text/plain; charset=utf-8", status=status)
