"""``python -m mapgauge``."""

from mapgauge.cli import main

if __name__ == "__main__":
    main()
