"""The steps of the soak: a command with a fault, and what it may leave."""

import gc
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tests.fuzz.forks import ERRORS, Command, Fault, files_in, in_child, start
from tests.fuzz.soak_world import METRICS, World, content_of

if TYPE_CHECKING:
    from collections.abc import Callable

CODES = {0, 1}


class Soak:
    """A folder with inputs and targets, and the commands that run in it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed, self.number = folder, seed, 0
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.world = World(folder)
        self.disk = small_disk(folder / "disk")
        self.times: dict[str, float] = {}  # seconds that a command takes
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.known: set[Path] = set()  # left by SIGKILL
        self.rng = np.random.default_rng(0)
        gc.collect()
        gc.freeze()  # forked processes share the memory of this one

    # -- a step

    def step(self) -> None:
        """Draw a step, do it and check what it leaves."""
        self.rng = np.random.default_rng([self.seed, self.number])
        kinds: dict[Callable[[], None], float] = {
            self.undisturbed: 4,
            self.killed: 6,
            self.full: 4,
            self.failing: 5,
            self.changing: 3,
            self.truncated: 1,
            self.together: 2,
            self.resumed: 3,
            self.worker_killed: 0.7,
        }
        share = np.array(list(kinds.values()))
        kind = list(kinds)[self.rng.choice(len(share), p=share / share.sum())]
        self.counts[kind.__name__] += 1
        kind()
        self.number += 1
        for path in (*self.folder.glob("set-*"), *self.folder.glob("disk/set-*")):
            shutil.rmtree(path)  # a data set is not written twice

    def undisturbed(self) -> None:
        """A command without faults ends with 0."""
        self.world.restore(self.rng)
        self.run(self.world.line(self.rng), Fault(), codes={0})

    def killed(self) -> None:
        """A command that gets a signal at any moment."""
        line = self.world.line(self.rng)
        number = int(self.rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGTERM, signal.SIGINT]))
        fault = Fault("signal", number, after=self.moment(line))
        self.run(line, fault, codes={0, 128 + number, -number})  # -SIGTERM: after the work, while Python ends

    def full(self) -> None:
        """A disk without space: a small file system where one can be mounted, or a bound on the size of files."""
        if self.disk is not None and self.rng.random() < 0.5:
            kept = self.disk / "filler"
            kept.write_bytes(b"")
            free = shutil.disk_usage(self.disk).free
            kept.write_bytes(bytes(max(0, free - 4096 * int(self.rng.integers(0, 40)))))
            self.run(self.world.line(self.rng, self.disk), Fault("disk"), codes=CODES)
            kept.unlink()
        else:
            self.run(self.world.line(self.rng), Fault("size", int(10 ** self.rng.uniform(0, 6))), codes=CODES)

    def failing(self) -> None:
        """One call of the system fails."""
        kind = str(self.rng.choice(["fsync", "replace", "mkdir", "open"]))
        fault = Fault(kind, int(self.rng.choice(ERRORS)), call=int(self.rng.integers(1, 8)))
        self.run(self.world.line(self.rng), fault, codes=CODES)

    def changing(self) -> None:
        """Inputs are replaced by other versions while a command reads them."""
        line = self.world.line(self.rng)
        self.run(line, Fault("change", after=self.moment(line)), codes=CODES)

    def truncated(self) -> None:
        """Inputs lose their ends while a command reads them."""
        line = self.world.line(self.rng)
        self.run(line, Fault("truncate", after=self.moment(line)), codes=CODES)
        self.world.restore(self.rng)

    def together(self) -> None:
        """Two commands write to the same target at the same time."""
        line = self.world.line(self.rng)
        before = self.world.targets()
        two = [start(line, self.folder, self.scratch, self.folder / f"streams{k}", Fault()) for k in range(2)]
        for command in two:
            command.wait()
            self.counts["commands"] += 1
        for command in two:
            # A data set and the finished scenes of `truth` belong to one command; the other is refused.
            alone = line[-1].endswith("/") or line[0] == "truth"
            self.judge(command, Fault("together"), CODES if alone else {0}, before)

    def worker_killed(self) -> None:
        """A worker process is killed. Its chunk is tried again."""
        self.world.restore(self.rng)
        workers = str(self.rng.integers(1, 3))
        line = ["evaluate", "P", "T", "--metrics", METRICS, "--engine", "processes", "--workers", workers]
        line += ["-o", "stream.mg"]
        self.run(line, Fault("worker", signal.SIGKILL, after=float(self.rng.uniform(0.3, 4))), codes=CODES)

    def resumed(self) -> None:
        """A run with a work folder is killed, several times, and resumed. It equals a run in one go."""
        self.world.restore(self.rng)
        shutil.rmtree(self.folder / "work", ignore_errors=True)
        line = ["evaluate", "P", "T", "--metrics", METRICS, "--work", "work", "--resume", "--workers", "1"]
        line += ["-o", "stream.mg"]
        for _ in range(int(self.rng.integers(1, 4))):
            number = int(self.rng.choice([signal.SIGKILL, signal.SIGTERM]))
            fault = Fault("signal", number, after=self.moment(line))
            self.run(line, fault, codes={0, 128 + number, -number})
        if self.rng.random() < 0.2:
            self.world.change("P", self.rng)  # finished chunks of other values are refused, never mixed
            self.run(line, Fault("changed before"), codes=CODES)
        else:
            self.run(line, Fault("resume"), codes={0})
        shutil.rmtree(self.folder / "work", ignore_errors=True)

    # -- running and judging

    def moment(self, line: list[str]) -> float:
        """A random moment of a command, as far as known from earlier runs."""
        return float(self.rng.uniform(0, 1.1 * self.times.get(line[0], 0.3)))

    def run(self, line: list[str], fault: Fault, codes: set[int]) -> None:
        """Run a command with a fault and check what it leaves."""
        before = self.world.targets()
        command = start(line, self.folder, self.scratch, self.folder / "streams", fault)
        self.counts["commands"] += 1
        if fault.kind != "none":
            self.counts["faults"] += 1
        if fault.after:
            self.disturb(command, fault)
        command.wait()
        if fault.kind == "none":
            self.times[line[0]] = 0.7 * self.times.get(line[0], command.seconds) + 0.3 * command.seconds
        self.judge(command, fault, codes, before)

    def disturb(self, command: Command, fault: Fault) -> None:
        """Do the fault at its moment."""
        end = time.monotonic() + fault.after
        while time.monotonic() < end and not command.poll():
            time.sleep(0.001)
        if fault.kind == "signal":
            command.send(fault.number)
        elif fault.kind == "worker":
            for process in command.others()[-1:]:
                os.kill(process, fault.number)
        elif fault.kind in ("change", "truncate"):
            for name in command.line:
                if name in self.world.inputs:
                    (self.world.change if fault.kind == "change" else self.world.truncate)(name, self.rng)

    def judge(self, command: Command, fault: Fault, codes: set[int], before: dict[str, str]) -> None:
        """Record everything that is wrong after a command."""
        wrong = []
        if command.code not in codes:
            wrong.append(f"exit code {command.code}, expected one of {sorted(codes)}")
        if "Traceback" in command.err or "Exception ignored" in command.err:
            wrong.append("a traceback")
        if not command.gone():
            wrong.append("processes are left")
        after = self.world.targets()
        for name, content in after.items():
            if content != before.get(name):
                said = in_child(lambda name=name: content_of(self.world, self.folder / name))  # type: ignore[misc]
                self.counts["targets written"] += 1
                if said not in self.world.allowed(name):
                    wrong.append(f"{name}: {said}")
        wrong += [f"{name} is gone" for name in before.keys() - after.keys()]
        wrong += self.left(command, fault)
        if wrong:
            text = f"seed {self.seed}, step {self.number}: mapgauge {' '.join(command.line)} [{fault}]"
            self.failures.append(f"{text}\n  " + "\n  ".join([*wrong, *command.err.splitlines()[-25:]]))
            print(self.failures[-1], flush=True)  # noqa: T201

    def left(self, command: Command, fault: Fault) -> list[str]:
        """Temporary files of this command. SIGKILL may leave some; they stay, and must not disturb later commands."""
        found = {path for path in files_in(self.folder) if path.name.endswith(".part") or ".unfinished" in path.parts}
        found |= {path for path in self.scratch.iterdir() if f"kept in {path}" not in command.err}
        new = found - self.known
        self.known |= found
        for path in self.scratch.iterdir():
            if f"kept in {path}" in command.err and path.is_dir():
                shutil.rmtree(path)  # kept for a later --resume, as the message says
        if command.code == -signal.SIGKILL:
            return []
        return [f"left behind: {path.relative_to(self.folder)}" for path in sorted(new)]


def small_disk(path: Path) -> Path | None:
    """Mount a small file system, where that is permitted. ``main`` runs in a namespace of its own."""
    path.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", path], capture_output=True, check=False)
    return path if done.returncode == 0 else None
