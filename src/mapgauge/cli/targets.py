"""Checks what a command writes, before the work begins: files that cannot be written, and files that are its inputs."""

import errno
import os
import stat
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from mapgauge.cli.inputs import files_of
from mapgauge.cli.parsing import refuse
from mapgauge.errors import MapgaugeError, UnreadableFile

SUFFIX = ".mg"
PAGES = (".html", ".htm")
FIGURES = (".pdf", ".png", ".svg", ".eps", ".jpg", ".jpeg")
_LOCAL = ("file://", "local://")  # URLs of files on this machine
_NOT_ON_WINDOWS = '<>:"|?*'  # characters that no file can have in its name there, or that mean something else
# Names of devices, which no file can have there, whatever follows a dot.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{device}{number}" for device in ("com", "lpt") for number in range(1, 10))}
_ANOTHER = "Give another name"
_ELSEWHERE = "Pass another folder, or an empty one, with --output"
_MOST_OF_MARK = 1 << 16  # bytes


def check_targets(
    outputs: Iterable[Path | None],
    inputs: Iterable[Path | None],
    *,
    folders: Iterable[Path | None] = (),
    new_folder: Path | None = None,
) -> None:
    """Refuse outputs that overwrite an input or each other, or that cannot be written.

    A file that the command reads afterwards, and that is none of the given inputs, is compared with the outputs too.
    Files are the same if they are one file on the disk. Links and other spellings of a path are therefore found. Own
    folders are a work folder, or the finished parts of an interrupted run. A new folder is created after the checks.
    """
    from mapgauge.io.files.source import OUTPUTS

    written = [path for path in outputs if path is not None]
    own = [path for path in folders if path is not None]
    OUTPUTS.declare(written)
    given = [path for path in inputs if path is not None]
    given += [file for path in given for file in files_of(path)]
    sources = [path for path in map(_local, given) if path is not None]
    for k, path in enumerate([*written, *own]):
        for source in sources:
            _check_input(path, source, folder=k >= len(written))
        for other in [*written, *own][:k]:
            if _same(path, other):
                raise MapgaugeError(f"{path}: two outputs would be written to this file", remedy=_ANOTHER)
    for path in written:
        for folder in own:
            _check_input(path, folder, folder=False)
    for path in (*written, *own, *([new_folder] if new_folder else [])):
        _check_name(path)
    if new_folder is not None:
        make_folder(new_folder)
    for path in written:
        check_target(path)


def check_named(inputs: Iterable[Path]) -> None:
    """Refuse outputs that overwrite a file that results name."""
    from mapgauge.io.files.source import OUTPUTS

    for source in filter(None, map(_local, inputs)):
        for path in OUTPUTS.paths:
            _check_input(path, source, folder=False)


def check_target(path: Path) -> None:
    """Refuse a file that cannot be written."""
    from mapgauge.io.files.writing import is_read_only

    _check_name(path)
    target = Path(os.path.realpath(path))  # a link stays, and the file it points to is written
    reason = None
    remedy = None
    if target.is_dir():
        reason = "expected the name of a file, found a folder"
    elif not target.parent.is_dir():
        folder = path.parent
        if path.is_symlink():
            folder = target.parent
        reason = f"the folder {folder} does not exist"
        remedy = "Create it first"
    elif is_read_only(target.parent):
        reason = f"the disk of {path.parent} is read-only"
        remedy = "Give a name on another disk"
    elif not os.access(target.parent, os.W_OK):
        reason = f"no permission to write in {path.parent}"
    elif target.exists() and not stat.S_ISREG(target.stat().st_mode):
        reason = "expected the name of a file, found a device or a pipe"
    elif target.exists() and not os.access(target, os.W_OK):
        reason = "the file is write-protected"
    if reason is not None:
        raise MapgaugeError(f"{path}: cannot be written: {reason}", remedy=remedy)


def check_figure(path: Path | None) -> None:
    """Refuse a figure that cannot be drawn: an unknown suffix, or no matplotlib."""
    if path is None:
        return

    from mapgauge.dependencies import matplotlib_module

    matplotlib_module()  # before the module of figures imports it

    from mapgauge.views.figures.style import suffix_of

    suffix_of(path)


def check_geometry(output: Path | None, *, wanted: bool) -> None:
    """Refuse to write the geometry nowhere, or without pyarrow."""
    from mapgauge.dependencies import pyarrow_modules

    if not wanted:
        return
    if output is None:
        refuse("--with-geometry", "needs a file to write to: -o FILE")
    pyarrow_modules()


def check_page(option: str, path: Path | None) -> None:
    """Refuse a report that is no HTML page."""
    if path is not None and path.suffix.lower() not in PAGES:
        if path.suffix.lower() in FIGURES:
            advice = "For a PDF, open the report in a browser and print it; for figures, use mapgauge plot"
        else:
            advice = f"Write to {path.with_suffix(PAGES[0]).name}"
        refuse(option, f"a report is an HTML page: expected a name that ends in {PAGES[0]}, got {path}. {advice}")


def check_results(option: str, path: Path | None) -> None:
    """Refuse a file of results whose name says something else, such as that of a file of predictions."""
    if path is None or path.suffix.lower() == SUFFIX:
        return
    advice = f"Write to {path.with_suffix(SUFFIX).name}"
    if not path.suffix:
        advice = f"{advice}, or into a folder: {path}/"
    if path.suffix.lower() in PAGES:
        advice = f"{advice}, or a report with --report {path.name}"
    if path.suffix.lower() == ".json":
        advice = f"{advice}, or print JSON with --json"
    if path.suffix.lower() == ".csv":
        advice = f"{advice}, or print CSV with --csv"
    refuse(option, f"results are written to a name that ends in {SUFFIX}, got {path}. {advice}")


def make_folder(path: Path) -> None:
    """Create a folder if it does not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MapgaugeError(f"{path}: the folder cannot be created: {error.strerror or error}") from error


def own_folder(folder: Path, mark: str, files: Sequence[str], writer: str) -> None:
    """Create a folder for the files of a command, or take one that the command made before.

    A folder with other files is refused, so that nothing is overwritten by accident. The file ``mark`` lists the files
    of the command, which messages call ``writer``.
    """
    from mapgauge.io.files.source import Content
    from mapgauge.io.files.writing import save

    make_folder(folder)
    try:
        names = {file.name for file in folder.iterdir()}
        if mark in names:
            own = set(Content(folder / mark, _MOST_OF_MARK).data.decode().split())
        else:
            own = set[str]()
    except UnreadableFile as error:
        raise UnreadableFile(error.message, remedy=_ELSEWHERE) from error
    except (OSError, UnicodeDecodeError) as error:
        raise MapgaugeError(f"{folder}: cannot be read: {error}", remedy=_ELSEWHERE) from error
    foreign = sorted(names - {mark} if not own else (names - own) & set(files))
    if foreign:
        raise MapgaugeError(
            f"{folder}: this folder has files that {writer} did not write ({', '.join(foreign[:3])})", remedy=_ELSEWHERE
        )
    save(folder / mark, "\n".join(files).encode())


def files_of_each(
    path: Path | None, names: Sequence[str], suffix: str = "", *, into_folder: bool = False
) -> list[Path | None]:
    """Return the file or the folder of each method: the given one, or those in a folder.

    With several methods the path is a folder, also if ``into_folder`` is False.
    """
    if path is None:
        return [None] * len(names)
    if len(names) == 1 and not into_folder:
        return [path]
    if suffix and path.suffix == suffix and not into_folder:
        refuse("--output", f"must be a folder if there are several predictions or protocols, got the file {path}")
    return [path / f"{stem}{suffix}" for stem in _stems(names)]


def page_of(page: Path, protocol: str) -> Path:
    """Return the file of the report of one of several protocols: ``report-maptr.html``. "" is for the only one."""
    if protocol:
        return page.with_name(f"{page.stem}-{protocol}{page.suffix}")
    return page


def _stems(names: Sequence[str]) -> list[str]:
    """Return a file name for each method. Refuse names that become the same file name."""
    refused = f"/{os.sep}"
    if sys.platform == "win32":
        refused += _NOT_ON_WINDOWS
    stems = [name.translate(dict.fromkeys(map(ord, refused), "-")) for name in names]
    if sys.platform == "win32":
        stems = [f"{stem}-" if stem.partition(".")[0].casefold() in _DEVICES else stem for stem in stems]
    folded = [stem.casefold() if sys.platform in ("win32", "darwin") else stem for stem in stems]
    for k, stem in enumerate(folded):
        if stem in folded[:k]:
            first = names[folded.index(stem)]
            refuse(
                "FILE,name", f"{first} and {names[k]} would be written to the same file {stems[k]}. Give other names"
            )
        if stem in (".", ".."):
            refuse("FILE,name", f"{names[k]} cannot be the name of a file. Give another name")
    return stems


def _local(path: Path | None) -> Path | None:
    """Return the path of an input on this machine; None for other URLs, and for a name that no file can have."""
    if path is None or "\0" in str(path):
        return None
    url = getattr(path, "url", None)
    if url is None:
        return path
    return next((Path(url.removeprefix(scheme)) for scheme in _LOCAL if url.startswith(scheme)), None)


def _same(first: Path, second: Path) -> bool:
    """Whether two paths are the same file, or will be."""
    with suppress(OSError, ValueError):  # one of them does not exist
        if first.samefile(second):
            return True
    real, against = (os.path.normcase(os.path.realpath(path)) for path in (first, second))
    return real == against


def _check_input(path: Path, source: Path, *, folder: bool) -> None:
    """Refuse an output that is an input, belongs to a folder that is an input, or is a folder that contains one."""
    from mapgauge.io.files.source import overwrites

    if _same(path, source):
        raise overwrites(path)
    real = Path(os.path.realpath(path))
    against = Path(os.path.realpath(source))
    if folder and real in against.parents:
        raise MapgaugeError(f"{path}: this folder contains the input {source}", remedy="Give another folder")
    # Not ``Path.is_dir``, which fails if the name is too long: reading it gives a better error.
    if not folder and os.path.isdir(source) and _is_part(path, real, against):  # noqa: PTH112
        if path.exists():
            what = "overwrite"
        else:
            what = "become"
        raise MapgaugeError(f"{path}: would {what} a part of {source}, which this command uses", remedy=_ANOTHER)


def _is_part(path: Path, real: Path, folder: Path) -> bool:
    """Whether a file to write is a part of a data set, a work folder or a data root.

    A new file beside the parts is allowed, for example results in the folder of the data set.
    """
    from mapgauge.io.files.places import is_dataset, streams
    from mapgauge.results.folder import is_own

    exists = path.is_file()
    if exists and streams(path) and any(_same(path, part) for part in folder.rglob("*.parquet")):
        return True
    if folder not in real.parents:
        return False
    inside = real.relative_to(folder)
    joins = inside.suffix == ".parquet" and is_dataset(folder)  # a new file would become a part
    return joins or is_own(inside) or (exists and len(inside.parts) > 1)


def _check_name(path: Path) -> None:
    """Refuse a name that is too long for the file system. The folder may not exist yet."""
    folder = path.absolute()
    names: list[str] = []
    while not os.path.lexists(folder) and folder != folder.parent:
        names.append(folder.name)
        folder = folder.parent
    try:
        for name in names:
            (folder / name).stat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise MapgaugeError(
                f"{path}: cannot be written: the name is too long for the file system", remedy="Give a shorter name"
            ) from error
