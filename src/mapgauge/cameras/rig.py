"""The cameras of a vehicle, and the images of each frame."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from mapgauge.errors import InvalidInput, Remedy, UnreadableFile
from mapgauge.io.files.source import is_plain_file
from mapgauge.typing import Floats

DatasetName: TypeAlias = Literal["nuscenes", "argoverse2"]


class CameraImage(NamedTuple):
    """An image of one camera. The axes of a camera are x to the right, y down and z forward."""

    camera: str
    file: str  # path below the root of the data set, with slashes
    time: int  # in the unit of the data set
    size: tuple[int, int]  # width and height in pixels
    intrinsics: Floats  # (3, 3)
    mount: Floats  # (4, 4), from camera to vehicle
    pose: Floats  # (4, 4), from vehicle to world when the image was taken


class RigFrame(NamedTuple):
    """The images that belong to a frame."""

    pose: Floats  # (4, 4), from vehicle to world at the time of the frame
    lidar: Floats | None  # (4, 4), from LiDAR to vehicle; None if the data set has its sweeps in the vehicle's frame
    images: tuple[CameraImage, ...]  # at most one for each camera
    scene: str = ""  # name of the scene or the log
    time: int = 0  # in the unit of the data set


@dataclass(frozen=True, eq=False)
class Rig:
    """The images of many frames."""

    root: Path
    dataset: DatasetName
    frame: Callable[[str], RigFrame | None]  # the images of a frame by its token; None if the data set lacks the frame

    def path(self, image: CameraImage) -> Path:
        """Return the file of an image, which must be inside the root also if links are followed."""
        try:
            root = self.root.resolve()
            path = (self.root / image.file).resolve()
        except (OSError, ValueError, RuntimeError) as error:  # a name that no file can have, or a circle of links
            raise UnreadableFile(f"{self.root}: {image.file!r} is no path of an image: {error}") from error
        if not path.is_relative_to(root):
            raise InvalidInput(
                f"{self.root / image.file}: expected an image inside {root}, found a path to {path}",
                remedy=Remedy("Pass a root that contains the images", "Pass a folder that contains the images"),
            )
        if not is_plain_file(path):
            raise UnreadableFile(
                f"{self.root / image.file}: no such image of {image.camera}",
                remedy="Download the images of this scene, or leave the images out",
            )
        return path
