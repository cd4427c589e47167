"""The picture of a recording: ``python docs/rerun_picture.py`` writes it to ``docs/images/``.

The viewer of Rerun needs a Vulkan driver. Chromium has one that needs no graphics card: set ``VK_DRIVER_FILES`` to its
``vk_swiftshader_icd.json`` and ``LD_LIBRARY_PATH`` to its folder. The camera images are made up.
"""

import tempfile
import time
from pathlib import Path

from PIL import Image
from rerun.experimental import ViewerClient
from tests.cameras.rigs import nuscenes_rig

import mapgauge as mg
from mapgauge.demo import demo_world

IMAGE = Path(__file__).parent / "images" / "rerun.png"
FRAME, PORT = 4, 9877
LOADED, CALM = 6, 8  # seconds until the viewer has loaded data, and until its first notices are gone

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        predictions, truth = demo_world(10)
        recording = Path(folder) / "drive.rrd"
        mg.write_rerun(mg.evaluate(predictions, truth), recording, images=nuscenes_rig(Path(folder) / "rig", truth))
        with ViewerClient.spawn(headless=True, port=PORT) as viewer:
            viewer.open(recording.as_uri())
            time.sleep(LOADED)
            viewer.set_time("frame", sequence=FRAME, play_state="paused")
            time.sleep(CALM)
            viewer.save_screenshot(str(IMAGE))
    with Image.open(IMAGE) as picture:
        picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(IMAGE, optimize=True)
