"""What tests with other people's programs share."""

import os
from collections.abc import Callable, Sequence
from typing import Protocol

import pytest
from maven import LOGGING, FetchFailed, fetch_jars

RUN_LIMIT_S = 120
KAFKA = "4.1.1"
ROCKETMQ = "5.3.3"
OTHER_ROCKETMQ = "COMPAT_ROCKETMQ"
"""The environment variable with the name server of another RocketMQ, say Apache's, to run the tests against."""


class RunProgram(Protocol):
    """Runs a program to its end and gives its output; a failure shows everything it said."""

    def __call__(self, command: Sequence[str], *, limit_s: float = RUN_LIMIT_S, given: str = "") -> str: ...


def fetched(fetch: Callable[[], str]) -> str:
    """A classpath; what Maven cannot bring is a skip on a desk, and a failure in CI."""
    try:
        return fetch()
    except (FetchFailed, OSError) as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


def jars(name: str, *coordinates: str) -> str:
    """A classpath by coordinates, with all that they need."""
    return fetched(lambda: fetch_jars(name, [*coordinates, LOGGING]))
