"""Starts the process that reads the file of a stranger, and takes its answer."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mapgauge.errors import MapgaugeError
from mapgauge.features.challenge.job import JOB, RESULTS, SUBMISSION
from mapgauge.features.challenge.manifest import Challenge
from mapgauge.features.challenge.submission import unreadable
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io import write
from mapgauge.io.files.copying import copy_plain
from mapgauge.io.files.source import VARIABLE, Content, is_plain_file, max_bytes
from mapgauge.manifest import used

PROGRAM = Path(__file__).with_name("process.py")
_PACKAGES = Path(__file__).absolute().parents[3]  # where mapgauge lies
# numpy is asked for no large products, and threads reserve memory.
_SETTINGS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True)
class ProcessAnswer:
    """What the process said, or why it said nothing."""

    file_digest: str
    document: dict[str, Any] | None = None
    results: bytes | None = None  # the file of results
    problem: Finding | None = None


def ask(challenge: Challenge, path: Path, truth: MapFrames | None = None, *, program: Path = PROGRAM) -> ProcessAnswer:
    """Check a submission in a process of its own, which runs ``program``, and evaluate it if there is a truth."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_folder())
        # The copy cannot change while it is read, and what lies beside the file is not seen.
        try:
            digest = copy_plain(path, folder / SUBMISSION, challenge.limits.bytes)
        except MapgaugeError as error:
            return ProcessAnswer("", problem=unreadable(error.message, error.remedy))
        job = {
            "challenge": challenge.to_dict(),
            "name": path.name,
            "path": str(path),
            "plugins": list(used()),
            "truth": None,
            "truth_name": "",
        }
        if truth is not None:
            job["truth"] = _write_truth(truth, folder)
            job["truth_name"] = truth.name
        (folder / JOB).write_text(json.dumps(job), encoding="utf-8")
        problem, said = _started(challenge, folder, path.name, program=program)
        if problem is not None:
            return ProcessAnswer(digest, problem=problem)
        results = folder / RESULTS
        document = json.loads(said)
        return ProcessAnswer(digest, document, Content(results).data if is_plain_file(results) else None)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Yield a new folder that only its owner can open."""
    try:
        made = tempfile.TemporaryDirectory(prefix="mapgauge-", ignore_cleanup_errors=True)
    except OSError as error:
        raise MapgaugeError(
            f"a temporary folder cannot be made: {error.strerror or error}",
            remedy="Set the environment variable TMPDIR to a folder with space",
        ) from error
    with made as name:
        yield Path(name)


def _write_truth(truth: MapFrames, folder: Path) -> str:
    """Write the truth for the process. Returns the name of the file."""
    # Without pyarrow, GeoJSON keeps the same content.
    if find_spec("pyarrow"):
        name = "truth.parquet"
    else:
        name = "truth.geojson"
    write(truth, folder / name)
    return name


def _started(challenge: Challenge, folder: Path, name: str, program: Path) -> tuple[Finding | None, bytes]:
    """Run the process. Returns why there is no answer, or None and the answer."""
    limits = challenge.limits
    environment = dict(os.environ) | _SETTINGS
    # Compressed files may not grow beyond the limit either. The truth is not smaller than it is.
    sizes = [file.stat().st_size for file in folder.iterdir()]
    most = max(limits.bytes, *sizes)
    own = max_bytes()
    environment[VARIABLE] = str(most if own is None else min(own, most))
    folders = [str(_PACKAGES), *(path for path in sys.path if Path(path).is_absolute())]
    # -I: nothing of the current folder and of PYTHON* counts.
    command = [sys.executable, "-I", str(program), str(limits.memory_bytes), str(limits.seconds), *folders]
    try:
        # A group of its own, so that what it started ends with it.
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name == "posix",
        )
    except OSError as error:
        raise MapgaugeError(f"the process that reads {name} cannot be started: {error}") from error
    try:
        said, complained = process.communicate(timeout=limits.seconds)
    except subprocess.TimeoutExpired:
        text = f"{name}: not finished within {limits.seconds} s, which the challenge allows"
        return Finding("error", "limit-seconds", text), b""
    finally:
        _end(process)
    if process.returncode == 0:
        return None, said
    last = complained.decode("utf-8", "replace").strip().rpartition("\n")[2][:300]
    if "MemoryError" in last or "memory" in last.lower():
        text = f"{name}: needs more than {limits.memory_bytes} bytes of memory, which the challenge allows"
        return Finding("error", "limit-memory", text), b""
    if process.returncode < 0:
        last = signal.strsignal(-process.returncode) or f"signal {-process.returncode}"
    return unreadable(f"{name}: the process that reads it ended without an answer ({last})"), b""


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process that is still running, and what it started."""
    if process.poll() is not None:
        return
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.communicate()
