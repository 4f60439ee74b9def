"""Working beside others: how long somebody who works pauses."""

import asyncio

import pytest

from braidmq.core.query._pace import LONG_S, Pace


async def test_time_in_which_the_process_stood_still_is_not_made_up_for() -> None:
    """It was suspended, or its machine was: an hour of that must not become a day of rest."""
    pace = Pace(0.1, lambda: False)
    pace._began_s -= 3600
    began_s = asyncio.get_running_loop().time()
    await asyncio.wait_for(pace.breathe(), 10)
    assert asyncio.get_running_loop().time() - began_s < 1


async def test_who_worked_pauses_for_the_others_share() -> None:
    pace = Pace(0.1, lambda: False)
    pace._began_s -= LONG_S
    began_s = asyncio.get_running_loop().time()
    await pace.breathe()
    assert asyncio.get_running_loop().time() - began_s >= LONG_S / 2, "as long as it worked, at least"


@pytest.mark.parametrize("share", [0.1, 0.9])
async def test_nobody_pauses_while_somebody_waits_for_the_work(share: float) -> None:
    pace = Pace(share, lambda: True)
    pace._began_s -= 3600
    began_s = asyncio.get_running_loop().time()
    await pace.breathe()
    assert asyncio.get_running_loop().time() - began_s < LONG_S
