"""``python -m mapgauge``.

Python puts the current folder in front of its path, unless it is started with ``-P``. It is removed before anything but
mapgauge itself is imported: the folder may be full of files of others.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not sys.flags.safe_path and sys.path[0] != str(Path(__file__).parents[1]):
        del sys.path[0]

    from mapgauge.cli import main

    main()
