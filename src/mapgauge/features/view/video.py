"""Makes a video of pictures with ffmpeg, where it is installed. Both go through pipes; no file is written."""

import math
import shutil
import subprocess

from mapgauge.errors import InvalidInput
from mapgauge.features.view.server import Reply as Answer

_FASTEST = 240.0  # frames per second


def has_ffmpeg() -> bool:
    """Whether ffmpeg is on the path."""
    return shutil.which("ffmpeg") is not None


def video_of(pictures: bytes, rate: str = "2") -> Answer:
    """Return an MP4 of PNG files that follow each other, so many in a second."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise InvalidInput("ffmpeg is not installed", remedy="Save the frames instead")
    try:
        speed = float(rate)
    except ValueError:
        speed = math.nan
    if not 0 < speed <= _FASTEST:
        raise InvalidInput(f"the rate must be above 0 and at most {_FASTEST:g} frames per second, got {rate!r}")
    # Only pipes, so that nothing in the pictures makes ffmpeg open a file or an address. Fragments need no second pass.
    source = ["-protocol_whitelist", "pipe", "-f", "png_pipe", "-framerate", f"{speed:g}", "-i", "pipe:0"]
    made = ["-pix_fmt", "yuv420p", "-movflags", "frag_keyframe+delay_moov", "-f", "mp4", "pipe:1"]
    command = [program, "-hide_banner", "-loglevel", "error", *source, *made]
    done = subprocess.run(command, input=pictures, capture_output=True, check=False)
    if done.returncode or not done.stdout:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise InvalidInput(f"ffmpeg made no video: {said or f'it ended with {done.returncode}'}")
    return Answer(done.stdout, "video/mp4")
