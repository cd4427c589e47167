"""Opens the rig of a data set, which its files tell."""

import os
from collections.abc import Sequence
from pathlib import Path

from mapgauge.cameras.argoverse2 import Logs
from mapgauge.cameras.nuscenes import read_frames
from mapgauge.cameras.rig import Rig
from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.frames.tracks import scenes_from_tokens
from mapgauge.io.files.source import is_folder

_FOLDER = Remedy("Pass the folder of nuScenes or Argoverse 2", "Pass the folder of the data set with --images")


def open_rig(root: str | os.PathLike[str], tokens: Sequence[str], scenes: Sequence[str] | None = None) -> Rig:
    """Read the cameras of some frames. Frames that the data set lacks have no images; one frame must be there.

    Args:
        root: The folder of nuScenes (with ``v1.0-*`` and ``samples``) or of Argoverse 2 (with logs, or with splits).
        tokens: Tokens of the frames: of samples of nuScenes, or of sweeps of Argoverse 2 (log id, ``_`` and time, or
            only the time).
        scenes: The scene of each frame. It tells the log of a token that is only a time.
    """
    folder = Path(root)
    if not is_folder(folder):
        raise UnreadableFile(f"{folder}: no such folder, expected nuScenes or Argoverse 2", remedy=_FOLDER)
    versions = sorted(path.parent for path in folder.glob("*/sample_data.json"))
    if versions:
        by_token = read_frames(versions, set(tokens))
        rig = Rig(folder, "nuscenes", by_token.get)
        known = bool(by_token)
    else:
        logs = Logs.of(folder, tokens, scenes or scenes_from_tokens(tokens))
        rig = Rig(folder, "argoverse2", logs.frame)
        known = bool(logs.times)
    if not known:
        raise UnreadableFile(
            f"{folder}: expected the frames of the input (first: {next(iter(tokens), 'none')}), found none of these "
            f"{len(tokens)} tokens",
            remedy=_FOLDER,
        )
    return rig
