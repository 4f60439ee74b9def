"""Answers that may be asked for again: a request with an idempotency key is carried out once, whoever repeats it.

A key is claimed before the request is begun, and gets the answer when it is there. An error is not kept: what failed
has changed nothing, and may be tried again with the same key. A claim that a killed node left behind ends after a
minute; whether its request was carried out is then unknown, as it is without a key.
"""

import asyncio
from typing import Final

import msgspec

from braidmq.core.timing import Clock
from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.model.errors import AnswerNotKept, IdempotencyKeyReused, InvalidRequest, RequestInProgress
from braidmq.store import Document, DocumentRows

KIND: Final = "answer"
KEEP_MS: Final = 24 * 3_600_000
CLAIM_MS: Final = 60_000
KEY_LENGTH_MAX: Final = 255
BODY_BYTES_MAX: Final = 64 * 1024
SWEEP_S: Final = 600.0

_logger = get_logger(__name__)


class KeptAnswer(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """`digest` is of the request. Without a status it is only claimed; without a body it was too large."""

    digest: bytes
    status: int = 0
    content_type: str = ""
    body: bytes | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(KeptAnswer).decode


class Answers:
    """Make it, then `start`."""

    def __init__(self, rows: DocumentRows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._sweep(), name="answers")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def claim(self, key: str, digest: bytes) -> KeptAnswer | None:
        """The answer that the request has got already; None where it is to be carried out now, and then `keep` or
        `release` must follow. Raises IdempotencyKeyReused, RequestInProgress, AnswerNotKept, InvalidRequest."""
        if not (0 < len(key) <= KEY_LENGTH_MAX and key.isprintable()):
            raise InvalidRequest(f"Idempotency-Key: has 1 to {KEY_LENGTH_MAX} printable characters")
        now_ms = self._clock.now_ms()
        claim = Document(key, now_ms, _encode(KeptAnswer(digest=digest)))
        known = await self._rows.put_new(claim, not_before_ms=now_ms - KEEP_MS)
        if known is None:
            return None
        kept = _decode(known.content)
        if kept.digest != digest:
            raise IdempotencyKeyReused
        if not kept.status and known.at_ms >= now_ms - CLAIM_MS:
            raise RequestInProgress
        if not kept.status:
            await self._take_over(claim, known)
            return None
        if kept.body is None:
            raise AnswerNotKept
        return kept

    async def keep(self, key: str, answer: KeptAnswer) -> None:
        """What the request has got. An answer that is too large is kept without its body."""
        if answer.body is not None and len(answer.body) > BODY_BYTES_MAX:
            answer = msgspec.structs.replace(answer, body=None)
        await self._rows.put(Document(key, self._clock.now_ms(), _encode(answer)))

    async def release(self, key: str) -> None:
        """The request has failed: its key is free."""
        await self._rows.delete(key)

    async def sweep(self) -> int:
        """Remove what nobody may ask for any more; how many that were."""
        return await self._rows.trim(before_ms=self._clock.now_ms() - KEEP_MS)

    async def _take_over(self, claim: Document, known: Document) -> None:
        """Of several who find an old claim, one goes on."""
        if await self._rows.put_new(claim, not_before_ms=known.at_ms + 1) is not None:
            raise RequestInProgress

    async def _sweep(self) -> None:
        while True:
            try:
                await self.sweep()
            except BraidError as error:
                _logger.warning("old answers were not removed", code=error.code, reason=error.message)
            await asyncio.sleep(SWEEP_S)
