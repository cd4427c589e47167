"""The panel *where* of the first screen, which is made in a thread after the first drawing."""

import threading
from collections.abc import Callable
from typing import Any

from mapgauge.errors import MapgaugeError
from mapgauge.markup import Html
from mapgauge.typing import Progress


class PanelMaking:
    """Makes the panel once, in a thread, and knows how much of it is done."""

    def __init__(self, make: Callable[[Progress], Html]) -> None:
        """Keep how to make it; nothing is made yet."""
        self._make = make
        self._done = 0
        self._total = 0
        self._body = Html("")
        self._failure = ""  # why there is no panel
        self._ended = threading.Event()
        self._begun = threading.Lock()

    def begin(self) -> None:
        """Begin to make it. Nothing happens the second time."""
        if self._begun.acquire(blocking=False):
            threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._body = self._make(self._advance)
        except MapgaugeError as error:
            self._failure = error.for_shell()
        except Exception as error:  # the page shows it
            self._failure = f"{type(error).__name__}: {error}"
        finally:
            self._ended.set()

    def _advance(self, done: int, total: int) -> None:
        self._done = done
        self._total = total

    def state(self, seconds: float) -> dict[str, Any]:
        """Return the panel, why it cannot be made, or after some seconds how much of it is done."""
        self.begin()
        if not self._ended.wait(seconds):
            return {"state": "making", "done": self._done, "total": self._total}
        if self._failure:
            return {"state": "failed", "failure": self._failure}
        return {"state": "ready", "body": str(self._body)}
