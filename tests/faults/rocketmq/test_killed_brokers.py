"""A broker that is killed at any moment of a message's life: nothing acknowledged is lost, what was not comes at most
once more and under the same id, order holds, halves are asked for, timers fire."""

import asyncio
import itertools
import random
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from braidmq.protocols.rocketmq.codec import Command, RequestCode, StoredMessage, decode_body
from braidmq.protocols.rocketmq.codec.bodies import GetConsumerListByGroupResponseBody, MessageQueue
from braidmq.protocols.rocketmq.codec.messages import decode_messages
from faults.rocketmq.mortal_broker import QUEUES, TOPIC
from kafka_support import until
from rocketmq_peer import COMMIT, ROLLBACK, Peer, connected, ending, eventually, unique_id

GROUP = "workers"
LEFT_FOR_THE_LAST = 5
"""Of each queue, so that no life before the last has all of it."""
LIFE_S = 0.7
Work = Callable[[Peer, int], Coroutine[Any, Any, None]]


class Life:
    """One process on the test's folder."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.port = 0
        self._peers: list[Peer] = []

    async def begins(self) -> None:
        """Wait until it listens."""
        assert self.process.stdout is not None
        async with asyncio.timeout(40):
            while not (line := await self.process.stdout.readline()).startswith(b"port "):
                assert line, "the broker did not start"
        self.port = int(line.split()[1])

    async def connect(self) -> Peer:
        peer = await connected("127.0.0.1", self.port)
        self._peers.append(peer)
        return peer

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.communicate()  # only the end of its pipes closes them
        for peer in self._peers:
            await peer.close()

    async def dies(self) -> None:
        """Wait for the death that its point is."""
        async with asyncio.timeout(20):
            await self.process.wait()


@asynccontextmanager
async def life(folder: Path, point: str = "none") -> AsyncIterator[Life]:
    script = Path(__file__).with_name("mortal_broker.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), str(folder), point, stdout=asyncio.subprocess.PIPE
    )
    one = Life(process)
    try:
        await one.begins()
        yield one
    finally:
        await one.kill()


async def last_words(one: Life, call: Awaitable[Command]) -> Command | None:
    """What a broker that dies of this call says to it."""
    asking = asyncio.ensure_future(call)
    await one.dies()
    asking.cancel()
    await asyncio.wait((asking,))
    return None if asking.cancelled() or asking.exception() is not None else asking.result()


def ids(messages: list[StoredMessage]) -> Counter[str]:
    return Counter(unique_id(message) for message in messages)


# At a chosen moment.


async def test_a_message_whose_sender_was_not_told_comes_at_most_once(tmp_path: Path) -> None:
    async with life(tmp_path) as one:
        peer = await one.connect()
        assert (await peer.publish(TOPIC, b"told", properties={"UNIQ_KEY": "A"})).code == 0
    async with life(tmp_path, "message_stored") as one:
        peer = await one.connect()
        assert await last_words(one, peer.publish(TOPIC, b"untold", properties={"UNIQ_KEY": "B"})) is None
    async with life(tmp_path) as one:
        peer = await one.connect()
        found = ids(await peer.all_messages(TOPIC, QUEUES))
        assert found["A"] == 1
        assert found["B"] <= 1


@pytest.mark.parametrize("point", ["half_unsaved", "half_saved"])
async def test_a_half_that_was_prepared_in_a_last_moment_is_asked_for_or_nowhere(tmp_path: Path, point: str) -> None:
    async with life(tmp_path, point) as one:
        peer = await one.connect()
        assert await last_words(one, peer.prepare(TOPIC, b"half", UNIQ_KEY="H")) is None
    async with life(tmp_path) as one:
        peer = await one.connect()
        await peer.beat("another", producers=["payers"])
        assert await peer.all_messages(TOPIC, QUEUES) == []
        if point == "half_saved":
            await until(lambda: bool(peer.heard), 20)
            question = peer.heard[0]
            assert question.fields["transactionId"] == "H"
            answer = await peer.request(RequestCode.END_TRANSACTION, ending(question.fields, COMMIT, asked=True))
            assert answer.code == 0
            assert ids(await peer.all_messages(TOPIC, QUEUES)) == {"H": 1}


@pytest.mark.parametrize("point", ["half_unmoved", "half_moved"])
async def test_a_half_that_was_moved_in_a_last_moment_is_asked_for_and_can_be_ended(tmp_path: Path, point: str) -> None:
    async with life(tmp_path, point) as one:
        half = await (await one.connect()).prepare(TOPIC, b"half", UNIQ_KEY="H")
        assert half.code == 0
        await one.dies()
    async with life(tmp_path) as one:
        peer = await one.connect()
        await peer.beat("another", producers=["payers"])
        await until(lambda: bool(peer.heard), 20)
        question = peer.heard[0]
        assert question.fields["transactionId"] == "H"
        answer = await peer.request(RequestCode.END_TRANSACTION, ending(question.fields, COMMIT, asked=True))
        assert answer.code == 0
        assert ids(await peer.all_messages(TOPIC, QUEUES)) == {"H": 1}


@pytest.mark.parametrize(
    ("point", "how"),
    [
        ("end_undecided", COMMIT),
        ("end_decided", COMMIT),
        ("commit_appended", COMMIT),
        ("end_undecided", ROLLBACK),
        ("end_decided", ROLLBACK),
    ],
)
async def test_an_end_that_was_said_in_a_last_moment_can_be_said_again(tmp_path: Path, point: str, how: int) -> None:
    async with life(tmp_path) as one:
        half = await (await one.connect()).prepare(TOPIC, b"half", UNIQ_KEY="H")
        assert half.code == 0
    async with life(tmp_path, point) as one:
        assert await last_words(one, (await one.connect()).end(half, how)) is None
    async with life(tmp_path) as one:
        peer = await one.connect()

        async def is_said() -> bool:
            return (await peer.end(half, how, asked=True)).code == 0

        await eventually(is_said, 20)
        if how == ROLLBACK:
            assert await peer.all_messages(TOPIC, QUEUES) == []
            return

        async def is_there() -> bool:
            return "H" in ids(await peer.all_messages(TOPIC, QUEUES))

        await eventually(is_there, 20)
        assert ids(await peer.all_messages(TOPIC, QUEUES))["H"] <= 2


@pytest.mark.parametrize("point", ["timers_claimed", "timers_delivered", "timers_forgotten"])
async def test_timers_fire_whatever_moment_of_firing_was_the_last(tmp_path: Path, point: str) -> None:
    names = [f"T{number}" for number in range(20)]
    async with life(tmp_path) as one:
        peer = await one.connect()
        for name in names:
            answer = await peer.publish(TOPIC, b"x", properties={"TIMER_DELAY_MS": "3000", "UNIQ_KEY": name})
            assert answer.code == 0
    async with life(tmp_path, point) as one:
        await one.dies()
    async with life(tmp_path) as one:
        peer = await one.connect()

        async def are_all_there() -> bool:
            return len(ids(await peer.all_messages(TOPIC, QUEUES))) == len(names)

        await eventually(are_all_there, 20)
        copies = ids(await peer.all_messages(TOPIC, QUEUES))
        assert set(copies) == set(names)
        assert max(copies.values()) <= (2 if point == "timers_delivered" else 1)


@pytest.mark.parametrize("point", ["retry_unsaved", "retry_saved"])
async def test_a_message_that_was_sent_back_in_a_last_moment_is_not_lost(tmp_path: Path, point: str) -> None:
    async with life(tmp_path) as one:
        peer = await one.connect()
        await peer.beat("me", group=GROUP, topics={TOPIC: "*"})
        assert (await peer.publish(TOPIC, b"hard", properties={"UNIQ_KEY": "R"})).code == 0
        (message,) = await peer.messages(TOPIC)
    back = {"offset": message.physical_offset, "group": GROUP, "delayLevel": 1}
    async with life(tmp_path, point) as one:
        peer = await one.connect()
        assert await last_words(one, peer.request(RequestCode.CONSUMER_SEND_MSG_BACK, back)) is None
    async with life(tmp_path) as one:
        peer = await one.connect()
        assert (await peer.request(RequestCode.CONSUMER_SEND_MSG_BACK, back)).code == 0
        retried = f"%RETRY%{GROUP}"

        async def came() -> bool:
            return len(await peer.messages(retried)) >= (2 if point == "retry_saved" else 1)

        await eventually(came, 20)
        assert ids(await peer.messages(retried)) == {"R": 2 if point == "retry_saved" else 1}


@pytest.mark.parametrize("point", ["offset_unsaved", "offset_saved"])
async def test_an_offset_that_was_told_is_kept_and_one_that_was_not_is_one_of_the_two(
    tmp_path: Path, point: str
) -> None:
    place: dict[str, object] = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": 0}
    async with life(tmp_path) as one:
        peer = await one.connect()
        for _ in range(5):
            assert (await peer.publish(TOPIC, b"a")).code == 0
        assert (await peer.request(RequestCode.UPDATE_CONSUMER_OFFSET, place | {"commitOffset": 2})).code == 0
    async with life(tmp_path, point) as one:
        peer = await one.connect()
        await last_words(one, peer.request(RequestCode.UPDATE_CONSUMER_OFFSET, place | {"commitOffset": 4}))
    async with life(tmp_path) as one:
        answer = await (await one.connect()).request(RequestCode.QUERY_CONSUMER_OFFSET, place)
        assert answer.fields["offset"] == ("4" if point == "offset_saved" else "2")


# In the midst of work.


async def live_and_die(folder: Path, lives: int, work: Work, workers: int) -> None:
    """Lives that end in the midst of work, each after another while."""
    for number in range(lives):
        async with life(folder) as one:
            peers = [await one.connect() for _ in range(workers)]
            tasks = [asyncio.create_task(work(peer, number * workers + n)) for n, peer in enumerate(peers)]
            await asyncio.sleep(LIFE_S + random.random() / 2)
            await one.kill()
            for task in tasks:
                task.cancel()
            for outcome in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(outcome, AssertionError):
                    raise outcome


@pytest.mark.parametrize("lives", [2, pytest.param(12, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
async def test_nothing_that_was_acknowledged_is_lost_and_order_holds_for_each_key(tmp_path: Path, lives: int) -> None:
    told: dict[str, list[int]] = defaultdict(list)

    async def send(peer: Peer, worker: int) -> None:
        key = f"key-{worker}"
        for number in itertools.count():
            properties = {"UNIQ_KEY": f"{key}:{number}", "__SHARDINGKEY": key}
            answer = await peer.publish(TOPIC, b"x" * 100, queue_id=-1, properties=properties)
            if answer.code == 0:
                told[key].append(number)

    await live_and_die(tmp_path, lives, send, workers=6)
    async with life(tmp_path) as one:
        peer = await one.connect()
        for key, numbers in told.items():
            assert numbers, key
        stored: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for message in await peer.all_messages(TOPIC, QUEUES):
            key, _, number = unique_id(message).partition(":")
            stored[key].append((message.queue_id, int(number)))
    assert sum(map(len, told.values())) > 50
    for key, numbers in told.items():
        places = {queue for queue, _ in stored[key]}
        found = [number for _, number in stored[key]]
        assert len(places) == 1, "a key has one queue, in every life"
        assert found == sorted(found)
        assert len(found) == len(set(found)), "a sender that did not send again has no copies"
        assert set(numbers) <= set(found)
        assert len(found) <= len(numbers) + 1, "only what was under way may be there untold"


@pytest.mark.parametrize("lives", [2, pytest.param(10, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
async def test_halves_and_timers_hold_through_kills(tmp_path: Path, lives: int) -> None:
    told: dict[str, set[str]] = defaultdict(set)

    async def work(peer: Peer, worker: int) -> None:
        for number in itertools.count():
            name = f"{worker}-{number}"
            timer = await peer.publish(TOPIC, b"x", properties={"TIMER_DELAY_MS": "300", "UNIQ_KEY": f"T{name}"})
            if timer.code == 0:
                told["kept"].add(f"T{name}")
            half = await peer.prepare(TOPIC, b"x", UNIQ_KEY=f"H{name}")
            if half.code != 0:
                continue
            how = random.choice([COMMIT, ROLLBACK, None])
            if how is None:
                told["open"].add(f"H{name}")
            elif (await peer.end(half, how)).code == 0:
                told["kept" if how == COMMIT else "dropped"].add(f"H{name}")

    await live_and_die(tmp_path, lives, work, workers=4)
    async with life(tmp_path) as one:
        peer = await one.connect()
        asked: set[str] = set()

        async def is_all_there() -> bool:
            return told["kept"] <= set(ids(await peer.all_messages(TOPIC, QUEUES)))

        await eventually(is_all_there, 30)
        await peer.beat("heir", producers=["payers"])
        found = ids(await peer.all_messages(TOPIC, QUEUES))

        def are_asked() -> bool:
            asked.update(command.fields["transactionId"] for command in peer.heard)
            return told["open"] <= asked

        await until(are_asked, 30)
        assert told["open"]
        assert not (told["dropped"] | told["open"]) & set(found)
        assert len(told["kept"]) > 10
        copies = sum(count - 1 for count in found.values())
        assert copies <= lives * (256 + 4), "only what was in hand at a kill may come again"


@pytest.mark.parametrize("lives", [2, pytest.param(10, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
async def test_ordered_consumption_goes_on_where_it_was_acknowledged(tmp_path: Path, lives: int) -> None:
    count = 400
    queue = MessageQueue(TOPIC, "mortal", 0)
    seen: list[int] = []
    told = [0]

    async with life(tmp_path) as one:
        peer = await one.connect()
        for number in range(count):
            assert (await peer.publish(TOPIC, b"%d" % number)).code == 0

    async def consume(peer: Peer, worker: int) -> None:
        """One message at a time, and then how far it came: as an ordered consumer does."""
        place: dict[str, object] = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": 0}
        await peer.beat(f"client-{worker}", group=GROUP, topics={TOPIC: "*"})
        assert await peer.lock(GROUP, f"client-{worker}", queue) == [0], "no lock outlives the broker"
        offset = int((await peer.request(RequestCode.QUERY_CONSUMER_OFFSET, place)).fields["offset"])
        assert offset >= told[0], "what was acknowledged stays so"
        while offset < count:
            pulled = await peer.read(TOPIC, offset, maxMsgNums=1)
            seen.append(offset)
            offset = int(pulled.fields["nextBeginOffset"])
            header = place | {"commitOffset": offset}
            if (await peer.request(RequestCode.UPDATE_CONSUMER_OFFSET, header)).code == 0:
                told[0] = offset

    await live_and_die(tmp_path, lives, consume, workers=1)
    async with life(tmp_path) as one:
        await asyncio.wait_for(consume(await one.connect(), 99), 30)
    assert sorted(set(seen)) == list(range(count)), "nothing is left out"
    again = len(seen) - count
    assert 0 <= again <= lives, "only the message that was in hand at a kill comes again"
    steps = [after - before for before, after in itertools.pairwise(seen)]
    assert all(step in (0, 1) for step in steps), "never back, but for that one"


@pytest.mark.parametrize("lives", [2, pytest.param(10, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
async def test_members_that_work_in_order_go_on_with_their_own_queues_when_the_broker_comes_back(
    tmp_path: Path, lives: int
) -> None:
    """They do not end with the broker: they trust their locks for a while, and ask for them again when they have seen
    that their group is as before. So nobody comes between."""
    shares = {"client-0": [0, 1], "client-1": [2, 3]}
    queues = [MessageQueue(TOPIC, "mortal", number) for number in range(QUEUES)]
    keys, count = [f"key-{number}" for number in range(8)], 100 * lives
    seen: dict[str, list[tuple[str, int]]] = defaultdict(list)
    next_offset = dict.fromkeys(range(QUEUES), 0)
    locked: dict[int, set[str]] = defaultdict(set)

    async with life(tmp_path) as one:
        peer = await one.connect()
        for number in range(count):
            names = [{"UNIQ_KEY": f"{key}:{number}", "__SHARDINGKEY": key} for key in keys]
            await asyncio.gather(*(peer.publish(TOPIC, b"x", queue_id=-1, properties=each) for each in names))
        ends = {number: len(await peer.messages(TOPIC, queue_id=number)) for number in range(QUEUES)}
    assert sum(ends.values()) == len(keys) * count

    async def divide(peer: Peer, me: str, turn: int) -> None:
        """Lock the share of a member when all are there. When both have theirs, neither gets the other's."""
        answer = await peer.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": GROUP})
        if sorted(decode_body(GetConsumerListByGroupResponseBody, answer.body).consumer_id_list) == sorted(shares):
            wanted = shares[me] if len(locked[turn]) < len(shares) else range(QUEUES)
            assert await peer.lock(GROUP, me, *(queues[number] for number in wanted)) == shares[me]
            locked[turn].add(me)

    async def step(peer: Peer, me: str, number: int) -> None:
        place: dict[str, object] = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": number}
        pulled = await peer.read(TOPIC, next_offset[number], consumerGroup=GROUP, queueId=number, maxMsgNums=1)
        (message,) = decode_messages(pulled.body)
        key, _, nth = unique_id(message).partition(":")
        seen[key].append((me, int(nth)))
        next_offset[number] = int(pulled.fields["nextBeginOffset"])
        commit = place | {"commitOffset": next_offset[number]}
        assert (await peer.request(RequestCode.UPDATE_CONSUMER_OFFSET, commit)).code == 0

    async def consume(peer: Peer, worker: int) -> None:
        turn, nth = divmod(worker, len(shares))
        me = f"client-{nth}"
        await peer.beat(me, group=GROUP, topics={TOPIC: "*"})
        kept_back = LEFT_FOR_THE_LAST if turn < lives else 0
        while left := [number for number in shares[me] if next_offset[number] < ends[number] - kept_back]:
            await divide(peer, me, turn)
            if any(me in each for each in locked.values()):
                for number in left:
                    await step(peer, me, number)

    await live_and_die(tmp_path, lives, consume, workers=len(shares))
    async with life(tmp_path) as one:
        peers = [await one.connect() for _ in shares]
        last = [consume(peer, lives * len(shares) + nth) for nth, peer in enumerate(peers)]
        await asyncio.wait_for(asyncio.gather(*last), 60)
        for number, end in ends.items():
            place = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": number}
            answer = await peers[0].request(RequestCode.QUERY_CONSUMER_OFFSET, place)
            assert answer.fields["offset"] == str(end)
    for key in keys:
        assert [number for _, number in seen[key]] == list(range(count)), "each once and in order"
        assert len({member for member, _ in seen[key]}) == 1, "a key stays with its member"
    assert locked[lives] == set(shares), "both had theirs again after a kill"
