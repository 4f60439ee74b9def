"""Telling people: a POST to a web address, or a mail. Each notice is tried a few times, and its outcome is known.

Nothing waits for it: a notice is a task of its own, there are only so many at a time, and one that would be too many is
given up with that as its outcome. Mail goes through the standard library in a thread.
"""

import asyncio
import contextlib
import smtplib
import ssl
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from braidmq.core.alarms._rules import is_webhook

if TYPE_CHECKING:
    import httpx

ATTEMPTS: Final = 3
BACK_OFF_S: Final = (1.0, 4.0)
TIMEOUT_S: Final = 10.0
UNDER_WAY_MAX: Final = 64
SENT: Final = "sent"


class MailServer(NamedTuple):
    """Where mail goes; no host means that there is none."""

    host: str = ""
    port: int = 25
    tls: str = "off"
    user: str = ""
    password: str = ""
    sender: str = "braidmq@localhost"


class Notice(NamedTuple):
    """What people are told: a line, and all that programs want to know."""

    subject: str
    payload: Mapping[str, Any]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a notice."""

    target: str
    at_ms: int
    outcome: Annotated[str, Meta(examples=["sent", "the server answered 500"])]
    attempts: int


class NotSent(Exception):
    """The message says why; `again` says whether another attempt may go better."""

    def __init__(self, why: str, *, again: bool) -> None:
        super().__init__(why)
        self.again = again


class Notices:
    """Sends. `mail` is asked at every mail, because settings may change."""

    def __init__(
        self,
        mail: Callable[[], MailServer],
        now_ms: Callable[[], int],
        *,
        back_off_s: tuple[float, ...] = BACK_OFF_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._mail = mail
        self._now_ms = now_ms
        self._back_off_s = back_off_s
        self._timeout_s = timeout_s
        self._client: httpx.AsyncClient | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self.sent = self.failed = 0

    async def close(self) -> None:
        """What is under way is given up: the alarm itself is kept, and its next step is told."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._client is not None:
            await self._client.aclose()

    def send_soon(self, target: str, notice: Notice, told: Callable[[Outcome], None]) -> None:
        """Send, and then call with the outcome."""
        if len(self._tasks) >= UNDER_WAY_MAX:
            self.failed += 1
            told(self._outcome(target, "given up: too many notices were under way", 0))
            return
        task = asyncio.create_task(self._send_and_tell(target, notice, told), name="notice")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def send(self, target: str, notice: Notice) -> Outcome:
        """Try until it is sent, cannot be, or has been tried often enough."""
        attempts = 0
        while True:
            attempts += 1
            try:
                await (self._post(target, notice) if is_webhook(target) else self._write(target, notice))
            except NotSent as error:
                if not error.again or attempts >= ATTEMPTS:
                    self.failed += 1
                    return self._outcome(target, str(error), attempts)
                await asyncio.sleep(self._back_off_s[min(attempts, len(self._back_off_s)) - 1])
            else:
                self.sent += 1
                return self._outcome(target, SENT, attempts)

    async def _send_and_tell(self, target: str, notice: Notice, told: Callable[[Outcome], None]) -> None:
        told(await self.send(target, notice))

    def _outcome(self, target: str, outcome: str, attempts: int) -> Outcome:
        return Outcome(target=target, at_ms=self._now_ms(), outcome=outcome[:300], attempts=attempts)

    async def _post(self, target: str, notice: Notice) -> None:
        import httpx  # 8 MB, for those who are told something

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=self._timeout_s, follow_redirects=False, trust_env=False)
        body = msgspec.json.encode(notice.payload)
        try:
            async with asyncio.timeout(self._timeout_s):
                async with self._client.stream(
                    "POST", target, content=body, headers={"content-type": "application/json"}
                ) as answer:
                    status = answer.status_code
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise NotSent(f"{type(error).__name__}: {error}".rstrip(": "), again=True) from error
        if status >= 300:
            raise NotSent(f"the server answered {status}", again=status >= 500 or status in (408, 425, 429))

    async def _write(self, target: str, notice: Notice) -> None:
        server = self._mail()
        if not server.host:
            raise NotSent("no mail server is set (alarms.smtp_host)", again=False)
        try:
            await asyncio.to_thread(_send_mail, server, target, notice, self._timeout_s)
        except smtplib.SMTPResponseException as error:
            raise NotSent(f"the mail server answered {error.smtp_code}", again=error.smtp_code < 500) from error
        except smtplib.SMTPRecipientsRefused as error:
            raise NotSent("the mail server refused the address", again=False) from error
        except (OSError, smtplib.SMTPException) as error:
            raise NotSent(f"{type(error).__name__}: {error}".rstrip(": "), again=True) from error


def _send_mail(server: MailServer, target: str, notice: Notice, timeout_s: float) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = server.sender, target, _one_line(notice.subject)
    message.set_content("\n".join(f"{name}: {value}" for name, value in notice.payload.items()))
    context = ssl.create_default_context() if server.tls != "off" else None
    with contextlib.ExitStack() as stack:
        if server.tls == "tls":
            client: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=timeout_s, context=context)
        else:
            client = smtplib.SMTP(server.host, server.port, timeout=timeout_s)
        stack.enter_context(client)
        if server.tls == "starttls":
            client.starttls(context=context)
        if server.user:
            client.login(server.user, server.password)
        client.send_message(message)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
