"""Scoring of submissions on systems that lack something, as if this system lacked it."""

import sys

import pytest

from mapgauge.features.challenge import process


def test_limits_are_named_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows
    assert "no limits of memory" in process.limit_resources(1, 1)
