"""The process that is killed: `python -m faults.log.crash_writer FOLDER LEDGER SEED FLUSH`.

Several tasks write to one log in every way that a log can be written to. Whatever the log acknowledged, and whatever a
reader was given, goes to the ledger as one JSON line, and only then: so the ledger never says more than was promised.
Files are tiny, so that rolls, flushes, checkpoints and recycling never rest.
"""

import asyncio
import hashlib
import json
import os
import random
import sys
from pathlib import Path
from typing import Literal, NamedTuple

from braidmq.log import Appended, GroupOffset
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.model.errors import OffsetOutOfRange
from braidmq.records import Batch, Marker
from faults.log.batches import body, marker, of_producer, plain, split_served, topic

Flush = Literal["commit", "interval"]
PARTITIONS = (1, 2, 3, 4)
GROUPS = ("billing", "audit")
TOPIC = topic(PARTITIONS, segment_bytes="3000")
KEEP_BATCHES = 60


def options(flush: Flush) -> LogOptions:
    return LogOptions(
        flush=flush,
        flush_interval_ms=10,
        journal_file_bytes=16 * 1024,
        reserve_bytes=32 * 1024,
        checkpoint_interval_s=1,
        maintenance_interval_s=1,
        open_files_max=4,
        idle_close_s=1,
    )


class Sent(NamedTuple):
    """How to make the same batch of an idempotent producer again."""

    producer_id: int
    sequence: int
    records: int
    text: str

    def batch(self, *, transactional: bool = False) -> Batch:
        return of_producer(
            self.text, self.producer_id, self.sequence, records=self.records, transactional=transactional
        )


def fingerprint(batch: Batch) -> str:
    return hashlib.sha256(body(batch)).hexdigest()


class CrashWriter:
    """All tasks of the process."""

    def __init__(self, log: EmbeddedLog, ledger: int, seed: int) -> None:
        self._log = log
        self._ledger = ledger
        self._chance = random.Random(seed)
        self._first_producer = seed * 100
        self._count = 0

    def note(self, *words: object) -> None:
        """One write of one line: a kill tears at most the last."""
        os.write(self._ledger, json.dumps(words).encode() + b"\n")

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for lane in range(3):
                group.create_task(self._write_plain())
                group.create_task(self._write_idempotent(self._first_producer + lane))
                group.create_task(self._write_transactions(self._first_producer + 10 + lane))
            group.create_task(self._commit_offsets())
            group.create_task(self._delete_records())
            for number in PARTITIONS:
                group.create_task(self._read(number))

    def _text(self) -> str:
        self._count += 1
        return f"{self._first_producer} {self._count} ".ljust(self._chance.choice((10, 100, 900)), "x")

    async def _append(self, entries: list[tuple[int, Batch]]) -> list[Appended]:
        taken = []
        for (number, batch), answer in zip(entries, await self._log.append(entries), strict=True):
            if not isinstance(answer, Appended):
                raise answer
            self.note("kept", number, answer.base_offset, answer.last_offset, fingerprint(batch))
            taken.append(answer)
        return taken

    async def _write_plain(self) -> None:
        while True:
            numbers = self._chance.sample(PARTITIONS, self._chance.randint(1, 3))
            await self._append([(n, plain(self._text(), records=self._chance.randint(1, 3))) for n in numbers])

    async def _write_idempotent(self, producer_id: int) -> None:
        sequence = 0
        number = self._chance.choice(PARTITIONS)
        while True:
            sent = Sent(producer_id, sequence, self._chance.randint(1, 3), self._text())
            (appended,) = await self._append([(number, sent.batch())])
            self.note("sent", number, appended.base_offset, *sent)
            sequence += sent.records

    async def _write_transactions(self, producer_id: int) -> None:
        sequence = 0
        number = self._chance.choice(PARTITIONS)
        while True:
            for _ in range(self._chance.randint(1, 3)):
                sent = Sent(producer_id, sequence, 1, self._text())
                await self._append([(number, sent.batch(transactional=True))])
                sequence += 1
            await self._append([(number, marker(self._chance.choice(list(Marker)), producer_id))])

    async def _commit_offsets(self) -> None:
        offset = 0
        while True:
            group, number = self._chance.choice(GROUPS), self._chance.choice(PARTITIONS)
            offset = max(offset + 1, self._log.fetch_offsets(group).get(number, GroupOffset(0)).offset + 1)
            await self._log.commit_offsets(group, {number: GroupOffset(offset)})
            self.note("offset", group, number, offset)

    async def _delete_records(self) -> None:
        while True:
            number = self._chance.choice(PARTITIONS)
            start, stable, end = self._log.bounds(number)
            await self._log.wait({number: end + 10}, timeout_s=1)
            if stable - start > KEEP_BATCHES:
                self.note("start", number, await self._log.delete_records(number, stable - KEEP_BATCHES // 2))

    async def _read(self, number: int) -> None:
        offset = self._log.bounds(number).start
        while True:
            await self._log.wait({number: offset}, timeout_s=1)
            try:
                fetched = await self._log.read(number, offset, 4000)
            except OffsetOutOfRange as error:
                offset = error.start_offset
                continue
            for batch in split_served(fetched.data, offset):
                self.note("seen", number, batch.base_offset, batch.last_offset, fingerprint(batch))
                offset = batch.last_offset + 1
            await asyncio.sleep(0)


async def main(folder: Path, ledger: Path, seed: int, flush: Flush) -> None:
    log = await EmbeddedLog.open(folder, options(flush))
    await log.create_topic(TOPIC)
    descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    print("ready", flush=True)
    await CrashWriter(log, descriptor, seed).run()


if __name__ == "__main__":
    mode: Flush = "commit" if sys.argv[4] == "commit" else "interval"
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), mode))
