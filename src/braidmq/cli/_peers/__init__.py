"""Clients of a running node on three protocols, small and alike, for the bench and the demo.

Kafka is spoken by aiokafka, RocketMQ by the codec of the house, HTTP by httpx. All of them send and read one topic.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from braidmq.cli._api import Api, path_of
from braidmq.model.errors import InvalidSetting

PROTOCOLS: Final = ("http", "kafka", "rocketmq")


class Sending(NamedTuple):
    """A message on its way out."""

    body: bytes
    key: str = ""
    tag: str = ""
    headers: Mapping[str, str] = {}


class Peer(Protocol):
    """A client of one node."""

    async def send(self, topic: str, messages: Sequence[Sending]) -> None:
        """Returns once the node has kept all of them. Raises BraidError."""
        ...

    def read(self, topic: str, partitions: int, *, earliest: bool) -> AsyncIterator[list[bytes]]:
        """Bodies from the beginning, or as they come from now on. The first one is empty: from then on, it reads."""
        ...

    async def close(self) -> None: ...


async def connect(protocol: str, api: Api, instance: str) -> Peer:
    """Raises InvalidSetting for a protocol that the node does not speak."""
    if protocol not in PROTOCOLS:
        raise InvalidSetting(f"--protocol: cannot be {protocol!r}; it is {', '.join(PROTOCOLS)}")
    if protocol == "http":
        from braidmq.cli._peers.http import HttpPeer

        return HttpPeer(api.url, instance)
    place = address(api, protocol)
    if protocol == "kafka":
        from braidmq.cli._peers.kafka import KafkaPeer

        return await KafkaPeer.connect(place)
    from braidmq.cli._peers.rocketmq import RocketPeer

    return await RocketPeer.connect(place)


def address(api: Api, protocol: str) -> str:
    """Where the node's clients of a protocol begin. Raises InvalidSetting."""
    for node in api.get(path_of("nodes")):
        if found := node["listeners"].get(protocol):
            return str(found[0])
    raise InvalidSetting(f"the node at {api.url} does not listen for {protocol}; start it with --{protocol} HOST:PORT")
