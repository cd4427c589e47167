"""Compares this tree with an earlier commit: ``make bench-against BEFORE=COMMIT``.

Both trees do the same jobs (``jobs.py``) on the same files, in turn, each in a process of its own, and the best of each
counts. The output of a job must be the same in both trees; otherwise its row says so. Jobs with an empty cache compile.
The kernels of all other jobs are compiled before the clock starts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.jobs import JOBS, prepare_files
from benchmarks.tables import heading, machine, row

HERE = Path(__file__).parent.parent
ROUNDS = 2


def run(tree: Path, name: str, folder: Path, cold: bool) -> dict[str, float | str]:
    """Do one job with the sources of a tree, and return what it measured."""
    with tempfile.TemporaryDirectory() as empty:
        settings = {
            "PYTHONPATH": str(tree / "src"),
            "NUMBA_CACHE_DIR": empty if cold else str(folder / "kernels"),
            # Python keeps the modules that it compiled, as it does for an installed package.
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        }
        command = [sys.executable, "-m", "benchmarks.jobs", name, str(folder)]
        done = subprocess.run(
            command, cwd=HERE, env=os.environ | settings, capture_output=True, text=True, encoding="utf-8"
        )
    if done.returncode:
        raise SystemExit(f"{name} failed with the sources in {tree}:\n{done.stderr}")
    found: dict[str, float | str] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(before: str, names: list[str], frames: int, rounds: int) -> None:
    """Check out the earlier commit, do all jobs, and print the table."""
    machine("numpy", "numba", "mapgauge")
    commit = subprocess.check_output(
        ["git", "rev-parse", "--short", before], cwd=HERE, text=True, encoding="utf-8"
    ).strip()
    with tempfile.TemporaryDirectory() as name:
        files, tree = Path(name) / "files", Path(name) / "before"
        files.mkdir()
        prepare_files(files, frames)
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(tree), before], cwd=HERE, check=True)
        try:
            heading(
                f"Before ({commit}) and after, {frames:,} frames",
                *(
                    "job",
                    "before, s",
                    "after, s",
                    "ratio",
                    "processor s",
                    "peak MB",
                ),
            )
            for job in names:
                compare(job, tree, files, rounds)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=HERE, check=True)


def compare(name: str, tree: Path, files: Path, rounds: int) -> None:
    """Do one job in both trees in turn and print its row."""
    job, trees = JOBS[name], (tree, HERE)
    if not job.cold and not job.once:
        for each in trees:
            run(each, name, files, cold=False)  # compiles and fills caches of the system
    if job.cold or job.once:
        rounds = 1
    runs = [[run(each, name, files, job.cold) for each in trees] for _ in range(rounds)]
    best = [{key: min(float(pair[k][key]) for pair in runs) for key in ("wall", "cpu", "memory")} for k in (0, 1)]
    same = len({str(one["output"]) for pair in runs for one in pair}) == 1
    row(
        job.title + ("" if same else " (DIFFERENT OUTPUT)"),
        *(f"{one['wall']:.2f}" for one in best),
        f"{best[1]['wall'] / best[0]['wall']:.2f}",
        " / ".join(f"{one['cpu']:.2f}" for one in best),
        " / ".join(f"{one['memory']:.0f}" for one in best),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", help="commit to compare with")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--frames", type=int, default=6019)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    main(arguments.before, arguments.jobs, arguments.frames, arguments.rounds)
