"""The stamp of compiled kernels on disk: which edits make them stale."""

from pathlib import Path

from mapgauge.kernels._cache import files_of, stamp


def test_a_stamp_follows_imports_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "top.py").write_text("from mapgauge.kernels.middle import (\n    f,\n)\n")
    (tmp_path / "middle.py").write_text("from mapgauge.kernels.bottom import g\nfrom mapgauge.kernels.top import h\n")
    (tmp_path / "bottom.py").write_text("one = 1\n")
    (tmp_path / "other.py").write_text("two = 2\n")

    def current() -> str:
        stamp.cache_clear()
        files_of.cache_clear()
        return stamp(tmp_path / "top.py")

    first = current()
    (tmp_path / "other.py").write_text("two = 3\n")
    assert current() == first
    (tmp_path / "bottom.py").write_text("one = 2\n")
    assert current() != first
