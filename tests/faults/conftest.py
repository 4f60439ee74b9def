"""A disk of a few megabytes, for tests that fill one."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

SMALL_DISK_BYTES = 6 * 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of its own, gone after the test. Needs root: else skipped, and failed in CI."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "braid-test", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        refusal = done.stderr.strip() if done.returncode else ""
    except FileNotFoundError:
        refusal = "there is no mount command"
    if refusal:
        message = f"a small disk cannot be mounted, which needs root: {refusal}"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    try:
        yield folder
    finally:
        # Lazily: a test that failed may have left files open.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
