"""Reading a topic's messages over HTTP: from a place to the end that it has now, or on and on, or as a group.

To follow, a few threads wait for the partitions, and give what comes to a bounded queue.
"""

import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from braidmq.cli._api import Api, path_of
from braidmq.cli._call import Call
from braidmq.cli._times import time_ms
from braidmq.model.errors import InvalidSetting

PULL_MAX: Final = 500
RECEIVE_MAX: Final = 128
THREADS_MAX: Final = 32
WAIT_S: Final = 10.0
SHORT_WAIT_S: Final = 0.2
QUEUE_MAX: Final = 2_000

Bounds = Mapping[str, Any]
Chosen = Mapping[str, Any]


class Reading:
    """One topic, read from a place on."""

    def __init__(self, call: Call, topic: str, partitions: Sequence[int] | None, chosen: Chosen) -> None:
        """Raises what asking for the partitions does, and InvalidSetting for one that does not exist."""
        self._call = call
        self._topic = topic
        self._chosen = chosen
        found = call.api.get(path_of("topics", topic, "partitions"), instance=call.instance)
        self._bounds: dict[int, Bounds] = {each["index"]: each for each in found}
        if unknown := set(partitions or ()) - set(self._bounds):
            raise InvalidSetting(f"--partition: {topic} has no partition {min(unknown)}; it has {len(self._bounds)}")
        self._partitions = sorted(set(partitions or self._bounds))

    def to_end(self, place: str) -> Iterator[Any]:
        """What is there now, partition by partition."""
        for partition in self._partitions:
            offset, end = self._begin(partition, place), self._bounds[partition]["stable_offset"]
            while offset < end:
                pulled = self._pull(partition, offset, self._call.api)
                yield from (item for item in pulled["items"] if item["offset"] < end)
                offset = pulled["next_offset"]

    def follow(self, place: str) -> Iterator[Any]:
        """What is there and what comes, without end."""
        coming: queue.Queue[Any] = queue.Queue(QUEUE_MAX)
        ended = threading.Event()
        begins = {partition: self._begin(partition, place) for partition in self._partitions}
        count = min(THREADS_MAX, len(begins))
        for number in range(count):
            share = dict(list(begins.items())[number::count])
            threading.Thread(target=self._watch, args=(share, coming, ended), daemon=True).start()
        try:
            while True:
                item = coming.get()
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            ended.set()

    def _watch(self, offsets: dict[int, int], coming: "queue.Queue[Any]", ended: threading.Event) -> None:
        """With connections of its own: it may still wait for an answer when who follows has had enough, and nobody else
        closes what it waits on."""
        wait_s = WAIT_S if len(offsets) == 1 else SHORT_WAIT_S
        try:
            with Api(self._call.api.url) as api:
                while not ended.is_set():
                    for partition, offset in offsets.items():
                        pulled = self._pull(partition, offset, api, wait_s=wait_s)
                        for item in pulled["items"]:
                            coming.put(item)
                        offsets[partition] = pulled["next_offset"]
        except Exception as error:  # whatever it was, who follows is told; after its end, nobody listens
            coming.put(error)

    def _pull(self, partition: int, offset: int, api: Api, *, wait_s: float = 0.0) -> Any:
        path = path_of("topics", self._topic, "partitions", partition, "messages")
        query = {"offset": offset, "limit": PULL_MAX, "wait_s": wait_s, "instance": self._call.instance}
        return api.get(path, **query, **self._chosen)

    def _begin(self, partition: int, place: str) -> int:
        bounds = self._bounds[partition]
        start, end = int(bounds["start_offset"]), int(bounds["stable_offset"])
        if place in ("earliest", "latest"):
            return start if place == "earliest" else end
        if place[:1] == "-" and place[1:].isascii() and place[1:].isdigit():
            return max(start, end - int(place[1:]))
        if place.isascii() and place.isdigit() and len(place) < 12:
            return min(max(start, int(place)), end)
        return self._at_time(partition, time_ms(place, "--from"), end)

    def _at_time(self, partition: int, at_ms: int, end: int) -> int:
        """The offset of the first message of that time or later."""
        path = path_of("topics", self._topic, "messages")
        cursor = None
        while True:
            query = {"partition": partition, "from_ms": at_ms, "limit": 1, "cursor": cursor}
            found = self._call.api.get(path, instance=self._call.instance, **query)
            if found["items"]:
                return int(found["items"][0]["offset"])
            if (cursor := found["cursor"]) is None:
                return end


def received(call: Call, group: str, topic: str, chosen: Chosen, *, follow: bool, limit: int | None) -> Iterator[Any]:
    """Messages as a member of a group gets them; each batch is acknowledged once all of it was taken."""
    left = limit
    while left is None or left > 0:
        count = RECEIVE_MAX if left is None else min(RECEIVE_MAX, left)
        batch = _receive(call, group, topic, chosen, count, WAIT_S if follow else 1.0)
        if not batch and not follow:
            return
        yield from batch
        if batch:
            receipts = [each["receipt"] for each in batch]
            call.api.post(path_of("groups", group, "acknowledge"), {"receipts": receipts}, instance=call.instance)
        left = None if left is None else left - len(batch)


def _receive(call: Call, group: str, topic: str, chosen: Chosen, count: int, wait_s: float) -> list[Any]:
    body: dict[str, Any] = {"topic": topic, "count_max": count, "wait_s": wait_s}
    if chosen.get("filter"):
        body["filter"] = {"kind": chosen["filter_kind"], "expression": chosen["filter"]}
    answer = call.api.post(path_of("groups", group, "receive"), body, instance=call.instance)
    return list(answer["messages"])
