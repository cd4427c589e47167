"""The program that reads a file of a stranger. ``sandbox`` starts it, in a folder with copies of what it needs.

It is a process of its own so that time and memory have limits, and so that a file that ends a process ends this one.
It does what ``job.json`` in its folder says (``job``) and prints one JSON document. It writes to its folder only.
"""

import contextlib
import json
import sys
from pathlib import Path

_MOST_WRITTEN = 1 << 32  # bytes of results


def limit_resources(memory: int, seconds: int) -> str:
    """Limit memory, time and what can be written, where the system can. Returns what cannot be limited, in words."""
    try:
        import resource
    except ImportError:
        return "this system has no limits of memory for a process; time has a limit"
    lacking: list[str] = []
    for name, most in (
        ("RLIMIT_FSIZE", _MOST_WRITTEN),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_CPU", 64 * seconds),  # seconds of all threads
        ("RLIMIT_AS", memory),
    ):
        if name == "RLIMIT_AS" and sys.platform != "linux":
            lacking.append("memory")  # macOS accepts the limit and ignores it
            continue
        with contextlib.suppress(ValueError, OSError):  # the system has a lower limit, or none of this kind
            resource.setrlimit(getattr(resource, name), (most, most))
    if lacking:
        return f"this system has no limit of {' and '.join(lacking)} for a process; time has a limit"
    return ""


def _main() -> None:
    memory, seconds, *folders = sys.argv[1:]
    sys.path += folders  # where the caller finds packages, if they are not in the usual place
    unlimited = limit_resources(int(memory), int(seconds))

    from mapgauge.features.challenge.job import run

    document = run(Path.cwd())
    document["unlimited"] = unlimited
    sys.stdout.write(json.dumps(document))


if __name__ == "__main__":
    _main()
