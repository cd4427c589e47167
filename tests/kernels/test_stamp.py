"""The stamp of compiled kernels on disk: which edits make them stale."""

from pathlib import Path

import pytest

from mapgauge.kernels import _cache
from mapgauge.kernels._cache import files_of, stamp


def test_a_stamp_follows_imports_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cache, "PACKAGE", tmp_path)
    folder, feature = tmp_path / "kernels", tmp_path / "features"
    folder.mkdir()
    feature.mkdir()
    (folder / "_jit.py").write_text("", encoding="utf-8")
    (feature / "kernels.py").write_text("from mapgauge.kernels.middle import (\n    f,\n)\n", encoding="utf-8")
    (folder / "middle.py").write_text(
        "from mapgauge.kernels.bottom import g\nfrom mapgauge.features.kernels import h\n", encoding="utf-8"
    )
    (folder / "bottom.py").write_text("one = 1\n", encoding="utf-8")
    (folder / "other.py").write_text("two = 2\n", encoding="utf-8")

    def current() -> str:
        stamp.cache_clear()
        files_of.cache_clear()
        return stamp(feature / "kernels.py")

    first = current()
    (folder / "other.py").write_text("two = 3\n", encoding="utf-8")
    assert current() == first
    (folder / "bottom.py").write_text("one = 2\n", encoding="utf-8")
    assert current() != first
