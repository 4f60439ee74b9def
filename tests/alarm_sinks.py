"""A web server and a mail server that take what alarms send, and say no when they are told to."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec


class WebSink:
    """Answers POSTs with the statuses it was given, then with 200."""

    def __init__(self) -> None:
        self.url = ""
        self.statuses: list[int] = []
        self.received: list[dict[str, Any]] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(
                    next(line for line in head.splitlines() if line.startswith("content-length")).split(":")[1]
                )
                self.received.append(msgspec.json.decode(await reader.readexactly(length)))
                status = self.statuses.pop(0) if self.statuses else 200
                writer.write(f"HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n".encode())
        writer.close()


class MailSink:
    """Takes mails; refuses what is for an address with `refused` in it."""

    def __init__(self) -> None:
        self.port = 0
        self.mails: list[tuple[str, str]] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 sink\r\n")
        target, text = "", b""
        while line := await reader.readline():
            word = line.split(b" ")[0].strip().upper()
            if word == b"RCPT":
                target = line.decode().split("<")[1].split(">")[0]
                writer.write(b"550 no\r\n" if "refused" in target else b"250 ok\r\n")
            elif word == b"DATA":
                writer.write(b"354 go on\r\n")
                text = await reader.readuntil(b"\r\n.\r\n")
                self.mails.append((target, text.decode()))
                writer.write(b"250 kept\r\n")
            elif word == b"QUIT":
                writer.write(b"221 bye\r\n")
                break
            else:
                writer.write(b"250 ok\r\n")
        writer.close()


@contextlib.asynccontextmanager
async def web_sink() -> AsyncIterator[WebSink]:
    sink = WebSink()
    server = await asyncio.start_server(sink.answer, "127.0.0.1", 0)
    sink.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    yield sink
    server.close()


@contextlib.asynccontextmanager
async def mail_sink() -> AsyncIterator[MailSink]:
    sink = MailSink()
    server = await asyncio.start_server(sink.answer, "127.0.0.1", 0)
    sink.port = server.sockets[0].getsockname()[1]
    yield sink
    server.close()
