"""Lets hatchling build the module in C, and go on without it where there is no compiler."""

from __future__ import annotations

import compileall
import importlib.util
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildNative(BuildHookInterface[Any]):
    """Builds the module beside its sources, for wheels and for editable installs."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before the files are collected, and name the wheel after this platform."""
        if self.target_name != "wheel":
            return
        if version == "editable":  # an installer compiles what it copies, and this is not copied
            compileall.compile_dir(Path(self.root) / "dnumpy", quiet=2)
        path = Path(self.root) / "dnumpy" / "native" / "build.py"
        spec = importlib.util.spec_from_file_location("dnumpy_native_build", path)
        assert spec is not None
        assert spec.loader is not None
        builder = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(builder)
        try:
            made = builder.build()
        except builder.NotBuilt as error:
            sys.stderr.write(f"{error}\ndnumpy works without it; small arrays are slower.\n")
            return
        build_data["infer_tag"] = True
        build_data["pure_python"] = False
        build_data["artifacts"].append(str(made.relative_to(self.root)))
