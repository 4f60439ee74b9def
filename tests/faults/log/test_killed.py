"""A process that writes in every way is killed at a random moment, again and again on the same folder.

SIGKILL keeps the page cache, so both flush modes promise the same here: all that was acknowledged, and all that a
reader was ever given, is there afterwards, at its offset, byte for byte. The seed of a round is printed; set
BRAIDMQ_CRASH_SEED to begin with it again.
"""

import asyncio
import json
import os
import random
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from braidmq.log import Appended
from braidmq.log.embedded import EmbeddedLog
from braidmq.model.errors import OutOfOrderSequence
from braidmq.records import Batch, Marker
from faults.log.batches import marker, split_served
from faults.log.crash_writer import PARTITIONS, Flush, Sent, fingerprint, options

TESTS = Path(__file__).parents[2]
READY_LIMIT_S = 20.0
READ_BYTES = 64 * 1024


class Promised(NamedTuple):
    last_offset: int
    fingerprint: str


class Promises:
    """What the ledgers of all rounds say."""

    def __init__(self) -> None:
        self.batches: dict[int, dict[int, Promised]] = {number: {} for number in PARTITIONS}
        self.offsets: dict[tuple[str, int], int] = {}
        self.starts = dict.fromkeys(PARTITIONS, 0)
        self.sent: dict[int, tuple[int, int, Sent]] = {}
        """The last batch of each idempotent producer of the latest round: partition, base offset, how to make it."""

    def read(self, ledger: Path) -> int:
        """Take over the lines of one round; how many."""
        self.sent.clear()
        text = ledger.read_text()
        lines = text[: text.rfind("\n") + 1].splitlines()
        for line in lines:
            kind, *words = json.loads(line)
            getattr(self, f"_note_{kind}")(*words)
        return len(lines)

    def add(self, number: int, batches: list[Batch]) -> None:
        """What was served is as good as acknowledged."""
        for batch in batches:
            self._note_kept(number, batch.base_offset, batch.last_offset, fingerprint(batch))

    def _note_kept(self, number: int, base_offset: int, last_offset: int, print_: str) -> None:
        promised = Promised(last_offset, print_)
        before = self.batches[number].setdefault(base_offset, promised)
        assert before == promised, f"offset {base_offset} of partition {number} was given to two batches"

    _note_seen = _note_kept

    def _note_offset(self, group: str, number: int, offset: int) -> None:
        self.offsets[group, number] = offset

    def _note_start(self, number: int, start: int) -> None:
        self.starts[number] = start

    def _note_sent(self, number: int, base_offset: int, *sent: int | str) -> None:
        self.sent[int(sent[0])] = (number, base_offset, Sent(*sent))  # type: ignore[arg-type]


class Aftermath:
    """A log opened again after the kill."""

    def __init__(self, log: EmbeddedLog, promises: Promises) -> None:
        self._log = log
        self._promises = promises

    async def check(self, *, is_kept: bool) -> None:
        """Where the next round goes on with this log, all that was read here is promised, too: whether anybody had been
        told of it before or not, it never goes again. So is what was appended here."""
        for number in PARTITIONS:
            batches = await self._read_all(number)
            self._check_batches(number, batches)
            self._check_stable(number, batches)
            await self._check_producers(number, batches)
            if is_kept:
                self._promises.add(number, await self._read_all(number))
        for (group, number), offset in self._promises.offsets.items():
            assert self._log.fetch_offsets(group)[number].offset >= offset, f"the offset of {group} went back"

    async def _read_all(self, number: int) -> list[Batch]:
        batches: list[Batch] = []
        offset, _, end = self._log.bounds(number)
        while offset < end:
            fetched = await self._log.read(number, offset, READ_BYTES)
            found = split_served(fetched.data, offset)
            assert found, f"nothing at offset {offset} of partition {number}, which ends at {end}"
            batches += found
            offset = found[-1].last_offset + 1
        return batches

    def _check_batches(self, number: int, batches: list[Batch]) -> None:
        start = self._log.bounds(number).start
        assert start >= self._promises.starts[number], f"the start of partition {number} went back"
        found = {batch.base_offset: Promised(batch.last_offset, fingerprint(batch)) for batch in batches}
        for base_offset, promised in self._promises.batches[number].items():
            if promised.last_offset >= start:
                assert found.get(base_offset) == promised, f"offset {base_offset} of partition {number} changed"

    def _check_stable(self, number: int, batches: list[Batch]) -> None:
        """No transaction began before the start: the writer deletes only what is stable."""
        opened: dict[int, int] = {}
        for batch in batches:
            if batch.is_control:
                opened.pop(batch.producer_id, None)
            elif batch.is_transactional:
                opened.setdefault(batch.producer_id, batch.base_offset)
        _, stable, end = self._log.bounds(number)
        assert stable == min(opened.values(), default=end)

    async def _check_producers(self, number: int, batches: list[Batch]) -> None:
        """The log knows the producers: a duplicate, a gap, the next in sequence, the end of a transaction."""
        for place, base_offset, sent in list(self._promises.sent.values()):
            if place == number:
                await self._check_idempotent(number, base_offset, sent, batches)
        for producer_id in {batch.producer_id for batch in batches if batch.is_transactional}:
            await self._append(number, marker(Marker.ABORT, producer_id))
        _, stable, end = self._log.bounds(number)
        assert stable == end

    async def _check_idempotent(self, number: int, base_offset: int, sent: Sent, batches: list[Batch]) -> None:
        again = await self._append(number, sent.batch())
        assert (again.duplicate, again.base_offset) == (True, base_offset)
        last = max(batch.last_sequence for batch in batches if batch.producer_id == sent.producer_id)
        (gap,) = await self._log.append([(number, sent._replace(sequence=last + 3, text="gap").batch())])
        assert isinstance(gap, OutOfOrderSequence)
        following = await self._append(number, sent._replace(sequence=last + 1, text="next").batch())
        assert not following.duplicate

    async def _append(self, number: int, batch: Batch) -> Appended:
        (answer,) = await self._log.append([(number, batch)])
        assert isinstance(answer, Appended), answer
        return answer


async def write_until_killed(folder: Path, ledger: Path, seed: int, flush: Flush, delay_s: float) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "faults.log.crash_writer", str(folder), str(ledger), str(seed), flush),
        cwd=TESTS,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(READY_LIMIT_S):
            ready = await process.stdout.readline()
            # The one wait for a time and not for a condition: the moment of the kill is what the test is about.
            await asyncio.sleep(delay_s)
    finally:
        if process.returncode is None:
            process.kill()
        said = (await process.communicate())[1].decode()
    assert ready == b"ready\n", said
    assert process.returncode is not None
    assert process.returncode < 0, f"the writer ended by itself: {said}"


async def crash_rounds(folder: Path, flush: Flush, rounds: int) -> None:
    seed = int(os.environ.get("BRAIDMQ_CRASH_SEED", random.randrange(1 << 24)))
    promises = Promises()
    for number in range(rounds):
        print(f"round {number}: BRAIDMQ_CRASH_SEED={seed}")
        chance = random.Random(seed)
        ledger = folder / f"ledger-{number}"
        await write_until_killed(folder / "log", ledger, seed, flush, chance.uniform(0.02, 0.8))
        promises.read(ledger)
        # On a copy, the next writer recovers by itself; in place, it finds a log that was closed.
        looked_at = folder / "log"
        if chance.random() < 0.5:
            looked_at = folder / f"copy-{number}"
            await asyncio.to_thread(shutil.copytree, folder / "log", looked_at)
        log = await EmbeddedLog.open(looked_at, options(flush))
        try:
            await Aftermath(log, promises).check(is_kept=looked_at == folder / "log")
        finally:
            await log.close()
        seed += 1
    assert any(promises.batches.values())


@pytest.mark.quick
@pytest.mark.parametrize("flush", ["commit", "interval"])
async def test_nothing_is_lost_in_the_first_kills(tmp_path: Path, flush: Flush) -> None:
    await crash_rounds(tmp_path, flush, rounds=2)


@pytest.mark.parametrize("flush", ["commit", "interval"])
async def test_nothing_acknowledged_or_seen_is_lost_when_the_process_is_killed(tmp_path: Path, flush: Flush) -> None:
    await crash_rounds(tmp_path, flush, rounds=4)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("flush", ["commit", "interval"])
async def test_nothing_is_lost_in_a_hundred_kills(tmp_path: Path, flush: Flush) -> None:
    await crash_rounds(tmp_path, flush, rounds=100)
