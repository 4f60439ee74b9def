"""HTTP, by httpx."""

import base64
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx

from braidmq.cli._api import path_of
from braidmq.cli._errors import NodeRefused, Unreachable
from braidmq.cli._outgoing import content
from braidmq.cli._peers import Sending


class HttpPeer:
    """One client with as many connections as it needs."""

    def __init__(self, url: str, instance: str) -> None:
        self._client = httpx.AsyncClient(
            base_url=url, params={"instance": instance}, timeout=httpx.Timeout(60.0), trust_env=False
        )

    async def send(self, topic: str, messages: Sequence[Sending]) -> None:
        """In one request."""
        body = {"messages": [_outgoing(each) for each in messages]}
        answer = await self._ask("POST", path_of("topics", topic, "messages"), json=body)
        for result in answer["results"]:
            if result["error"] is not None:
                raise NodeRefused(result["error"]["detail"])

    async def read(self, topic: str, partitions: int, *, earliest: bool) -> AsyncIterator[list[bytes]]:
        """One partition after the other; waits only where there is nothing in any."""
        found = await self._ask("GET", path_of("topics", topic, "partitions"))
        at = "start_offset" if earliest else "stable_offset"
        offsets = {each["index"]: each[at] for each in found}
        yield []
        while True:
            for partition in range(partitions):
                path = path_of("topics", topic, "partitions", partition, "messages")
                wait_s = 5.0 if partitions == 1 else 0.0
                query = {"offset": offsets[partition], "limit": 1000, "wait_s": wait_s}
                pulled = await self._ask("GET", path, params=query)
                offsets[partition] = pulled["next_offset"]
                yield [_body(item) for item in pulled["items"]]

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, method: str, path: str, **more: Any) -> Any:
        try:
            response = await self._client.request(method, path, **more)
        except httpx.TransportError as error:
            raise Unreachable(f"the node cannot be reached: {error or type(error).__name__}") from error
        if response.status_code >= 400:
            raise NodeRefused(str(response.json().get("detail", response.text)))
        return response.json()


def _outgoing(message: Sending) -> dict[str, Any]:
    found = content(message.body) | {"properties": dict(message.headers)}
    if message.key:
        found |= {"key": message.key, "keys": [message.key]}
    return found | ({"tag": message.tag} if message.tag else {})


def _body(item: dict[str, Any]) -> bytes:
    if item["body"] is not None:
        return str(item["body"]).encode()
    return base64.b64decode(item["body_base64"] or "")
