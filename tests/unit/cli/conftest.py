"""The command, run in this process as `braid ARGUMENTS` would be."""

import os
from collections.abc import Callable
from typing import NamedTuple

import pytest

from braidmq.cli import main


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


Braid = Callable[..., Ended]


@pytest.fixture
def braid(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Braid:
    for variable in [name for name in os.environ if name.startswith("BRAID_")]:
        monkeypatch.delenv(variable)

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr("sys.argv", ["braid", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run
