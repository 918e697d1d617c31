"""``python -m simcodesign``: the same as the command ``simcodesign``."""

from __future__ import annotations

import sys

from simcodesign.cli import main

if __name__ == "__main__":
    sys.exit(main())
