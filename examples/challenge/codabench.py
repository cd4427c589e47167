"""The scoring program of a Codabench task.

Codabench calls it with two folders. ``input/ref`` has the reference data: ``challenge.json`` and one file ``truth.*``.
``input/res`` has the unpacked upload: one file. It writes ``scores.json`` with the means, and nothing about a frame.
"""

import json
import sys
import tempfile
from pathlib import Path

import mapgauge as mg


def main(given: Path, output: Path) -> int:
    """Score the upload. Returns the exit code: 1 if the upload is refused."""
    challenge = mg.Challenge.load(given / "ref" / "challenge.json")
    (truth,) = (given / "ref").glob("truth.*")
    uploads = [path for path in sorted((given / "res").iterdir()) if path.name != "metadata"]
    if len(uploads) != 1:
        print(f"the upload must be a zip of one file, got {len(uploads)}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        scored = mg.score_submission(challenge, uploads[0], truth, folder, name="upload")
    for finding in scored.checked.findings:
        # A stranger chose the tokens: control characters are not printed.
        print("".join(letter if letter.isprintable() else "?" for letter in finding.for_shell()), file=sys.stderr)
    if scored.document is None:
        return 1
    scores = {key: value for key, value in scored.document["values"]["mean"].items() if value is not None}
    output.mkdir(parents=True, exist_ok=True)
    (output / "scores.json").write_text(json.dumps(scores, indent=2), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
