"""franz-go's own tests, which come with its module: groups of all three kinds, transactions, and what users reported.

What must pass is listed in allowed/franz-go.txt; the list only grows. FINDINGS.md says why others fail.
"""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from running_node import RunningNode

SUITE = "github.com/twmb/franz-go/pkg/kgo"
ALLOWED = Path(__file__).parent / "allowed" / "franz-go.txt"
RECORDS = 10_000
RUN_LIMIT_S = 240
NEED_KAFKAS_OWN_TOPICS = ("TestConsumeRegex", "TestConsumeRegexShareSkipsInternal", "Test848RegexBrokerResolves")
"""They wait for half a minute for `__consumer_offsets`, which is not here."""


@pytest.mark.timeout(RUN_LIMIT_S + 120)
def test_what_is_allowed_passes(broker: RunningNode, run_go: Callable[..., None], tmp_path: Path) -> None:
    program = tmp_path / "suite"
    run_go("franz_go", "test", "-c", "-o", str(program), SUITE)
    environment = os.environ | {
        "KGO_SEEDS": broker.bootstrap,
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": str(RECORDS),
        "KGO_LOG_LEVEL": "none",
    }
    skipped = "|".join(f"^{name}$" for name in NEED_KAFKAS_OWN_TOPICS)
    ended = subprocess.run(
        [str(program), "-test.v", f"-test.timeout={RUN_LIMIT_S}s", f"-test.skip={skipped}"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=RUN_LIMIT_S + 30, check=False,
    )  # fmt: skip
    passed = set(re.findall(r"^--- PASS: (\S+)", ended.stdout, re.MULTILINE))
    missing = set(ALLOWED.read_text().split()) - passed
    assert not missing, f"{sorted(missing)}\n{ended.stdout[-8000:]}\n{ended.stderr[-4000:]}"
    print("newly passing:", *sorted(passed - set(ALLOWED.read_text().split())), sep="\n")
