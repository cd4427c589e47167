"""The folders in which tests find data files.

``PARITY`` is part of the repository: made-up files with the numbers that the public evaluators print for them.

``DATA`` is not: those files come from data sets whose licences forbid copies in the repository. The environment
variable ``MAPGAUGE_TEST_DATA`` names the folder. Its default is ``shared/data`` beside the repository. Tests that need
``DATA`` carry the mark ``needs_data`` and are skipped where the files are absent.
"""

import os
from pathlib import Path

import pytest

PARITY = Path(__file__).parent / "data" / "parity"
DATA = Path(os.environ.get("MAPGAUGE_TEST_DATA") or Path(__file__).parents[2] / "shared" / "data")
SURVEY = DATA.parent / "BAD_INPUTS.md"  # what the public evaluators do with bad input


def needs_data(*names: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test where one of these files or folders of ``DATA`` is absent."""
    absent = [path.name for path in map(DATA.joinpath, names) if not path.exists()]
    reason = f"{', '.join(absent)} not found in {DATA}: set MAPGAUGE_TEST_DATA to the folder of the sample files"
    return pytest.mark.skipif(bool(absent), reason=reason)
