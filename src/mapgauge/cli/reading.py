"""Files as the options say they are to be read, and in words what was read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from mapgauge.cli.options import Texts, listed, pairs, refuse
from mapgauge.cli.words import printable
from mapgauge.errors import InvalidInput, UnreadableFile

if TYPE_CHECKING:
    import numpy as np

    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.typing import Degenerate

_COMPRESSED = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read."""

    format: str | None = None
    truth_format: str | None = None
    rotate: float = 0.0  # the predictions, degrees
    degenerate: str = "strict"
    rename: Mapping[str, str] = field(default_factory=dict)  # of the predictions
    rename_truth: Mapping[str, str] = field(default_factory=dict)
    planar: bool = False
    certain: bool = False

    @classmethod
    def of(cls, *, rename: Texts = None, rename_truth: Texts = None, **options: Any) -> "Reading":
        """From options as they were given."""
        predicted, true = pairs("--rename", rename), pairs("--rename-truth", rename_truth)
        return cls(rename=predicted, rename_truth=true, **options)

    def predictions(self, path: Path) -> "MapFrames":
        """A file of predictions."""
        frames = self._read(path, self.format).rename(self.rename)
        if self.certain:
            frames = frames.with_confidence(1)
        return frames.rotate(self.rotate) if self.rotate else frames

    def truth(self, path: Path) -> "MapFrames":
        """A file of truth."""
        return self._read(path, self.truth_format, truth=True).rename(self.rename_truth)

    def _read(self, path: Path, format: str | None, *, truth: bool = False) -> "MapFrames":
        from mapgauge.io import read

        degenerate = cast("Degenerate", self.degenerate)
        frames = read(place(path), format, degenerate=degenerate)
        if truth and frames.format == "vectormapnet":  # it holds both, and gives the predictions unless asked
            frames = read(path, frames.format, degenerate=degenerate, part="truth")
        return frames.planar() if self.planar and frames.dimension == 3 else frames


def check_classes(classes: Texts, name: str, *sides: Sequence[str]) -> None:
    """Refuse a class asked for that neither side has: a slip of the pen would otherwise be a class without values."""
    known = dict.fromkeys(known for side in sides for known in side)
    unknown = [name for name in listed(classes) if name not in known]
    if unknown:
        raise InvalidInput(
            f"{name}: neither this nor the truth has the class {', '.join(unknown)}. "
            f"There are: {', '.join(known) or 'none'}"
        )


def check_files(*paths: Path) -> None:
    """Refuse files that are not there, before the first of them is read, which may take a while."""
    from mapgauge.files.places import is_dataset
    from mapgauge.files.source import Content

    for path in paths:
        if not is_dataset(place(path)):
            Content(path)


def read_scenes(path: Path) -> dict[str, str]:
    """The scene of each token: from a JSON object, or from frames of any format that have scenes."""
    import msgspec

    from mapgauge.files.json_documents import parse_json
    from mapgauge.files.places import is_dataset
    from mapgauge.files.source import Content
    from mapgauge.io import read

    if not is_dataset(place(path)):
        try:
            content = Content(path)
            scenes = msgspec.json.decode(content.data, type=dict[str, str])
            parse_json(content.data, content.error)  # refuses a token that occurs twice
            return scenes
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            wrong = f"{path}: expected a JSON object from token to scene, or frames with scenes: {error}"
    try:
        frames = read(place(path))
    except UnreadableFile as error:
        raise UnreadableFile(wrong) from error
    if frames.scenes is None:
        raise UnreadableFile(f"{path}: expected a JSON object from token to scene, or frames with scenes; it has none")
    return dict(zip(frames.tokens, frames.scenes, strict=True))


def place(path: Path) -> str | Path:
    """A path, or the URL that it was given as."""
    return getattr(path, "url", None) or path


def file_names(paths: Sequence[Path], given: Texts) -> list[str]:
    """What to call each file: what was given, or its name without suffixes, with as many folders as tell them apart.

    >>> file_names([Path("runs/a/submission.json"), Path("runs/b/submission.json.gz")], None)
    ['a/submission', 'b/submission']
    """
    names = listed(given)
    if names:
        if len(names) != len(paths) or len(set(names)) < len(names):
            refuse("--name", f"must be {len(paths)} different names, got {', '.join(names)}")
        return names
    parts = [(*path.absolute().parent.parts[1:], _stem(path)) for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    raise typer.BadParameter("the same file is given twice")


def _stem(path: Path) -> str:
    bare = path.with_suffix("") if path.suffix in _COMPRESSED else path
    return bare.stem


def contents_of(frames: "MapFrames") -> dict[str, Any]:
    """What is in a file, as plain values."""
    import numpy as np

    points = np.diff(frames.polylines.offsets)
    coords = frames.polylines.coords
    return {
        "name": frames.name,
        "format": frames.format,
        "frames": len(frames),
        "empty_frames": int(np.count_nonzero(np.diff(frames.offsets) == 0)),
        "instances": len(frames.polylines),
        "classes": frames.counts,
        "dimension": frames.dimension,
        "points_per_instance": _spread(points),
        "confidence": None if frames.confidence is None else _spread(frames.confidence),
        "extent": {
            axis: [float(column.min()), float(column.max())] if len(column) else None
            for axis, column in zip("xyz", coords.T, strict=False)
        },
        "tracks": None if frames.track is None else len(set(frames.track.tolist()) - {""}),
        "scenes": None if frames.scenes is None else len(set(frames.scenes)),
        "timestamps": frames.timestamps is not None,
        "poses": frames.poses is not None,
    }


def _spread(values: "np.ndarray[Any, Any]") -> dict[str, float] | None:
    import numpy as np

    if not len(values):
        return None
    return {"least": values.min().item(), "median": float(np.median(values)), "most": values.max().item()}


def in_words(frames: "MapFrames") -> list[str]:
    """What is in a file, in a few short lines."""
    found = contents_of(frames)
    counts = printable(", ".join(f"{count} {name}" for name, count in found["classes"].items()))
    empty = f" ({found['empty_frames']} empty)" if found["empty_frames"] else ""
    spread, points, extent = found["confidence"], found["points_per_instance"], found["extent"]
    bounds = [f"{axis} {ends[0]:.1f} to {ends[1]:.1f} m" for axis, ends in extent.items() if ends]
    measured = [", ".join(bounds)] if bounds else []
    if points:
        least, most = points["least"], points["most"]
        measured.append(f"{least} points each" if least == most else f"{least} to {most} points each")
    sure = "no confidences"
    if frames.confidence is not None:
        sure = f"confidence {spread['least']:.3f} to {spread['most']:.3f}" if spread else "nothing to be sure of"
    known = [f"{found[key]} {key}" for key in ("scenes", "tracks") if found[key] is not None]
    known += [name for name, there in (("time stamps", found["timestamps"]), ("poses", found["poses"])) if there]
    return [
        f"{found['frames']} frames{empty}, {found['instances']} instances" + (f": {counts}" if counts else ""),
        "; ".join([sure, *measured]),
        *([", ".join(known)] if known else []),
    ]
