"""Pages are seen at once: what the browser itself says of its first paint.

Slow, because it means something only on a machine that has nothing else to do.
"""

import pytest

from browser_support import OpenPage
from filler_support import Filler

pytestmark = pytest.mark.slow

FIRST_PAINT_MS = 200.0
LOADS = 8
"""The quickest of them counts: the others tell how busy the machine is."""

PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


@pytest.fixture(scope="module", autouse=True)
def messages(filler: Filler) -> None:
    filler.topic("painted", messages=3)


@pytest.mark.parametrize("path", ["/console", "/console/topics", "/console/groups", "/console/messages"])
def test_a_page_is_painted_within_200_ms(path: str, open_page: OpenPage) -> None:
    page = open_page(path)
    times: list[float] = []
    for _ in range(LOADS):
        page.goto(path)
        page.wait_for_function(f"({PAINTED}) > 0")
        times.append(page.evaluate(PAINTED))
    assert min(times) < FIRST_PAINT_MS, times
