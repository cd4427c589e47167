"""Manifests: what the core, each feature and each plug-in add to the package. All tables are made from them.

A manifest is one ``Feature`` named ``FEATURE`` at the top level of a module:

- of the core, in ``mapgauge/core.py``;
- of a feature, in ``mapgauge/features/NAME/__init__.py``: the folders are the list of features, so deleting a folder
  deletes a feature;
- of a plug-in, in a module of another distribution that an entry point of the group ``mapgauge.features`` names, or in
  any module that is given to ``use``.

A manifest names objects by their places, which are texts, so importing it costs nothing. ``"error:SHARE"`` is the
object ``SHARE`` of the module ``error`` beside the manifest, and ``":LENGTH"`` is an object of the manifest's own
module. Objects are imported when a table that needs them is first used.
"""

import importlib
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import RLock
from typing import Any, Generic, TypeVar

from mapgauge.errors import MapgaugeError

Row = TypeVar("Row")

GROUP = "mapgauge.features"  # the group of entry points of plug-ins
NAME = "FEATURE"  # of a manifest in its module
GROUPS = ("Evaluate", "Look", "Ask", "Data", "More")  # the groups of commands in the help, in this order


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of the command line."""

    place: str  # of its function, or of a Typer with commands of its own
    group: str  # one of ``GROUPS``
    examples: tuple[str, ...] = ()  # of what follows the name of the command
    order: int = 100  # in its group: lower numbers come first, then the names decide
    daily: bool = False  # whether ``mapgauge`` alone lists it; those of plug-ins are listed by the help only


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: a function of ``mapgauge.plot``, and how ``mapgauge plot`` draws it."""

    place: str  # of a function that returns a figure of matplotlib
    command: str = ""  # its name in ``mapgauge plot``; "" if only Python has it
    about: str = ""  # what it shows, for the help
    options: tuple[str, ...] = ()  # the options of ``mapgauge plot`` that it takes
    needs_data: str = ""  # place of ``f(results, options) -> bool``: whether it needs the evaluated files
    order: int = 100  # in the help


@dataclass(frozen=True, kw_only=True)
class Feature:
    """Everything that a feature adds. All texts are places, unless the comment says otherwise."""

    metrics: tuple[str, ...] = ()  # of ``Metric``
    protocols: tuple[str, ...] = ()  # of functions that return an iterable of ``Protocol``
    citations: tuple[str, ...] = ()  # of ``Citation``: what to cite for metrics and rules
    selections: tuple[str, ...] = ()  # of functions that return an iterable of ``Selection``: parts of the instances
    formats: tuple[str, ...] = ()  # of ``Format``
    checks: tuple[str, ...] = ()  # of functions that return an iterable of ``Check``: what may be wrong with the input
    columns: tuple[str, ...] = ()  # of ``Column``: what files and batches may say about instances
    commands: Mapping[str, Command] = field(default_factory=dict)  # by name
    lists: Mapping[str, str] = field(default_factory=dict)  # of functions, by name: the commands of ``mapgauge list``
    figures: Mapping[str, Figure] = field(default_factory=dict)  # by their names in ``mapgauge.plot``
    sections: tuple[str, ...] = ()  # of ``Section``, a part of the report and of ``mapgauge view``
    sentences: tuple[str, ...] = ()  # of ``Sentence``: a statement of the answer
    ahead: tuple[str, ...] = ()  # of ``WorkAhead``: what sentences and sections need from every block of frames
    links: tuple[str, ...] = ()  # of ``DrawnLinks``: right and wrong links of a frame, for figures and the report
    similar: tuple[str, ...] = ()  # of ``Similar``: columns of ``frames --like``, and frames that are alike in ``view``
    priors: tuple[str, ...] = ()  # of ``PriorTables``: what ``evaluate --prior`` adds
    names: Mapping[str, str] = field(default_factory=dict)  # public names of ``mapgauge``, and their places
    torch: Mapping[str, str] = field(default_factory=dict)  # public names of ``mapgauge.torch``, and their places
    needs: tuple[str, ...] = ()  # names (not places) of features that this one imports from


@dataclass(frozen=True)
class Manifest:
    """A manifest that was found: a feature, the module it stands in, and who brought it."""

    module: str
    feature: Feature
    owner: str = "mapgauge"  # in messages
    is_installed: bool = False  # whether an entry point of another distribution names it

    @property
    def name(self) -> str:
        """The name of the feature: the last part of its module."""
        return self.module.rpartition(".")[2]

    def full(self, place: str) -> str:
        """Return a place with its whole module.

        >>> Manifest("our_package", Feature()).full("error:SHARE")
        'our_package.error:SHARE'
        >>> Manifest("our_module", Feature()).full(":LENGTH")
        'our_module:LENGTH'
        """
        module, _, name = place.partition(":")
        if self.module == CORE:
            package = "mapgauge"
        else:
            package = self.module
        if module:
            return f"{package}.{module}:{name}"
        return f"{self.module}:{name}"

    def load(self, place: str) -> Any:
        """Import the object at a place."""
        module, _, name = self.full(place).partition(":")
        return getattr(importlib.import_module(module), name)


CORE = "mapgauge.core"  # the module of the core's manifest
FEATURES = "mapgauge.features"

_lock = RLock()
_tables: "list[RowTable[Any]]" = []
_modules: list[str] = []  # given to ``use``, in order
_importing: list[str] = []  # the installed plug-in that is being imported, if there is one
# This guard and ``RowTable._is_loading`` cannot be one. While manifests are imported, none is known, so no table has
# rows of plug-ins. While a table loads its rows of plug-ins, all manifests are known: the module of a metric may read
# the table of protocols, with those of plug-ins, but not the table of metrics, which is being made.


@cache
def own() -> tuple[Manifest, ...]:
    """Return the manifests of the core and of the features of the package, by name."""
    folders = importlib.import_module(FEATURES).__path__
    names = sorted(module.name for module in pkgutil.iter_modules(folders))
    modules = [CORE, *(f"{FEATURES}.{name}" for name in names)]
    return tuple(Manifest(module, getattr(importlib.import_module(module), NAME)) for module in modules)


@cache
def _installed() -> tuple[Manifest, ...]:
    """Return the manifests of installed plug-ins, by name. One that cannot be imported is a warning."""
    from importlib.metadata import entry_points

    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        if entry.dist is None:
            distribution = ""
        else:
            distribution = f" of the distribution {entry.dist.name} {entry.dist.version}"
        owner = f"the plug-in {entry.name}{distribution}"
        _importing.append(entry.name)
        try:
            feature = entry.load()
        except Exception as error:
            _tell(f"{owner} cannot be imported: {type(error).__name__}: {error}")
            continue
        finally:
            _importing.pop()
        if not isinstance(feature, Feature):
            _tell(f"{owner}: {entry.value} is a {type(feature).__name__}, expected a mapgauge.plugin.Feature")
            continue
        found.append(Manifest(entry.module, feature, owner, is_installed=True))
    return tuple(found)


def _given() -> tuple[Manifest, ...]:
    """Return the manifests of modules that were given to ``use``."""
    return tuple(Manifest(module, _feature_of(module), f"the plug-in {module}") for module in _modules)


def _feature_of(module: str) -> Feature:
    """Import a module and return its manifest."""
    try:
        feature = getattr(importlib.import_module(module), NAME, None)
    except Exception as error:
        raise MapgaugeError(
            f"the plug-in {module} cannot be imported: {type(error).__name__}: {error}",
            remedy="Give the name of a module; its folder must be on PYTHONPATH",
        ) from error
    if not isinstance(feature, Feature):
        raise MapgaugeError(
            f"the plug-in {module} has no {NAME}, expected a mapgauge.plugin.Feature of this name",
            remedy=f"Write at the top level of the module: {NAME} = Feature(...)",
        )
    return feature


def outside() -> tuple[Manifest, ...]:
    """Return the manifests of plug-ins: the installed ones, then those of ``use``.

    A plug-in that asks while it is imported gets none.
    """
    with _lock:
        if _importing:
            return ()
        return (*_installed(), *_given())


def manifests() -> tuple[Manifest, ...]:
    """Return all manifests: the core, the features by name, and the plug-ins."""
    return (*own(), *outside())


class PluginWarning(UserWarning):
    """A plug-in, or a part of it, cannot be used and is left out."""


_told: list[str] = []  # what is wrong with plug-ins


def _tell(text: str) -> None:
    """Warn once of a plug-in that cannot be used."""
    if text not in _told:
        _told.append(text)
        message = f"{text}. It is left out. Repair or uninstall this distribution"
        warnings.warn(message, PluginWarning, stacklevel=2)


def _refuse(manifest: Manifest, fault: str) -> None:
    """Warn of a fault of an installed plug-in, which is left out. In a plug-in that was asked for, it is an error."""
    text = f"{manifest.owner}: {fault}"
    if not manifest.is_installed:
        raise MapgaugeError(text, remedy="Change the plug-in, or do not use it")
    _tell(text)


def left_out() -> str:
    """Return what is wrong with plug-ins, for an error about a name that is not known; "" if all could be used."""
    return "".join(f". Note: {text}" for text in _told)


def each_object(name: str, *, among: Iterable[Manifest] | None = None) -> Iterator[tuple[Manifest, Any]]:
    """Yield the objects that manifests name in one of their fields, with the manifests.

    A place of an installed plug-in that cannot be imported is a warning. A place of another manifest is an error.
    """
    if among is None:
        among = manifests()
    for manifest in among:
        for place in getattr(manifest.feature, name):
            loaded = load_if_possible(manifest, place)
            if loaded is not None:
                yield manifest, loaded


def only_object(name: str) -> Any:
    """Return the object that manifests name in a field that has room for one; None if there is none.

    The first that can be imported is used: those of the package come before plug-ins. Each further one is a warning.
    """
    used: tuple[Manifest, str] | None = None
    found = None
    for manifest in manifests():
        for place in getattr(manifest.feature, name):
            if used is None:
                found = load_if_possible(manifest, place)
                if found is not None:
                    used = manifest, manifest.full(place)
                continue
            first, its_place = used
            second = f"{manifest.owner}: {manifest.full(place)}"
            _tell(f"{second} adds {name}, and so does {its_place} of {first.owner}, which is used")
    return found


def load_if_possible(manifest: Manifest, place: str) -> Any:
    """Return the object at a place. One of an installed plug-in that cannot be imported is a warning, and None."""
    try:
        return manifest.load(place)
    except Exception as error:
        if not manifest.is_installed:
            raise
        _tell(f"{manifest.owner}: {manifest.full(place)} cannot be imported: {type(error).__name__}: {error}")
        return None


def public(name: str) -> Any:
    """Return what a public name of the package names, for modules that cannot import it: it is made after them."""
    return next(manifest.load(manifest.feature.names[name]) for manifest in own() if name in manifest.feature.names)


class RowTable(MutableMapping[str, Row], Generic[Row]):
    """Rows by their names: those of the package in the order of their numbers, then those of plug-ins.

    A row of the package is found without loading plug-ins. So a plug-in may read the tables while it is imported.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        *,
        rows: Callable[[Any], Iterable[Row]] = lambda loaded: (loaded,),
        order: Callable[[Row], int] = lambda row: 0,
    ) -> None:
        """Prepare the table of a field of manifests. Nothing is imported.

        Args:
            name: The field of ``Feature``.
            kind: The place of the class of a row, with its whole module.
            rows: Returns the rows of an object that a manifest names; usually the object is the row.
            order: Returns the number by which rows of the package are ordered. Equal ones stay in the order of their
                manifests.
        """
        self.name = name
        self._kind = kind
        self._rows_of = rows
        self._order = order
        self._own: dict[str, Row] | None = None
        self._all: dict[str, Row] | None = None
        self._is_loading = False
        _tables.append(self)

    def __getitem__(self, name: str) -> Row:
        """Return a row."""
        known = self._at_hand()
        if name in known:
            return known[name]
        return self._loaded()[name]

    def at_hand(self, name: str) -> Row | None:
        """Return a row; None if there is none before plug-ins are loaded."""
        return self._at_hand().get(name)

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

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Return some names in the order of the table. Plug-ins are loaded only if a name is not the package's own."""
        wanted = list(names)
        known = self._at_hand()
        if any(name not in known for name in wanted):
            known = self._loaded()
        place = {name: k for k, name in enumerate(known)}
        return sorted(wanted, key=place.__getitem__)

    def forget(self) -> None:
        """Load the rows of plug-ins again at the next use."""
        self._all = None

    def _at_hand(self) -> dict[str, Row]:
        """Return the rows of the package, and those of plug-ins if they are loaded."""
        if self._all is None:
            return self._of_package()
        return self._all

    def _of_package(self) -> dict[str, Row]:
        """Return the rows of the core and of the features."""
        if self._own is None:
            with _lock:
                if self._own is None:
                    rows = [row for _, loaded in each_object(self.name, among=own()) for row in self._rows_of(loaded)]
                    named: list[Any] = sorted(rows, key=self._order)
                    self._own = {row.name: row for row in named}
        return self._own

    def _loaded(self) -> dict[str, Row]:
        """Return all rows. While plug-ins are imported, these are the rows of the package."""
        if self._all is not None:
            return self._all
        with _lock:
            if self._all is None:
                if self._is_loading or _importing:
                    return self._of_package()
                self._is_loading = True
                try:
                    self._all = self._with_plugins()
                finally:
                    self._is_loading = False
            return self._all

    def _with_plugins(self) -> dict[str, Row]:
        """Return the rows of the package and of plug-ins. Faulty ones of installed plug-ins are left out."""
        rows = dict(self._of_package())
        owners = dict.fromkeys(rows, "mapgauge")
        for manifest, loaded in each_object(self.name, among=outside()):
            for row in self._rows_of_plugin(manifest, loaded):
                wrong = self._fault_of(row, rows, owners)
                if not wrong:
                    name = getattr(row, "name")  # noqa: B009, the type of a row is not known here
                    rows[name] = row
                    owners[name] = manifest.owner
                else:
                    _refuse(manifest, wrong)
        return rows

    def _rows_of_plugin(self, manifest: Manifest, loaded: Any) -> list[Any]:
        """Return the rows of an object of a plug-in. If its function fails, it has none."""
        try:
            return list(self._rows_of(loaded))
        except Exception as error:
            _refuse(manifest, f"its {self.name} cannot be made: {type(error).__name__}: {error}")
            return []

    def _fault_of(self, row: Any, rows: Mapping[str, Any], owners: Mapping[str, str]) -> str:
        """Return why a row of a plug-in cannot be used, or ""."""
        module, _, kind = self._kind.partition(":")
        if not isinstance(row, getattr(importlib.import_module(module), kind)):
            return f"a row of {self.name} is a {type(row).__name__}, expected a {kind}"
        if rows.get(row.name, row) is not row:
            return f"the name {row.name!r} in {self.name} is used by {owners[row.name]}"
        return ""


def use(modules: Sequence[str]) -> None:
    """Use plug-ins that are not installed.

    Args:
        modules: Names of modules. Each has a ``Feature`` named ``FEATURE`` at its top level. A module that was already
            given adds nothing.
    """
    for module in modules:
        with _lock:
            if module in _modules:
                continue
            _feature_of(module)
            _modules.append(module)
            _forget()
            try:
                for table in _tables:
                    len(table)
            except Exception:
                _modules.remove(module)
                _forget()
                raise


def _forget() -> None:
    for table in _tables:
        table.forget()


def used() -> tuple[str, ...]:
    """Return the modules given to ``use``. A worker process needs them too."""
    return tuple(_modules)


def mapping(name: str, *, among: Iterable[Manifest] | None = None) -> dict[str, tuple[Manifest, Any]]:
    """Return a field of manifests that is a mapping, such as ``commands``: by key, the manifest and the value.

    The package comes first. A name that it has cannot be replaced by a plug-in, which is a warning.
    """
    if among is None:
        among = manifests()
    found: dict[str, tuple[Manifest, Any]] = {}
    for manifest in among:
        for key, value in getattr(manifest.feature, name).items():
            first, _ = found.setdefault(key, (manifest, value))
            if first is not manifest:
                _tell(f"{manifest.owner}: the name {key!r} in {name} is used by {first.owner}")
    return found
