"""Tables of rows: of the package, of installed plug-ins, and of modules that the user names.

A plug-in is a distribution with an entry point in the group of a table (``mapgauge.metrics``, ``mapgauge.formats``,
``mapgauge.protocols``), or any module given to ``use``. Rows are loaded when a table is first used.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from threading import RLock
from typing import Any, Generic, TypeVar

from mapgauge.errors import MapgaugeError

Row = TypeVar("Row")

_lock = RLock()
_tables: "list[Table[Any]]" = []
_modules: list[str] = []  # given to ``use``, in order


def named(text: str) -> Any:
    """Return the object of a text such as ``"mapgauge.metrics.pld:PLD"``."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)


class Table(MutableMapping[str, Row], Generic[Row]):
    """Rows by their names: first the rows of the package, then of plug-ins in the order of their names."""

    def __init__(self, group: str, kind: str, own: Callable[[], Mapping[str, Row]]) -> None:
        """Prepare a table of a group of entry points. Nothing is imported.

        ``kind`` is the class of a row, as module and name. ``own`` returns the rows of the package.
        """
        self.group, self._kind, self._own = group, kind, own
        self._rows: dict[str, Row] | None = None
        _tables.append(self)

    def __getitem__(self, name: str) -> Row:
        """Return a row."""
        return self._loaded()[name]

    def __setitem__(self, name: str, row: Row) -> None:
        """Add or replace a row in this process."""
        self._loaded()[name] = row

    def __delitem__(self, name: str) -> None:
        """Remove a row in this process."""
        del self._loaded()[name]

    def __iter__(self) -> Iterator[str]:
        """Return the names of all rows."""
        return iter(self._loaded())

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._loaded())

    def rows_of(self, module: str) -> dict[str, Row]:
        """Return the rows that a module defines or imports."""
        kind = named(self._kind)
        rows = vars(importlib.import_module(module)).values()
        return {row.name: row for row in rows if isinstance(row, kind)}

    def forget(self) -> None:
        """Load the rows again at the next use."""
        self._rows = None

    def _loaded(self) -> dict[str, Row]:
        if self._rows is None:
            with _lock:
                if self._rows is None:
                    self._rows = self._load()
        return self._rows

    def _load(self) -> dict[str, Row]:
        from importlib.metadata import entry_points

        rows = dict(self._own())
        places = dict.fromkeys(rows, "mapgauge")

        def add(row: Any, place: str) -> None:
            known: Any = rows.setdefault(row.name, row)
            if known is not row:
                raise MapgaugeError(
                    f"{self.group}: the name {row.name!r} is used twice, by {places[row.name]} and by {place}",
                    remedy="Rename one of them, or uninstall one of the distributions",
                )
            places.setdefault(row.name, place)

        for entry in sorted(entry_points(group=self.group), key=lambda entry: (entry.name, entry.value)):
            of = "" if entry.dist is None else f" of the distribution {entry.dist.name} {entry.dist.version}"
            place = f"{entry.value}{of}"
            try:
                row = entry.load()
            except Exception as error:
                raise MapgaugeError(
                    f"{self.group}: {place} cannot be imported: {type(error).__name__}: {error}",
                    remedy="Repair or uninstall this distribution",
                ) from error
            if not isinstance(row, named(self._kind)):
                expected = self._kind.rpartition(":")[2]
                raise MapgaugeError(f"{self.group}: {place} is a {type(row).__name__}, expected a {expected}")
            add(row, place)
        for module in _modules:
            for row in self.rows_of(module).values():
                add(row, f"the plug-in {module}")
        return rows


def use(modules: Sequence[str]) -> None:
    """Add the rows of some modules to the tables.

    Args:
        modules: Names of modules. Each defines a metric, a format or a protocol at its top level. A module that was
            already given adds nothing.
    """
    for module in modules:
        with _lock:
            if module not in _modules:
                _use(module)


def _use(module: str) -> None:
    try:
        importlib.import_module(module)
    except Exception as error:
        raise MapgaugeError(
            f"the plug-in {module} cannot be imported: {type(error).__name__}: {error}",
            remedy="Give the name of a module; its folder must be on PYTHONPATH",
        ) from error
    if not any(table.rows_of(module) for table in _tables):
        raise MapgaugeError(
            f"the plug-in {module} has no row of a table, expected a Metric, a Format or a Protocol",
            remedy="Define one at the top level of the module",
        )
    _modules.append(module)
    try:
        for table in _tables:
            table.forget()
            len(table)
    except MapgaugeError:
        _modules.remove(module)
        for table in _tables:
            table.forget()
        raise


def used() -> tuple[str, ...]:
    """Return the modules given to ``use``. A worker process needs them too."""
    return tuple(_modules)
