"""Tests that the documentation lists the code of every finding."""

import re
from pathlib import Path

import mapgauge

PACKAGE = Path(mapgauge.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "findings.md"


def test_every_code_is_documented() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.name != "findings.py")
    codes = set(re.findall(r'Finding\(\s*"(?:error|warning|note)",\s*"([a-z-]+)"', text))
    assert len(codes) > 30
    documented = set(re.findall(r"`([a-z-]+)`", PAGE.read_text(encoding="utf-8")))
    assert codes <= documented
