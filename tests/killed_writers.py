"""Programs that write to a table until they are killed, for tests of what they leave behind."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path


def run_and_kill(program: Path, folder: Path, within_s: float, chance: random.Random) -> tuple[int, int]:
    """Kill it at a random moment after it has told its first line, of two numbers each. The first number of the last
    line (how far it had come), and the sum of the second ones (how much upkeep it had done)."""
    tests = str(Path(__file__).parent)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(program), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.uniform(0, within_s))  # a random moment is what is tested
        process.kill()
        lines = [first, *process.stdout.read().splitlines()]
    whole = [line.split() for line in lines if len(line.split()) == 2]
    assert whole, "the writer did not come to its first batch"
    return int(whole[-1][0]), sum(int(done) for _, done in whole)
