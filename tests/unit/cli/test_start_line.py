"""`braid up` is read quickly or in general, and means the same."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.cli._app import build_app
from braidmq.cli._start_line import StartLine, plain_line
from braidmq.settings import READY_FILE_VARIABLE

Braid = Callable[..., Any]

OPTIONS = [
    "--data", "--config", "-c", "--flush", "--http", "--kafka", "--rocketmq", "--grpc", "--rocketmq-grpc",
    "--ready-file", "--set", "-s",
]  # fmt: skip
VALUES = ["x", "127.0.0.1:0", "off", "log.flush=interval", "a b", "=", "", "-", "--", "-x", "--data", "a/b", "ü"]
ODD = ["--pipeline", "--pipeline=yes", "--no-pipeline", "--help", "-h", "--dat", "-cx", "-c=x", "--", "word", "-"]

pieces = st.one_of(
    st.tuples(st.sampled_from(OPTIONS), st.sampled_from(VALUES)).map(list),
    st.tuples(st.sampled_from(OPTIONS), st.sampled_from(VALUES)).map(lambda pair: ["=".join(pair)]),
    st.sampled_from(OPTIONS + ODD).map(lambda word: [word]),
)
lines = st.lists(pieces, max_size=5).map(lambda found: [word for piece in found for word in piece])


def read_in_general(words: list[str], environment: dict[str, str]) -> StartLine | None:
    """What the general way would start; None where it starts nothing."""
    started: list[StartLine] = []

    def run(line: StartLine) -> int:
        started.append(line)
        return 0

    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("BRAID_")]:
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(StartLine, "run", run)
        with pytest.raises(SystemExit):
            build_app("up")(["up", *words], prog_name="braid")
    return started[0] if started else None


@given(lines, st.sampled_from([{}, {READY_FILE_VARIABLE: ""}, {READY_FILE_VARIABLE: "there"}]))
def test_a_plain_line_means_what_it_means_in_general_or_is_left_to_that(
    words: list[str], environment: dict[str, str]
) -> None:
    line = plain_line(words, environment)
    assert line is None or line == read_in_general(words, environment)


def test_every_option_of_the_command_may_stand_on_a_plain_line() -> None:
    assert plain_line([word for option in OPTIONS for word in (option, "x")], {}) is not None
    listening = ["--http", "off", "--kafka=k", "--rocketmq", "r", "--grpc", "g"]
    others = ["--data", "d", "--config=c", "--flush", "commit", "--ready-file", "f", "-s", "a=b", "--set", "c=d"]
    assert plain_line([*listening, *others, "--pipeline"], {}) == StartLine(
        data="d",
        config=Path("c"),
        flush="commit",
        http="off",
        kafka="k",
        rocketmq="r",
        rocketmq_grpc="g",
        sets=("a=b", "c=d"),
        ready_file=Path("f"),
        pipeline=True,
    )


def test_a_wrong_setting_on_a_plain_line_is_one_line_and_status_2(braid: Braid) -> None:
    ended = braid("up", "--flush", "never")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "braid: --flush: log.flush cannot be 'never'; it is commit or interval\n"


def test_a_plain_line_needs_nothing_of_the_other_commands() -> None:
    script = (
        "import sys\nsys.argv = ['braid', 'up', '--flush', 'never']\nfrom braidmq.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(sorted({'typer', 'click', 'pydantic', 'rich'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"
