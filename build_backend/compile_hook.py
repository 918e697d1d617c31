"""Build hook of hatchling: compiles the C functions into the wheel, which then fits one platform and every Python.

Without a compiler, or if it fails, the wheel is pure Python and fits every platform.
"""

from __future__ import annotations

import importlib.util
import platform
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = "simcodesign/core/native"


def load_compiler() -> Any:
    """Return the module ``compiler`` by its path: the package imports what is not installed yet."""
    path = Path(__file__).parents[1] / NATIVE / "compiler.py"
    spec = importlib.util.spec_from_file_location("native_compiler", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class CompileHook(BuildHookInterface[Any]):
    """Compile ``all.c``: for an editable installation beside itself, for a wheel in a temporary folder.

    So wheels can be built from a folder that cannot be written, and leave no library of another platform in it.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the library and add it to the wheel."""
        self._temporary = tempfile.TemporaryDirectory()
        compiler = load_compiler()
        command = compiler.find_compiler()
        if command is None:
            self.app.display_warning("No C compiler: the wheel has no compiled functions.")
            return
        folder = compiler.HERE if version == "editable" else Path(self._temporary.name)
        library = folder / compiler.LIBRARY_NAME
        try:
            compiler.compile_library(command, compiler.MAIN_SOURCE, library)
        except (compiler.CompilerError, OSError) as error:
            self.app.display_warning(f"The wheel has no compiled functions: {error}")
            return
        # On macOS, one Python may serve two kinds of processor; the library serves one.
        system = sysconfig.get_platform().replace("universal2", platform.machine())
        if version != "editable":
            build_data["force_include"][str(library)] = f"{NATIVE}/{library.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{system.replace('-', '_').replace('.', '_')}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        self._temporary.cleanup()
