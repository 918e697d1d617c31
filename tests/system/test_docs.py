"""What the documentation shows is what the code is."""

from __future__ import annotations

import subprocess
import sys

from tests import ROOT


def test_the_picture_of_the_packages_is_that_of_the_imports() -> None:
    done = subprocess.run([sys.executable, "docs/draw_architecture.py", "--check"], cwd=ROOT, check=False, timeout=60)
    assert done.returncode == 0, "run: python docs/draw_architecture.py"
