"""What the package has, as ``mapgauge list`` says it. Features may have been deleted."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.commands import said

import mapgauge as mg


@cache
def listed(what: str) -> list[dict[str, Any]]:
    """Return the rows of a list: of ``formats``, ``metrics`` or ``protocols``."""
    rows: list[dict[str, Any]] = json.loads(said(f"list {what} --json", Path.cwd()))
    return rows


def protocols() -> dict[str, mg.Protocol]:
    """Return all protocols by name."""
    return {row["name"]: mg.protocol(row["name"]) for row in listed("protocols")}


def written() -> list[str]:
    """Return the names of the formats that can be written."""
    return [row["name"] for row in listed("formats") if row["write"]]
