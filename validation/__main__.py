"""``python -m validation``: the same as ``simcodesign validate``."""

from __future__ import annotations

import sys

from simcodesign.cli import main

if __name__ == "__main__":
    sys.exit(main(["validate", *sys.argv[1:]]))
