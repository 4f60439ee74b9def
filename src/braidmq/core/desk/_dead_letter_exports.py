"""Dead letters as files, written piece by piece as they are read."""

import csv
import io
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from braidmq.core.desk.dead_letter_views import DeadLetterView, ExportFormat

CSV_FIELDS: Final = (
    "group",
    "partition",
    "offset",
    "origin_topic",
    "origin_id",
    "attempts",
    "died_ms",
    "cause",
    "id",
    "tag",
    "keys",
    "body",
    "body_base64",
)

Pages = AsyncIterator[list[DeadLetterView]]


async def _ndjson(pages: Pages) -> AsyncIterator[bytes]:
    async for page in pages:
        yield b"".join(msgspec.json.encode(each) + b"\n" for each in page)


async def _json(pages: Pages) -> AsyncIterator[bytes]:
    separator = b"["
    async for page in pages:
        for each in page:
            yield separator + msgspec.json.encode(each)
            separator = b",\n"
    yield b"[]\n" if separator == b"[" else b"]\n"


async def _csv(pages: Pages) -> AsyncIterator[bytes]:
    yield (",".join(CSV_FIELDS) + "\r\n").encode()
    async for page in pages:
        text = io.StringIO()
        rows = csv.writer(text)
        rows.writerows(_row(each) for each in page)
        yield text.getvalue().encode()


def _row(letter: DeadLetterView) -> list[object]:
    message = letter.message
    return [
        letter.group,
        letter.place.partition,
        letter.place.offset,
        letter.origin_topic,
        letter.origin_id,
        letter.attempts,
        letter.died_ms,
        letter.cause,
        message.id,
        message.tag,
        " ".join(message.keys),
        message.body,
        message.body_base64,
    ]


WRITERS: Final = {ExportFormat.JSON: _json, ExportFormat.NDJSON: _ndjson, ExportFormat.CSV: _csv}
