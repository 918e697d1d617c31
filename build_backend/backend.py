"""The build backend: hatchling, with zig from PyPI as a requirement only where no C compiler is installed."""

from __future__ import annotations

from typing import Any

from compile_hook import load_compiler  # beside this file, whose folder is the backend-path of pyproject.toml
from hatchling import build as hatchling_build
from hatchling.build import *  # noqa: F403 # the other functions of a backend


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return the requirements of hatchling, and zig if no C compiler is found."""
    return [*hatchling_build.get_requires_for_build_wheel(config_settings), *_zig()]


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return the requirements of hatchling, and zig if no C compiler is found."""
    return [*hatchling_build.get_requires_for_build_editable(config_settings), *_zig()]


def _zig() -> list[str]:
    return ["ziglang>=0.13"] if load_compiler().find_compiler() is None else []
