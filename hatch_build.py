"""A wheel carries what the console is shown with: fetched here, when it is built."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ConsoleAssets(BuildHookInterface):  # type: ignore[type-arg]  # generic over a configuration that it does not read
    """Fills the folder that is in no commit."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version != "editable":
            subprocess.run([sys.executable, str(Path(self.root) / "tools" / "console_assets.py")], check=True)
            build_data["artifacts"].append("src/braidmq/console/static/vendor/*")
