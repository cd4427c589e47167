"""Tags of frames or scenes, such as city, night and rain, from a table of the user or the folder of a data set."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from mapgauge.decoding import decode_json
from mapgauge.dependencies import pyarrow_modules
from mapgauge.errors import InvalidInput, Remedy, UnreadableFile
from mapgauge.io.files.source import Content
from mapgauge.markup import shortened
from mapgauge.results.query import FrameColumn, Kind

_KEYS = ("token", "scene")
_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_EXPECTED = "expected a table (CSV, JSON or Parquet) with a column token or scene"
_MAPS = "log_map_archive_*____*_city_*.json"  # of Argoverse 2, in the folder of a log


@dataclass(frozen=True, eq=False)
class Tags:
    """Columns of tags by token or by scene."""

    name: str  # of the file or folder
    key: Literal["token", "scene", "either"]
    kinds: Mapping[str, Kind]
    rows: Mapping[str, Mapping[str, Any]]  # by token or scene, then by column


def read_tags(path: str | os.PathLike[str]) -> Tags:
    r"""Read tags of frames or scenes, for ``Results.where`` and ``Results.by``.

    Args:
        path: A table (CSV, JSON or Parquet) with a column ``token`` or ``scene``. JSON is a list of objects, or an
            object with an object for each token or scene. Or the folder of a data set: nuScenes gives ``city``,
            ``night`` and ``rain`` (from the logs and the descriptions of scenes), Argoverse 2 gives ``city``.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "tags.csv"
    >>> _ = file.write_text("scene,weather,night\nscene-0000,rain,no\nscene-0001,,yes\n")
    >>> tags = read_tags(file)
    >>> dict(tags.kinds), tags.rows["scene-0001"]
    ({'weather': 'text', 'night': 'flag'}, {'weather': None, 'night': True})
    """
    file = Path(path)
    if file.is_dir():
        return _of_data_set(file)
    content = Content(file)
    if content.is_parquet:
        arrow, parquet = pyarrow_modules()
        try:
            rows = parquet.read_table(file).to_pylist()
        except (arrow.ArrowException, OSError, ValueError) as error:  # ValueError: text that is not UTF-8
            raise UnreadableFile(f"{file}: {_EXPECTED}: {error}") from error
        return _table(str(file), rows)
    try:
        text = content.data.decode("utf-8-sig")
        if not text.lstrip().startswith(("[", "{")):
            return _table(str(file), _rows_of_csv(str(file), text))
        expected: Any = list[dict[str, Any]] | dict[str, dict[str, Any]]
        document: Any = decode_json(content.data, expected)
    except (msgspec.MsgspecError, UnicodeDecodeError, csv.Error) as error:
        raise UnreadableFile(f"{file}: {_EXPECTED}: {error}") from error
    if isinstance(document, list):
        return _table(str(file), document)
    return _typed(str(file), "either", document)


def tag_columns(tags: Tags, tokens: Sequence[str], scenes: Sequence[str] | None) -> dict[str, FrameColumn]:
    """Return the columns of tags for frames. A frame that the table does not have has no values."""
    if tags.key == "scene" and scenes is None:
        raise InvalidInput(
            f"{tags.name}: the tags belong to scenes, and the frames have no scenes",
            remedy=Remedy("Pass scenes= to evaluate", "Evaluate with scenes: TRUTH,scenes=FILE"),
        )
    named = {"token": [tokens], "scene": [scenes or ()], "either": [tokens, scenes or ()]}[tags.key]
    keys = next((keys for keys in named if any(key in tags.rows for key in keys)), None)
    if keys is None:
        what = "tokens"
        if tags.key == "scene":
            what = "scenes"
        first = next(iter(tags.rows), "none")
        raise InvalidInput(
            f"{tags.name}: no frame has one of its {len(tags.rows)} {what} (first: {first})",
            remedy="Check that the table belongs to this data set",
        )
    empty: Mapping[str, Any] = {}
    return {
        name: FrameColumn(kind, [tags.rows.get(key, empty).get(name) for key in keys])
        for name, kind in tags.kinds.items()
    }


def _rows_of_csv(name: str, text: str) -> list[dict[str, Any]]:
    """Return the rows of CSV."""
    header, *lines = list(csv.reader(io.StringIO(text, newline=""))) or [[]]
    if len(set(header)) < len(header):
        raise UnreadableFile(f"{name}: two columns have the same name")
    for k, line in enumerate(lines, 2):
        if line and len(line) != len(header):
            raise UnreadableFile(f"{name}: line {k} has {len(line)} values, expected {len(header)}")
    columns = zip(*filter(None, lines), strict=True)
    typed = [_values(title, [cell.strip() for cell in cells]) for title, cells in zip(header, columns, strict=False)]
    return [dict(zip(header, row, strict=True)) for row in zip(*typed, strict=True)]


def _values(title: str, cells: Sequence[str]) -> list[Any]:
    """Return a column of CSV as flags, numbers or text. Cells without text are None."""
    if title not in _KEYS:
        if all(cell.lower() in _WORDS for cell in cells if cell):
            return [_WORDS.get(cell.lower()) for cell in cells]
        with suppress(ValueError):
            return [float(cell) if cell else None for cell in cells]
    return [cell or None for cell in cells]


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> Tags:
    """Return the tags of rows, each with its token or scene."""
    key: Any = next((key for key in _KEYS if rows and key in rows[0]), None)
    if key is None:
        if rows:
            given = ", ".join(rows[0])
        else:
            given = "no rows"
        raise UnreadableFile(f"{name}: {_EXPECTED}, got {given}")
    by_key: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if by_key.setdefault(str(row.get(key, "")), row) != row:
            raise UnreadableFile(f"{name}: the {key} {row[key]!r} has two different rows")
    return _typed(name, key, by_key)


def _typed(name: str, key: Any, rows: Mapping[str, Mapping[str, Any]]) -> Tags:
    """Return tags with the kind of each column: flags, numbers, or text if the values differ in kind."""
    kinds: dict[str, Kind] = {}
    for column in dict.fromkeys(column for row in rows.values() for column in row if column not in _KEYS):
        cells = [cell for row in rows.values() if (cell := row.get(column)) is not None]
        types = {type(cell) for cell in cells}
        if types - {str, float, int, bool}:
            nested = shortened(
                repr(next(cell for cell in cells if type(cell) not in (str, float, int, bool))), longest=60
            )
            raise UnreadableFile(f"{name}: the column {column} must have text, numbers or true and false, got {nested}")
        if types == {bool}:
            kinds[column] = "flag"
        elif types and types <= {int, float}:
            kinds[column] = "number"
        else:
            kinds[column] = "text"

    def cell_of(row: Mapping[str, Any], column: str) -> Any:
        cell = row.get(column)
        if cell is None or cell != cell:  # NaN
            return None
        if kinds[column] == "text":
            return str(cell)
        return cell

    return Tags(
        name, key, kinds, rows={k: {column: cell_of(row, column) for column in kinds} for k, row in rows.items()}
    )


class _TaggedScene(msgspec.Struct):
    token: str
    name: str
    log_token: str
    description: str = ""


class _TaggedLog(msgspec.Struct):
    token: str
    location: str = ""


def _of_data_set(folder: Path) -> Tags:
    """Return the tags of the scenes of nuScenes, or of the logs of Argoverse 2."""
    tables = [folder, *sorted(folder.glob("v1.0-*"))]
    rows: dict[str, Mapping[str, Any]] = {}
    for table in tables:
        if not (table / "scene.json").is_file() or not (table / "log.json").is_file():
            continue
        try:
            logs = {log.token: log.location for log in decode_json(Content(table / "log.json").data, list[_TaggedLog])}
            scenes = decode_json(Content(table / "scene.json").data, list[_TaggedScene])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UnreadableFile(f"{table}: expected scene.json and log.json of nuScenes: {error}") from error
        for scene in scenes:
            said = {word: word in scene.description.lower() for word in ("night", "rain")}
            rows |= dict.fromkeys((scene.name, scene.token), {"city": logs.get(scene.log_token)} | said)
    if rows:
        return Tags(str(folder), "scene", {"city": "text", "night": "flag", "rain": "flag"}, rows=rows)
    for file in sorted(folder.rglob(_MAPS)):
        log, _, city = file.name.removeprefix("log_map_archive_").partition("____")
        rows[log] = {"city": city.partition("_city_")[0]}
    if not rows:
        raise UnreadableFile(f"{folder}: {_EXPECTED}, or the folder of nuScenes (with v1.0-*) or Argoverse 2")
    return Tags(str(folder), "scene", {"city": "text"}, rows=rows)
