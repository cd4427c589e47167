"""Scores all files of a folder and writes the board: ``score_folder.py SUBMISSIONS TRUTH CHALLENGE``.

CHALLENGE is the folder that ``mapgauge challenge init`` wrote. A file that is refused does not stop the others. Hidden
files, such as ``.gitkeep``, are no submissions.
"""

import sys
from pathlib import Path

import mapgauge as mg


def printable(text: str) -> str:
    """Return text without control characters. A stranger chose the name of the file and the tokens."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def main(submissions: Path, truth: Path, folder: Path) -> int:
    """Score all files. Returns the number of files that were refused, at most 1."""
    challenge = mg.Challenge.load(folder / "challenge.json")
    refused = 0
    for file in sorted(submissions.glob("[!.]*")):
        try:
            scored = mg.score_submission(challenge, file, truth, folder)
        except mg.MapgaugeError as error:
            print(printable(f"{file.name}: {error}"), file=sys.stderr)
            refused = 1
            continue
        if scored.document is None:
            refused = 1
        for finding in dict.fromkeys((*scored.checked.findings, *scored.findings)):
            print(printable(f"{file.name}: {finding.for_shell()}"), file=sys.stderr)
    board = mg.board(folder, challenge=challenge)
    board.save(folder / "board.html")
    print(board.statement)
    return refused


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:4])))
