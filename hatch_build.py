"""A wheel carries what the console is shown with, fetched here, and the hot paths, compiled here."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "tools"))

import build_native


class Made(BuildHookInterface):  # type: ignore[type-arg]  # generic over a configuration that it does not read
    """Fills in what is in no commit. Without a C compiler the wheel is for every machine, and slower."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        subprocess.run([sys.executable, str(Path(self.root) / "tools" / "console_assets.py")], check=True)
        build_data["artifacts"].append("src/braidmq/console/static/vendor/*")
        if (why := build_native.missing()) is not None:
            self.app.display_warning(f"hot paths stay interpreted: {why}")
            return
        build_native.build()
        build_data["artifacts"].append("src/braidmq/**/*.so")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
