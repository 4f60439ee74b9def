"""The payment scenario of `braid demo`: what it makes, step by step, and how all of it is taken away again.

Everything has a name that begins with `demo-`, so that it disturbs nothing, and is found. Each step can be done again.
"""

import asyncio
import contextlib
import json
import random
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from braidmq.cli._api import path_of
from braidmq.cli._call import Call
from braidmq.cli._errors import NodeRefused, NotThere
from braidmq.cli._peers import PROTOCOLS, Peer, Sending, connect
from braidmq.cli._progress import Advance
from braidmq.cli._times import now_ms
from braidmq.model import BraidError

PAYMENTS: Final = "demo-payments"
REMINDERS: Final = "demo-reminders"
LEDGER: Final = "demo-ledger"
TOPICS: Final = {PAYMENTS: ("mixed", 4), REMINDERS: ("delay", 1), LEDGER: ("transaction", 2)}
BILLING: Final = "demo-billing"
FRAUD: Final = "demo-fraud-check"
SETTLEMENT: Final = "demo-settlement"
GROUPS: Final = (BILLING, FRAUD, SETTLEMENT)
PRODUCERS: Final = "demo-ledger-producers"
RULE: Final = "demo-fraud-check-lag"
DEAD: Final = 12
DELAYED: Final = 10
HALVES: Final = 6

WHAT: Final = (
    f"topic {PAYMENTS}: payments from producers on HTTP, Kafka and RocketMQ",
    f"group {BILLING}: reads all payments; group {FRAUD}: falls behind; an alarm rule {RULE} that tells so",
    f"group {SETTLEMENT}: gives up {DEAD} payments, which become dead letters",
    f"topic {REMINDERS}: {DELAYED} messages that wait for their time",
    f"topic {LEDGER}: {HALVES} transactional messages: one committed, one rolled back, the others undecided",
)


class Demo:
    """The scenario on one node."""

    def __init__(self, call: Call, *, seed: int = 8400) -> None:
        self._call = call
        self._api = call.api
        self._random = random.Random(seed)  # noqa: S311  # the same story every time
        self._numbers = iter(range(1, 1 << 40))

    # What is made.

    def make(self) -> None:
        """Topics, groups and the rule."""
        for name, (kind, partitions) in TOPICS.items():
            self._create("topics", {"name": name, "kind": kind, "partitions": partitions})
        for group in GROUPS:
            self._create("groups", {"name": group, "attempts_max": 3})
        for group in GROUPS:
            self._post("groups", group, "offsets", "reset", body={"to": "earliest", "topics": [PAYMENTS]})
        rule = {"name": RULE, "kind": "lag", "threshold": 100, "scope": FRAUD, "severity": "warning"}
        self._api.put(path_of("alarms", "rules", RULE), rule)

    def _create(self, noun: str, body: Mapping[str, Any]) -> None:
        try:
            self._post(noun, body=body)
        except NodeRefused as error:
            if error.problem != "already_exists":
                raise

    async def send(self, count: int, advance: Advance) -> dict[str, int]:
        """Payments, a share on each protocol that the node speaks; how many each."""
        sent: dict[str, int] = {}
        async with self._peers() as peers:
            for number, (protocol, peer) in enumerate(peers.items(), 1):
                share = [self._payment(protocol) for _ in range(count // len(peers))]
                await peer.send(PAYMENTS, share)
                sent[protocol] = len(share)
                advance(number, len(peers))
        return sent

    def work(self) -> int:
        """Billing takes all that there is, the fraud check a little; how much billing took."""
        self._receive(FRAUD, 10, acknowledge=True)
        taken = 0
        while found := self._receive(BILLING, 128, acknowledge=True):
            taken += len(found)
        return taken

    def bury(self) -> int:
        """Settlement gives some up; how many."""
        found = self._receive(SETTLEMENT, DEAD, acknowledge=False)
        for message in found:
            self._post("groups", SETTLEMENT, "bury", body={"receipt": message["receipt"]})
        return len(found)

    def delay(self) -> int:
        """Reminders for the next hours; how many."""
        for number in range(DELAYED):
            invoice = f"invoice-{self._random.randint(1000, 9999)}"
            body = {"json": {"remind": invoice}, "keys": [invoice], "delay_ms": (number + 1) * 600_000}
            self._post("topics", REMINDERS, "messages", body=body)
        return DELAYED

    def prepare(self) -> int:
        """Halves of transactions, of which two are decided; how many."""
        handles = []
        for _ in range(HALVES):
            account = f"account-{self._random.randint(100, 999)}"
            transaction = {"group": PRODUCERS, "immunity_s": 3600}
            body = {"json": {"book": account, "amount": 100}, "keys": [account], "transaction": transaction}
            handles.append(self._post("topics", LEDGER, "messages", body=body)["results"][0]["half"])
        self._post("halves", handles[0], "commit", body={})
        self._post("halves", handles[1], "rollback", body={})
        return len(handles)

    async def live(self, minutes: float, rate: float, advance: Advance) -> int:
        """Payments at an even pace on all protocols, and groups that work on them; how many were sent."""
        end = time.monotonic() + minutes * 60
        begun, sent = time.monotonic(), 0
        async with self._peers() as peers:
            turn = _around(list(peers.items()))
            while (now := time.monotonic()) < end:
                due = int((now - begun) * rate) - sent
                if due > 0:
                    protocol, peer = next(turn)
                    await peer.send(PAYMENTS, [self._payment(protocol) for _ in range(min(due, 500))])
                    sent += min(due, 500)
                await asyncio.to_thread(self._receive, BILLING, 128, acknowledge=True)
                advance(int(now - begun), int(minutes * 60))
                await asyncio.sleep(0.1)
        return sent

    @contextlib.asynccontextmanager
    async def _peers(self) -> Any:
        peers: dict[str, Peer] = {}
        try:
            for protocol in PROTOCOLS:
                with contextlib.suppress(BraidError):  # a protocol that the node does not speak has no producer
                    peers[protocol] = await connect(protocol, self._api, self._call.instance)
            yield peers
        finally:
            for peer in peers.values():
                await peer.close()

    def _payment(self, protocol: str) -> Sending:
        order = f"order-{next(self._numbers)}"
        amount = round(self._random.lognormvariate(3.5, 1.0), 2)
        tag = self._random.choices(("paid", "refunded", "declined"), (90, 6, 4))[0]
        body = {
            "payment": str(uuid.UUID(int=self._random.getrandbits(128), version=4)),
            "order": order,
            "account": f"account-{self._random.randint(100, 999)}",
            "amount": amount,
            "currency": self._random.choice(("EUR", "CNY", "USD")),
            "status": tag,
            "at_ms": now_ms(),
        }
        headers = {"region": self._random.choice(("north", "south", "west")), "channel": protocol}
        return Sending(json.dumps(body).encode(), key=order, tag=tag, headers=headers)

    def _receive(self, group: str, count: int, *, acknowledge: bool) -> list[Any]:
        body = {"topic": PAYMENTS, "count_max": count, "wait_s": 0}
        found: list[Any] = self._post("groups", group, "receive", body=body)["messages"]
        if found and acknowledge:
            self._post("groups", group, "acknowledge", body={"receipts": [each["receipt"] for each in found]})
        return found

    def _post(self, *path: str, body: Any) -> Any:
        return self._api.post(path_of(*path), body, instance=self._call.instance)

    # What is taken away.

    def remains(self) -> list[dict[str, str]]:
        """What there is of it now."""
        found = [{"what": "timer", "name": each["handle"]} for each in self._waiting("timers", REMINDERS)]
        found += [{"what": "tx", "name": each["handle"]} for each in self._waiting("halves", LEDGER)]
        found += [{"what": "group", "name": name} for name in GROUPS if self._is_there("groups", name)]
        of_groups = [f"%{kind}%{group}" for kind in ("RETRY", "DLQ") for group in GROUPS]
        found += [{"what": "topic", "name": name} for name in (*TOPICS, *of_groups) if self._is_there("topics", name)]
        if self._is_there("alarms", "rules", RULE):
            found.append({"what": "rule", "name": RULE})
        return found

    def remove(self, remains: Sequence[Mapping[str, str]]) -> None:
        """What was told; what has gone meanwhile is no failure."""
        for each in remains:
            with contextlib.suppress(NotThere):
                self._remove(each["what"], each["name"])

    def _remove(self, what: str, name: str) -> None:
        if what == "timer":
            self._api.delete(path_of("timers", name))
        elif what == "tx":
            self._post("halves", name, "rollback", body={})
        elif what == "rule":
            self._api.delete(path_of("alarms", "rules", name))
        else:
            self._api.delete(path_of(f"{what}s", name), instance=self._call.instance)

    def _waiting(self, noun: str, topic: str) -> list[Any]:
        query = {"state": "prepared"} if noun == "halves" else {}
        try:
            items, _ = self._api.through(
                path_of(noun), limit=10_000, topic=topic, instance=self._call.instance, **query
            )
        except NotThere:
            return []
        return items

    def _is_there(self, *path: str) -> bool:
        query = {} if path[0] == "alarms" else {"instance": self._call.instance}
        try:
            self._api.get(path_of(*path), **query)
        except NotThere:
            return False
        return True


def _around(items: Sequence[tuple[str, Peer]]) -> Iterator[tuple[str, Peer]]:
    while True:
        yield from items
