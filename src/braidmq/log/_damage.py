"""Where a partition can be read again, behind a place where it cannot."""

from braidmq.log._port import Log
from braidmq.model.errors import DamagedLog


async def first_readable(log: Log, number: int, offset: int, until: int) -> int:
    """The first offset behind a damaged one that can be read; `until` where none before it can."""
    step = 1
    while offset + step < until and not await _is_readable(log, number, offset + step):
        step *= 2
    damaged, readable = offset + step // 2, min(offset + step, until)
    while readable - damaged > 1:
        middle = (readable + damaged) // 2
        if await _is_readable(log, number, middle):
            readable = middle
        else:
            damaged = middle
    return readable


async def _is_readable(log: Log, number: int, offset: int) -> bool:
    try:
        await log.read(number, offset, 1, committed=True)
    except DamagedLog:
        return False
    return True
