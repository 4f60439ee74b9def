"""Memory of large blocks stays with a process that says so, and goes back when it is told to."""

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries are left alone")

USE = """
import resource, sys
from braidmq.allocator import give_back, keep_freed

def faults(blocks):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(blocks):
        kept = [bytes(300_000) + b"x" for _ in range(20)]
        del kept
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if sys.argv[1] == "keep":
    keep_freed(64 << 20)
faults(5)
print(faults(50))
give_back()
print(faults(1))
"""


def run(how: str) -> list[int]:
    """Pages that were asked for: by fifty loads, and by one after everything was given back."""
    ended = subprocess.run([sys.executable, "-c", USE, how], capture_output=True, text=True, check=True, timeout=30)
    return [int(line) for line in ended.stdout.split()]


def test_blocks_that_were_freed_are_taken_again_until_they_are_given_back() -> None:
    asked, asked_after = run("keep")
    asked_otherwise, _ = run("leave")
    assert asked < asked_otherwise / 10
    assert asked_after > 1_000
