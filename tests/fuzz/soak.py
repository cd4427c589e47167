"""Random commands with faults, for as long as wanted: ``python -m tests.fuzz.soak --seconds 3600``.

Disks become full, calls of the system fail, commands and workers are killed, inputs change, and two commands write to
the same file. After every step, each target holds its complete old content or a complete new one with correct values,
no temporary files are left (SIGKILL alone may leave some), no process is left, and the exit code is a documented one.
A step is drawn from the seed and its number. ``--seed`` repeats the sequence; moments of signals vary with the machine.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_FAILURES = 20


def in_namespace() -> None:
    """Start again in a namespace for mounts, so that the small file system ends with this process."""
    if os.environ.get("MAPGAUGE_SOAK_NAMESPACE") or shutil.which("unshare") is None:
        return
    os.environ["MAPGAUGE_SOAK_NAMESPACE"] = "tried"
    for options in ("-m", "-rm"):
        if subprocess.run(["unshare", options, "true"], capture_output=True, check=False).returncode == 0:
            os.execvp("unshare", ["unshare", options, sys.executable, "-m", "tests.fuzz.soak", *sys.argv[1:]])


def main() -> None:
    """Run steps until the time is over; print what happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("MAPGAUGE_SOAK_SECONDS", "3600")))
    parser.add_argument("--steps", type=int, default=10**9, help="at most")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    given = parser.parse_args()
    in_namespace()
    from tests.fuzz.soak_steps import Soak  # not above: the workers of an evaluation import this module

    print(f"soak of {given.seconds:g} s, --seed {given.seed}", flush=True)  # noqa: T201
    folder = Path(tempfile.mkdtemp(prefix="soak-")).resolve()  # without a finaliser, which forked processes would run
    try:
        soak = Soak(folder, given.seed)
        print(f"small disk: {'mounted' if soak.disk else 'not permitted, sizes of files are bounded'}", flush=True)  # noqa: T201
        end = time.monotonic() + given.seconds
        while time.monotonic() < end and soak.number < given.steps and len(soak.failures) < MOST_FAILURES:
            soak.step()
    finally:
        subprocess.run(["umount", "-l", folder / "disk"], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{soak.number} steps, {len(soak.failures)} failures, {dict(soak.counts)}")  # noqa: T201
    sys.exit(bool(soak.failures))


if __name__ == "__main__":
    main()
