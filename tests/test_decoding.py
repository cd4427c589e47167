"""Types are decoded in several threads at once."""

import subprocess
import sys

CODE = """
import sys, threading
from dataclasses import field, make_dataclass
from mapgauge.decoding import decode_json

sys.setswitchinterval(1e-6)
text = '{"a1": ["x", "y"], "inner": {"x": 3, "y": {"k": 1}}}'
for number in range(100):
    inner = make_dataclass("Inner", [("x", "int | None"), ("y", "dict[str, int]", field(default_factory=dict))])
    names = [(f"a{k}", "tuple[str, ...]", field(default=())) for k in range(8)]
    kind = make_dataclass("Kind", [*names, ("inner", "inner | None", field(default=None))])
    inner.__module__ = kind.__module__ = "__main__"
    start, found = threading.Barrier(6), []

    def decode():
        start.wait()
        found.extend(decode_json(text, kind) for _ in range(5))

    threads = [threading.Thread(target=decode) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 30
    assert all((one.a1, one.inner.x, one.inner.y) == (("x", "y"), 3, {"k": 1}) for one in found)
"""


def test_threads_that_meet_a_type_at_the_same_time_do_not_end_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
